"""What do people see of the slots?"""

import dataclasses
import enum
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.membership.standing import Fate, Sight
from heartbeat_tuner.membership.values import Slot, SlotPool, View


class State(enum.StrEnum):
    """What people read of a slot."""

    HELD = "Held"
    TERMINATING = "Terminating"
    CLAIMED = "Claimed"
    GONE = "Gone"
    RESTING = "Resting"
    FREE = "Free"
    EDITED = "Edited"


@dataclasses.dataclass(frozen=True, slots=True)
class Occupancy:
    """One slot, for status and metrics.

    Attributes:
        number: of the slot.
        state: held by a pod that lives or is Terminating, claimed for one that was not seen yet, of one that is gone
            and not settled yet, resting, free, or edited by somebody else and not settled yet.
        holder: the name of the pod that has or had it; empty where none was seen.
        since: when it came to be so; None where it was edited.
        waiting: the name of the gated pod that is to have it; empty where there is none.
    """

    number: int
    state: State
    holder: str
    since: datetime | None
    waiting: str


def occupancy(view: View, pool: SlotPool) -> Sequence[Occupancy]:
    """Return who has which slot, by number; slots without a Lease never had a holder and are left out.

    Args:
        view: of the workload.
        pool: whose protocol counts.
    """
    sight = Sight(view, pool)
    return [_of(slot, sight) for slot in sorted(view.slots, key=lambda slot: slot.number)]


def _of(slot: Slot, sight: Sight) -> Occupancy:
    number, record = slot.number, slot.record
    if record is None:
        return Occupancy(number, State.EDITED, holder="", since=None, waiting="")
    heir = sight.bearer(record.promise.token, number) if record.promise is not None else None
    waiting = "" if heir is None or heir.is_over else heir.name
    if not record.holder:
        state = State.FREE if record.rests_until is None else State.RESTING
        return Occupancy(number, state, holder="", since=record.since, waiting=waiting)
    holder = sight.bearer(record.holder, number)
    state = _STATES[sight.holder(number, record)]
    return Occupancy(number, state, "" if holder is None else holder.name, record.since, waiting)


_STATES = {
    Fate.LIVES: State.HELD,
    Fate.LEAVES: State.TERMINATING,
    Fate.UNSEEN: State.CLAIMED,
    Fate.ENDED: State.GONE,
    Fate.CLOSED: State.GONE,
}


_SETTLED: Final = frozenset({State.HELD, State.FREE})


def waits(view: View, pool: SlotPool) -> bool:
    """Whether anything at a place changes as time passes."""
    return any(_changes(slot, pool) for slot in occupancy(view, pool)) or any(pod.gated for pod in view.pods)


def _changes(slot: Occupancy, pool: SlotPool) -> bool:
    """Whether a slot changes as time passes; a free one beyond the pool is given up."""
    return slot.state not in _SETTLED or (slot.state is State.FREE and slot.number >= pool.size)
