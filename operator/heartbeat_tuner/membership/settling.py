"""What is to be written into the Leases, apart from claims?"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from heartbeat_tuner.membership.limits import PLACED_WITHIN, rest
from heartbeat_tuner.membership.standing import Fate, Sight
from heartbeat_tuner.membership.values import Remove, Slot, SlotPool, SlotRecord, View, Write


def settle(view: View, pool: SlotPool, *, now: datetime) -> Sequence[Write | Remove]:
    """Return what is to be written into the Leases; nothing where all is settled, so it may be asked at any time.

    - A holder that is gone makes room: for the pod that was promised its slot, or for anybody. Under KIP-848 the slot
      rests first until its session is surely over, unless its consumer closed. A pod that is Terminating is not gone,
      and one that was never seen is gone only by a view as of `limits.PLACED_WITHIN` after its claim.
    - A promise to a pod that is gone, or never came, is taken back.
    - A free slot beyond the pool loses its Lease when the session of its last holder is over: until then partitions
      are parked under its id, and who comes back after a scale-in should have that one.
    - A slot whose Lease names no living pod, was edited or is not there is given to the pod that runs with its id, if
      there is one: the id in a container's env cannot be taken back, so the Lease follows. Else an edited slot rests
      until a pod that was being created must have turned up, and under KIP-848 for a session, and is then free.

    Any replica may write any of it: a write that came second is refused, and was not needed.

    Args:
        view: of the workload.
        pool: what there is to give; slots beyond it are given up as they become free.
        now: for the record, and to count from.
    """
    sight = Sight(view, pool)
    read = {slot.number for slot in view.slots}
    orphaned = [
        Write(number, None, slot_record)
        for number in sorted(sight.numbers() - read)
        if (slot_record := _follow(number, None, sight, now=now)) is not None
    ]
    settled = [_settle(slot, sight, pool, now=now) for slot in sorted(view.slots, key=lambda slot: slot.number)]
    return [*orphaned, *(write for write in settled if write is not None)]


def _settle(slot: Slot, sight: Sight, pool: SlotPool, *, now: datetime) -> Write | Remove | None:
    """Return what is to be done with one slot's Lease."""
    record = _next(slot, sight, pool, now=now)
    if record is not None:
        return Write(slot.number, slot.version, record)
    if slot.number >= pool.size and slot.record is not None and _is_idle(slot.record, pool, now=now):
        return Remove(slot.number, slot.version)
    return None


def _is_idle(record: SlotRecord, pool: SlotPool, *, now: datetime) -> bool:
    """Whether nobody has a slot, and the coordinator keeps no place for who had it."""
    parked = record.former and now < record.since + pool.session_timeout
    return not (record.holder or record.rests_until or parked)


def _next(slot: Slot, sight: Sight, pool: SlotPool, *, now: datetime) -> SlotRecord | None:
    """Return what a slot's Lease is to say; None where it may stay."""
    number, record = slot.number, slot.record
    if record is None:
        unknown = SlotRecord(since=now, rests_until=now + max(PLACED_WITHIN, rest(pool)))
        return _follow(number, None, sight, now=now) or unknown
    heir = sight.heir(number, record)
    slot_record = None if heir == record.promise else replace(record, promise=None)
    fate = sight.holder(number, record) if record.holder else None
    if fate in {Fate.LIVES, Fate.LEAVES, Fate.UNSEEN}:
        return slot_record
    followed = _follow(number, record, sight, now=now)
    if followed is not None:
        return followed
    former = record.holder or record.former
    if fate is Fate.ENDED and rest(pool):
        return SlotRecord(since=now, promise=heir, rests_until=now + rest(pool), former=former)
    is_free = fate is None and record.rests_until is None
    if is_free or not sight.rested(number, record, now=now):
        return slot_record
    since = now if record.holder or heir is not None else record.since  # the end of a rest is nobody's
    return SlotRecord(since=since, holder="" if heir is None else heir.token, former=former)


def _follow(number: int, record: SlotRecord | None, sight: Sight, *, now: datetime) -> SlotRecord | None:
    """Return a record for the pod that has a slot's id and may run, though its Lease does not name it."""
    running = [pod for pod in sight.strangers(number, record) if pod.token and not pod.gated]
    return SlotRecord(since=now, holder=running[0].token) if running else None
