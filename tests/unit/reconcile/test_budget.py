"""The fleet's budget: who begins, who waits, and that all get their turn."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.domain.errors import ApiServerError, TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Decision, Finding, Forecast, Prediction, Verdict
from heartbeat_tuner.reconcile import budget
from heartbeat_tuner.reconcile.outcomes import Decided, Surprise
from tests.support import manifests, stages, worlds
from tests.support.stages import Stage

CURED = worlds.settings("30s", "1s", "1s")


def prediction(net_per_day: float) -> Prediction:
    """Return what some values bring."""
    return Prediction(net_per_day, 0.0, 0.0, 0.0, 30.0, 10.0)


def wants(
    name: str, reason: Reason, *, saves: float | None = None, hold: Finding | None = None, namespace: str = "shop"
) -> Decided:
    """Return a decision to change a group."""
    situation = worlds.situation(of=worlds.policy(key=ObjectKey(namespace, name)))
    forecast = None
    if saves is not None:
        forecast = Forecast(prediction(100.0), prediction(100.0 - saves), None, None, None, Confidence.HIGH)
    finding = Finding(reason, "so it is")
    return Decided(situation, Decision(Verdict.CHANGE, finding, target=CURED, hold=hold, forecast=forecast))


QUEUE = [
    wants("m", Reason.UNSTABLE, saves=50.0),
    wants("a", Reason.DANGER, saves=5.0),
    wants("b", Reason.CADENCE_EXCEEDS_SESSION),
    wants("a", Reason.POLL_GAP_EXCEEDS_LIMIT, namespace="town"),
    wants("c", Reason.DANGER, saves=-3.0),  # a longer session costs, and is needed
    wants("z", Reason.CHEAPER, saves=80.0),
    wants("d", Reason.CHEAPER, saves=20.0),
    wants("e", Reason.CHEAPER, saves=20.0),
]


@given(st.permutations(QUEUE))
def test_cures_go_first_then_savings_then_names(given_in: Sequence[Decided]) -> None:
    """Whatever the order in which they were decided."""
    assert budget.in_turn(given_in) == QUEUE


def test_who_is_held_by_another_gate_does_not_queue() -> None:
    """Nor who has nothing to write."""
    held = wants("a", Reason.DANGER, hold=Finding(Reason.COOLDOWN, "too soon"))
    healthy = Decided(held.situation, Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "well")))
    assert budget.in_turn([held, healthy]) == []


ROLLING = {"conditions": [manifests.condition("Applied", "RollingOut")]}
DONE = {"conditions": [manifests.condition("Applied", "Applied")]}


@pytest.mark.parametrize(
    ("workload", "status", "count"),
    [
        (worlds.workload(rolling_out=True, ours=True), DONE, 1),
        (worlds.workload(rolling_out=True), ROLLING, 0),  # somebody's deploy since then
        (worlds.workload(), ROLLING, 0),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), ROLLING, 1),
        (Surprise(KeyError("what")), ROLLING, 1),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), DONE, 0),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), {}, 0),
        (Finding(Reason.WORKLOAD_NOT_FOUND, "deleted"), ROLLING, 0),
    ],
)
def test_what_is_under_way_is_what_workloads_show(workload: Any, status: dict[str, Any], count: int) -> None:
    """And where nothing can be read, what the status said last: the unknown makes no room."""
    policy = worlds.policy()
    bodies = {policy.key: manifests.policy(status=status)}
    assert budget.under_way([policy], {policy.key: workload}, bodies) == count


def test_a_workload_of_two_policies_is_rolled_out_once() -> None:
    """They tune two containers of it."""
    one, other = (worlds.policy(key=ObjectKey("shop", name)) for name in ("one", "other"))
    rolling = worlds.workload(rolling_out=True, ours=True)
    assert budget.under_way([one, other], {one.key: rolling, other.key: rolling}, {}) == 1


def rolling(stage: Stage) -> list[ObjectKey]:
    """Return the workloads that are being rolled out."""
    return [key for key, workload in stage.workloads.stored.items() if workload.our_rollout]


def reasons(stage: Stage) -> list[str]:
    """Return why each policy is applied or not."""
    return [stage.condition("Applied", key)[1] for key in stage.policies.stored]


@pytest.mark.timeout(300)
async def test_a_thousand_policies_change_five_at_a_time() -> None:
    """All of them want to in one cycle; the others are told what they wait for."""
    stage = stages.storms(1_000)
    report = await stage.cycle()
    assert (report.workload_writes, len(rolling(stage))) == (5, 5)
    assert (reasons(stage).count("RollingOut"), reasons(stage).count("FleetBudgetSpent")) == (5, 995)
    waiting = next(key for key in stage.policies.stored if stage.condition("Applied", key)[1] == "FleetBudgetSpent")
    assert stage.message("Applied", waiting) == (
        "5 rollouts of the tuner's are under way in the fleet, and rollout.maxConcurrent of the operator's "
        "configuration allows 5; this change waits for its turn: cures first, then what saves most"
    )
    assert stage.condition("Recommended", waiting)[0] == "True"
    writes = stage.policies.writes
    assert (await stage.cycle()).workload_writes == 0
    assert stage.policies.writes == writes
    assert "FleetBudgetSpent" not in {event.reason for event in stage.policies.events}


@settings(max_examples=40)
@given(
    st.integers(1, 6),
    st.integers(0, 3),
    st.lists(st.tuples(st.sets(st.integers(0, 2)), st.booleans(), st.booleans(), st.booleans()), max_size=8),
)
async def test_the_budget_holds_and_everybody_gets_a_turn(
    size: int, limit: int, cycles: list[tuple[set[int], bool, bool, bool]]
) -> None:
    """Whatever ends when, whoever leads next, and with Kafka or reads of workloads failing now and then."""
    stage = stages.storms(size, max_rollouts=limit)
    for ended, is_restarted, kafka_is_down, reads_fail in cycles:
        for key in [one for number, one in enumerate(rolling(stage)) if number in ended]:
            stage.workloads.roll_out(key, stage.clock.now())
        if is_restarted:
            stage.restart()
        stage.groups.down = {"main"} if kafka_is_down else set()
        stage.workloads.broken = set(rolling(stage)) if reads_fail else set()
        await stage.cycle()
        assert len(rolling(stage)) <= limit
    stage.groups.down, stage.workloads.broken = set(), set()
    if limit == 0:
        assert stage.workloads.writes == []
        return
    for _ in range(size):
        await stage.cycle()
        assert len(rolling(stage)) <= limit
        for key in rolling(stage):
            stage.workloads.roll_out(key, stage.clock.now())
    assert sorted(write.key for write in stage.workloads.writes) == sorted(stage.workloads.stored)


@pytest.mark.parametrize(
    ("error", "spent"),
    [
        (ApiServerError("no answer"), 5),
        (ApiServerError("internal error", status=500), 5),
        (ApiServerError("an admission webhook denied it", status=403), 30),
    ],
)
async def test_a_write_that_may_have_happened_spends(error: TunerError, spent: int) -> None:
    """One that was surely refused does not, or it would keep the others waiting for ever."""
    stage = stages.storms(30)
    stage.workloads.apply_error = error
    await stage.cycle()
    assert reasons(stage).count("ApiServerError") == spent
    assert reasons(stage).count("FleetBudgetSpent") == 30 - spent


async def test_who_is_refused_makes_room() -> None:
    """Three are refused, and five others begin in the same cycle."""
    stage = stages.storms(10)
    keys = list(stage.workloads.stored)
    stage.workloads.denied = set(keys[:3])
    await stage.cycle()
    assert len(rolling(stage)) == 5
    assert not set(rolling(stage)) & stage.workloads.denied


async def test_a_budget_of_none_holds_everything() -> None:
    """The way to stop all changes of a fleet, and it is told after every other gate."""
    stage = stages.storms(2, max_rollouts=0)
    first, second = stage.policies.stored
    windows = [{"schedule": "0 2 * * *", "duration": "1h"}]
    stage.policies.edit(first, rollout={"windows": windows})
    await stage.cycle()
    assert stage.condition("Applied", first) == ("False", "OutsideWindow")
    assert stage.condition("Applied", second) == ("False", "FleetBudgetSpent")
    assert "maxConcurrent of the operator's configuration allows 0" in stage.message("Applied", second)


async def test_the_next_opening_is_told_anew_when_it_has_passed() -> None:
    """Where nothing else changes a sentence keeps its numbers; this one's are what people read."""
    stage = stages.storm(rollout={"windows": [{"schedule": "30 12 * * *", "duration": "1m"}]})
    await stage.cycle()
    assert "the next opens at 2026-03-02T12:30:00+00:00 (UTC) for 1m" in stage.message("Applied")
    await stage.cycle(after=31 * stages.MINUTE)
    assert "the next opens at 2026-03-03T12:30:00+00:00 (UTC) for 1m" in stage.message("Applied")
    assert stage.workloads.writes == []
