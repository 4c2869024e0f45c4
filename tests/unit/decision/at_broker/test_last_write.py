"""What became of a write into a group's configuration, by what the broker shows."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.at_broker import last_write
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Policy
from tests.support import worlds
from tests.support.worlds import NOW, seconds

BEFORE, OURS, THEIRS = GroupOverrides(seconds(6)), GroupOverrides(seconds(45)), GroupOverrides(seconds(30))
LATE = NOW + last_write.SHOWN_WITHIN + seconds(1)
WRITE = GroupWrite("main", "orders", OURS, BEFORE, NOW, spec="")
ANSWERED = dataclasses.replace(WRITE, answered=True)


def group(overrides: GroupOverrides | None) -> Group:
    """Return the group with its own values; None where they cannot be read."""
    config = None if overrides is None else GroupConfig(seconds(45), seconds(5), overrides)
    return dataclasses.replace(worlds.group(), consumer_protocol=True, config=config)


@pytest.mark.parametrize(
    ("write", "shown", "settled"),
    [
        (None, OURS, None),
        (WRITE, OURS, ANSWERED),  # done, though its answer was lost
        (WRITE, BEFORE, None),  # not done: the writer died before
        (WRITE, THEIRS, WRITE),  # nobody knows whether it was done before somebody set that
        (WRITE, None, WRITE),
        (ANSWERED, BEFORE, ANSWERED),  # done, and taken back
        (dataclasses.replace(ANSWERED, group_id="other"), OURS, None),  # the policy names another group by now
        (dataclasses.replace(ANSWERED, cluster="other"), OURS, None),
    ],
    ids=["none", "done", "not-done", "overtaken", "unreadable", "taken-back", "other-group", "other-cluster"],
)
def test_a_lost_answer_is_found(write: GroupWrite | None, shown: GroupOverrides, settled: GroupWrite | None) -> None:
    """By the value that the broker shows once it would show ours."""
    policy = worlds.policy(group_write=write)
    assert last_write.after_look(policy, group(shown), LATE).group_write == settled


def test_a_write_that_was_not_done_leaves_the_one_before() -> None:
    """Else nobody would know what to go back to, and what a person sets then would be overruled."""
    longer = GroupOverrides(seconds(60))
    tried = dataclasses.replace(WRITE, values=longer, previous=OURS, before=ANSWERED)
    policy = worlds.policy(group_write=tried)
    assert last_write.after_look(policy, group(OURS), LATE).group_write == ANSWERED
    done = last_write.after_look(policy, group(longer), LATE).group_write
    assert done == dataclasses.replace(tried, answered=True, before=None)


def test_a_broker_that_shows_the_value_before_is_given_time() -> None:
    """A write is not called lost, nor overruled, while the broker may only not show it yet."""
    for write in (WRITE, ANSWERED):
        policy = worlds.policy(group_write=write)
        assert last_write.after_look(policy, group(BEFORE), NOW + seconds(5)).group_write == write
        assert last_write.is_awaited(write, group(BEFORE), NOW + seconds(5))
        assert not last_write.is_foreign(write, group(BEFORE), NOW + seconds(5))
        assert last_write.is_foreign(write, group(BEFORE), LATE)


def test_only_another_value_than_ours_is_foreign() -> None:
    """Whoever set it, and however soon; what cannot be read is nobody's."""
    assert last_write.is_foreign(ANSWERED, group(THEIRS), NOW + timedelta(seconds=1))
    assert last_write.is_foreign(ANSWERED, group(GroupOverrides()), LATE)
    assert not last_write.is_foreign(ANSWERED, group(OURS), LATE)
    assert not last_write.is_foreign(ANSWERED, group(None), LATE)
    assert not last_write.is_foreign(None, group(THEIRS), LATE)


FIRST, SAVED, RAISED, SET = (
    worlds.java_settings(session, beat, poll)
    for session, beat, poll in (("6s", "5s", "5m"), ("6s", "5s", "2m"), ("6s", "5s", "4m"), ("45s", "1s", "4m"))
)
REPLACED = dataclasses.replace(ANSWERED, replaced=GroupOverrides(seconds(6), seconds(5)))
IN_PODS = Application(RAISED, SAVED, NOW, "template", baseline=FIRST)


@pytest.mark.parametrize(
    ("policy", "baseline"),
    [
        (worlds.policy(group_write=REPLACED), dataclasses.replace(FIRST, max_poll_interval=SET.max_poll_interval)),
        (worlds.policy(application=IN_PODS), dataclasses.replace(SET, max_poll_interval=FIRST.max_poll_interval)),
        (worlds.policy(group_write=REPLACED, application=IN_PODS), FIRST),
        (
            worlds.policy(application=dataclasses.replace(IN_PODS, baseline=None)),
            dataclasses.replace(SET, max_poll_interval=SAVED.max_poll_interval),
        ),
        (worlds.policy(), None),
        (worlds.policy(group_write=ANSWERED), None),  # an older version did not note what was in force
        (worlds.policy(group_write=dataclasses.replace(REPLACED, reverts=NOW)), None),
        (worlds.policy(group_write=dataclasses.replace(REPLACED, values=THEIRS)), None),
        (worlds.policy(application=dataclasses.replace(IN_PODS, reverts=NOW)), None),
        (worlds.policy(application=dataclasses.replace(IN_PODS, values=SAVED)), None),
    ],
    ids=[
        "at the broker",
        "in the pods",
        "both",
        "one before",
        "nothing",
        "not noted",
        "taken back",
        "another's at the broker",
        "taken back in the pods",
        "another's in the pods",
    ],
)
def test_what_stood_before_our_changes_is_known_of_both_places(
    policy: Policy, baseline: LivenessSettings | None
) -> None:
    """What one of them saved pays for the objective that the other brings."""
    assert last_write.baseline(policy, group(OURS), SET) == baseline


def test_a_group_whose_configuration_cannot_be_read_has_the_baseline_of_its_pods() -> None:
    """A classic group has that of all its values."""
    policy = worlds.policy(group_write=REPLACED, application=IN_PODS)
    limited = dataclasses.replace(SET, max_poll_interval=FIRST.max_poll_interval)
    assert last_write.baseline(policy, group(None), SET) == limited
    assert last_write.baseline(policy, worlds.group(), RAISED) == FIRST
    assert last_write.baseline(policy, worlds.group(), SET) is None
