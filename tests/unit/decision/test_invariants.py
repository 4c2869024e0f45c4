"""What holds for every situation there can be."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.evictions import contradictions
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.kafka_groups import Cluster
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Mode, Objective, Policy, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Decision, Verdict
from heartbeat_tuner.metrics.conventions import known_conventions as measured
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, QuantityModel, Unfitted
from heartbeat_tuner.tails.model import Rejected, TailModel
from heartbeat_tuner.tails.model import RejectionReason as Rejection
from tests.support import fitted, worlds

pytestmark = pytest.mark.no_cover  # draws thousands of situations


def milliseconds(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """Return durations of whole milliseconds."""
    return st.integers(min_value=low, max_value=high).map(lambda ms: timedelta(milliseconds=ms))


@st.composite
def settings(draw: st.DrawFn, library: str) -> LivenessSettings:
    """Return settings that a group may really run with: H >= S too, those need us most."""
    has_limit = Setting.MAX_POLL_INTERVAL in catalogue.client(library).settings
    poll = draw(milliseconds(1, 600_000)) if has_limit else None
    return LivenessSettings(
        draw(milliseconds(1, 90_000)), draw(milliseconds(1, 6_000)), draw(milliseconds(1, 8_000)), poll
    )


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    """Return bounds as CEL lets them through: min <= max."""
    low, high = sorted([draw(milliseconds(1, 120_000)), draw(milliseconds(1, 120_000))])
    return Range(low if draw(st.booleans()) else None, high if draw(st.booleans()) else None)


@st.composite
def policies(draw: st.DrawFn, library: str) -> Policy:
    """Return policies that the API server would accept, but for rules between fields that the tuner must bear."""
    client = catalogue.client(library)
    settings_of = client.settings
    return worlds.policy(
        library=library,
        env_names={setting: name for setting, name in client.env_preset.items() if setting in liveness.TUNED},
        mode=draw(st.sampled_from(Mode)),
        suspended=draw(st.booleans()),
        objective=Objective(
            draw(milliseconds(30_000, 300_000) | milliseconds(1_000, 30_000)),
            draw(st.sampled_from([0.0, 1.0, 5_000.0])),
        ),
        bounds=draw(st.just({}) | st.dictionaries(st.sampled_from(settings_of), ranges(), max_size=2)),
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Return clusters whose least session is below their greatest."""
    low = draw(milliseconds(1, 10_000) | milliseconds(1, 60_000))
    return Cluster(draw(st.sampled_from([1, 1, 3])), low, low + draw(milliseconds(30_000, 1_800_000)))


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Return records that a group could leave."""
    span = draw(milliseconds(60_000, 3_600_000) | milliseconds(0, 60_000))
    beats = draw(st.integers(min_value=1, max_value=3_000) | st.just(0))
    rebalances = float(draw(st.integers(min_value=0, max_value=40)))
    has_share = rebalances and span >= worlds.SETTLED_FROM
    record = worlds.record(
        span=span,
        evictions=draw(st.integers(min_value=0, max_value=50)),
        rebalances=rebalances,
        share=draw(st.floats(min_value=0, max_value=1)) if has_share else None,
        beats=beats,
        silence=draw(st.none() | milliseconds(0, 60_000) | milliseconds(0, 240_000)) if beats else None,
        unobserved=draw(st.sampled_from([(), ("orders-1",)])),
    )
    left = draw(st.just(0) | st.integers(min_value=1, max_value=50))
    longest_gap = draw(st.none() | milliseconds(1, 900_000))
    return dataclasses.replace(record, poll_gap_evictions=left, longest_poll_gap=longest_gap)


@st.composite
def tails(draw: st.DrawFn) -> TailModel | Rejected:
    """Return tails from harmless to hopeless, and those that no fit found."""
    if draw(st.integers(min_value=0, max_value=4)) == 0:
        return Rejected(Rejection.BAD_FIT, "Anderson-Darling 9.1")
    doubt = draw(st.sampled_from([1e-4, 0.05, 0.5]))
    return fitted.tail(
        threshold_s=draw(st.sampled_from([0.01, 0.5, 5.0, 60.0])),
        share=draw(st.sampled_from([1e-7, 0.01, 1.0])),
        share_log_sd=doubt,
        shape=draw(st.sampled_from([-0.5, 0.0, 0.3, 0.949])),
        log_scale=draw(st.floats(min_value=-7, max_value=7)),
        covariance=(doubt**2, 0.3 * doubt**2, doubt**2),
    )


@st.composite
def quantities(draw: st.DrawFn) -> QuantityModel:
    """Return quantities of short and long watches."""
    days = draw(st.sampled_from([0.2, 1.0, 14.0, 400.0]))
    values = draw(st.sampled_from([1, 40_000, 10**9]))
    return fitted.quantity(
        values=values,
        group_days=days,
        largest_s=draw(st.none() | st.sampled_from([0.0, 0.5, 20.0, 4_000.0])),
        tail=draw(tails()),
    )


@st.composite
def models(draw: st.DrawFn) -> Fitted | Unfitted:
    """Return models that may be used, and why there is none."""
    found = draw(st.dictionaries(st.sampled_from(["absence", "pollGap", "outage"]), quantities(), min_size=1))
    return draw(st.just(NO_MODEL) | st.just(fitted.fitted(quantities=found)))


@st.composite
def situations_of(draw: st.DrawFn, libraries: Sequence[str]) -> DecisionInput:
    """Return situations of groups with one of these client libraries."""
    library = draw(st.sampled_from(libraries))
    return worlds.situation(
        has=worlds.workload(draw(settings(library)), rolling_out=draw(st.booleans())),
        seen=draw(records()),
        policy=draw(policies(library)),
        on=draw(clusters()),
        model=draw(models()),
    )


situations = situations_of(sorted(measured.LIBRARIES))


def now_of(inputs: DecisionInput) -> LivenessSettings:
    """Return what is set in a situation whose pods agree."""
    assert inputs.workload.current is not None
    return inputs.workload.current.settings


@given(situations)
def test_a_target_satisfies_everything_or_there_is_none(inputs: DecisionInput) -> None:
    """Objective, bounds, broker and client: no recommendation leaves any of them."""
    target = decide(inputs).target
    if target is None:
        return
    if target.session_timeout != now_of(inputs).session_timeout:
        assert inputs.cluster.min_session_timeout <= target.session_timeout <= inputs.cluster.max_session_timeout
        assert target.session_timeout <= inputs.policy.objective.max_detection_time
    client = catalogue.client(inputs.policy.library)
    assert set(target.by_setting) == set(inputs.policy.env_names)
    for setting in liveness.changed(now_of(inputs), target):
        bounds = inputs.policy.range_of(setting)
        assert bounds.min is None or target[setting] >= bounds.min
        assert bounds.max is None or target[setting] <= bounds.max
    assert client.violations(target) == ()
    assert target.heartbeat_interval < target.session_timeout
    if liveness.changed(now_of(inputs), target) != (Setting.MAX_POLL_INTERVAL,):
        assert (
            target.session_timeout >= 3 * client.period(target, Circumstances(brokers=inputs.cluster.brokers)).longest
        )
    assert not any(value % timedelta(milliseconds=1) for value in target.by_setting.values())


@given(situations)
def test_a_session_is_never_lowered(inputs: DecisionInput) -> None:
    """A record alone is no ground for tightening."""
    target, now = decide(inputs).target, now_of(inputs)
    assert target is None or target.session_timeout >= now.session_timeout
    assert target is None or (target.max_poll_interval or timedelta(0)) >= (now.max_poll_interval or timedelta(0))


@given(situations, st.integers(min_value=1, max_value=50))
def test_more_evictions_never_give_a_shorter_session(inputs: DecisionInput, more: int) -> None:
    """Nor do they turn a cure into none."""
    assert isinstance(inputs.record, Record)
    worse = dataclasses.replace(inputs.record, evictions=inputs.record.evictions + more)
    before, after = decide(inputs), decide(dataclasses.replace(inputs, record=worse))
    if before.target is not None and after.verdict is not Verdict.INFEASIBLE:
        assert after.target is not None
        assert after.target.session_timeout >= before.target.session_timeout


@given(situations_of(["java"]))
def test_members_that_only_failed_to_poll_move_no_session(inputs: DecisionInput) -> None:
    """They beat all the while: a longer session would keep the dead, and nobody else."""
    assert isinstance(inputs.record, Record)
    silent = dataclasses.replace(inputs.record, evictions=0, rebalancing_share=None)
    decision = decide(dataclasses.replace(inputs, record=silent))
    assert decision.target is None or liveness.changed(now_of(inputs), decision.target) == (Setting.MAX_POLL_INTERVAL,)


@given(situations_of(["java"]))
def test_a_poll_limit_covers_what_was_seen(inputs: DecisionInput) -> None:
    """A handler that took so long once may take so long again."""
    assert isinstance(inputs.record, Record)
    target = decide(inputs).target
    if target is not None and Setting.MAX_POLL_INTERVAL in liveness.changed(now_of(inputs), target):
        assert target.max_poll_interval is not None
        assert (
            inputs.record.longest_poll_gap is None or target.max_poll_interval >= 1.3 * inputs.record.longest_poll_gap
        )


@given(situations)
def test_nothing_is_decided_for_a_group_whose_values_are_the_brokers(inputs: DecisionInput) -> None:
    """What a KIP-848 group needs is shown, not written: its pods' env is not in force."""
    theirs = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, consumer_protocol=True))
    decision = decide(theirs)
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)


@given(situations)
def test_a_decision_is_a_function_of_its_situation(inputs: DecisionInput) -> None:
    """The same evidence gives the same answer, words included."""
    assert decide(inputs) == decide(inputs)


@given(situations)
def test_a_target_in_force_with_a_clean_record_asks_for_nothing(inputs: DecisionInput) -> None:
    """A cure that works is not cured again; values that cannot hold, and that it leaves as they are, are named."""
    target = decide(inputs).target
    if target is None:
        return
    cured = _at_rest(inputs, target)
    assert cured.target is None
    if cured.verdict not in LEAVES_THE_VALUES:
        assert cured.finding.reason is _at_rest(inputs, now_of(inputs)).finding.reason is Reason.UNSOUND_SETTINGS


def _at_rest(inputs: DecisionInput, values: LivenessSettings) -> Decision:
    """Decide on the same group with these values, after an hour in which nothing happened."""
    runs = worlds.workload(values)
    return decide(
        dataclasses.replace(inputs, workload=runs, record=worlds.record(beat=worlds.usual_beat(inputs.policy, runs)))
    )


@given(situations)
def test_a_cadence_is_cured_once(inputs: DecisionInput) -> None:
    """Deciding again on the cured settings never finds that cause again."""
    target = decide(inputs).target
    if target is None:
        return
    again = decide(dataclasses.replace(inputs, workload=worlds.workload(target)))
    assert again.finding.reason is not Reason.CADENCE_EXCEEDS_SESSION


@given(situations, st.sampled_from(Reason))
def test_nothing_is_decided_from_the_unknown(inputs: DecisionInput, why: Reason) -> None:
    """Whatever else is known, a missing measurement gives no value."""
    decision = decide(dataclasses.replace(inputs, record=Unknown(why, "tried up")))
    assert (decision.verdict, decision.target, decision.to_apply) == (Verdict.UNKNOWN, None, None)


@given(situations)
def test_a_model_may_ask_for_more_and_never_for_less(inputs: DecisionInput) -> None:
    """Than is done without one; nor does it make an answer impossible, or ask where nothing is due."""
    without, with_model = decide(dataclasses.replace(inputs, model=NO_MODEL)), decide(inputs)
    assert with_model.finding == without.finding
    if without.target is None:
        assert with_model.verdict is without.verdict or without.advice.startswith("The values set already")
    else:
        assert with_model.target is not None
        assert with_model.target.session_timeout >= without.target.session_timeout
        assert (with_model.target.max_poll_interval or timedelta(0)) >= (
            without.target.max_poll_interval or timedelta(0)
        )
        assert with_model.target.heartbeat_interval == without.target.heartbeat_interval
        assert with_model.target.fetch_wait == without.target.fetch_wait


@given(situations, st.text())
def test_a_model_that_may_not_be_used_changes_no_value(inputs: DecisionInput, why: str) -> None:
    """It is only told why."""
    without = decide(dataclasses.replace(inputs, model=NO_MODEL))
    refused = decide(dataclasses.replace(inputs, model=Unfitted(why)))
    assert refused == dataclasses.replace(without, outlook=f"No fitted model: {why}")


@given(situations, milliseconds(1, 120_000))
def test_a_longer_silence_never_gives_a_shorter_session(inputs: DecisionInput, more: timedelta) -> None:
    """More evidence of absence is no reason for less patience."""
    assert isinstance(inputs.record, Record)
    if inputs.record.longest_silence is None:
        return
    longer = dataclasses.replace(inputs.record, longest_silence=inputs.record.longest_silence + more)
    before, after = decide(inputs), decide(dataclasses.replace(inputs, record=longer))
    if before.target is not None:
        infeasible = after.verdict is Verdict.INFEASIBLE
        assert infeasible or (
            after.target is not None and after.target.session_timeout >= before.target.session_timeout
        )


@given(situations)
def test_only_a_change_carries_values(inputs: DecisionInput) -> None:
    """Healthy, infeasible and unknown have nothing to write; a change is one."""
    decision = decide(inputs)
    assert (decision.target is not None) is (decision.verdict is Verdict.CHANGE)
    assert decision.target is None or decision.target != now_of(inputs)
    doubted = decision.hold is decision.finding and decision.finding.reason in contradictions.REASONS
    assert decision.hold is None or decision.target is not None or doubted


@given(situations, milliseconds(0, 86_399_999))
def test_nothing_is_written_without_leave(inputs: DecisionInput, ago: timedelta) -> None:
    """Recommend mode, suspension, a rollout or a recent change each hold any write."""
    recent = Application(now_of(inputs), now_of(inputs), at=worlds.NOW - ago, workload_uid="workload-1")
    cooling = dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, application=recent))
    assert decide(cooling).to_apply is None
    if inputs.policy.suspended or inputs.policy.mode is Mode.RECOMMEND or inputs.workload.rolling_out:
        assert decide(inputs).to_apply is None
