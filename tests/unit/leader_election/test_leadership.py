"""The rules of the election: never two who may write, whatever clocks and processes do."""

import dataclasses
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.leader_election import leadership
from heartbeat_tuner.leader_election.leadership import Standing, Timing
from heartbeat_tuner.ports.leader_lease import Claim, Lease
from tests.support import worlds

pytestmark = pytest.mark.no_cover  # plays hundreds of elections

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


@pytest.mark.parametrize("change", [{"resourceVersion": "2"}, {"uid": "other"}])
def test_a_lease_that_changes_is_alive(change: dict[str, Any]) -> None:
    """Any write counts: its holder's clock may have jumped back to the very time of its last one."""
    assert claim(seen((lease(), 100), (lease(**change), 110)), 124.9) is None


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


def looked(standing: Standing, found: Lease | None, sent_at_s: float) -> Standing:
    """Return the standing of one of several A after a look whose answer takes a second."""
    return leadership.seen_shared(
        standing, found, identity=A, timing=TIMING, sent_at_s=sent_at_s, answered_at_s=sent_at_s + 1
    )


def test_a_renewal_by_one_of_several_prolongs_the_leadership_of_all() -> None:
    """From before the look that did not show it yet: it was written after that."""
    mine = granted(Standing(), 100, 101)
    assert looked(mine, lease(A, resourceVersion="2"), 104).leader_until_s == 110
    again = looked(looked(mine, lease(A, resourceVersion="2"), 104), lease(A, resourceVersion="3"), 108)
    assert again.leader_until_s == 114
    assert looked(again, lease(A, resourceVersion="3"), 112).leader_until_s == 114  # nobody has renewed it


def test_a_look_prolongs_no_leadership_that_ran_out_or_was_taken() -> None:
    """What was led has to end first."""
    mine = looked(granted(Standing(), 100, 101), lease(A, resourceVersion="2"), 108)
    assert not looked(mine, lease(A, resourceVersion="3"), 110).leads(111)
    for found in (lease(B, resourceVersion="3"), lease("", resourceVersion="3"), None):
        assert not looked(mine, found, 108).leads(109)


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
        if self.lease is not None and self.lease.body["spec"]["renewTime"] == wall:
            wall += 1  # as the adapter does
        spec = {"holderIdentity": asked.holder, "renewTime": wall, "leaseTransitions": asked.transitions}
        metadata = {"uid": "u", "resourceVersion": str(self.version)}
        self.lease = Lease(asked.holder, asked.duration, asked.transitions, {"metadata": metadata, "spec": spec})
        return self.lease


class Step(Protocol):
    """One step of a candidate, at a moment of its own clock, as it should be or oddly."""

    def __call__(self, now_s: float, /, *, odd: bool) -> None:
        """Do it."""


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
        shared: whether others have the same name; then it never gives the lease back.
        wall: what it writes as the time; jumps as it likes.
        standing: what it knows.
        awaited: the request it waits for.
        flying: those that it gave up and that may still arrive.
    """

    def __init__(self, identity: str, offset_s: float, store: Store, *, shared: bool = False) -> None:
        self.identity = identity
        self.offset_s = offset_s
        self.shared = shared
        self.store = store
        self.wall = 0
        self.standing = Standing()
        self.awaited: Request | None = None
        self.flying: list[Request] = []
        self.looked: tuple[Lease | None, float] | None = None

    def leads(self, true_s: float) -> bool:
        """Whether it would write now."""
        return self.standing.leads(true_s + self.offset_s)

    def steps(self) -> Iterator[Step]:
        """Yield what the process, or the network for it, does next, for ever; time may pass between any two."""
        while True:
            yield self.look
            yield self.claim
            yield self.deliver
            yield self.hear

    def look(self, now_s: float, *, odd: bool) -> None:
        """Read the lease, as any candidate must and a leader may; or, if odd, give it back."""
        if odd:
            self._release(now_s)
        elif self.shared:
            self.looked = (self.store.lease, now_s)
        elif not self.standing.leads(now_s):
            self.standing = leadership.seen(
                self.standing, self.store.lease, identity=self.identity, answered_at_s=now_s
            )

    def claim(self, now_s: float, *, odd: bool) -> None:
        """Send a claim, if one is due; hear first what a look at a shared lease has shown, some time ago."""
        if self.looked is not None:
            (lease, sent_at_s), self.looked = self.looked, None
            self.standing = leadership.seen_shared(
                self.standing,
                lease,
                identity=self.identity,
                timing=TIMING,
                sent_at_s=sent_at_s,
                answered_at_s=now_s,
            )
        asked = leadership.claim(self.standing, identity=self.identity, timing=TIMING, now_s=now_s)
        if asked is not None and not odd:
            self.awaited = Request(self.standing.lease, asked, self.wall, now_s)

    def deliver(self, _now_s: float, *, odd: bool) -> None:
        """Let all requests arrive that are under way, the given up ones first; or, if odd, only those."""
        for request in [*self.flying, *([self.awaited] if self.awaited and not odd else [])]:
            request.delivered = True
            request.answer = self.store.write(request.was, request.claim, request.wall)
        self.flying = []

    def hear(self, now_s: float, *, odd: bool) -> None:
        """Take the answer to the request, or look again after a conflict; or, if odd, give up waiting for it."""
        request, self.awaited = self.awaited, None
        if request is None:
            return
        if odd or not request.delivered:
            self.flying += [] if request.delivered else [request]
        elif request.answer is None:
            self.standing = leadership.seen(
                self.standing, self.store.lease, identity=self.identity, answered_at_s=now_s
            )
        else:
            self.standing = leadership.granted(
                self.standing, request.answer, timing=TIMING, sent_at_s=request.sent_at_s, answered_at_s=now_s
            )

    def _release(self, now_s: float) -> None:
        if self.shared:
            return
        asked = leadership.release(self.standing, identity=self.identity)
        if asked is not None:
            self.flying.append(Request(self.standing.lease, asked, self.wall, now_s))
            self.standing = leadership.stood_down(self.standing)


STEPS = 4
RETRY_S = 0.5
PAUSES_S = [0.01] * 12 + [1.0, 4.0, 9.0, 14.0, 30.0]
MOVES = 400
"""Of each candidate: some minutes."""

Move = tuple[float, int, Step, bool, int]
"""When (true time) which candidate does what, whether it goes oddly, and by what its wall clock jumps before."""


def life(number: int, candidate: Candidate, dice: random.Random) -> Iterator[Move]:
    """Yield the moves of a candidate."""
    true_s = 0.0
    for index, step in enumerate(itertools.islice(candidate.steps(), MOVES)):
        true_s += dice.choice(PAUSES_S) + (0 if index % STEPS else RETRY_S)
        yield true_s, number, step, dice.random() < 1 / 16, dice.randint(-5, 5)


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.sampled_from([-1e6, 0.0, 7.3]))
def test_never_two_may_write(seed: int, offset_s: float) -> None:
    """Two candidates whose steps interleave anyhow, with lost and late requests, pauses and jumps of wall clocks.

    Who may write is who leads by its own clock; the lease then names it. The schedule comes from a seed: to shrink
    hundreds of pauses would take minutes.
    """
    dice, store = random.Random(seed), Store()  # noqa: S311 - no secret
    for leading in leaders((Candidate(A, 0.0, store), Candidate(B, offset_s, store)), dice):
        assert len(leading) <= 1
        if leading:
            assert store.lease is not None
            assert store.lease.holder == leading[0]


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.sampled_from([-1e6, 0.0, 7.3]), st.booleans())
def test_never_two_divisions_of_the_fleet_lead(seed: int, offset_s: float, undivided: bool) -> None:  # noqa: FBT001
    """Replicas with three shards hold one lease together, and none of them leads beside who divides differently.

    The other side is two replicas with four shards, or one without shards, which may give the lease back.
    """
    dice, store = random.Random(seed), Store()  # noqa: S311 - no secret
    three = [Candidate("3-shards", clock_s, store, shared=True) for clock_s in (0.0, 3.0)]
    four = [Candidate("4-shards", clock_s, store, shared=True) for clock_s in (offset_s, 1.0)]
    others = [Candidate(B, offset_s, store)] if undivided else four
    for leading in leaders((*three, *others), dice):
        assert len(set(leading)) <= 1


def test_replicas_of_one_division_lead_together() -> None:
    """Or the test above would show nothing."""
    dice, store = random.Random(0), Store()  # noqa: S311 - no secret
    three = [Candidate("3-shards", clock_s, store, shared=True) for clock_s in (0.0, 3.0)]
    assert any(len(leading) > 1 for leading in leaders((*three, Candidate(B, 7.3, store)), dice))


def leaders(candidates: Sequence[Candidate], dice: random.Random) -> Iterator[list[str]]:
    """Yield who leads after each move of candidates whose moves interleave anyhow."""
    moves = sorted(
        (move for number, candidate in enumerate(candidates) for move in life(number, candidate, dice)),
        key=lambda move: move[:2],
    )
    for true_s, number, step, odd, jump in moves:
        candidates[number].wall += jump
        step(true_s + candidates[number].offset_s, odd=odd)
        yield [candidate.identity for candidate in candidates if candidate.leads(true_s)]


def test_the_request_timeout_leaves_room_for_a_second_renewal() -> None:
    """One that hangs must not cost the leadership."""
    assert TIMING.request_timeout * 2 <= TIMING.renew_deadline
    assert TIMING.request_timeout > timedelta(0)
