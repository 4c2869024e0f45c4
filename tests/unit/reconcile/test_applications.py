"""What is noted of values that are taken back."""

import dataclasses
import math
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.verifications import Effect, EpisodeRate, FailedValues, FollowedChange, Outcome
from heartbeat_tuner.reconcile.applications import application_for
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.support import worlds
from tests.support.worlds import NOW

AT = NOW - timedelta(days=2)
OURS = Application(worlds.settings("15s"), worlds.settings("30s"), AT, "workload-1", "app", entries_before={})


def failed(effect: Effect | None) -> FailedValues:
    """Return what a revert notes after a change that had this effect."""
    followed = FollowedChange(AT, AT, outcome=Outcome.WORSE, message="11 episodes", effect=effect)
    inputs = dataclasses.replace(worlds.situation(policy=worlds.policy(application=OURS)), followed=followed)
    written = application_for(Decided(inputs, decide(inputs)), NOW)
    assert written is not None
    (noted,) = written.failed
    return noted


def test_what_was_counted_is_noted_as_far_as_it_is_sure() -> None:
    """A model has to expect so much before the values are tried again."""
    before = EpisodeRate(1, 14.0, 0.002, 0.4)
    assert failed(Effect(before, EpisodeRate(11, 2.0, 2.7, 9.8))).observed_per_day == 2.7


@pytest.mark.parametrize(
    "effect",
    [None, Effect(None, EpisodeRate(0, 0.0, 0.0, math.inf)), Effect(None, EpisodeRate(1, 0.0, math.inf, math.inf))],
    ids=["pods failed", "nothing counted", "no number"],
)
def test_where_nothing_was_counted_nothing_is_noted(effect: Effect | None) -> None:
    """No status can have an endless rate, and that of nothing would be met by every model."""
    assert failed(effect).observed_per_day is None
