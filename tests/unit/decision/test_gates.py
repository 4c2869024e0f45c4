"""Gates, in their order: the first that holds is the reason."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.decision import gates
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting, Source
from heartbeat_tuner.domain.policies import Application, Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from tests.support import worlds
from tests.support.worlds import NOW

TARGET = worlds.settings("30s", "1s", "1s")
RECENT = Application(
    values=TARGET, previous=worlds.STORM, at=NOW - timedelta(hours=23, minutes=59), workload_uid="workload-1"
)

ALL_HOLD = worlds.storm(
    policy=worlds.policy(suspended=True, mode=Mode.RECOMMEND, application=RECENT),
    workload=worlds.workload(worlds.STORM, rolling_out=True, foreign={Setting.SESSION_TIMEOUT: "helm"}),
)


def hold(of: Situation) -> Finding:
    """Return what holds the target back."""
    found = gates.first_hold(of, TARGET)
    assert found is not None
    return found


def lifted(of: Situation, reason: Reason) -> Situation:
    """Return the situation with that one hindrance gone."""
    match reason:
        case Reason.SUSPENDED:
            return dataclasses.replace(of, policy=dataclasses.replace(of.policy, suspended=False))
        case Reason.RECOMMEND_MODE:
            return dataclasses.replace(of, policy=dataclasses.replace(of.policy, mode=Mode.APPLY))
        case Reason.ROLLOUT_IN_PROGRESS:
            return dataclasses.replace(of, workload=dataclasses.replace(of.workload, rolling_out=False))
        case Reason.FIELD_OWNED:
            return dataclasses.replace(of, workload=dataclasses.replace(of.workload, foreign_env={}))
        case _:
            return dataclasses.replace(of, policy=dataclasses.replace(of.policy, application=None))


def test_gates_are_asked_in_their_order() -> None:
    """Where all hold, lifting one after the other shows each in turn, and then nothing."""
    of, seen = ALL_HOLD, list[Reason]()
    while (found := gates.first_hold(of, TARGET)) is not None:
        seen.append(found.reason)
        of = lifted(of, found.reason)
    assert seen == [
        Reason.SUSPENDED,
        Reason.RECOMMEND_MODE,
        Reason.ROLLOUT_IN_PROGRESS,
        Reason.FIELD_OWNED,
        Reason.COOLDOWN,
    ]


def test_a_storm_passes_though_the_group_rebalances() -> None:
    """A group in a storm is always rebalancing: waiting for it to stop is waiting for ever."""
    assert worlds.storm().group.rebalancing
    assert gates.first_hold(worlds.storm(), TARGET) is None


@pytest.mark.parametrize(
    ("foreign", "lines"),
    [
        ({Setting.SESSION_TIMEOUT: "helm"}, '{name: KAFKA_SESSION_TIMEOUT_MS, value: "1000"}. '),
        (
            {Setting.SESSION_TIMEOUT: "helm", Setting.FETCH_WAIT: "argocd"},
            '{name: KAFKA_SESSION_TIMEOUT_MS, value: "1000"}, {name: KAFKA_MAX_WAIT_TIME_MS, value: "5000"}. ',
        ),
    ],
)
def test_foreign_entries_are_shown_as_lines_to_take_out(foreign: dict[Setting, str], lines: str) -> None:
    """Nothing is forced, and a person can act on the sentence alone."""
    message = hold(worlds.storm(workload=worlds.workload(worlds.STORM, foreign=foreign))).message
    assert f"Take out of the manifest's env: {lines}" in message
    assert "container app has env entries of" in message
    assert "nothing is forced" in message
    assert all(manager in message for manager in foreign.values())


def test_a_foreign_entry_that_stays_is_no_hindrance() -> None:
    """Only entries that would change have to be ours."""
    now = worlds.settings("30s", "1s", "5s")
    of = worlds.situation(has=worlds.workload(now, foreign={Setting.SESSION_TIMEOUT: "helm"}))
    assert gates.first_hold(of, TARGET) is None


def test_pods_that_differ_own_nothing_that_would_change() -> None:
    """Without current values no entry can be said to change; `decide` ends such a chain before the gates."""
    of = worlds.situation(has=worlds.workload(mixed=True, foreign={Setting.SESSION_TIMEOUT: "helm"}))
    assert gates.field_is_owned_by_another(of, TARGET) is None
    assert gates.setting_is_assumed(of, TARGET) is None


@pytest.mark.parametrize(("ago", "holds"), [("23h59m", True), ("24h", False)])
def test_cooldown_ends_on_time(ago: str, holds: bool) -> None:  # noqa: FBT001 - a table's column
    """The least time between two changes, and no longer."""
    application = dataclasses.replace(RECENT, at=NOW - durations.parse(ago))
    of = worlds.storm(policy=worlds.policy(application=application))
    assert (gates.first_hold(of, TARGET) is not None) is holds


def test_cooldown_says_when_it_ends() -> None:
    """A person sees when to look again."""
    message = hold(worlds.storm(policy=worlds.policy(application=RECENT))).message
    assert "the last change was at 2026-03-01T12:01:00Z" in message
    assert "rollout.cooldown (24h) allows the next at 2026-03-02T12:01:00Z" in message


def test_an_assumed_value_is_not_raised() -> None:
    """The library's default stands for a value nobody sees: raising it may lower the real one."""
    unseen = dataclasses.replace(worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, Source.DEFAULT))
    found = hold(worlds.storm(workload=unseen))
    assert found.reason is Reason.SETTING_ASSUMED
    assert "sessionTimeout (1s), heartbeatInterval (333ms), fetchWait (5s)" in found.message
    assert "spec.client.current" in found.message


def test_a_recommendation_says_that_it_rests_on_an_assumption() -> None:
    """Who only reads it must not take the library's default for what is set."""
    unseen = dataclasses.replace(worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, Source.DEFAULT))
    of = worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND), workload=unseen)
    assert hold(of).reason is Reason.SETTING_ASSUMED


@pytest.mark.parametrize("source", [Source.POD, Source.TEMPLATE, Source.POLICY])
def test_a_value_that_is_seen_or_declared_may_be_raised(source: Source) -> None:
    """What the policy declares is as good as what the pods show."""
    seen = dataclasses.replace(worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, source))
    assert gates.first_hold(worlds.storm(workload=seen), TARGET) is None
