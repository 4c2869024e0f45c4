"""The fleet's budget: who begins, who waits, and that all get their turn."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from heartbeat_tuner.domain.errors import ApiServerError, TunerError
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application, Mode, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout, Strategy
from heartbeat_tuner.domain.verdicts import Confidence, Decision, Finding, Forecast, Prediction, Verdict
from heartbeat_tuner.reconcile import budget
from heartbeat_tuner.reconcile.budget import RolloutPlaces
from heartbeat_tuner.reconcile.cycle import MOST_LOGGED
from heartbeat_tuner.reconcile.outcomes import Decided, UnexpectedFailure
from tests.support import manifests, stages, worlds
from tests.support.stages import Stage

pytestmark = pytest.mark.no_cover  # runs cycles of a thousand policies

CURED = worlds.settings("30s", "1s", "1s")


def prediction(net_per_day: float) -> Prediction:
    """Return what some values bring."""
    return Prediction(net_per_day, 0.0, 0.0, 0.0, 30.0, 10.0)


def wants(
    name: str,
    reason: Reason,
    *,
    saves: float | None = None,
    hold: Finding | None = None,
    namespace: str = "shop",
    workload_name: str = "",
) -> Decided:
    """Return a decision to change a group, by a rollout of its workload; no two policies share a group."""
    workload = WorkloadRef("Deployment", ObjectKey(namespace, workload_name or name), "app")
    group_id = f"{namespace}-{name}"
    situation = worlds.situation(
        policy=worlds.policy(key=ObjectKey(namespace, name), group_id=group_id, workload=workload)
    )
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


def test_reverts_go_before_cures() -> None:
    """Harm that a change of ours did ends first, whatever a cure elsewhere saves, and in whatever namespace it is."""
    cure = wants("a", Reason.DANGER, saves=900.0)
    begun = wants("z", Reason.CHEAPER, saves=-1.0)
    revert = dataclasses.replace(begun, decision=dataclasses.replace(begun.decision, reverts=True))
    assert budget.in_turn([cure, revert]) == [revert, cure]
    assert budget.next_in_turn([revert, cure], of_fleet(1)) == [revert]
    elsewhere = wants("a", Reason.DANGER, saves=900.0, namespace="town")
    assert budget.next_in_turn([revert, elsewhere], of_fleet(2, "x", shared=True)) == [elsewhere]
    assert budget.next_in_turn([revert, elsewhere], of_fleet(4, "x", "y", "w", namespace="shop")) == [revert]


def test_who_is_held_by_another_gate_does_not_queue() -> None:
    """Nor who has nothing to write."""
    held = wants("a", Reason.DANGER, hold=Finding(Reason.COOLDOWN, "too soon"))
    healthy = Decided(held.inputs, Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "well")))
    assert budget.in_turn([held, healthy]) == []


ROLLING = {"conditions": [manifests.condition("Applied", "RollingOut")]}
DONE = {"conditions": [manifests.condition("Applied", "Applied")]}
BLOCKED = {"conditions": [manifests.condition("Applied", "ApiServerError", status="Unknown")]}
APPLICATION = Application(CURED, worlds.STORM, worlds.NOW, "workload-1", "app")
APPLIED = worlds.policy(application=APPLICATION)
SOON = worlds.NOW + stages.MINUTE


def rolled(**changes: Any) -> Workload:
    """Return a workload in a rollout whose newest change bears our name and our record, but for `changes`."""
    base = dataclasses.replace(worlds.workload(rolling_out=True, ours=True), applications={"app": APPLICATION})
    return dataclasses.replace(base, **changes)


def under_way(
    workload: Any, status: dict[str, Any] | None = None, *, policy: Policy = APPLIED, known: Any = None, now: Any = SOON
) -> int:
    """Return how many rollouts are under way where there is one workload."""
    bodies = {policy.key: manifests.policy(status=status or DONE)}
    remembered = {} if known is None else {policy.key: known}
    return len(budget.under_way([policy], {policy.key: workload}, bodies, known=remembered, now=now))


@pytest.mark.parametrize(
    ("workload", "status", "count"),
    [
        (rolled(), DONE, 1),
        (rolled(our_rollout=False), ROLLING, 0),  # somebody's deploy since then
        (worlds.workload(), ROLLING, 0),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), ROLLING, 1),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), BLOCKED, 1),
        (UnexpectedFailure(KeyError("what")), ROLLING, 1),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), DONE, 0),
        (Finding(Reason.API_SERVER_ERROR, "no answer"), {}, 0),
        (Finding(Reason.WORKLOAD_NOT_FOUND, "deleted"), ROLLING, 0),
    ],
)
def test_what_is_under_way_is_what_workloads_show(workload: Any, status: dict[str, Any], count: int) -> None:
    """And where nothing can be read, what the status said last: the unknown makes no room."""
    assert under_way(workload, status) == count


FORGED = dataclasses.replace(APPLICATION, at=worlds.NOW + stages.MINUTE)


@pytest.mark.parametrize(
    ("workload", "policy", "known"),
    [
        (rolled(applications={}), APPLIED, None),  # the name alone
        (rolled(applications={"other": APPLICATION}), APPLIED, None),
        (rolled(applications={"app": FORGED}), APPLIED, None),  # a record that nobody here knows
        (rolled(applications={"app": FORGED}), worlds.policy(), APPLICATION),
        (rolled(), worlds.policy(mode=Mode.RECOMMEND, application=APPLICATION), None),
        (rolled(strategy=Strategy.ON_DELETE), APPLIED, None),
    ],
)
def test_a_rollout_that_is_not_surely_ours_holds_no_place(workload: Workload, policy: Policy, known: Any) -> None:
    """Whoever may write a workload may write our name and our record into it."""
    assert under_way(workload, policy=policy, known=known) == 0


def test_what_the_operator_remembers_counts_before_any_status_says_it() -> None:
    """The answer to the write was lost, or the status was not written."""
    assert under_way(rolled(), policy=worlds.policy(), known=APPLICATION) == 1


def test_a_record_of_a_time_to_come_holds_no_place() -> None:
    """It would never be overdue."""
    far = dataclasses.replace(APPLICATION, at=worlds.NOW + timedelta(days=400))
    assert under_way(rolled(applications={"app": far}), policy=worlds.policy(application=far)) == 0


@pytest.mark.parametrize(
    ("rollout", "after_s", "count"),
    [
        (Rollout(), 599, 1),
        (Rollout(), 600, 0),
        (Rollout(deadline=worlds.seconds(20)), 20, 0),
        (Rollout(deadline=timedelta(days=9_999)), 3_599, 1),
        (Rollout(deadline=timedelta(days=9_999)), 3_600, 0),
        (Rollout(exceeded=True), 5, 0),
        (Rollout(progressed=worlds.NOW + worlds.seconds(300)), 899, 1),
        (Rollout(progressed=worlds.NOW + worlds.seconds(300)), 900, 0),
    ],
)
@pytest.mark.parametrize("is_paused", [False, True])
def test_a_rollout_loses_its_place_at_its_deadline(
    rollout: Rollout, after_s: int, count: int, *, is_paused: bool
) -> None:
    """Without progress for so long; nobody's deadline is longer than an hour."""
    now = worlds.NOW + worlds.seconds(after_s)
    assert under_way(rolled(rollout=rollout, paused=is_paused), now=now) == count


def test_an_unreadable_workload_holds_its_place_no_longer_than_others() -> None:
    """Whatever its status said."""
    late = worlds.NOW + timedelta(seconds=600)
    assert under_way(Finding(Reason.API_SERVER_ERROR, "no answer"), ROLLING, now=late) == 0


def test_a_workload_of_two_policies_is_rolled_out_once() -> None:
    """They tune two containers of it."""
    first, other = (worlds.policy(key=ObjectKey("shop", name), application=APPLICATION) for name in ("one", "other"))
    found = budget.under_way([first, other], {first.key: rolled(), other.key: rolled()}, {}, known={}, now=SOON)
    assert found == {("Deployment", ObjectKey("shop", "orders-consumer"))}


def test_the_last_place_is_for_cures() -> None:
    """A fleet that saves never keeps a storm waiting; where there is one place only, it is for either."""
    savings = [wants(name, Reason.CHEAPER, saves=1.0) for name in "abcdef"]
    cure = wants("z", Reason.DANGER)
    assert budget.next_in_turn(savings, of_fleet(5)) == savings[:4]
    assert budget.next_in_turn([cure, *savings], of_fleet(5)) == [cure, *savings[:3]]
    assert budget.next_in_turn([cure], of_fleet(5, *"abcd")) == [cure]
    assert budget.next_in_turn(savings, of_fleet(1)) == savings[:1]
    assert budget.next_in_turn([cure, *savings], of_fleet(1)) == [cure]
    assert budget.next_in_turn([cure, *savings], of_fleet(0)) == []
    held = budget.held(savings[0], of_fleet(5, *"wxyz"))
    assert held.decision.hold is not None
    assert held.decision.hold.message.endswith("The last place is kept for cures")


def of_fleet(limit: int, *names: str, namespace: str = "shop", shared: bool = False) -> RolloutPlaces:
    """Return the places, and workloads of one namespace that have one."""
    return RolloutPlaces(limit, shared, frozenset(("Deployment", ObjectKey(namespace, name)) for name in names))


def test_no_namespace_has_more_than_half_of_the_places_where_there_are_others() -> None:
    """And who has fewer goes first."""
    shop = [wants(name, Reason.DANGER, workload_name=name) for name in "abcdef"]
    (town,) = [wants("z", Reason.DANGER, namespace="town")]
    assert budget.next_in_turn(shop, of_fleet(5, shared=True)) == shop[:3]
    assert budget.next_in_turn([*shop, town], of_fleet(5, "x", shared=True)) == [town, *shop[:2]]
    assert len(budget.next_in_turn(shop, of_fleet(5))) == 5
    assert len(budget.next_in_turn(shop, of_fleet(1, shared=True))) == 1
    held = budget.held(shop[0], of_fleet(5, "x", "y", "z", shared=True))
    assert held.decision.hold is not None
    assert held.decision.hold.message.endswith("Namespace shop has its share of 3")


def test_a_namespace_that_holds_more_than_its_share_counts_for_its_share() -> None:
    """However many of its workloads look as if we rolled them out."""
    cure, many = wants("z", Reason.DANGER, namespace="town"), of_fleet(4, *"abcdefg", shared=True)
    assert budget.next_in_turn([cure], many) == [cure]
    assert budget.next_in_turn([wants("z", Reason.DANGER, workload_name="z")], many) == []
    assert budget.next_in_turn([cure], of_fleet(4, *"abcd")) == []


def test_who_waits_is_told_who_holds_the_places() -> None:
    """By name in one's own namespace, by number in others; what rolls nothing out takes no place."""
    waits = wants("a", Reason.DANGER)
    elsewhere = frozenset(("Deployment", ObjectKey("secret", name)) for name in "xy")
    places = RolloutPlaces(9, holders=of_fleet(9, *"abcdefg").holders | elsewhere)
    hold = budget.held(waits, places).decision.hold
    assert hold is not None
    assert hold.message.startswith(
        "9 rollouts of the tuner's are under way in the fleet (Deployment shop/a, Deployment shop/b, "
        "Deployment shop/c, Deployment shop/d, Deployment shop/e, 2 more of this namespace, "
        "2 of other namespaces), and "
    )
    assert "secret" not in hold.message
    still = dataclasses.replace(waits.inputs.workload, strategy=Strategy.ON_DELETE)
    on_delete = dataclasses.replace(waits, inputs=dataclasses.replace(waits.inputs, workload=still))
    assert places.taken([on_delete]) == places


@given(
    st.integers(0, 6),
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 30)), max_size=12, unique=True),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(31, 40)), max_size=6, unique=True),
)
def test_places_are_never_more_than_there_are(
    limit: int, waiting: list[tuple[str, bool, int]], holding: list[tuple[str, int]]
) -> None:
    """Whoever waits: within the limit, each namespace's share and the one place kept for cures."""
    places = RolloutPlaces(limit, shared=True)
    for item, number in holding:
        if places.held_in(item) < places.share and len(places.holders) < limit:
            holders = places.holders | {("Deployment", ObjectKey(item, str(number)))}
            places = dataclasses.replace(places, holders=holders)
    wanting = budget.in_turn(
        wants(
            str(number),
            Reason.DANGER if urgent else Reason.CHEAPER,
            saves=1.0,
            namespace=item,
            workload_name=str(number),
        )
        for item, urgent, number in waiting
    )
    begun = budget.next_in_turn(wanting, places)
    after = places.taken(begun)
    assert len(after.holders) <= limit
    more = {item: after.held_in(item) - places.held_in(item) for item in "abc"}
    assert all(not count or after.held_in(name) <= places.share for name, count in more.items())
    left = [item for item in wanting if item not in begun]
    assert not any(after.have_room(item) for item in left)
    if not all(map(budget.is_cure, begun)):
        assert len(after.holders) <= places.for_savings or any(map(budget.is_cure, begun))


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
        "5 rollouts of the tuner's are under way in the fleet (Deployment shop/g0-consumer, "
        "Deployment shop/g1-consumer, Deployment shop/g10-consumer, Deployment shop/g100-consumer, "
        "Deployment shop/g101-consumer), and "
        "rollout.maxConcurrent of the operator's configuration allows 5; this change waits for its turn: reverts "
        "first, then cures, then what saves most"
    )
    assert stage.condition("Recommended", waiting)[0] == "True"
    writes = stage.policies.writes
    assert (await stage.cycle()).workload_writes == 0
    assert stage.policies.writes == writes + 5  # those that were written are followed from here on
    assert "FleetBudgetSpent" not in {event.reason for event in stage.policies.events}


@pytest.mark.timeout(240)  # 5 s on a quiet machine
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
        for key in [item for number, item in enumerate(rolling(stage)) if number in ended]:
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


async def test_a_line_of_the_log_names_a_few_and_counts_all() -> None:
    """Whoever allows thousands of rollouts would get lines that no log store takes."""
    stage = stages.storms(MOST_LOGGED + 5, max_rollouts=100)
    with capture_logs() as lines:
        await stage.cycle()
    (line,) = (line for line in lines if line["event"] == "rollouts under way" and line["count"])
    assert line["count"] == MOST_LOGGED + 5
    assert len(line["workloads"]) == MOST_LOGGED
