"""Which model may be used, and why another may not."""

import math
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.profile import usable_model as choosing
from heartbeat_tuner.metrics.conventions import known_conventions, librdkafka_metrics
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, Unfitted, Unreadable
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from tests.support import fitted, worlds
from tests.support.worlds import NOW

POLICY = worlds.policy()
BAD = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")
DAY = timedelta(days=1)


def chosen(*candidates: Fitted | Unreadable) -> Fitted | Unfitted:
    """Return what is chosen for the policy of group `orders` in cluster `main`."""
    return choosing.chosen(candidates, POLICY, now=NOW)


def test_a_fresh_model_of_the_same_client_is_used() -> None:
    """Of the policy's cluster, or of none."""
    assert chosen(fitted.fitted()) == fitted.fitted()
    assert chosen(fitted.fitted(cluster="main")) == fitted.fitted(cluster="main")


def test_every_library_finds_the_models_of_the_client_that_it_runs() -> None:
    """Consumers of Spring and Streams are measured as Java's: nothing that they export says more."""
    run = {"java": "java", "spring": "java", "streams": "java", "kafkajs": "kafkajs"}
    run |= {library: library for library in librdkafka_metrics.LIBRARIES}
    assert run.keys() == set(known_conventions.LIBRARIES)
    for library, client in run.items():
        model = fitted.fitted(client=client)
        assert choosing.chosen([model], worlds.policy(library=library), now=NOW) == model


def test_no_model_is_used_for_connects_workers() -> None:
    """Their tasks wait for five minutes after a session, which no price knows: nothing may be lowered."""
    refused = choosing.chosen([fitted.fitted(client="connect")], worlds.policy(library="connect"), now=NOW)
    assert isinstance(refused, Unfitted)
    assert "wait for scheduled.rebalance.max.delay.ms" in refused.message


@pytest.mark.parametrize("days", [math.inf, math.nan])
@pytest.mark.parametrize("what", ["group_days", "member_days"])
def test_who_was_watched_for_no_number_of_days_was_not_watched(what: str, days: float) -> None:
    """More than a week, by comparison: whatever was asked for would be made at once, with the highest confidence."""
    model = fitted.fitted(quantities={"absence": fitted.quantity(), "pollGap": fitted.quantity(**{what: days})})
    refused = chosen(model)
    assert isinstance(refused, Unfitted)
    assert refused.message == "ConsumerGroupModel orders does not say for how many days pollGap was watched"


def test_without_any_there_is_none() -> None:
    """And that is all there is to say."""
    assert chosen() == NO_MODEL


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cluster": "other"}, "ConsumerGroupModel orders is of Kafka cluster other, the policy of main"),
    ({"schema": 2}, "ConsumerGroupModel orders is of histogram schema 2, and this version reads 1"),
    (
        {"client": "java"},
        (
            "ConsumerGroupModel orders was measured of java consumers, and this group's library is said to be kafkajs; "
            "correct the library, or fit the group again"
        ),
    ),
    (
        {"until": date(2026, 2, 22)},
        "ConsumerGroupModel orders rests on days until 2026-02-22, more than 7 days ago: does the fit still run?",
    ),
    (
        {"fitted_at": NOW - 8 * DAY - timedelta(seconds=1)},
        "ConsumerGroupModel orders rests on days until 2026-03-01, more than 7 days ago: does the fit still run?",
    ),
    (
        {"until": date(2026, 3, 4)},
        "ConsumerGroupModel orders is of a day that has not come yet, 2026-03-04: a clock is wrong",
    ),
    (
        {"fitted_at": NOW + 2 * DAY},
        "ConsumerGroupModel orders is of a day that has not come yet, 2026-03-04: a clock is wrong",
    ),
    (
        {"quantities": {"absence": fitted.quantity(group_days=0.5)}},
        "ConsumerGroupModel orders rests on 0.5 days, at least 1 is needed",
    ),
    ({"quantities": {}}, "ConsumerGroupModel orders rests on 0 days, at least 1 is needed"),
    (
        {"quantities": {"outage": fitted.quantity()}},
        "ConsumerGroupModel orders says nothing of absences and poll gaps",
    ),
    (
        {"quantities": {"absence": fitted.quantity(tail=BAD), "outage": fitted.quantity()}},
        (
            "ConsumerGroupModel orders has no tail that fits (absence: no threshold gives a tail that fits "
            "(Anderson-Darling 9.1))"
        ),
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[item for _, item in REFUSED])
def test_each_refusal_says_why(changes: dict[str, Any], sentence: str) -> None:
    """With both numbers, and none that moves with the clock."""
    found = fitted.fitted(**changes)
    assert chosen(found) == Unfitted(sentence, found.model.until)


@pytest.mark.parametrize("reason", [RejectionReason.NO_VALUES, RejectionReason.TOO_FEW_VALUES])
def test_a_group_whose_members_were_hardly_ever_away_has_a_model(reason: RejectionReason) -> None:
    """How rarely they were is known, be there a law of it or not; also where gaps between polls are not exported."""
    few = fitted.quantity(values=2, tail=Rejected(reason, "2 independent values, at least 30 wanted"))
    assert isinstance(chosen(fitted.fitted(quantities={"absence": few})), Fitted)


def test_a_model_grows_old_to_the_day() -> None:
    """Seven days after its newest day has ended."""
    ends = NOW.replace(hour=0) + 7 * DAY
    model = fitted.fitted(fitted_at=ends)
    assert choosing.chosen([model], POLICY, now=ends) == model
    assert isinstance(choosing.chosen([model], POLICY, now=ends + timedelta(seconds=1)), Unfitted)


def test_a_day_that_has_just_begun_elsewhere_is_no_wrong_clock() -> None:
    """A fit of today's first hours is of today."""
    assert isinstance(chosen(fitted.fitted(until=NOW.date())), Fitted)


def test_what_cannot_be_read_says_so_in_its_own_words() -> None:
    """But does not stand in the way of one that can be used."""
    broken = Unreadable("orders", "shop", "orders", "spec.x: must be y")
    assert chosen(broken) == Unfitted("spec.x: must be y")
    assert chosen(broken, fitted.fitted()) == fitted.fitted()
    assert chosen(fitted.fitted(), broken) == fitted.fitted()


def test_of_several_the_clusters_own_goes_first_then_the_newest() -> None:
    """In any order."""
    own, older, newest = (
        Fitted("own", fitted.model(cluster="main", until=fitted.UNTIL - 2 * DAY)),
        Fitted("older", fitted.model(until=fitted.UNTIL - DAY)),
        Fitted("newest", fitted.model()),
    )
    assert chosen(newest, own, older) == own
    assert chosen(older, newest) == chosen(newest, older) == newest


def test_of_several_that_may_not_be_used_the_nearest_is_told() -> None:
    """The one of the policy's own cluster."""
    elsewhere = Fitted("elsewhere", fitted.model(cluster="other"))
    own = Fitted("own", fitted.model(cluster="main", client="java"))
    report = chosen(elsewhere, own)
    assert isinstance(report, Unfitted)
    assert report.message.startswith("ConsumerGroupModel own was measured of java consumers")
    assert chosen(own, elsewhere) == report


def test_one_tail_is_enough() -> None:
    """A model of which only the poll gaps fit is used for these; a kept tail is a tail."""
    model = fitted.fitted(quantities={"absence": fitted.quantity(tail=BAD), "pollGap": fitted.quantity()})
    assert chosen(model) == model


@given(st.permutations(["cluster", "schema", "client", "until"]), st.integers(1, 4))
def test_any_fault_is_enough_to_refuse(order: list[str], count: int) -> None:
    """However many others there are."""
    faults: dict[str, Any] = {"cluster": "other", "schema": 7, "client": "java", "until": date(2026, 1, 1)}
    assert isinstance(chosen(fitted.fitted(**{name: faults[name] for name in order[:count]})), Unfitted)


@given(st.integers(0, 3600))
def test_a_reason_does_not_move_while_nothing_happens(seconds: int) -> None:
    """The same words an hour long, whatever the reason."""
    for changes, report in REFUSED:
        found = fitted.fitted(**changes)
        later = choosing.chosen([found], POLICY, now=NOW + timedelta(seconds=seconds))
        assert later == Unfitted(report, found.model.until)
