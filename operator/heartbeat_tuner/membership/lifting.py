"""Which gated pods may go, and which pods must be replaced?"""

from collections.abc import Sequence
from datetime import datetime

from heartbeat_tuner.membership.limits import CLOCK_SKEW, longest_gate
from heartbeat_tuner.membership.standing import Fate, Sight
from heartbeat_tuner.membership.values import Lift, Replace, SlotPod, SlotPool, SlotRecord, SlotRefusal, View


def lift(view: View, pool: SlotPool, *, now: datetime) -> Sequence[Lift | Replace]:
    """Return what is to be done with the pods themselves; to be asked after what `settle` said is written.

    A gated pod goes when its Lease names it as the holder, which `settle` brings about when the one before is gone and
    has rested. Its id stands in its env and cannot be taken back. So where the promise cannot be kept in time, the pod
    never starts: it is replaced, and its successor claims again, as a dynamic member if nothing is free. That is so

    - when the holder's grace and `limits.GRACE_MARGIN` are over and its object is still there: its node is probably
      lost, and the holder may well live on it. Lifting now would give an id twice;
    - when nobody promised the slot to it by a view that must know (a Lease edited or deleted by hand);
    - when it has been gated for `limits.longest_gate`, whatever the reason.

    A pod that runs with the id of a slot whose living holder is another one is replaced too: one of the two has to go,
    and the Lease says which. A gate on a pod without an id is simply lifted.

    Args:
        view: of the workload.
        pool: whose rest and protocol count.
        now: to count from.
    """
    sight = Sight(view, pool)
    records = {slot.number: slot.record for slot in view.slots}
    actions: list[Lift | Replace] = []
    for pod in view.pods:
        if pod.is_over or pod.deletion is not None:
            continue
        record = None if pod.slot is None else records.get(pod.slot)
        if pod.gated and (pod.slot is None or _holds(pod, record, sight)):
            actions.append(Lift(pod))
            continue
        why = _why_not(pod, record, sight, pool, now=now) if pod.gated else _why_stop(pod, record, sight)
        if why is not None:
            actions.append(Replace(pod, why))
    return actions


def _holds(pod: SlotPod, record: SlotRecord | None, sight: Sight) -> bool:
    """Whether the Lease of a pod's slot names it, and no other with the same token."""
    if record is None or pod.slot is None or not pod.token or record.holder != pod.token:
        return False
    return sight.bearer(pod.token, pod.slot) is pod


def _why_not(
    pod: SlotPod, record: SlotRecord | None, sight: Sight, pool: SlotPool, *, now: datetime
) -> SlotRefusal | None:
    """Return why a gated pod is not to wait any longer; None while it is."""
    if now >= pod.created_at + longest_gate(pool):
        return SlotRefusal.GATED_TOO_LONG
    is_promised = record is not None and record.promise is not None and record.promise.token == pod.token
    if record is None or pod.slot is None or not is_promised:
        return SlotRefusal.NOT_PROMISED if _must_know(pod, sight) else None
    until = sight.waited_for(pod.slot, record)
    return SlotRefusal.HOLDER_STAYS if until is not None and now >= until else None


def _why_stop(pod: SlotPod, record: SlotRecord | None, sight: Sight) -> SlotRefusal | None:
    """Return why a pod that may run has to go; None where it may stay."""
    if record is None or pod.slot is None or not pod.token or _holds(pod, record, sight) or not _must_know(pod, sight):
        return None
    is_held = sight.fate(pod.slot, record.holder, claimed_at=record.since) in {Fate.LIVES, Fate.LEAVES}
    return SlotRefusal.NOT_THE_HOLDER if is_held else None


def _must_know(pod: SlotPod, sight: Sight) -> bool:
    """Whether a view's Leases are from after a pod's claim, which was written before the pod was stored."""
    return sight.as_of >= pod.created_at + CLOCK_SKEW
