"""What is noted of values that are written, and of those that are taken back."""

import dataclasses
import math
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.kafka_groups import GroupConfig, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.liveness import CurrentSettings
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.verifications import Effect, EpisodeRate, FailedValues, FollowedChange, Outcome
from heartbeat_tuner.reconcile.applications import application_for
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.support import worlds
from tests.support.worlds import NOW, seconds

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


def test_what_stood_before_the_first_of_our_changes_is_noted_with_each() -> None:
    """Unless somebody set other values between them: then they are what we found."""
    storm = worlds.storm()
    first = application_for(Decided(storm, decide(storm)), NOW)
    assert first is not None
    assert first.baseline == first.previous == worlds.STORM

    ours, theirs = worlds.settings("2s"), worlds.settings("3s")
    change = dataclasses.replace(OURS, values=worlds.STORM, previous=ours, baseline=theirs)
    for noted, expected in ((change, theirs), (dataclasses.replace(change, values=ours), worlds.STORM)):
        again = dataclasses.replace(storm, policy=dataclasses.replace(storm.policy, application=noted))
        written = application_for(Decided(again, decide(again)), NOW)
        assert written is not None
        assert (written.previous, written.baseline) == (worlds.STORM, expected)


def test_a_write_at_the_broker_leaves_what_stood_before_the_first_change_of_the_pods() -> None:
    """Else a group that was rolled out and then altered at the broker would have saved nothing by the next rollout."""
    first, limited = worlds.java_settings("45s", "5s", "5m"), worlds.java_settings("45s", "5s", "25m")
    altered, storm = worlds.java_settings("48s", "1s", "25m"), worlds.storm()
    overrides = GroupOverrides(seconds(48), seconds(1))
    group = dataclasses.replace(
        worlds.group(), consumer_protocol=True, config=GroupConfig(seconds(48), seconds(1), overrides)
    )
    write = GroupWrite("main", "orders", overrides, GroupOverrides(), NOW, spec="", answered=True)
    write = dataclasses.replace(write, replaced=GroupOverrides(seconds(45), seconds(5)))
    change = dataclasses.replace(OURS, values=limited, previous=first, baseline=first)
    inputs = dataclasses.replace(
        storm,
        group=group,
        policy=dataclasses.replace(storm.policy, application=change, group_write=write),
        workload=dataclasses.replace(storm.workload, current=CurrentSettings(altered, {})),
    )
    written = application_for(Decided(inputs, decide(storm)), NOW)
    assert written is not None
    assert (written.previous, written.baseline) == (altered, first)


def test_a_change_that_goes_on_keeps_what_stood_before_the_first_of_all() -> None:
    """Not what stood in its second workload before it: that may be of an earlier change."""
    storm, ours, theirs = worlds.storm(), worlds.settings("2s"), worlds.settings("3s")
    begun = dataclasses.replace(OURS, values=worlds.settings(), previous=ours, baseline=theirs)
    inputs = dataclasses.replace(storm, policy=dataclasses.replace(storm.policy, application=begun))
    decision = dataclasses.replace(decide(storm), goes_on=True)
    written = application_for(Decided(inputs, decision), NOW)
    assert written is not None
    assert (written.previous, written.baseline) == (worlds.STORM, theirs)


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
