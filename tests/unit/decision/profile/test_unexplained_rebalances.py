"""A model that nothing explains the rebalances of promises nothing."""

import dataclasses
from datetime import date, timedelta

import pytest

from heartbeat_tuner.decision.derived import question_of
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.models.group_model import QuantityModel, Unfitted
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from heartbeat_tuner.tails.rates import Rate
from tests.support import fitted, worlds

NO_TAIL = Rejected(RejectionReason.NO_TAIL, "all alike")


def events(per_day: float, days: float = 14.0, members: int = 3) -> QuantityModel:
    """Return events that came so often a day of the group."""
    rate = Rate(per_day / members, per_day / members)
    return QuantityModel(round(per_day * days), members * days, days, 0.5, NO_TAIL, rate=rate)


def situation(change: Application | None = None, **quantities: QuantityModel) -> DecisionInput:
    """Return a group whose model has these events beside its absences."""
    model = fitted.fitted(quantities={"absence": fitted.quantity(), **quantities})
    has = worlds.workload(None if change is None else change.values)
    inputs = worlds.situation(model=model, policy=worlds.policy(application=change), has=has)
    members = tuple(dataclasses.replace(member, partitions=4) for member in inputs.group.members)
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, members=members))


def asked(change: Application | None = None, **quantities: QuantityModel) -> Question | Unfitted:
    """Return what is asked of such a group."""
    inputs = situation(change, **quantities)
    record = inputs.record
    assert inputs.workload.current is not None
    assert not hasattr(record, "reason")
    return question_of(inputs, record, inputs.workload.current.settings)


@pytest.mark.parametrize(
    "explained",
    [
        {"eviction": events(78.0)},
        {"crashDowntime": events(80.0)},
        {"eviction": events(40.0), "crashDowntime": events(40.0)},
    ],
    ids=["evictions", "crashes", "both"],
)
def test_what_is_explained_is_no_contradiction(explained: dict[str, QuantityModel]) -> None:
    """Each makes two: somebody leaves, somebody comes."""
    assert isinstance(asked(None, unplannedRebalance=events(161.0), **explained), Question)


def test_rebalances_that_nothing_explains_refuse_every_promise() -> None:
    """161 a day beside some crashes: the model was fitted without those who were removed."""
    refused = asked(unplannedRebalance=events(161.0), crashDowntime=events(0.1))
    assert isinstance(refused, Unfitted)
    assert "rebalanced 161 times a day without a plan" in refused.message


def test_a_few_rebalances_are_everybodys() -> None:
    """Brokers move, people deploy what is not seen."""
    assert isinstance(asked(unplannedRebalance=events(0.6)), Question)
    assert isinstance(asked(unplannedRebalance=events(1.0)), Question)


def test_those_of_days_before_the_last_change_are_of_other_values() -> None:
    """A cure must not be refused for the disease."""
    model_since = date(2026, 2, 16)
    at = worlds.NOW - (worlds.NOW.date() - model_since - timedelta(days=3))
    change = Application(worlds.settings(), worlds.settings("20s"), at, "workload-1")
    assert isinstance(asked(change, unplannedRebalance=events(161.0)), Question)


@pytest.mark.parametrize(("often", "tightens"), [(161.0, False), (0.6, True)], ids=["unexplained", "a few"])
def test_after_a_change_the_same_law_asks_for_no_shorter_session(often: float, *, tightens: bool) -> None:
    """It was fitted without those who were removed: what made the session longer must not be taken back by it."""
    change = Application(worlds.settings("45s"), worlds.settings("20s"), worlds.NOW - timedelta(days=3), "workload-1")
    decision = decide(situation(change, unplannedRebalance=events(often)))
    assert (decision.target is not None) is tightens
    assert ("members are removed and no metric shows it" in decision.advice) is not tightens
    assert decision.verdict is (Verdict.CHANGE if tightens else Verdict.HEALTHY)
