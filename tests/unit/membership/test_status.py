"""What people see of slots."""

import pytest

from heartbeat_tuner.membership.status import Occupancy, State, occupancy, waits
from heartbeat_tuner.membership.values import Slot, SlotPod
from tests.unit.membership.shapes import LONG_AGO_S, at, edited, free, held, pod, pool, resting, view

WAITING = pod("next", 0, gated=True)


@pytest.mark.parametrize(
    ("slot", "pods", "state", "holder", "waiting"),
    [
        (held(0, "a"), [pod("a", 0)], State.HELD, "pod-a", ""),
        (held(0, "a", promised="next"), [pod("a", 0, deleted_s=-5), WAITING], State.TERMINATING, "pod-a", "pod-next"),
        (held(0, "a", promised="next"), [pod("a", 0, deleted_s=-5)], State.TERMINATING, "pod-a", ""),
        (held(0, "a"), [pod("a", 0, gone=True)], State.GONE, "pod-a", ""),
        (held(0, "a"), [], State.GONE, "", ""),
        (resting(0, 5, promised="next"), [WAITING], State.RESTING, "", "pod-next"),
        (resting(0, 5, promised="next"), [pod("next", 0, gone=True)], State.RESTING, "", ""),
        (free(0), [], State.FREE, "", ""),
    ],
)
def test_a_slot_is_shown(slot: Slot, pods: list[SlotPod], state: State, holder: str, waiting: str) -> None:
    """By the name of the pod, not by its token."""
    assert occupancy(view([slot], pods), pool()) == [Occupancy(0, state, holder, at(LONG_AGO_S), waiting)]


def test_slots_are_shown_by_number() -> None:
    """However they were read."""
    shown = occupancy(view([edited(2), held(1, "a", since_s=-9)]), pool())
    assert shown == [
        Occupancy(1, State.CLAIMED, "", at(-9), ""),
        Occupancy(2, State.EDITED, "", None, ""),
    ]


@pytest.mark.parametrize(
    ("slots", "pods", "something_changes"),
    [
        ([], [], False),
        ([held(0, "a"), free(1)], [pod("a", 0)], False),
        ([held(9, "a")], [pod("a", 9)], False),
        ([free(9)], [], True),
        ([resting(0, 5)], [], True),
        ([held(0, "a")], [pod("a", 0, deleted_s=-5)], True),
        ([held(0, "a")], [pod("a", 0), WAITING], True),
    ],
    ids=["empty", "at rest", "held beyond the pool", "free beyond the pool", "resting", "leaving", "somebody waits"],
)
def test_a_place_is_looked_at_while_time_changes_it(
    slots: list[Slot], pods: list[SlotPod], *, something_changes: bool
) -> None:
    """A free slot beyond the pool is given up; one that is held there stays for as long as its pod."""
    assert waits(view(slots, pods), pool()) is something_changes
