"""Which slot does a pod get that is being created?

A slot is free where its Lease says so and no pod that was seen has its id; where it has no Lease; where its holder is
known to be gone and, under KIP-848, has closed; where its rest is over. Never on the word of an old view alone: each
write rests on a version, what makes a holder gone stays so, and that a pod was not seen counts only if the view is as
of `limits.PLACED_WITHIN` after its claim.
"""

import dataclasses
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from heartbeat_tuner.membership.limits import PLACED_WITHIN, crowded
from heartbeat_tuner.membership.standing import Fate, Sight
from heartbeat_tuner.membership.values import (
    Claimed,
    Promise,
    Refused,
    Slot,
    SlotPool,
    SlotRecord,
    SlotRefusal,
    View,
    Write,
)


def claim(token: str, view: View, pool: SlotPool, *, may_gate: bool, now: datetime) -> Claimed | Refused:
    """Return the slot that a pod gets which is being created, and what to write first.

    The slot of a Terminating holder that should be gone first, as a promise; else one that is free; else none. The
    same token gets the same answer for as long as a Lease names it: asked again in one review, or after a conflict or
    an answer that was lost.

    The promise comes first because a holder that ends parks its partitions, and the pod that is created meanwhile is
    most often its successor. Under another id it would be one member more: a classic group would rebalance, and then
    wait for the one that ended until its session is over. For the same reason, of the free slots the one that had a
    holder last comes first, if that was within a session, then the lowest.

    A promise is made only while its holder is within its grace (`limits.LONGEST_GRACE` at most), so that a pod which
    was replaced because a holder did not go is not promised the same slot again. A resting slot is not promised: as a
    dynamic member the pod works sooner.

    Args:
        token: of the pod: random, or the one that its annotation has already.
        view: of the workload; an old one costs a conflict or a dynamic member, never an id twice.
        pool: what there is to give.
        may_gate: the pod may have a gate, and somebody is known to lift it.
        now: for the record, and to count from.
    """
    if crowded(view):
        return Refused(SlotRefusal.CROWDED)
    sight = Sight(view, pool)
    again = _again(token, view, sight, now=now)
    if again is not None:
        return again
    inside = [slot for slot in view.slots if slot.number < pool.size]
    promises = [offer for offer in (_promise(slot, token, sight, now=now) for slot in inside) if offer is not None]
    if promises and may_gate:
        _, promise = min(promises, key=lambda offer: (offer[0], offer[1].number))
        return Claimed(promise.number, gated=True, write=promise)
    write = _of_free(token, view, pool, sight, now=now)
    if write is not None:
        return Claimed(write.number, gated=False, write=write)
    return Refused(SlotRefusal.GATES_OFF if promises else _why_none(inside, sight, pool))


def _of_free(token: str, view: View, pool: SlotPool, sight: Sight, *, now: datetime) -> Write | None:
    """Return what gives a token a free slot; None where none is free."""
    read = {slot.number: slot for slot in view.slots}
    free = [number for number, slot in read.items() if number < pool.size and sight.is_free(slot, now=now)]
    unused = _lowest_unused(read.keys() | sight.numbers(), pool)
    if unused is not None:
        free.append(unused)
    if not free:
        return None
    number = min(free, key=lambda candidate: (_away(read.get(candidate), pool, now=now), candidate))
    return _given(number, read.get(number), token, now=now)


def _again(token: str, view: View, sight: Sight, *, now: datetime) -> Claimed | Refused | None:
    """Return the answer that a token got before; None where it is new.

    It is one pod's creation that asks, and a creation is short: a token that a pod has already, or that was given long
    ago, was copied.
    """
    if sight.knows(token):
        return Refused(SlotRefusal.COPIED)
    for slot in view.slots:
        given_at = _given_at(token, slot.record)
        if given_at is not None and now >= given_at + PLACED_WITHIN:
            return Refused(SlotRefusal.COPIED)
        if given_at is not None:
            is_holder = slot.record is not None and slot.record.holder == token
            return Claimed(slot.number, gated=not is_holder, write=None)
    return None


def _given_at(token: str, record: SlotRecord | None) -> datetime | None:
    """Return when a slot was given or promised to a token; None where it was not."""
    if record is None:
        return None
    if record.holder == token:
        return record.since
    return record.promise.at if record.promise is not None and record.promise.token == token else None


def _lowest_unused(used: AbstractSet[int], pool: SlotPool) -> int | None:
    """Return the lowest slot that has neither a Lease nor a pod with its id; None where a pool has none.

    It takes no more looks than there are used ones, however large a pool somebody asks for.
    """
    return next((number for number in range(pool.size) if number not in used), None)


def _away(slot: Slot | None, pool: SlotPool, *, now: datetime) -> timedelta:
    """Return for how long a free slot has had no holder; endless where the coordinator has forgotten its member.

    Up to then the partitions of its id are parked. The session that is known is the longest that there may be, so of
    two the one that was left last is the one that is surely parked.
    """
    record = None if slot is None else slot.record
    if record is None:
        return timedelta.max
    away = timedelta(0) if record.holder else now - record.since
    return away if away < pool.session_timeout else timedelta.max


def _given(number: int, slot: Slot | None, token: str, *, now: datetime) -> Write:
    """Return what makes a token the holder of a free slot."""
    if slot is None or slot.record is None:
        return Write(number, None, SlotRecord(since=now, holder=token))
    former = slot.record.holder or slot.record.former
    return Write(number, slot.version, SlotRecord(since=now, holder=token, former=former))


def _promise(slot: Slot, token: str, sight: Sight, *, now: datetime) -> tuple[datetime, Write] | None:
    """Return what promises a slot to a token, and until when its holder is waited for; None where it cannot be."""
    record = slot.record
    if record is None or sight.heir(slot.number, record) is not None or sight.strangers(slot.number, record):
        return None
    until = sight.waited_for(slot.number, record)
    if until is None or now >= until:
        return None
    promised = dataclasses.replace(record, promise=Promise(token, now))
    return until, Write(slot.number, slot.version, promised)


def _why_none(inside: Sequence[Slot], sight: Sight, pool: SlotPool) -> SlotRefusal:
    """Return why none of a pool's slots can be had."""
    if not pool.size:
        return SlotRefusal.NO_POOL
    resting = any(
        slot.record is None or not slot.record.holder or sight.holder(slot.number, slot.record) is Fate.ENDED
        for slot in inside
    )
    return SlotRefusal.RESTING if resting else SlotRefusal.ALL_HELD
