"""Who has which static id, as a policy's status shows it."""

from datetime import UTC, datetime, timedelta

from heartbeat_tuner.api import parsing, slot_names
from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.api.v1alpha1.slots_v1alpha1 import MAX_GATED, MAX_SLOTS
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership.values import Promise, Slot, SlotPod, SlotRecord, View
from heartbeat_tuner.reconcile.status import slot_occupation
from heartbeat_tuner.reconcile.status.troubles import Troubles
from tests.support import manifests, stages
from tests.support.fakes import FakeSlotViews
from tests.support.stages import ORDERS, Stage
from tests.support.worlds import NOW

PLACE = SlotPlace("shop", "orders-consumer-1f0c2a9b-")


def pod(number: int, token: str, *, gated: bool = False) -> SlotPod:
    """Return a pod that has a slot."""
    at = NOW + timedelta(seconds=number)
    return SlotPod(name=f"pod-{token}", uid=token, version="1", created_at=at, token=token, slot=number, gated=gated)


def held(number: int, by: str, *, promised: str = "") -> Slot:
    """Return a slot with a holder."""
    promise = Promise(promised, NOW) if promised else None
    return Slot(number, "1", SlotRecord(since=NOW, holder=by, promise=promise))


def static() -> Stage:
    """Return a policy with static membership, and where its slots are."""
    return stages.storm(mode="Recommend", staticMembership="Enabled", client={"library": "java"})


def place_of(stage: Stage) -> SlotPlace:
    """Return where the slots of the stage's policy are."""
    uid = stage.policies.stored[ORDERS]["metadata"]["uid"]
    return slot_names.place_of(uid, ObjectKey("shop", "orders-consumer"))


def test_slots_holders_and_pods_that_wait_are_shown() -> None:
    """By the names of pods, with the moment since when it is so."""
    waiting = pod(0, "next", gated=True)
    view = View(
        [held(1, "b"), held(0, "a", promised="next"), Slot(2, "1", SlotRecord(since=NOW))], [pod(0, "a"), waiting], NOW
    )
    found = slot_occupation.shown({PLACE: view}, PLACE, 4)
    assert (found.size, found.held, found.free, found.unsettled, found.gated) == (4, 1, 1, 1, 1)
    assert [item.model_dump(exclude_none=True) for item in found.first] == [
        {
            "id": "orders-consumer-1f0c2a9b-0",
            "state": "Held",
            "pod": "pod-a",
            "since": "2026-03-02T12:00:00Z",
            "waiting": "pod-next",
        },
        {"id": "orders-consumer-1f0c2a9b-1", "state": "Claimed", "since": "2026-03-02T12:00:00Z"},
        {"id": "orders-consumer-1f0c2a9b-2", "state": "Free", "since": "2026-03-02T12:00:00Z"},
    ]
    assert [gated_pod.model_dump() for gated_pod in found.gated_pods] == [
        {"pod": "pod-next", "id": "orders-consumer-1f0c2a9b-0", "since": "2026-03-02T12:00:00Z"}
    ]


def test_of_many_slots_the_first_are_shown_and_all_are_counted() -> None:
    """A status has a size; an edited Lease has no time."""
    count = 200
    slots = [Slot(0, "1", None), *(held(number, f"p{number}") for number in range(1, count))]
    pods = [pod(number, f"p{number}") for number in range(1, count)]
    gated = [pod(number, f"g{number}", gated=True) for number in range(count)]
    without_id = SlotPod(
        name="odd", uid="o", version="1", created_at=NOW - timedelta(1), token="", slot=None, gated=True
    )
    found = slot_occupation.shown({PLACE: View(slots, [*pods, *gated, without_id], NOW)}, PLACE, count)
    assert (found.held, found.unsettled, found.gated) == (count - 1, 1, count + 1)
    assert [item.id.rpartition("-")[2] for item in found.first] == [str(number) for number in range(MAX_SLOTS)]
    assert (found.first[0].state, found.first[0].since) == ("Edited", None)
    assert [gated_pod.pod for gated_pod in found.gated_pods] == [
        "odd",
        *(f"pod-g{number}" for number in range(MAX_GATED - 1)),
    ]
    assert found.gated_pods[0].id is None


def test_a_place_without_leases_has_its_size_only() -> None:
    """The webhook may not be there yet."""
    found = slot_occupation.shown({}, PLACE, 3)
    assert (found.size, found.held, found.first, found.gated_pods) == (3, 0, [], [])


async def test_a_status_shows_slots_once() -> None:
    """While nobody comes or goes, nothing is written."""
    stage = static()
    stage.slots.views = {place_of(stage): View([held(0, "a")], [pod(0, "a")], NOW)}
    for _ in range(5):
        await stage.cycle()
    slots = stage.policies.status_of(ORDERS)["slots"]
    assert (slots["held"], slots["first"][0]["pod"]) == (1, "pod-a")
    assert (stage.policies.writes, stage.slots.reads) == (1, 5)


async def test_slots_are_shown_though_the_group_cannot_be_read() -> None:
    """A broker that is down hides nobody who waits."""
    stage = static()
    stage.groups.down = {"main"}
    stage.slots.views = {place_of(stage): View([], [pod(0, "a", gated=True)], NOW)}
    await stage.cycle()
    assert stage.policies.status_of(ORDERS)["slots"]["gated"] == 1


async def test_what_was_shown_stays_while_slots_cannot_be_read() -> None:
    """And goes with static membership."""
    stage = static()
    await stage.cycle()
    before = stage.policies.status_of(ORDERS)["slots"]
    for error in (ApiServerError("403: may not list leases"), KeyError("surprise")):
        stage.slots.error = error
        await stage.cycle()
        assert stage.policies.status_of(ORDERS)["slots"] == before
    stage.policies.edit(ORDERS, staticMembership="Disabled")
    await stage.cycle()
    assert "slots" not in stage.policies.status_of(ORDERS)


async def test_a_surprise_in_one_policy_s_slots_is_not_the_others_loss() -> None:
    """Who may write Leases in his own namespace hides nobody else's slots."""
    source = FakeSlotViews()
    hostile, other = (
        parsing.policy_of(
            manifests.policy(namespace=where, spec={"staticMembership": "Enabled", "client": {"library": "java"}})
        )
        for where in ("crew", "shop")
    )
    endless = Slot(0, "1", SlotRecord(since=datetime.max.replace(tzinfo=UTC), holder="a"))
    source.views = {
        slot_names.place_of(hostile.uid, hostile.workload.key): View([endless], [], NOW),
        slot_names.place_of(other.uid, other.workload.key): View([held(0, "a")], [pod(0, "a")], NOW),
    }
    found = await slot_occupation.read(source, [hostile, other], {}, Troubles(), of_keys=[hostile.key, other.key])
    assert found.keys() == {other.key}
    slots = found[other.key].slots
    assert slots is not None
    assert slots.held == 1


async def test_an_early_look_sees_the_slots_of_whom_it_looks_at() -> None:
    """The slots of others are held all the same: the next cycle looks at them."""
    source = FakeSlotViews()
    lending, other = (
        parsing.policy_of(
            manifests.policy(namespace=where, spec={"staticMembership": "Enabled", "client": {"library": "java"}})
        )
        for where in ("crew", "shop")
    )
    plain = parsing.policy_of(manifests.policy(namespace="team"))
    everyone = [lending, other, plain]
    seen = [
        (await slot_occupation.read(source, everyone, {}, Troubles(), of_keys=[policy.key])).keys()
        for policy in everyone
    ]
    assert seen == [{policy.key} for policy in everyone]
    assert source.reads == 2


async def test_nobody_looks_where_no_policy_gives_ids() -> None:
    """Two lists a cycle are for those who asked for them."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    assert stage.slots.reads == 0


async def test_a_stateful_set_has_no_slots_to_show() -> None:
    """Its pods' own names are their ids' numbers."""
    reference = {"kind": "StatefulSet", "name": "orders-consumer", "container": "app"}
    stage = stages.storm(
        mode="Recommend", staticMembership="Enabled", client={"library": "java"}, workloadRef=reference
    )
    await stage.cycle()
    assert (stage.slots.reads, "slots" in stage.policies.status_of(ORDERS)) == (0, False)


async def test_a_workload_that_is_not_there_has_no_slots() -> None:
    """Nothing is known of it."""
    stage = static()
    stage.workloads.stored.clear()
    await stage.cycle()
    assert "slots" not in stage.policies.status_of(ORDERS)
