"""A schedule: what happens to which replica when, drawn from a seed. Pure.

Replicas are told apart by the part they play when the schedule begins: the first one leads then. Whoever leads later
follows from what happened before.
"""

import dataclasses
import enum
import itertools
import random
from collections.abc import Sequence
from typing import Final


class Act(enum.Enum):
    """What can happen to a replica."""

    KILL = "kill"
    """SIGKILL; it is started again at once, as a kubelet would."""
    STOP = "stop"
    """SIGSTOP."""
    CONTINUE = "continue"
    """SIGCONT."""
    CUT = "cut"
    """Its wire to the API server is reset and refuses connections."""
    BLACK_HOLE = "black hole"
    """Its wire takes everything and answers nothing."""
    HALF_OPEN = "half open"
    """The API server's side of its wire is closed, its own is not told."""
    MEND = "mend"
    """Its wire is good again."""


CUTS: Final = (Act.CUT, Act.BLACK_HOLE, Act.HALF_OPEN)


@dataclasses.dataclass(frozen=True)
class Event:
    """One act.

    Attributes:
        at_s: seconds after the first value was applied.
        act: what happens.
        replica: 0 for the one that led at the beginning, 1 for the other.
    """

    at_s: float
    act: Act
    replica: int

    def __str__(self) -> str:
        return f"{self.at_s:.2f} {self.act.value} {'AB'[self.replica]}"


_FIRST_S: Final = (0.0, 0.5)
"""While the values are being applied, over wires as slow as they are here."""

_BEFORE_REVERTS_S: Final = (2.0, 5.0)
"""Later: all values are applied then, and those whose pods crash are about to be taken back."""

_LATE_BEGIN_EVERY: Final = 4
"""Of so many seeds one begins then."""

SEEDS: Final = range(1, 51)
PLAYED_ALWAYS: Final = (4, 8, 10, 12, 34, 41)
"""They try all that the first twelve try, and begin late as often: few of those that do strike before reverts."""

_SOON_S: Final = (0.05, 0.3)
_LATE_S: Final = (2.0, 3.2)
"""A gap in which a lease runs out: who is stopped for so long awakes about when the other one begins to write."""

_LEASE_S: Final = 2.0
"""For how long a lease holds in these runs."""

_LATE_SHARE: Final = {Act.CONTINUE: 0.7}
_OTHERWISE_LATE: Final = 0.1
_AWAKEN_SHARE: Final = 0.5
_LEADER_FIRST_SHARE: Final = 0.8


def drawn(seed: int) -> tuple[Event, ...]:
    """Return the schedule of a seed: four to eight events in the order of their times."""
    chance = random.Random(seed)  # noqa: S311 - a schedule to repeat, not a secret
    events: list[Event] = []
    stopped, cut = [False, False], [False, False]
    at_s = chance.uniform(*(_FIRST_S if seed % _LATE_BEGIN_EVERY else _BEFORE_REVERTS_S))
    for number in range(chance.randint(4, 8)):
        asleep = [replica for replica in (0, 1) if stopped[replica]]
        if asleep and chance.random() < _AWAKEN_SHARE:
            replica, act = chance.choice(asleep), Act.CONTINUE
        else:
            replica = int(chance.random() > _LEADER_FIRST_SHARE) if number == 0 else chance.randrange(2)
            pause = Act.CONTINUE if stopped[replica] else Act.STOP
            wire = Act.MEND if cut[replica] else chance.choice(CUTS)
            act = chance.choice([Act.KILL, pause, pause, wire, wire])  # who was killed needs seconds to be back
        if number > 0:
            late = chance.random() < _LATE_SHARE.get(act, _OTHERWISE_LATE)
            at_s += chance.uniform(*(_LATE_S if late else _SOON_S))
        stopped[replica] = act is Act.STOP or (stopped[replica] and act in {Act.MEND, *CUTS})
        cut[replica] = act in CUTS or (cut[replica] and act is not Act.MEND)
        events.append(Event(round(at_s, 3), act, replica))
    return tuple(events)


def kinds(events: Sequence[Event]) -> frozenset[str]:
    """Return what a schedule tries.

    That is each act on either replica, each act right after another, sleeps and cuts of less and of more than the two
    seconds for which a lease holds, and whether it begins while values are applied or before they are taken back.
    """
    tried = {f"{event.act.value} {'AB'[event.replica]}" for event in events}
    tried |= {f"{_family(before.act)}, {_family(after.act)}" for before, after in itertools.pairwise(events)}
    tried.add("begins early" if events[0].at_s <= _FIRST_S[1] else "begins late")
    since_s: dict[tuple[str, int], float] = {}
    for event in events:
        family = _family(event.act)
        ended = {"continue": "stop", "mend": "cut off"}.get(family, "")
        if (ended, event.replica) in since_s:
            lasted_s = event.at_s - since_s[ended, event.replica]
            tried.add(f"{ended} for {'long' if lasted_s > _LEASE_S else 'a moment'}")
        since_s[family, event.replica] = event.at_s
    return frozenset(tried)


def _family(act: Act) -> str:
    """Return the act's value, the same for all ways to cut a wire."""
    return "cut off" if act in CUTS else act.value
