"""What is done between admissions."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership import limits
from heartbeat_tuner.membership.values import Deletion, Promise, Slot, SlotPod, SlotRecord, Write
from heartbeat_tuner.webhook import rests
from heartbeat_tuner.webhook.admission.enrolment import Enrolment
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from heartbeat_tuner.webhook.slot_controller import NAMESPACE_S, SlotController
from heartbeat_tuner.webhook.touched import Touched
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry
from tests.support.electors import until
from tests.support.slots import NOW, PLACE, FakeClock, FakeSizes, FakeSlots, enrolment, pod

HELD = SlotRecord(since=NOW - timedelta(minutes=10), holder="old")
PROMISED = SlotRecord(since=NOW - timedelta(minutes=10), holder="old", promise=Promise("new", NOW))


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no namespace rest, however long a slow machine takes over the rules."""
    monkeypatch.setattr(rests, "SHORT_S", math.inf)


class World:
    """A tender with everything that it needs."""

    def __init__(self) -> None:
        self.slots, self.sizes, self.clock = FakeSlots(), FakeSizes(1), FakeClock()
        self.touched, self.telemetry = Touched(), WebhookTelemetry()
        self.enrolments: list[Enrolment] | None = [enrolment()]
        self.hurry()

    def hurry(self, *, namespace_s: float = NAMESPACE_S, sizes: FakeSizes | None = None) -> None:
        """Begin again, with so much time for a namespace."""
        self.slot_controller = SlotController(
            lambda: self.enrolments,
            self.slots,
            self.slots,
            sizes or self.sizes,
            self.clock,
            self.touched,
            self.telemetry,
            TenantWork(),
        )
        self.slot_controller.namespace_s = namespace_s

    async def turn(self) -> None:
        """Look once, since something happened."""
        self.touched.note(PLACE)
        await self.slot_controller.turn()

    def record(self, number: int = 0) -> SlotRecord | None:
        """Return what a Lease says."""
        return self.slots.stored[number].record

    def ends(self, end: str) -> float | None:
        """Return how many gates ended so."""
        return self.telemetry.registry.get_sample_value("heartbeat_tuner_gate_ends_total", {"end": end})


def _waiting(**changed: Any) -> SlotPod:
    return pod(0, "new", gated=True, bound=False, phase="Pending", **changed)


async def test_a_gated_pod_goes_when_its_holder_is_gone() -> None:
    """In one turn: the Lease first, then the gate."""
    world = World()
    world.slots.put(0, PROMISED)
    ending = pod(0, "old", deletion=Deletion(NOW + timedelta(seconds=30), timedelta(seconds=30)))
    world.slots.bodies = [ending, _waiting()]
    await world.turn()
    assert (world.slots.lifted, world.record()) == ([], PROMISED)

    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    await world.slot_controller.turn()  # nobody has to say so: who waits is looked at in each turn
    record = world.record()
    assert record is not None
    assert (record.holder, world.slots.lifted) == ("new", ["orders-consumer-new"])
    assert world.ends("lifted") == 1


async def test_a_pod_that_cannot_have_its_slot_is_replaced() -> None:
    """Its holder stays beyond its grace."""
    world = World()
    world.slots.put(0, PROMISED)
    late = Deletion(NOW - timedelta(minutes=1), timedelta(seconds=30))
    world.slots.bodies = [pod(0, "old", deletion=late), _waiting()]
    await world.turn()
    assert (world.slots.evicted, world.ends("replaced")) == (["orders-consumer-new"], 1)


async def test_who_waits_without_a_policy_is_replaced() -> None:
    """But not where policies are merely unknown."""
    world = World()
    world.slots.bodies = [_waiting()]
    world.enrolments = None
    await world.turn()
    assert world.slots.evicted == []
    world.enrolments = []
    await world.turn()
    assert world.slots.evicted == ["orders-consumer-new"]


async def test_a_slot_beyond_the_pool_is_given_up() -> None:
    """When its holder is gone."""
    world = World()
    world.slots.put(0, SlotRecord(since=NOW))
    world.slots.put(1, SlotRecord(since=NOW))
    await world.turn()
    assert list(world.slots.stored) == [0]


async def test_a_slot_beyond_the_pool_is_looked_at_until_its_session_is_over() -> None:
    """Nobody else would: its holder is gone, and nothing of it changes any more."""
    world = World()
    world.slots.put(0, SlotRecord(since=NOW))
    world.slots.put(1, SlotRecord(since=NOW, former="old"))
    await world.turn()
    assert list(world.slots.stored) == [0, 1]
    world.clock.time += timedelta(minutes=2)
    world.slots.as_of = world.clock.time
    await world.slot_controller.turn()
    assert list(world.slots.stored) == [0]


async def test_who_is_second_looks_and_is_content() -> None:
    """The other replica settled it."""
    world = World()
    world.slots.put(0, HELD)
    world.slots.bodies = [pod(0, "old", gone=True)]
    world.slots.put(0, SlotRecord(since=NOW, former="old"), seen=False)
    await world.turn()
    assert world.slots.seen == world.slots.stored
    await world.slot_controller.turn()
    assert world.record() == SlotRecord(since=NOW, former="old")


async def test_nothing_moves_nothing_is_asked() -> None:
    """A place that is settled costs no request, until somebody notes a change."""
    world = World()
    world.slots.put(0, HELD)
    world.slots.bodies = [pod(0, "old")]
    await world.turn()
    world.sizes.error = ApiServerError("nobody should ask")
    await world.slot_controller.turn()
    assert world.slot_controller.lifts


async def test_where_nothing_is_out_nothing_is_asked() -> None:
    """A replica that starts has a look at every policy's place."""
    world = World()
    world.sizes.error = ApiServerError("nobody should ask")
    await world.turn()
    assert world.slot_controller.lifts


async def test_what_waits_is_looked_at_only_when_its_turn_comes() -> None:
    """However much happens meanwhile elsewhere: in a rollout something does many times a second."""
    world = World()
    world.slots.put(0, PROMISED)
    ending = pod(0, "old", deletion=Deletion(NOW + timedelta(seconds=30), timedelta(seconds=30)))
    world.slots.bodies = [ending, _waiting()]
    await world.turn()
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    await world.slot_controller.turn(news_only=True)
    assert world.slots.lifted == []
    world.touched.note(PLACE)
    await world.slot_controller.turn(news_only=True)
    assert world.slots.lifted == ["orders-consumer-new"]


async def test_lists_are_renewed_while_something_waits_for_certainty() -> None:
    """And only then."""
    world = World()
    world.slots.as_of = NOW - timedelta(minutes=1)
    await world.slot_controller.turn()
    assert world.slots.refreshed == 0
    world.slots.put(0, SlotRecord(since=NOW - timedelta(seconds=10), holder="unseen"))
    await world.turn()
    await world.slot_controller.turn()
    assert world.slots.refreshed == 2


async def test_gates_are_promised_only_while_they_can_be_lifted() -> None:
    """Not before the first turn, not without the rights, not while the view is out of touch."""
    world = World()
    assert not world.slot_controller.lifts
    world.slots.allowed = False
    await world.turn()
    assert not world.slot_controller.lifts
    world.slots.allowed, world.slots.as_of = True, None
    await world.turn()
    assert not world.slot_controller.lifts
    world.slots.as_of = NOW
    await world.turn()
    assert world.slot_controller.lifts


async def test_a_refusal_at_one_place_is_no_end() -> None:
    """A disruption budget's, say, or a pod that has just changed: it is tried again."""
    world = World()
    world.slots.put(0, PROMISED)
    late = Deletion(NOW - timedelta(minutes=1), timedelta(seconds=30))
    world.slots.bodies = [pod(0, "old", deletion=late), _waiting()]
    for refusal in (ApiServerError("budget", status=429), WriteConflictError("changed")):
        world.slots.refusal = refusal
        await world.turn()
        assert world.slot_controller.lifts
    world.slots.refusal = None
    await world.slot_controller.turn()
    assert world.slots.evicted == ["orders-consumer-new"]


@pytest.mark.parametrize("error", [ApiServerError("down", status=500), ValueError("surprise")])
async def test_an_error_at_one_place_is_no_end(error: Exception) -> None:
    """Another webhook of its namespace is down, say, or a pod has two disruption budgets, or nobody thought of it."""
    world = World()
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    world.slots.elsewhere = {SlotPlace("crew", "orders-01234567-"): [pod(0, "stranded", gated=True)]}
    world.sizes.error = error
    await world.turn()
    assert (world.slots.evicted, world.slot_controller.lifts) == (["orders-consumer-stranded"], True)
    world.sizes.error = None
    await world.slot_controller.turn()
    assert world.slots.lifted == ["orders-consumer-new"]


async def test_a_time_that_bears_no_arithmetic_is_no_end() -> None:
    """A Lease that got by whoever reads them costs its own place only, until it is gone."""
    world = World()
    world.slots.put(0, SlotRecord(since=datetime.max.replace(tzinfo=UTC), holder="unseen"))
    world.slots.elsewhere = {SlotPlace("crew", "orders-01234567-"): [pod(0, "stranded", gated=True)]}
    await world.turn()
    assert (world.slots.evicted, world.slot_controller.lifts) == (["orders-consumer-stranded"], True)
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    await world.slot_controller.turn()
    assert world.slots.lifted == ["orders-consumer-new"]


async def test_a_refused_eviction_keeps_no_other_pod_waiting() -> None:
    """A disruption budget may hold out for long."""
    world = World()
    world.sizes.count = 2
    world.slots.put(0, SlotRecord(since=NOW - timedelta(minutes=10), holder="old"))
    world.slots.put(1, SlotRecord(since=NOW - timedelta(minutes=10), holder="new"))
    second = pod(0, "copied", created_at=NOW - timedelta(minutes=1))
    world.slots.bodies = [pod(0, "old"), second, pod(1, "new", gated=True, bound=False, phase="Pending")]
    world.slots.refusal = ApiServerError("budget", status=429)
    await world.turn()
    assert (world.slots.evicted, world.slots.lifted) == ([], ["orders-consumer-new"])
    world.slots.refusal = None
    await world.slot_controller.turn()
    assert world.slots.evicted == [second.name]


async def test_a_refused_write_keeps_no_other_pod_waiting() -> None:
    """A quota that lets no Lease be made, for a pod that runs without: others are there already."""
    world = World()
    world.sizes.count = 2
    world.slots.put(1, PROMISED)
    world.slots.bodies = [pod(0, "bare"), pod(1, "old", gone=True), replace(_waiting(), slot=1)]
    world.slots.unwritable = {0}
    await world.turn()
    assert world.slots.lifted == ["orders-consumer-new"]
    assert list(world.slots.stored) == [1]


async def test_an_api_server_that_does_not_answer_ends_the_turn() -> None:
    """What was to be looked at is looked at again."""
    world = World()
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    world.sizes.error, world.slots.down = ApiServerError("down"), True
    await world.turn()
    assert (world.slots.lifted, world.slot_controller.lifts) == ([], False)
    world.sizes.error, world.slots.down = None, False
    await world.slot_controller.turn()
    assert world.slots.lifted == ["orders-consumer-new"]


async def test_a_view_that_goes_out_of_touch_in_a_turn_ends_it() -> None:
    """Nothing is decided on it."""
    world = World()
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]

    world.slots.lost = True
    world.slots.as_of = NOW - timedelta(minutes=1)
    await world.turn()
    assert (world.slots.lifted, world.record()) == ([], PROMISED)


async def test_what_is_noted_is_looked_at_at_once() -> None:
    """Long before the next turn is due."""
    world = World()
    running = asyncio.create_task(world.slot_controller.run())
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    world.touched.note(PLACE)
    await until(lambda: bool(world.slots.lifted))
    running.cancel()
    await asyncio.wait([running])
    assert world.touched.take() == set()


async def test_out_of_touch_it_waits() -> None:
    """What is noted meanwhile keeps nobody busy, and is looked at afterwards."""
    world = World()
    asked: list[str] = []

    def enrolments() -> list[Enrolment] | None:
        asked.append("once")
        return world.enrolments

    view, world.slots.as_of = world.slots.as_of, None
    tender = SlotController(
        enrolments,
        world.slots,
        world.slots,
        world.sizes,
        world.clock,
        world.touched,
        world.telemetry,
        TenantWork(),
    )
    world.slots.put(0, PROMISED)
    world.slots.bodies = [pod(0, "old", gone=True), _waiting()]
    world.touched.note(PLACE)
    running = asyncio.create_task(tender.run())
    await asyncio.sleep(0.2)
    assert 1 <= len(asked) <= 10
    world.slots.as_of = view
    await until(lambda: bool(world.slots.lifted))
    running.cancel()
    await asyncio.wait([running])


OTHER = enrolment(policy=ObjectKey("crew", "orders"), policy_uid="abcdef0123", workload=ObjectKey("crew", "orders"))


class TwoNamespaces(FakeSlots):
    """Slots of two namespaces, of which one never gets an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = asyncio.Event()

    def leases(self, place: SlotPlace) -> Sequence[Slot]:
        """Return what was seen."""
        assert place in {PLACE, OTHER.slots}
        return super().leases(PLACE)

    def pods(self, place: SlotPlace) -> Sequence[SlotPod]:
        """Return the pods."""
        assert place in {PLACE, OTHER.slots}
        return super().pods(PLACE)

    async def lift(self, place: SlotPlace, pod: SlotPod) -> None:
        """Take a gate off, or wait for ever."""
        if place == OTHER.slots:
            await self.hangs.wait()
        await super().lift(PLACE, pod)

    async def write(self, place: SlotPlace, owner: Owner, write: Write) -> None:
        """Wait for ever where somebody holds writes up."""
        if place == OTHER.slots:
            await self.hangs.wait()
        await super().write(place, owner, write)


class AnySize(FakeSizes):
    """Deployments of one size, whatever their names."""

    async def size(self, kind: str, workload: ObjectKey) -> int:
        """Return how many pods there may be."""
        assert (kind, bool(workload.name)) == ("Deployment", True)
        return self.count


async def test_a_namespace_that_holds_up_its_writes_holds_up_no_other() -> None:
    """Its turn goes on beside the others', and it is not begun twice."""
    world = World()
    world.slots = slots = TwoNamespaces()
    world.enrolments = [OTHER, enrolment()]
    world.hurry(namespace_s=0.05, sizes=AnySize(1))
    slots.put(0, SlotRecord(since=NOW - timedelta(minutes=10), holder="new"))
    slots.bodies = [_waiting()]
    for place in (OTHER.slots, PLACE):
        world.touched.note(place)
    assert await world.slot_controller.turn()
    assert (slots.lifted, world.slot_controller.lifts) == (["orders-consumer-new"], True)
    world.touched.note(PLACE)
    assert await asyncio.wait_for(world.slot_controller.turn(), 1)
    assert len(slots.lifted) == 2
    slots.hangs.set()
    await until(lambda: len(slots.lifted) == 3)


async def test_a_crowd_is_left_alone() -> None:
    """And costs nothing more than to be seen."""
    world = World()
    world.slots.put(0, PROMISED)
    world.slots.bodies = [_waiting()] * (limits.MOST_PODS + 1)
    world.sizes.error = ApiServerError("nobody should ask", status=500)
    await world.turn()
    assert (world.slots.lifted, world.slots.evicted, world.slot_controller.lifts) == ([], [], True)


async def test_who_has_much_to_do_is_interrupted() -> None:
    """When a namespace's time is over the rest waits for the next turn."""
    world = World()
    world.hurry(namespace_s=0.0)
    bare = pod(0, "bare")
    world.slots.bodies = [bare]
    await world.turn()
    assert world.slots.stored == {}
    world.slots.put(0, SlotRecord(since=NOW - timedelta(minutes=10), holder="new"))
    world.slots.bodies = [_waiting()]
    world.slots.elsewhere = {SlotPlace("crew", "orders-01234567-"): [pod(0, "stranded", gated=True)]}
    await world.turn()
    assert (world.slots.lifted, world.slots.evicted) == ([], [])
    world.slot_controller.namespace_s = NAMESPACE_S
    await world.slot_controller.turn()
    assert (world.slots.lifted, world.slots.evicted) == (["orders-consumer-new"], ["orders-consumer-stranded"])
