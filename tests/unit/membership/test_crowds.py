"""What thousands of pods at one place cost: a tenant may make as many as the API server stores, with any marks."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.membership import limits
from heartbeat_tuner.membership.claiming import claim
from heartbeat_tuner.membership.lifting import lift
from heartbeat_tuner.membership.settling import settle
from heartbeat_tuner.membership.standing import Sight
from heartbeat_tuner.membership.status import occupancy
from heartbeat_tuner.membership.values import Refused, Slot, SlotPod, SlotRefusal, View
from tests.unit.membership.shapes import at, held, kip848, pod, pool, resting, view

FEW = 300
GENEROUS = 2.5
"""How much more twice the pods may cost; what is quadratic costs four times as much."""


class Number(int):
    """A slot's number whose comparisons are calls, so that a profiler counts them."""

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __lt__(self, other: int) -> bool:
        return int(self) < other

    def __hash__(self) -> int:
        return int(self)


def _one_token_one_slot(count: int) -> View:
    return view([held(0, "t")], [pod("t", Number(0), uid=f"u{index}") for index in range(count)])


def _one_token_many_slots(count: int) -> View:
    slots = [held(Number(index), "t", promised="t") for index in range(count)]
    return view(slots, [pod("t", Number(index), uid=f"u{index}") for index in range(count)])


def _gated_on_one_token(count: int) -> View:
    bodies = [pod("t", Number(0), uid=f"u{index}", gated=True, created_s=-10) for index in range(count)]
    return view([held(0, "old", promised="t")], [*bodies, pod("old", Number(0), deleted_s=-5)])


def _honest(count: int) -> View:
    slots = [held(Number(index), f"t{index}") for index in range(count)]
    return view(slots, [pod(f"t{index}", Number(index)) for index in range(count)])


def _resting_after_one(count: int) -> View:
    slots = [resting(Number(index), 30, former="t", promised="t") for index in range(count)]
    return view(slots, [pod("t", Number(0), uid=f"u{index}", gone=True) for index in range(count)])


def _rules(seen: View) -> None:
    """Ask all rules."""
    for item in (pool(len(seen.pods)), kip848(len(seen.pods))):
        claim("new", seen, item, may_gate=True, now=at(0))
        settle(seen, item, now=at(0))
        lift(seen, item, now=at(0))
        occupancy(seen, item)


def _calls(work: Callable[[], object]) -> int:
    """Return how many calls of Python functions some work makes."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "shape", [_one_token_one_slot, _one_token_many_slots, _gated_on_one_token, _honest, _resting_after_one]
)
def test_twice_the_pods_are_twice_the_work(shape: Callable[[int], View]) -> None:
    """Whatever token, slot or Lease they share: no rule looks at each pod for each pod."""
    once, twice = shape(FEW), shape(2 * FEW)
    assert _calls(lambda: _rules(twice)) < GENEROUS * _calls(lambda: _rules(once))


def _rank(pod: SlotPod) -> tuple[bool, bool, Any, str]:
    return pod.is_over, pod.gated, pod.created_at, pod.uid


def _bearer(pods: Sequence[SlotPod], token: str, number: int) -> SlotPod | None:
    """Find by looking at all pods who counts for a token and an id."""
    having = [pod for pod in pods if token and pod.token == token and pod.slot == number]
    return min(having, key=_rank, default=None)


_PODS = st.lists(
    st.builds(
        pod,
        st.sampled_from(["", "a", "b", "c"]),
        st.sampled_from([None, 0, 1, 2]),
        created_s=st.sampled_from([-30.0, -20.0, -10.0]),
        uid=st.sampled_from(["u1", "u2", "u3"]),
        gated=st.booleans(),
        gone=st.booleans(),
    ),
    max_size=12,
)


@given(_PODS)
def test_who_is_found_is_who_was_looked_for(pods: list[SlotPod]) -> None:
    """The index answers as a look at all pods does."""
    sight = Sight(view([], pods), pool())
    for token in ("", "a", "b", "c", "d"):
        assert sight.knows(token) == any(pod.token == token != "" for pod in pods)
        for number in range(4):
            assert sight.bearer(token, number) == _bearer(pods, token, number)


def test_a_place_that_is_too_full_gives_no_ids() -> None:
    """Nobody has so many pods but who makes them by hand."""
    most = view([], [pod("t", 0)] * limits.MOST_PODS)
    assert not limits.crowded(most)
    slots: list[Slot] = [held(0, "t")] * (limits.MOST_PODS + 1)
    for full in (view([], [*most.pods, pod("t", 0)]), view(slots)):
        assert limits.crowded(full)
        assert claim("new", full, pool(), may_gate=True, now=at(0)) == Refused(SlotRefusal.CROWDED)
