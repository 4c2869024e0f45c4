"""A group whose values are in force is never said to ignore them; one that ignores them is left alone."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, Contradicted, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.record import RecordScope
from tests.support import counters, worlds
from tests.support.pipelines import contradiction

CURED = worlds.settings("30s", "1s", "1s")
MINUTE = timedelta(minutes=1)


def application(values: LivenessSettings = CURED, previous: LivenessSettings = worlds.STORM) -> Application:
    """Return a write of ours."""
    return Application(values, previous, worlds.NOW - 2 * MINUTE, "workload-1")


def ignoring(*, policy: Policy | None = None, now: LivenessSettings = CURED, **seen: Any) -> DecisionInput:
    """Return a group of three pods that storms a minute after its rollout, as with the article's settings."""
    record = dataclasses.replace(worlds.record(evictions=36, span=MINUTE, rebalances=12.0, beats=0), **seen)
    started = tuple(worlds.pod(number, started=worlds.NOW - MINUTE) for number in range(3))
    return worlds.situation(has=worlds.workload(now, running=started), seen=record, policy=policy)


def with_source(inputs: DecisionInput, source: ValueSource) -> DecisionInput:
    """Return the same with all values found in one place."""
    assert inputs.workload.current is not None
    current = CurrentSettings(inputs.workload.current.settings, dict.fromkeys(Setting, source))
    return dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, current=current))


def test_an_application_that_ignores_what_was_written_gets_nothing_more() -> None:
    """Its members are removed more often than sessions can end."""
    decision = decide(ignoring(policy=worlds.policy(application=application())))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.NO_EFFECT)
    assert (decision.target, decision.to_apply, decision.hold) == (None, None, decision.finding)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (ValueSource.POD, Reason.SETTINGS_NOT_IN_FORCE),
        (ValueSource.POLICY, Reason.SETTINGS_NOT_IN_FORCE),
        (ValueSource.DEFAULT, Reason.SETTING_ASSUMED),
    ],
)
def test_before_any_write_the_source_of_the_value_says_what_is_wrong(source: ValueSource, reason: Reason) -> None:
    """No value is recommended that starts from one that is not in force."""
    decision = decide(with_source(ignoring(), source))
    assert (decision.finding.reason, decision.target) == (reason, None)


def test_a_write_of_other_settings_is_not_blamed() -> None:
    """Only the session is contradicted, and that one was not written."""
    ours = application(previous=dataclasses.replace(CURED, fetch_wait=timedelta(seconds=5)))
    assert decide(ignoring(policy=worlds.policy(application=ours))).finding.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_values_that_somebody_changed_since_are_not_ours() -> None:
    """What is set now is not what was written."""
    ours = worlds.policy(application=application(worlds.settings("45s", "1s", "1s")))
    assert decide(ignoring(policy=ours)).finding.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_the_storm_itself_contradicts_nothing() -> None:
    """A session of 1 s under a beat of 5 s ends once a beat: that is what is cured."""
    assert decide(worlds.storm()).finding.reason is Reason.CADENCE_EXCEEDS_SESSION


def test_an_eviction_needs_a_session_since_the_pod_began() -> None:
    """In a minute no session of 4 minutes ends, and a rebalance drops a member once; pods that are older may differ."""
    long = worlds.settings("4m", "1s", "1s")
    assert decide(ignoring(now=long, evictions=10, counted_evictions=10)).finding.reason is Reason.SETTINGS_NOT_IN_FORCE
    old = dataclasses.replace(ignoring(now=long, evictions=10, counted_evictions=10))
    old = dataclasses.replace(old, workload=worlds.workload(long))
    assert decide(old).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def test_pods_seen_in_metrics_alone_may_be_older_than_their_first_sample() -> None:
    """So a silence may have begun before it."""
    inputs = ignoring(now=worlds.settings("4m", "1s", "1s"), evictions=10, counted_evictions=10)
    pods = tuple(dataclasses.replace(pod, uid="") for pod in inputs.workload.pods)
    inputs = dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, pods=pods))
    assert decide(inputs).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def test_only_what_counters_show_is_proof() -> None:
    """The broker shows a consumer that was closed and made again just like one that was removed."""
    assert decide(ignoring(counted_evictions=0)).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


@pytest.mark.parametrize("shown_by", ["counters", "broker"])
def test_a_pod_with_many_consumers_may_lose_each_of_them(shown_by: str) -> None:
    """By what it exports, or by what the broker shows at its address."""
    inputs = ignoring(consumers_per_pod=4 if shown_by == "counters" else 1)
    if shown_by == "broker":
        members = [worlds.member(worlds.pods()[0], number) for number in range(4)]
        inputs = dataclasses.replace(inputs, group=worlds.group(members))
    assert decide(inputs).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def test_members_that_are_late_in_a_rebalance_are_removed_before_their_session_ends() -> None:
    """With a session of an hour, a rebalance timeout of a minute may be what removes them."""
    inputs = worlds.situation(
        now=worlds.settings("1h", "1s", "1s"), seen=worlds.record(evictions=150, beat=worlds.seconds(1))
    )
    assert decide(inputs).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE
    assert isinstance(inputs.record, Record)
    more = dataclasses.replace(inputs.record, counted_evictions=400)
    decision = decide(dataclasses.replace(inputs, record=more))
    assert "sessionTimeout 1h and rebalanceTimeout 1m" in decision.finding.message


def test_a_poll_limit_below_the_session_removes_members_too() -> None:
    """They may be counted as evictions where nothing tells how long handlers take."""
    java = worlds.java_settings("5m", "3s", "10s")
    seen = worlds.record(evictions=60, beat=worlds.seconds(3))
    inputs = worlds.situation(has=worlds.workload(java), policy=worlds.java_policy(), seen=seen)
    assert decide(inputs).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def beating(every_s: float, *, settings: LivenessSettings | None = None, **changes: Any) -> DecisionInput:
    """Return a quiet group of Java consumers with a beat of their own."""
    seen = worlds.record(beat=worlds.seconds(every_s), rebalances=1.0, share=0.001)
    has = worlds.workload(settings or worlds.java_settings())
    return worlds.situation(has=has, policy=worlds.java_policy(), seen=dataclasses.replace(seen, **changes))


@pytest.mark.parametrize(
    ("every_s", "reason"),
    [
        (1.0, Reason.SETTINGS_NOT_IN_FORCE),
        (2.2, Reason.SETTINGS_NOT_IN_FORCE),
        (2.3, Reason.TOO_EARLY),
        (3.0, Reason.TOO_EARLY),
        (4.6, Reason.TOO_EARLY),
        (4.7, Reason.SETTINGS_NOT_IN_FORCE),
    ],
)
def test_the_measured_beat_must_be_that_of_the_card(every_s: float, reason: Reason) -> None:
    """A thread beats at the interval: pauses and scrapes blur that by some, not by half."""
    assert decide(beating(every_s)).finding.reason is reason


@pytest.mark.parametrize(
    "changes",
    [
        {"beat_period": None},
        {"beats_timed_for": timedelta(seconds=59)},
        {"unobserved_pods": ("orders-1",)},
    ],
)
def test_a_beat_that_is_not_well_known_contradicts_nothing(changes: dict[str, Any]) -> None:
    """Too few beats, for too short a time, or of pods that nobody sees."""
    assert decide(beating(1.0, **changes)).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def test_a_rollout_under_way_contradicts_nothing() -> None:
    """Pods may come and go."""
    inputs = beating(1.0)
    rolling = dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, rolling_out=True))
    assert decide(rolling).finding.reason is not Reason.SETTINGS_NOT_IN_FORCE


def test_consumers_that_share_a_counter_beat_together() -> None:
    """Two members at one address, and one counter: it grows twice as fast."""
    inputs = beating(1.5)
    members = [worlds.member(pod, number) for pod in worlds.pods() for number in range(2)]
    assert decide(dataclasses.replace(inputs, group=worlds.group(members))).finding.reason is Reason.TOO_EARLY


def test_a_group_that_rebalances_beats_less_often() -> None:
    """A member that waits for a rebalance does not beat."""
    assert decide(beating(9.0, rebalancing_share=None)).finding.reason is Reason.TOO_EARLY


def test_a_beat_that_waits_for_handlers_may_be_late_and_never_early() -> None:
    """KafkaJS beats when a handler is done."""
    slow = worlds.situation(now=CURED, seen=worlds.record(beat=worlds.seconds(9), share=0.0))
    assert decide(slow).finding.reason is Reason.TOO_EARLY
    early = worlds.situation(now=worlds.settings(), seen=worlds.record(beat=worlds.seconds(1)))
    assert decide(early).finding.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_members_that_beat_after_their_session_have_another_one() -> None:
    """Nobody was removed, so the session has not ended."""
    inputs = worlds.situation(now=CURED, seen=worlds.record(beat=worlds.seconds(31)))
    assert decide(inputs).finding.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_what_was_proven_stands_when_the_storm_is_over() -> None:
    """Until a person edits the policy or the pods' template."""
    seen = Contradicted(Reason.NO_EFFECT, "36 evictions within a minute", 1, "abc")
    inputs = worlds.situation(now=CURED, policy=worlds.policy(contradicted=seen))
    has = dataclasses.replace(inputs.workload, template="abc")
    calm = dataclasses.replace(inputs, workload=has)
    decision = decide(calm)
    assert (decision.verdict, decision.finding.reason, decision.to_apply) == (Verdict.UNKNOWN, Reason.NO_EFFECT, None)
    assert decision.finding.message == seen.message
    edited = dataclasses.replace(calm, policy=dataclasses.replace(calm.policy, generation=2))
    changed = dataclasses.replace(calm, workload=dataclasses.replace(has, template="def"))
    assert [decide(item).finding.reason for item in (edited, changed)] == [Reason.TOO_EARLY] * 2


@st.composite
def lives(draw: st.DrawFn) -> DecisionInput:
    """Return groups whose values are in force, in the worst of times: each member falls silent again and again."""
    session_s = draw(st.integers(min_value=1, max_value=300))
    span_s = draw(st.integers(min_value=1, max_value=3_600))
    consumers = draw(st.integers(min_value=1, max_value=3))
    pods, evicted = [], 0
    for number in range(draw(st.integers(min_value=1, max_value=4))):
        age_s = span_s if number == 0 else draw(st.integers(min_value=span_s, max_value=span_s + 600))
        pods.append(worlds.pod(number, started=worlds.NOW - timedelta(seconds=age_s)))
        for _ in range(consumers):
            joined_s, seen_since_s = -float(age_s), -float(span_s) - draw(st.integers(min_value=0, max_value=60))
            pauses = draw(st.lists(st.floats(min_value=0, max_value=5), min_size=1, max_size=4))
            while joined_s + session_s <= 0:
                joined_s += session_s + pauses[evicted % len(pauses)]
                evicted += seen_since_s < joined_s <= 0
            # A member that is not back at the end was removed all the same.
    settings = LivenessSettings(timedelta(seconds=session_s), timedelta(milliseconds=333), timedelta(seconds=5))
    record = worlds.record(span=timedelta(seconds=span_s), evictions=evicted, beats=0)
    has = worlds.workload(settings, running=pods)
    return worlds.situation(has=has, seen=dataclasses.replace(record, consumers_per_pod=consumers))


@given(lives())
def test_values_that_are_in_force_are_never_contradicted_by_evictions(inputs: DecisionInput) -> None:
    """However often members are removed, and whatever the first scrape still shows."""
    assert contradiction(inputs) is None


@given(
    st.sampled_from(["kafkajs", "java", "spring", "librdkafka", "sarama", "franz-go", "kafka-python"]),
    st.integers(min_value=50, max_value=15_000),
    st.integers(min_value=10, max_value=10_000),
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=1.2),
    st.sampled_from([1, 3]),
)
def test_values_that_are_in_force_are_never_contradicted_by_their_beat(
    library: str, interval_ms: int, wait_ms: int, where: float, late: float, brokers: int
) -> None:
    """Wherever between the card's limits it is, with answers that take long and pauses on top."""
    assume(library in catalogue.CLIENTS)
    client = catalogue.client(library)
    now = LivenessSettings(
        timedelta(minutes=5), timedelta(milliseconds=interval_ms), timedelta(milliseconds=wait_ms), timedelta(minutes=5)
    )
    period = client.period(now, Circumstances(brokers, timedelta(milliseconds=500)))
    beat = (period.shortest + where * (period.longest - period.shortest)) * (1 + 0.2 * late)
    seen = worlds.record(beat=beat, rebalances=1.0, share=0.01)
    has = worlds.workload(now)
    policy = worlds.policy(library=library)
    inputs = worlds.situation(has=has, seen=seen, policy=policy, on=worlds.cluster(brokers=brokers))
    assert contradiction(inputs) is None


@given(
    st.floats(min_value=0.5, max_value=30),
    st.sampled_from([0.05, 0.5, 3.0, 10.0]),
    st.integers(min_value=1, max_value=400),
    st.floats(min_value=0, max_value=1),
    st.lists(st.floats(min_value=0, max_value=10), min_size=1, max_size=5),
)
@example(0.5, 3.0, 7, 0.9, [0.0])
@example(5.0, 0.05, 6, 0.66, [0.5, 4.0, 2.0])
def test_values_in_force_are_never_contradicted_by_when_scrapes_come(
    scrape_s: float, beat_s: float, age_s: int, phase: float, late_s: list[float]
) -> None:
    """However young the pods are, and though an answer may count beats that came up to 10 s after the scrape's time."""
    pod = worlds.pod(started=worlds.NOW - timedelta(seconds=age_s))
    count, shown = 0.0, []
    for number in range(int(age_s / scrape_s) + 1):
        answered_s = number * scrape_s + min(late_s[number % len(late_s)], scrape_s)
        count = max(count, 1_000 + (answered_s / beat_s + phase) // 1)
        shown.append((pod.started.timestamp() + number * scrape_s, count))
    found = counters.exported(counters.beating(pod, shown), counters.KAFKAJS)
    observed = resolver.by_group(found, [counters.KAFKAJS], {("shop", "orders")})
    scope = RecordScope(worlds.policy(), [pod], None, (), pod.started, worlds.NOW)
    record = records.measure(scope, observed["shop", "orders"][counters.KAFKAJS], counters.KAFKAJS, query=str)
    assert isinstance(record, Record)
    now = LivenessSettings(timedelta(minutes=5), timedelta(seconds=beat_s), timedelta(milliseconds=10), None)
    assert contradiction(worlds.situation(has=worlds.workload(now, running=[pod]), seen=record)) is None
