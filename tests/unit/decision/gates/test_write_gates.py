"""Gates, in their order: the first that holds is the reason."""

import dataclasses
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat_tuner.decision.gates import field_ownership, paused_rollouts, write_gates
from heartbeat_tuner.decision.gates.write_gates import ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import PIPELINE, decide
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import GroupState
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, Mode, ObjectKey, TakenBack, Window, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase, FailedValues, FollowedChange, Outcome
from tests.support import worlds
from tests.support.pipelines import first_hold
from tests.support.worlds import NOW

TARGET = worlds.settings("30s", "1s", "1s")
SAVING = Answer(Verdict.CHANGE, Reason.CHEAPER, "other values are cheaper", target=TARGET)
RECENT = Application(
    values=TARGET, previous=worlds.STORM, at=NOW - timedelta(hours=23, minutes=59), workload_uid="workload-1"
)
OLD = NOW - timedelta(days=2)
NIGHTS = Window("0 2 * * *", timedelta(hours=3), ZoneInfo("UTC"))

Asked = tuple[DecisionInput, Answer]


def of_policy(**changes: Any) -> Callable[[Asked], Asked]:
    """Return what makes a policy different."""
    return lambda asked: (
        dataclasses.replace(asked[0], policy=dataclasses.replace(asked[0].policy, **changes)),
        asked[1],
    )


def of_workload(**changes: Any) -> Callable[[Asked], Asked]:
    """Return what makes a workload different."""
    return lambda asked: (
        dataclasses.replace(asked[0], workload=dataclasses.replace(asked[0].workload, **changes)),
        asked[1],
    )


def of_answer(**changes: Any) -> Callable[[Asked], Asked]:
    """Return what makes an answer different."""
    return lambda asked: (asked[0], dataclasses.replace(asked[1], **changes))


def of_change(outcome: Outcome) -> Callable[[Asked], Asked]:
    """Return what follows the last change."""
    return lambda asked: (dataclasses.replace(asked[0], followed=FollowedChange(OLD, OLD, outcome=outcome)), asked[1])


def of_group(state: GroupState) -> Callable[[Asked], Asked]:
    """Return what makes a group's state different."""
    return lambda asked: (
        dataclasses.replace(asked[0], group=dataclasses.replace(asked[0].group, state=state)),
        asked[1],
    )


TRYING = Canary(
    OLD, NOW + timedelta(days=1), TARGET, worlds.STORM, {"KAFKA_SESSION_TIMEOUT_MS": "30000"}, 2, "workload-1", "", ""
)

HINDRANCES: dict[Reason, Callable[[Asked], Asked]] = {
    Reason.SUSPENDED: of_policy(suspended=True),
    Reason.SETTING_ASSUMED: of_workload(current=worlds.current(worlds.STORM, ValueSource.DEFAULT)),
    Reason.FAILED_BEFORE: of_policy(
        failed=(FailedValues(TARGET, worlds.STORM, OLD, Outcome.ROLLOUT_FAILED, "pods crashed", spec=""),)
    ),
    Reason.RECOMMEND_MODE: of_policy(mode=Mode.RECOMMEND),
    Reason.TOO_LITTLE_DATA: of_answer(only_recommend=True),
    Reason.AT_NEXT_RESTART: of_policy(mode=Mode.INITIAL),
    Reason.TAKEN_BACK: of_policy(taken_back=TakenBack(RECENT, NOW, generation=1)),
    Reason.NOT_WORTH_RESTART: of_answer(wait_for_restart=True),
    Reason.REBALANCING: of_group(GroupState.PREPARING_REBALANCE),
    Reason.VERIFYING: of_change(Outcome.VERIFYING),
    Reason.ROLLOUT_PAUSED: of_workload(paused=True),
    Reason.ROLLOUT_IN_PROGRESS: of_workload(rolling_out=True),
    Reason.FIELD_OWNED: of_workload(foreign_env={Setting.SESSION_TIMEOUT: "helm"}),
    Reason.COOLDOWN: of_policy(application=RECENT),
    Reason.OUTSIDE_WINDOW: of_policy(windows=(NIGHTS,)),
    Reason.CANARY_RUNNING: of_policy(canary=TRYING),
}
"""In the order of the gates."""

PARTITIONED = of_workload(partition=2)
MODES = (Reason.RECOMMEND_MODE, Reason.AT_NEXT_RESTART)
PAIRS = [pair for pair in itertools.combinations_with_replacement(HINDRANCES, 2) if pair != MODES]
OF_SAVINGS_ALONE = {
    *(Reason.TOO_LITTLE_DATA, Reason.NOT_WORTH_RESTART, Reason.REBALANCING, Reason.VERIFYING),
    Reason.CANARY_RUNNING,
}
FREE: Asked = (worlds.situation(has=worlds.workload(worlds.STORM)), SAVING)


def hold(inputs: DecisionInput) -> Finding:
    """Return what holds the target back."""
    found = first_hold(inputs, TARGET)
    assert found is not None
    return found


def reason(asked: Asked, *, is_cure: bool = False) -> Reason | None:
    """Return what holds a saving, or a cure, back."""
    found = first_hold(asked[0], TARGET, None if is_cure else asked[1])
    return None if found is None else found.reason


def test_without_a_hindrance_nothing_is_held() -> None:
    """Neither a saving nor a cure: each hindrance below holds by itself."""
    assert (reason(FREE), reason(FREE, is_cure=True)) == (None, None)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda reason: reason.value)
def test_of_two_gates_the_first_is_the_reason(first: Reason, second: Reason) -> None:
    """Whichever was there first: what lasts is told before what passes."""
    for item, other in ((first, second), (second, first)):
        assert reason(HINDRANCES[item](HINDRANCES[other](FREE))) is first


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda reason: reason.value)
def test_a_cure_passes_what_holds_savings_alone(first: Reason, second: Reason) -> None:
    """And nothing else: a window, a cooldown and a rollout hold it, too."""
    holding = [item for item in (first, second) if item not in OF_SAVINGS_ALONE]
    asked = HINDRANCES[first](HINDRANCES[second](FREE))
    assert reason(asked, is_cure=True) is next(iter(holding), None)


def test_every_gate_is_in_the_table() -> None:
    """One that is added has to find its place in the order."""
    assert len(HINDRANCES) == len(PIPELINE.gates)


@pytest.mark.parametrize("hindrance", HINDRANCES, ids=lambda reason: reason.value)
def test_the_unknown_and_the_well_are_told_before_any_gate(hindrance: Reason) -> None:
    """Without fresh metrics, or inside the band, there is nothing that a gate could hold."""
    situation, _ = HINDRANCES[hindrance](FREE)
    stale = Unknown(Reason.METRICS_STALE, "the newest sample is 5 minutes old")
    blind = decide(dataclasses.replace(situation, record=stale))
    assert (blind.verdict, blind.finding.reason, blind.hold) == (Verdict.UNKNOWN, stale.reason, None)
    well = decide(dataclasses.replace(situation, workload=dataclasses.replace(situation.workload, current=GOOD)))
    assert (well.verdict, well.hold) == (Verdict.UNPROVEN, None)


GOOD = worlds.current(worlds.settings())


def test_a_storm_passes_though_the_group_rebalances() -> None:
    """A group in a storm is always rebalancing: waiting for it to stop is waiting for ever."""
    assert worlds.storm().group.rebalancing
    assert first_hold(worlds.storm(), TARGET) is None


def test_a_foreign_entry_that_stays_is_no_hindrance() -> None:
    """Only entries that would change have to be ours."""
    now = worlds.settings("30s", "1s", "5s")
    inputs = worlds.situation(has=worlds.workload(now, foreign={Setting.SESSION_TIMEOUT: "helm"}))
    assert first_hold(inputs, TARGET) is None


def test_pods_that_differ_own_nothing_that_would_change() -> None:
    """Without current values no entry can be said to change; `decide` ends such a chain before the gates."""
    inputs = worlds.situation(has=worlds.workload(mixed=True, foreign={Setting.SESSION_TIMEOUT: "helm"}))
    assert write_gates.field_is_owned_by_another(inputs, ProposedChange(TARGET)) is None
    assert write_gates.setting_is_assumed(inputs, ProposedChange(TARGET)) is None
    assert write_gates.data_are_too_few(inputs, ProposedChange(TARGET, SAVING)) is None


@pytest.mark.parametrize(("ago", "holds"), [("23h59m", True), ("24h", False)])
def test_cooldown_ends_on_time(ago: str, holds: bool) -> None:  # noqa: FBT001 - a table's column
    """The least time between two changes, and no longer."""
    application = dataclasses.replace(RECENT, at=NOW - durations.parse(ago))
    inputs = worlds.storm(policy=worlds.policy(application=application))
    assert (first_hold(inputs, TARGET) is not None) is holds


def test_an_assumed_value_is_not_raised() -> None:
    """The library's default stands for a value nobody sees: raising it may lower the real one."""
    unseen = dataclasses.replace(
        worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, ValueSource.DEFAULT)
    )
    assert hold(worlds.storm(workload=unseen)).reason is Reason.SETTING_ASSUMED


def test_a_recommendation_says_that_it_rests_on_an_assumption() -> None:
    """Who only reads it must not take the library's default for what is set."""
    unseen = dataclasses.replace(
        worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, ValueSource.DEFAULT)
    )
    inputs = worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND), workload=unseen)
    assert hold(inputs).reason is Reason.SETTING_ASSUMED


def partly_assumed(now: LivenessSettings, *assumed: Setting, **changes: Any) -> DecisionInput:
    """Return a group whose pods show all but some values."""
    seen = worlds.current(now)
    sources = {**seen.sources, **dict.fromkeys(assumed, ValueSource.DEFAULT)}
    has = dataclasses.replace(worlds.workload(now), current=dataclasses.replace(seen, sources=sources))
    return worlds.situation(has=has, **changes)


def test_a_session_is_not_shortened_beside_a_beat_that_is_assumed() -> None:
    """If H is 15 s in code, a session of 15 s holds one beat, or the consumer refuses to start."""
    inputs = partly_assumed(worlds.java_settings("45s"), Setting.HEARTBEAT_INTERVAL, policy=worlds.java_policy())
    found = first_hold(inputs, worlds.java_settings("15s"))
    assert found is not None
    assert found.reason is Reason.SETTING_ASSUMED
    assert first_hold(inputs, worlds.java_settings("60s")) is None


def test_a_session_is_not_shortened_beside_a_fetch_wait_that_is_assumed() -> None:
    """Where the beat waits for the fetch; elsewhere W says nothing of it."""
    inputs = partly_assumed(worlds.settings("60s", "1s", "1s"), Setting.FETCH_WAIT)
    found = first_hold(inputs, TARGET)
    assert found is not None
    assert "fetchWait (1s)" in found.message
    java = partly_assumed(worlds.java_settings("45s"), Setting.FETCH_WAIT, policy=worlds.java_policy())
    assert first_hold(java, worlds.java_settings("15s")) is None


def test_an_assumed_poll_limit_says_nothing_of_the_session() -> None:
    """It does not come to be set, and no beat waits for it."""
    inputs = partly_assumed(worlds.java_settings("45s"), Setting.MAX_POLL_INTERVAL, policy=worlds.java_policy())
    assert first_hold(inputs, worlds.java_settings("15s")) is None


@pytest.mark.parametrize("source", [ValueSource.POD, ValueSource.TEMPLATE, ValueSource.POLICY])
def test_a_value_that_is_seen_or_declared_may_be_raised(source: ValueSource) -> None:
    """What the policy declares is as good as what the pods show."""
    seen = dataclasses.replace(worlds.workload(worlds.STORM), current=worlds.current(worlds.STORM, source))
    assert first_hold(worlds.storm(workload=seen), TARGET) is None


def test_a_foreign_entry_that_only_the_pods_env_hides_is_told() -> None:
    """S stays as the pods have it; the rollout of any other change would bring the manifest's value back."""
    workload = worlds.workload(worlds.settings("30s", "3s", "1s"), foreign={Setting.SESSION_TIMEOUT: "helm"})
    hidden = dataclasses.replace(workload, unlike_template=frozenset({Setting.SESSION_TIMEOUT}))
    assert first_hold(worlds.situation(has=workload), TARGET) is None
    found = hold(worlds.situation(has=hidden))
    assert found.reason is Reason.FIELD_OWNED
    assert "{name: KAFKA_SESSION_TIMEOUT_MS}." in found.message
    command = "kubectl set env deployment/orders-consumer --namespace shop --containers app KAFKA_SESSION_TIMEOUT_MS-. "
    assert f"If no manifest has them, run: {command}" in found.message


def test_a_foreign_entry_of_a_rollout_is_taken_out_by_hand() -> None:
    """`kubectl set env` knows no Rollouts."""
    rolled = WorkloadRef("Rollout", ObjectKey("shop", "orders"), "app")
    owned = worlds.workload(worlds.STORM, foreign={Setting.SESSION_TIMEOUT: "helm"})
    found = field_ownership.finding(worlds.policy(workload=rolled), rolled, owned, TARGET)
    assert found is not None
    assert "run: kubectl edit rollouts.argoproj.io/orders --namespace shop." in found.message


def test_containers_that_are_one_value_hold_every_write() -> None:
    """An apply of some entries would take out the rest; the fix is the definition's version."""
    whole = dataclasses.replace(worlds.workload(worlds.STORM), merged_by=("helm", "kubectl"))
    found = field_ownership.finding(worlds.policy(), worlds.policy().workload, whole, TARGET)
    assert found is not None
    assert (found.reason, "as one value, of helm, kubectl" in found.message) == (Reason.FIELD_OWNED, True)


@pytest.mark.parametrize(
    ("pause", "words"),
    [
        ("", "(spec.paused): nothing is written until spec.paused is false"),
        ("status.pauseConditions: X", "nothing is written until `kubectl argo rollouts promote orders`"),
    ],
)
def test_a_rollout_that_is_paused_goes_on_by_argos_means(pause: str, words: str) -> None:
    """`kubectl rollout resume` knows no Rollouts either."""
    rolled = WorkloadRef("Rollout", ObjectKey("shop", "orders"), "app")
    found = paused_rollouts.paused({rolled: dataclasses.replace(worlds.workload(), paused=True, pause=pause)})
    assert found is not None
    assert words in found.message


def test_of_pods_that_differ_nothing_is_to_be_written() -> None:
    """What they have in common is not known; a gate of its own says so."""
    assert worlds.workload(mixed=True).to_write(worlds.STORM) == ()


@pytest.mark.parametrize(
    ("canary", "holds"),
    [
        (TRYING, Reason.CANARY_RUNNING),
        (dataclasses.replace(TRYING, landed=OLD), Reason.CANARY_RUNNING),
        (dataclasses.replace(TRYING, phase=CanaryPhase.FAILED), Reason.CANARY_RUNNING),
        (dataclasses.replace(TRYING, phase=CanaryPhase.ENDED), Reason.CANARY_ENDED),
        (dataclasses.replace(TRYING, phase=CanaryPhase.OVER, again=NOW + timedelta(hours=1)), Reason.CANARY_ENDED),
        (dataclasses.replace(TRYING, phase=CanaryPhase.OVER, again=NOW), None),
        (dataclasses.replace(TRYING, phase=CanaryPhase.OVER), None),
        (dataclasses.replace(TRYING, phase=CanaryPhase.PASSED), None),
    ],
    ids=["coming", "watched", "failed", "ended", "waits for the next", "may begin again", "failed before", "passed"],
)
def test_a_canary_holds_the_template_until_it_has_passed(canary: Canary, holds: Reason | None) -> None:
    """Or until another may begin; what failed is held by what is remembered of it."""
    assert reason(of_policy(canary=canary)(FREE)) is holds


@pytest.mark.parametrize("is_cure", [False, True])
def test_a_partition_holds_what_would_reach_a_part_of_the_pods(*, is_cure: bool) -> None:
    """The group would stay split until somebody lowers it, and nothing could be decided or verified meanwhile."""
    assert reason(PARTITIONED(FREE), is_cure=is_cure) is Reason.ROLLOUT_PAUSED
    assert "spec.updateStrategy.rollingUpdate.partition is 2" in hold(PARTITIONED(FREE)[0]).message
