"""What `explain` tells of a chain that is known to its end, and of one that breaks off."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.cli import explain
from heartbeat_tuner.cli.group.forecasts import number
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain.liveness import ValueSource
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import Fitted, Unfitted
from tests.support import cases, counters, worlds
from tests.support.worlds import HOUR, NOW

BEGAN = NOW - HOUR - timedelta(minutes=5)


def numbers(case: Any, link: str) -> dict[str, dict[str, Any]]:
    """Return the numbers of a link, by their names."""
    (found,) = [item for item in explain.document(case)["links"] if item["link"] == link]
    return {number["name"]: number for number in found["numbers"]}


def test_the_chain_is_told_from_what_is_set_to_the_answer() -> None:
    """In that order, none left out."""
    names = [link["link"] for link in explain.document(cases.by_model())["links"]]
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
        terms = [item[column] for item in cost.values() if item["unit"] == "partition-s a day"]
        assert sum(terms[:-1]) == pytest.approx(terms[-1]) == pytest.approx(predicted.net_per_day)


def test_the_cause_that_evicts_most_is_named() -> None:
    """Of a group whose handlers take longer than its poll limit: gaps between polls."""
    case = cases.by_model(now=worlds.java_settings(poll="12s"))
    (link,) = [link for link in explain.document(case)["links"] if link["link"] == "constraint"]
    assert "long gaps between polls contribute most" in link["sentences"][0]
    calm = cases.by_model(now=worlds.java_settings(session="8s"))
    (link,) = [link for link in explain.document(calm)["links"] if link["link"] == "constraint"]
    assert "pauses contribute most" in link["sentences"][0]


def test_the_choice_shows_each_heartbeat_with_its_session() -> None:
    """The one recommended is among them and costs about the least."""
    rows = [
        number for name, number in numbers(cases.by_model(), "choice").items() if name.startswith("heartbeat every")
    ]
    assert len(rows) == 8
    assert rows[0]["now"] == min(row["now"] for row in rows)
    strict = cases.by_model(objective=Objective(timedelta(seconds=60), 1e-9))
    report = [number for name, number in numbers(strict, "choice").items() if name.startswith("heartbeat every")]
    assert {item["note"] for item in report} <= {"no session keeps the objective"}


def sentences(case: Case, link: str) -> str:
    """Return what a link says, in one line."""
    (found,) = [item for item in explain.document(case)["links"] if item["link"] == link]
    return " ".join(found["sentences"])


def test_the_saving_that_a_change_needs_is_the_one_that_was_asked() -> None:
    """Twice the share where nothing shows how long handlers take, and never next to nothing."""
    quantities = {name: quantity for name, quantity in cases.MODEL.quantities.items() if name != "pollGap"}
    kafkajs = cases.by_model(
        now=worlds.settings("30s", "3s", "5s"),
        client=catalogue.client("kafkajs"),
        model=Fitted("orders", cases.model(client="kafkajs", quantities=quantities)),
    )
    for case, words in ((cases.by_model(), "5 % of the cost"), (kafkajs, "10 % of the cost, for gaps between polls")):
        share = float(words.partition(" ")[0]) / 100
        assert case.found is not None
        assert case.found.now is not None
        note = numbers(case, "guard")["it saves"]["note"]
        assert f"a change needs {number(share * case.found.now.net_per_day)}, {words}" in note
    assert isinstance(kafkajs.asked, Question)
    assert kafkajs.found is not None
    assert kafkajs.found.now is not None
    little = dataclasses.replace(kafkajs.found, now=dataclasses.replace(kafkajs.found.now, net_per_day=0.9))
    note = numbers(dataclasses.replace(kafkajs, found=little), "guard")["it saves"]["note"]
    assert note == "a change needs 0.1, however little is lost"


def test_what_is_urgent_is_asked_for_no_saving_and_no_payback() -> None:
    """The record shows evictions: neither days nor rollouts are weighed."""
    calm = cases.by_model(now=worlds.java_settings(session="8s"))
    assert isinstance(calm.asked, Question)
    asked = dataclasses.replace(calm.asked, evictions=20, evictions_days=1.0)
    case = dataclasses.replace(calm, asked=asked, found=tuning.answer(asked))
    assert case.found is not None
    assert case.found.reason is Reason.DANGER
    assert {number["note"] for number in numbers(case, "guard").values()} == {"not asked: urgent"}
    assert numbers(case, "economics")["saved until then"]["note"] == "not asked: urgent"
    assert sentences(case, "economics") == "Whether it pays for a rollout of its own is not asked: it is urgent."


def test_whether_a_change_pays_is_told_where_it_takes_a_rollout() -> None:
    """The session and the heartbeat of a group of the consumer protocol are the broker's; M is the members' own."""
    hour, notes = timedelta(hours=1), {}
    for poll in ("1m", "5m"):
        now = worlds.java_settings(session="60s", interval="15s", poll=poll)
        case = cases.by_model(now=now, rebalancing=Rebalancing.CONSUMER, horizon=hour)
        notes[poll] = (numbers(case, "economics")["saved until then"]["note"], sentences(case, "economics"))
    assert notes["1m"] == ("no rollout is needed", "No restart is needed: session and heartbeat are the broker's.")
    assert notes["5m"][0] == "1.3 rollouts are needed"
    assert "set it with the next deploy" in notes["5m"][1]
    assert "set it with the next deploy" in sentences(cases.by_model(horizon=hour), "economics")
    paying = cases.by_model(now=worlds.java_settings(session="60s", interval="15s"))
    assert sentences(paying, "economics") == "It pays for a rollout of its own."


def test_numbers_of_a_fleet_are_told_as_such() -> None:
    """Nobody has seen a crash of this group."""
    text = " ".join(explain.as_text(cases.by_model()).split())
    assert "Of a fleet, not of this group: hung handlers" in text
    assert "crashes: 0.01 a member-day" in text


def test_without_a_model_the_chain_says_how_to_get_one() -> None:
    """What the record shows is told, and the answer that it gives."""
    storm = cases.watched(counters.stormy(worlds.pods(), BEGAN, NOW), cases.unmodelled())
    names = [link["link"] for link in explain.document(storm)["links"]]
    assert names == ["settings", "heartbeat", "group", "record", "model", "gates", "answer"]
    assert numbers(storm, "record")["evictions"]["now"] == 2160
    text = " ".join(explain.as_text(storm).split())
    assert "`heartbeat-tuner fit --prometheus URL --history DIR --models DIR --since 24h` makes one" in text
    assert "13." not in text


def test_what_is_assumed_is_marked() -> None:
    """Of settings and of the group."""
    case = cases.by_model(now=worlds.java_settings(), source=ValueSource.DEFAULT)
    assert {number["note"] for number in numbers(case, "settings").values()} == {"assumed: the library's default"}


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
    assert all(item.isprintable() or item == "\n" for item in explain.as_text(case))
