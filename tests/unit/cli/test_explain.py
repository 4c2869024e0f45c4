"""What `explain` tells of a chain that is known to its end, and of one that breaks off."""

from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.cli import explain
from heartbeat_tuner.domain.liveness import Source
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.tails.group_model import Unfitted
from tests.support import cases, counters, worlds
from tests.support.worlds import HOUR, NOW

BEGAN = NOW - HOUR - timedelta(minutes=5)


def numbers(case: Any, link: str) -> dict[str, dict[str, Any]]:
    """Return the numbers of a link, by their names."""
    (found,) = [one for one in explain.document(case)["links"] if one["link"] == link]
    return {one["name"]: one for one in found["numbers"]}


def test_the_chain_is_told_from_what_is_set_to_the_answer() -> None:
    """In that order, none left out."""
    names = [one["link"] for one in explain.document(cases.by_model())["links"]]
    first = ["settings", "heartbeat", "group", "record", "model", "profile"]
    assert names == [*first, "cost", "constraint", "choice", "guard", "economics", "static-ids", "gates", "answer"]


def test_the_terms_of_the_cost_add_up_to_what_is_recommended_by() -> None:
    """Terms less what nobody can change are the figure that the answer compares, now and then."""
    case = cases.by_model()
    assert case.found is not None
    assert case.found.now is not None
    assert case.found.new is not None
    cost = numbers(case, "cost")
    for column, predicted in (("now", case.found.now), ("recommended", case.found.new)):
        terms = [one[column] for one in cost.values() if one["unit"] == "partition-s a day"]
        assert sum(terms[:-1]) == pytest.approx(terms[-1]) == pytest.approx(predicted.net_per_day)


def test_the_cause_that_evicts_most_is_named() -> None:
    """Of a group whose handlers take longer than its poll limit: gaps between polls."""
    case = cases.by_model(now=worlds.java_settings(poll="12s"))
    (link,) = [one for one in explain.document(case)["links"] if one["link"] == "constraint"]
    assert "long gaps between polls contribute most" in link["sentences"][0]
    calm = cases.by_model(now=worlds.java_settings(session="8s"))
    (link,) = [one for one in explain.document(calm)["links"] if one["link"] == "constraint"]
    assert "pauses contribute most" in link["sentences"][0]


def test_the_choice_shows_each_heartbeat_with_its_session() -> None:
    """The one recommended is among them and costs about the least."""
    rows = [one for name, one in numbers(cases.by_model(), "choice").items() if name.startswith("heartbeat every")]
    assert len(rows) == 8
    assert rows[0]["now"] == min(one["now"] for one in rows)
    strict = cases.by_model(objective=Objective(timedelta(seconds=60), 1e-9))
    told = [one for name, one in numbers(strict, "choice").items() if name.startswith("heartbeat every")]
    assert {one["note"] for one in told} <= {"no session keeps the objective"}


def test_numbers_of_a_fleet_are_told_as_such() -> None:
    """Nobody has seen a crash of this group."""
    text = " ".join(explain.as_text(cases.by_model()).split())
    assert "Of a fleet, not of this group: hung handlers" in text
    assert "crashes: 0.01 a member-day" in text


def test_without_a_model_the_chain_says_how_to_get_one() -> None:
    """What the record shows is told, and the answer that it gives."""
    storm = cases.watched(counters.stormy(worlds.pods(), BEGAN, NOW), cases.unmodelled())
    names = [one["link"] for one in explain.document(storm)["links"]]
    assert names == ["settings", "heartbeat", "group", "record", "model", "gates", "answer"]
    assert numbers(storm, "record")["evictions"]["now"] == 2160
    text = " ".join(explain.as_text(storm).split())
    assert "`heartbeat-tuner fit --prometheus URL --history DIR --models DIR --since 24h` makes one" in text
    assert "13." not in text


def test_what_is_assumed_is_marked() -> None:
    """Of settings and of the group."""
    case = cases.by_model(now=worlds.java_settings(), source=Source.DEFAULT)
    assert {one["note"] for one in numbers(case, "settings").values()} == {"assumed: the library's default"}


def test_a_model_that_is_not_used_ends_the_chain() -> None:
    """No figure comes after it."""
    case = cases.by_model(model=Unfitted("no ConsumerGroupModel names the group"))
    assert not case.is_known
    text = explain.as_text(case)
    assert "No model: no ConsumerGroupModel names the group." in text
    assert "partition-s" not in text


def test_names_that_could_steer_a_terminal_are_escaped() -> None:
    """Wherever they stand."""
    case = cases.by_model(group="or\x1b[2Jders\n", namespace="x\u202e")
    assert all(one.isprintable() or one == "\n" for one in explain.as_text(case))
