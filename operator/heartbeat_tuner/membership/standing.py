"""How does a slot stand, by what one replica saw? The judgement that all other rules share.

Facts of three kinds meet here. That a pod is Terminating or over stays true, so any view may say it. What a Lease says
was true when it was read, and a write that rests on its version finds out. That a pod was *not* seen means nothing,
until the view is as of a moment by which the pod was stored or never would be.
"""

import enum
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from heartbeat_tuner.membership.limits import CLOCK_SKEW, GRACE_MARGIN, LONGEST_GRACE, PLACED_WITHIN, rest
from heartbeat_tuner.membership.values import Promise, Slot, SlotPod, SlotPool, SlotRecord, View


class Fate(enum.Enum):
    """What became of the pod that a Lease names."""

    LIVES = enum.auto()
    LEAVES = enum.auto()
    """It is Terminating: not gone."""
    UNSEEN = enum.auto()
    """It is still being created, or was refused after its claim, or is gone: too early to tell."""
    ENDED = enum.auto()
    """It is gone; whether it closed its consumer is not known."""
    CLOSED = enum.auto()
    """It is gone, and no session of it is left; or it never was, or never had this id."""


class Sight:
    """A view with its pods found by token and by slot.

    Args:
        view: of the workload.
        pool: whose protocol counts.
    """

    def __init__(self, view: View, pool: SlotPool) -> None:
        self.as_of = view.as_of
        self._pool = pool
        self._tokens = {pod.token for pod in view.pods if pod.token}
        # One pod for each id and token, found once: a tenant may give one token to thousands of pods.
        self._bearers: dict[tuple[str, int], SlotPod] = {}
        self._by_slot: defaultdict[int, list[SlotPod]] = defaultdict(list)
        for pod in view.pods:
            if pod.slot is None:
                continue
            if pod.token:
                known = self._bearers.setdefault((pod.token, pod.slot), pod)
                if _counts_before(pod, known):
                    self._bearers[pod.token, pod.slot] = pod
            if not pod.is_over:
                self._by_slot[pod.slot].append(pod)

    def numbers(self) -> AbstractSet[int]:
        """Return the slots whose ids pods have that are not over."""
        return self._by_slot.keys()

    def knows(self, token: str) -> bool:
        """Whether a pod with this token was seen."""
        return token in self._tokens

    def bearer(self, token: str, number: int) -> SlotPod | None:
        """Return the pod of a token that has a slot's id; of several (the token was copied) the one that counts."""
        return self._bearers.get((token, number))

    def fate(self, number: int, token: str, *, claimed_at: datetime) -> Fate:
        """Return what became of a pod that was given a slot."""
        pod = self.bearer(token, number)
        if pod is None and self.knows(token):
            return Fate.CLOSED  # the token is one pod's, and that pod was stored without this id
        if pod is None:
            return Fate.ENDED if self.as_of >= claimed_at + PLACED_WITHIN else Fate.UNSEEN
        if not pod.is_over:
            return Fate.LIVES if pod.deletion is None else Fate.LEAVES
        return Fate.CLOSED if self._closed(pod) else Fate.ENDED

    def holder(self, number: int, record: SlotRecord) -> Fate:
        """Return what became of a slot's holder."""
        return self.fate(number, record.holder, claimed_at=record.since)

    def waited_for(self, number: int, record: SlotRecord) -> datetime | None:
        """Return until when a Terminating holder is waited for; then its node is taken to be lost.

        None where there is no such holder.
        """
        pod = self.bearer(record.holder, number)
        if pod is None or pod.is_over or pod.deletion is None:
            return None
        due, grace = pod.deletion.due, pod.deletion.grace
        return min(due, due - grace + LONGEST_GRACE) + GRACE_MARGIN

    def heir(self, number: int, record: SlotRecord) -> Promise | None:
        """Return a slot's promise; None where there is none, or none that can still be kept."""
        promise = record.promise
        if promise is None:
            return None
        fate = self.fate(number, promise.token, claimed_at=promise.at)
        return None if fate in {Fate.ENDED, Fate.CLOSED} else promise

    def strangers(self, number: int, record: SlotRecord | None) -> Sequence[SlotPod]:
        """Return the pods that have a slot's id though its Lease names another or none; who counts most comes first.

        There should be none. There are, where a Lease was edited or deleted, or a pod was stored later than
        `limits.PLACED_WITHIN`. The former holder is none while the view may be older than its end.
        """
        named: set[str] = set()
        if record is not None:
            named |= {record.holder, record.promise.token if record.promise else ""}
            if self.as_of < record.since + CLOCK_SKEW:
                named.add(record.former)
        return sorted(
            (pod for pod in self._by_slot.get(number, ()) if not pod.token or pod.token not in named), key=_precedence
        )

    def rested(self, number: int, record: SlotRecord, *, now: datetime) -> bool:
        """Whether a slot without a holder has rested: its session is over, or nobody unknown can turn up any more."""
        if record.rests_until is None:
            return True
        if not record.former:
            return self.as_of >= record.rests_until
        former = self.bearer(record.former, number)
        return now >= record.rests_until or (former is not None and former.is_over and self._closed(former))

    def is_free(self, slot: Slot, *, now: datetime) -> bool:
        """Whether a slot may be given to a new pod at once."""
        record = slot.record
        if record is None or self.strangers(slot.number, record) or self.heir(slot.number, record) is not None:
            return False
        if not record.holder:
            return self.rested(slot.number, record, now=now)
        fate = self.holder(slot.number, record)
        return fate is Fate.CLOSED or (fate is Fate.ENDED and not rest(self._pool))

    def _closed(self, pod: SlotPod) -> bool:
        """Whether a pod that is over left no session: it never ran, or its consumer closed.

        Of a container that was started again, the run before may have left a session which refused this run, so this
        run must have lasted for longer than that.
        """
        if not pod.bound:
            return True
        if pod.end is None or pod.end.exit_code not in self._pool.closing_exit_codes:
            return False
        return not pod.restarted or pod.end.ran_for >= rest(self._pool)


def _counts_before(pod: SlotPod, other: SlotPod) -> bool:
    """Whether of two pods of one token and id the first is the one that counts."""
    return (pod.is_over, *_precedence(pod)) < (other.is_over, *_precedence(other))


def _precedence(pod: SlotPod) -> tuple[bool, datetime, str]:
    """Order pods of one id: who may run before who is gated, then the older one."""
    return pod.gated, pod.created_at, pod.uid
