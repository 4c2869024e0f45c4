"""The rules of the election: never two who may write, whatever clocks and processes do."""

import dataclasses
import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.ports import Claim, Lease
from heartbeat_tuner.reconcile import leadership
from heartbeat_tuner.reconcile.leadership import Standing, Timing
from tests.support import worlds

TIMING = Timing(worlds.seconds(15), worlds.seconds(10), worlds.seconds(2))
A, B = "a", "b"


def lease(holder: str = B, *, renewed: str = "t0", duration_s: int | None = 15, **metadata: str) -> Lease:
    """Return a lease as stored."""
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": duration_s}
    body = {"metadata": {"uid": "u", "resourceVersion": "1", **metadata}, "spec": spec}
    return Lease(holder, None if duration_s is None else worlds.seconds(duration_s), 3, body)


def seen(*looks: tuple[Lease | None, float], before: Standing | None = None) -> Standing:
    """Return A's standing after looks at these moments."""
    standing = before or Standing()
    for found, at_s in looks:
        standing = leadership.seen(standing, found, identity=A, answered_at_s=at_s)
    return standing


def claim(standing: Standing, now_s: float) -> Claim | None:
    """Return what A would write."""
    return leadership.claim(standing, identity=A, timing=TIMING, now_s=now_s)


def test_a_lease_that_never_was_is_created() -> None:
    """The first operator of a cluster waits for nobody."""
    assert claim(seen((None, 5)), 5) == Claim(A, TIMING.lease_duration, 0)


def test_a_lease_of_nobody_is_taken_at_once() -> None:
    """It was released, or never said anything."""
    assert claim(seen((lease(""), 5)), 5) == Claim(A, TIMING.lease_duration, 4)


def test_our_own_lease_is_renewed_without_a_transition() -> None:
    """Also where the answer to the write that got it was lost."""
    assert claim(seen((lease(A), 5)), 5) == Claim(A, TIMING.lease_duration, 3)


def test_another_s_lease_runs_out_by_our_clock_alone() -> None:
    """However old its times say it is, it is as old as our knowledge of it."""
    found = lease(renewed="1970-01-01T00:00:00.000000Z")
    standing = seen((found, 100), (found, 110))
    assert claim(standing, 114.9) is None
    assert claim(standing, 115) == Claim(A, TIMING.lease_duration, 4)


@pytest.mark.parametrize("change", [{"renewed": "t1"}, {"renewed": "a day ago"}, {"uid": "other"}, {"duration_s": 16}])
def test_a_lease_that_changes_is_alive(change: dict[str, Any]) -> None:
    """Any write of its holder counts, forwards or backwards in time."""
    assert claim(seen((lease(), 100), (lease(**change), 110)), 124.9) is None


def test_a_label_is_no_sign_of_life() -> None:
    """Others may write the object's metadata for ever."""
    assert claim(seen((lease(), 100), (lease(resourceVersion="2"), 114)), 115) is not None


def test_the_holder_s_own_promise_counts() -> None:
    """Replicas of two configurations may meet; one that promised nothing is given our own duration."""
    assert claim(seen((lease(duration_s=60), 100)), 159) is None
    assert claim(seen((lease(duration_s=None), 100)), 114) is None
    assert claim(seen((lease(duration_s=None), 100)), 115) is not None


def test_a_lease_that_vanishes_is_waited_for() -> None:
    """Its holder may not have noticed yet."""
    standing = seen((lease(), 100), (None, 110), (None, 112))
    assert claim(standing, 124.9) is None
    assert claim(standing, 125) == Claim(A, TIMING.lease_duration, 0)


def granted(standing: Standing, sent_at_s: float, answered_at_s: float) -> Standing:
    """Return A's standing after a claim was taken."""
    return leadership.granted(standing, lease(A), timing=TIMING, sent_at_s=sent_at_s, answered_at_s=answered_at_s)


def test_leadership_counts_from_before_the_request() -> None:
    """The others may have seen the write long before its answer was here."""
    standing = granted(Standing(), 100, 104)
    assert standing.leads(109.9)
    assert not standing.leads(110)


def test_an_answer_that_comes_too_late_leads_nobody() -> None:
    """A process may stand still between request and answer."""
    assert not granted(Standing(), 100, 111).leads(111)


def test_a_leadership_that_ran_out_is_not_prolonged() -> None:
    """What was under way in it must not be let go on as if nothing had been."""
    standing = granted(granted(Standing(), 100, 101), 109, 110.5)
    assert standing.leader_until_s == -math.inf
    assert granted(standing, 111, 112).leads(112)


@pytest.mark.parametrize("found", [lease(B), lease(""), None], ids=["other", "nobody", "gone"])
def test_who_sees_another_or_nobody_in_the_lease_stands_down(found: Lease | None) -> None:
    """At once, whatever time was left."""
    assert not seen((found, 102), before=granted(Standing(), 100, 101)).leads(102)


def test_only_our_own_lease_is_released() -> None:
    """The record stays, so that transitions go on counting."""
    assert leadership.release(seen((lease(A), 1)), identity=A) == Claim("", worlds.seconds(1), 3)
    assert leadership.release(seen((lease(B), 1)), identity=A) is None
    assert leadership.release(Standing(), identity=A) is None


class Store:
    """The API server: one lease, compared and swapped."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0

    def write(self, was: Lease | None, asked: Claim, wall: int) -> Lease | None:
        """Store a claim that rests on what is stored; None is a conflict."""
        stored = None if self.lease is None else self.lease.body["metadata"]["resourceVersion"]
        if stored != (None if was is None else was.body["metadata"]["resourceVersion"]):
            return None
        self.version += 1
        spec = {"holderIdentity": asked.holder, "renewTime": wall, "leaseTransitions": asked.transitions}
        metadata = {"uid": "u", "resourceVersion": str(self.version)}
        self.lease = Lease(asked.holder, asked.duration, asked.transitions, {"metadata": metadata, "spec": spec})
        return self.lease


@dataclasses.dataclass
class Request:
    """A claim on its way; the answer is there when it was delivered, None is a conflict."""

    was: Lease | None
    claim: Claim
    wall: int
    sent_at_s: float
    delivered: bool = False
    answer: Lease | None = None


class Candidate:
    """A process that may stand still between any two steps, with clocks of its own.

    Attributes:
        identity: its name.
        offset_s: its monotonic clock minus the true time.
        wall: what it writes as the time; jumps as it likes.
        standing: what it knows.
        awaited: the request it waits for.
        flying: those that it gave up and that may still arrive.
    """

    def __init__(self, identity: str, offset_s: float, store: Store) -> None:
        self.identity = identity
        self.offset_s = offset_s
        self.store = store
        self.wall = 0
        self.standing = Standing()
        self.awaited: Request | None = None
        self.flying: list[Request] = []

    def leads(self, true_s: float) -> bool:
        """Whether it would write now."""
        return self.standing.leads(true_s + self.offset_s)

    def look(self, now_s: float) -> None:
        """Read the lease."""
        if self.awaited is None:
            self.standing = leadership.seen(
                self.standing, self.store.lease, identity=self.identity, answered_at_s=now_s
            )

    def claim(self, now_s: float) -> None:
        """Send a claim, if one is due."""
        asked = leadership.claim(self.standing, identity=self.identity, timing=TIMING, now_s=now_s)
        if self.awaited is None and asked is not None:
            self.awaited = Request(self.standing.lease, asked, self.wall, now_s)

    def deliver(self, _now_s: float) -> None:
        """Let the oldest request that is under way arrive."""
        for request in [*self.flying, *([self.awaited] if self.awaited else [])]:
            if not request.delivered:
                request.delivered = True
                request.answer = self.store.write(request.was, request.claim, request.wall)
                return

    def hear(self, now_s: float) -> None:
        """Take the answer to the request."""
        request = self.awaited
        if request is not None and request.delivered:
            self.awaited = None
            if request.answer is not None:
                self.standing = leadership.granted(
                    self.standing, request.answer, timing=TIMING, sent_at_s=request.sent_at_s, answered_at_s=now_s
                )

    def give_up(self, _now_s: float) -> None:
        """Wait no longer; the request may arrive all the same."""
        if self.awaited is not None:
            self.flying.append(self.awaited)
            self.awaited = None

    def release(self, now_s: float) -> None:
        """Stop leading, and say so."""
        asked = leadership.release(self.standing, identity=self.identity)
        if self.awaited is None and asked is not None:
            self.flying.append(Request(self.standing.lease, asked, self.wall, now_s))
            self.standing = leadership.stood_down(self.standing)


STEPS = ["look", "claim", "deliver", "hear", "give_up", "release"]
MOVES = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([*STEPS, *STEPS[:4], *STEPS[:4]]),
        st.sampled_from([0.0, 0.0, 0.1, 2.0, 4.0, 6.0, 9.9, 10.0, 15.0, 40.0]),
        st.integers(-5, 5),
    ),
    min_size=10,
    max_size=120,
)


@settings(max_examples=300)
@given(MOVES, st.sampled_from([-1e6, 0.0, 7.3]))
def test_never_two_may_write(moves: Sequence[tuple[int, str, float, int]], offset_s: float) -> None:
    """Two candidates under any schedule of looks, lost and late requests, pauses and jumps of wall clocks.

    Who may write is who leads by its own clock; the lease then names it.
    """
    store = Store()
    candidates, true_s = (Candidate(A, 0.0, store), Candidate(B, offset_s, store)), 0.0
    for who, step, pause_s, jump in moves:
        true_s += pause_s
        one = candidates[who]
        one.wall += jump
        getattr(one, step)(true_s + one.offset_s)
        leading = [one.identity for one in candidates if one.leads(true_s)]
        assert len(leading) <= 1
        if leading:
            assert store.lease is not None
            assert store.lease.holder == leading[0]


def test_the_request_timeout_leaves_room_for_a_second_renewal() -> None:
    """One that hangs must not cost the leadership."""
    assert TIMING.request_timeout * 2 <= TIMING.renew_deadline
    assert TIMING.request_timeout > timedelta(0)
