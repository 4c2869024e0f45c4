"""Which gated pods may go, and which pods are replaced."""

import dataclasses

import pytest

from heartbeat_tuner.membership.lifting import lift
from heartbeat_tuner.membership.values import Lift, Replace, Slot, SlotPod, SlotPool, SlotRefusal, View
from tests.unit.membership.shapes import at, edited, free, held, kip848, pod, pool, resting, view

WAITING = pod("next", 0, created_s=-20, gated=True)
PROMISED = held(0, "old", promised="next")


def done(seen: View, pool: SlotPool, *, now_s: float = 0) -> list[Lift | Replace]:
    """Return what is done with the pods now."""
    return list(lift(seen, pool, now=at(now_s)))


def test_a_gated_pod_goes_when_its_lease_names_it() -> None:
    """Whoever wrote the Lease, any replica lifts."""
    assert done(view([held(0, "next")], [WAITING]), pool()) == [Lift(WAITING)]


def test_a_gate_on_a_pod_without_an_id_is_lifted() -> None:
    """Another webhook may have taken the id out."""
    bare = pod("", None, gated=True)
    assert done(view([], [bare]), pool()) == [Lift(bare)]


@pytest.mark.parametrize(
    ("slot", "pods"),
    [
        (PROMISED, [pod("old", 0, deleted_s=-5)]),
        (PROMISED, [pod("old", 0, gone=True)]),
        (PROMISED, [pod("old", 0)]),
        (PROMISED, []),
        (resting(0, 30, promised="next"), []),
    ],
    ids=["its holder is Terminating", "gone, not settled", "lives (edited)", "not seen", "its session is not over"],
)
def test_a_promised_pod_waits(slot: Slot, pods: list[SlotPod]) -> None:
    """Its holder may still go, and be settled, in time."""
    assert done(view([slot], [WAITING, *pods]), kip848()) == []


@pytest.mark.parametrize(("deleted_s", "is_over"), [(-39, False), (-40, True)])
def test_who_waits_for_a_holder_that_does_not_go_is_replaced(deleted_s: float, *, is_over: bool) -> None:
    """Its node may be lost and the holder still run there: the gate must not be lifted."""
    seen = view([PROMISED], [WAITING, pod("old", 0, deleted_s=deleted_s)])
    assert done(seen, pool()) == ([Replace(WAITING, SlotRefusal.HOLDER_STAYS)] if is_over else [])


@pytest.mark.parametrize("slots", [[], [free(0)], [edited(0)], [held(0, "other", promised="third")]])
def test_who_was_not_promised_its_slot_is_replaced(slots: list[Slot]) -> None:
    """Its id is in its env for good."""
    assert done(view(slots, [WAITING]), pool()) == [Replace(WAITING, SlotRefusal.NOT_PROMISED)]


def test_a_view_from_before_the_promise_replaces_nobody() -> None:
    """Leases and pods come in different watches."""
    assert done(view([held(0, "old")], [WAITING], as_of_s=-16), pool()) == []


@pytest.mark.parametrize(("protocol", "longest_s"), [(pool(), 210), (kip848(), 265)])
def test_nobody_is_gated_for_ever(protocol: SlotPool, longest_s: float) -> None:
    """Whatever somebody did to the Leases."""
    seen = view([PROMISED], [WAITING, pod("old", 0)])
    assert done(seen, protocol, now_s=longest_s - 20.5) == []
    assert done(seen, protocol, now_s=longest_s - 20) == [Replace(WAITING, SlotRefusal.GATED_TOO_LONG)]


def test_of_two_pods_that_run_with_one_id_the_holder_stays() -> None:
    """It should never be so; then the Lease decides."""
    holder, second = pod("a", 0), pod("b", 0)
    assert done(view([held(0, "a")], [holder, second]), pool()) == [Replace(second, SlotRefusal.NOT_THE_HOLDER)]


def test_of_two_pods_with_one_token_the_older_one_stays() -> None:
    """The token was copied with all the rest of the pod."""
    older, younger = pod("a", 0, name="older"), pod("a", 0, name="younger", uid="younger", created_s=-60)
    waiting = dataclasses.replace(younger, name="waiting", uid="waiting", gated=True)
    assert done(view([held(0, "a")], [younger, waiting, older]), pool()) == [
        Replace(younger, SlotRefusal.NOT_THE_HOLDER),
        Replace(waiting, SlotRefusal.NOT_PROMISED),
    ]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(view([held(0, "a")], [pod("a", 0)]), id="the holder itself"),
        pytest.param(view([held(0, "old")], [pod("a", 0), pod("old", 0, gone=True)]), id="the holder is gone"),
        pytest.param(view([held(0, "old", since_s=-5)], [pod("a", 0)]), id="the holder was not seen"),
        pytest.param(view([held(0, "b")], [pod("a", 0), pod("b", 0)], as_of_s=-3600), id="an old view"),
        pytest.param(view([], [pod("a", 0)]), id="no Lease"),
        pytest.param(view([held(0, "b")], [pod("", 0), pod("b", 0)]), id="an id of its own"),
        pytest.param(view([held(0, "b")], [pod("", None), pod("b", 0)]), id="a dynamic member"),
        pytest.param(view([held(0, "b")], [pod("a", 0, deleted_s=-1), pod("b", 0)]), id="Terminating"),
        pytest.param(view([held(0, "b")], [pod("a", 0, gone=True), pod("b", 0)]), id="gone"),
    ],
)
def test_who_runs_is_left_alone(seen: View) -> None:
    """Only a second holder goes."""
    assert done(seen, pool()) == []
