"""No road says `Healthy` of values that `check` calls an error, or that the record contradicts."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Beater, Circumstances, Protocol
from heartbeat_tuner.decision.evictions.assessment import rebalances_too_often
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Decision, Finding, Verdict
from heartbeat_tuner.lint import linting
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.metrics.conventions import known_conventions as measured
from tests.support import worlds
from tests.support.pipelines import upheld

QUIET = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "nothing asks for a change"))


@pytest.mark.parametrize(
    "now",
    [worlds.settings("5s", "3s", "5s"), worlds.settings("3s", "3s", "1s")],
    ids=["removed between its beats", "refuses to start"],
)
def test_quiet_settings_that_cannot_hold_are_not_healthy(now: LivenessSettings) -> None:
    """A busy group may beat in time with them, until it has nothing to do."""
    inputs = worlds.situation(now=now, seen=worlds.record(beat=worlds.seconds(3)))
    for decision in (decide(inputs), upheld(inputs, QUIET)):
        assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.UNSOUND_SETTINGS)
        assert decision.target is None


def test_limits_that_collide_are_told_instead_of_values() -> None:
    """As `check` tells them."""
    strict = worlds.policy(
        objective=dataclasses.replace(worlds.policy().objective, max_detection_time=timedelta(seconds=5))
    )
    decision = upheld(worlds.situation(now=worlds.settings("5s", "3s", "5s"), policy=strict), QUIET)
    assert decision.advice.startswith("No session timeout fits")


def test_values_that_nobody_runs_with_are_answered_without_values() -> None:
    """There is nothing to derive from."""
    decision = upheld(worlds.situation(now=worlds.settings("30ms", "3ms", "5ms")), QUIET)
    assert (decision.finding.reason, decision.advice) == (Reason.UNSOUND_SETTINGS, "`heartbeat-tuner check` says more")


def test_what_the_broker_says_is_not_the_clients_error() -> None:
    """In a group of the consumer protocol session and heartbeat are not given to the client."""
    inputs = worlds.situation(has=worlds.workload(worlds.java_settings("3s", "3s")), policy=worlds.java_policy())
    prescribed = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, consumer_protocol=True))
    assert upheld(prescribed, QUIET) is QUIET
    assert upheld(inputs, QUIET).verdict is Verdict.UNKNOWN


def test_without_values_there_is_nothing_to_hold() -> None:
    """And another verdict than healthy stands."""
    differing = worlds.situation(has=worlds.workload(mixed=True, rolling_out=True))
    assert upheld(differing, QUIET) is QUIET
    change = dataclasses.replace(QUIET, verdict=Verdict.UNKNOWN)
    assert upheld(worlds.situation(now=worlds.STORM), change) is change


def test_a_cure_whose_values_do_not_go_together_is_not_written() -> None:
    """H has to rise to the policy's least, above the M that a rebalance waits, and M may not rise."""
    bounds = {
        Setting.HEARTBEAT_INTERVAL: Range(min=timedelta(seconds=4)),
        Setting.MAX_POLL_INTERVAL: Range(max=timedelta(seconds=3)),
    }
    inputs = worlds.situation(
        has=worlds.workload(worlds.java_settings("10s", "1s", "3s")),
        policy=dataclasses.replace(worlds.java_policy(), bounds=bounds),
        seen=worlds.record(evictions=12, beat=worlds.seconds(1)),
    )
    decision = decide(inputs)
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert "it is dropped before it knows" in decision.advice


def ms(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """Return durations of whole milliseconds."""
    return st.integers(min_value=low, max_value=high).map(lambda milliseconds: timedelta(milliseconds=milliseconds))


@st.composite
def quiet(draw: st.DrawFn) -> DecisionInput:
    """Return groups whose records are mostly quiet, with any settings and any beat."""
    library = draw(st.sampled_from(sorted(measured.LIBRARIES)))
    limit = draw(ms(500, 600_000)) if library != "kafkajs" else None
    now = LivenessSettings(draw(ms(400, 60_000)), draw(ms(40, 15_000)), draw(ms(1, 8_000)), limit)
    usual = catalogue.client(library).period(now, Circumstances()).usual
    beat = draw(st.just(usual) | ms(1, 90_000))
    rebalances = float(draw(st.sampled_from([0, 0, 2, 3, 40, 400])))
    seen = worlds.record(
        evictions=draw(st.sampled_from([0, 0, 1, 2])),
        rebalances=rebalances,
        share=draw(st.sampled_from([0.0, 0.01])) if rebalances else 0.0,
        beat=beat,
    )
    brokers = draw(st.sampled_from([1, 3]))
    return worlds.situation(
        has=worlds.workload(now), policy=worlds.policy(library=library), seen=seen, on=worlds.cluster(brokers=brokers)
    )


@given(quiet())
def test_healthy_is_said_of_nothing_that_is_an_error_or_contradicted(inputs: DecisionInput) -> None:
    """For all settings and records: no error of `check`, a beat of these settings, and few rebalances."""
    assert isinstance(inputs.record, Record)
    assert inputs.workload.current is not None
    if decide(inputs).verdict not in LEAVES_THE_VALUES:
        return
    now, client = inputs.workload.current.settings, catalogue.client(inputs.policy.library)
    given_ = {name: value for name, value in now.by_setting.items() if name in client.settings}
    checked = linting.lint(
        Inspected.of(client, given_, protocol=Protocol.CLASSIC), Expectations(inputs.cluster.brokers)
    )
    assert [item for item in checked if item.rule.severity is LintSeverity.ERROR] == []
    period, beat = client.period(now, Circumstances(inputs.cluster.brokers)), inputs.record.beat_period
    assert beat is not None
    assert beat <= now.session_timeout or inputs.record.evictions
    assert beat >= 0.7 * min(period.shortest, now.heartbeat_interval)
    assert client.beater is not Beater.THREAD or beat <= 1.6 * (period.longest + timedelta(seconds=1))
    assert not rebalances_too_often(inputs.record, period.usual)


@given(quiet())
def test_a_model_alone_makes_nothing_healthy_either(inputs: DecisionInput) -> None:
    """The other road, where nobody watches and a model answers, ends at the same door."""
    decision = upheld(inputs, QUIET)
    assert inputs.workload.current is not None
    client = catalogue.client(inputs.policy.library)
    given_ = {
        name: value for name, value in inputs.workload.current.settings.by_setting.items() if name in client.settings
    }
    found = linting.lint(Inspected.of(client, given_, protocol=Protocol.CLASSIC), Expectations(inputs.cluster.brokers))
    errors = [item for item in found if item.rule.severity is LintSeverity.ERROR]
    assert (decision.verdict is Verdict.HEALTHY) == (not errors)
