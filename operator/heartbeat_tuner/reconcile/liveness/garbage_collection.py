"""How Python's garbage collector works in this process: seldom, and through what is new.

Nearly all that the operator lets go of goes at once, by its count of references. The collector looks for what is left,
and for that it walks through everything that is remembered, while the event loop stands still: at 10,000 policies, with
the view of their workloads and their models, through 720,000 objects in 0.36 s. So what is there after the first cycles
of a leadership is set aside, and the rest is looked through less often. Measured in a process with such a memory, over
five looks at it: 7 full collections, the longest of 443 ms, before; none, and 38 ms for the longest other one, after.

While all of that is made, in the first cycles, a full collection would find next to nothing and take longer each time:
with 3,000 policies there were 20 of them, the longest of 0.5 s. So there is none in these cycles.

What a leadership leaves behind holds itself: tasks that were cancelled keep their frames, and these the metrics of all
policies. A follower makes too little that is new to bring a full collection by itself, so there is one when a
leadership has ended. Without it each further leadership of a process added 10 MiB at 500 policies: 100,000 objects.
"""

import asyncio
import gc
from typing import Final

THRESHOLDS: Final = (10_000, 5, 200)
"""Objects made beyond those that went, until the youngest are looked through; of these looks and the next older ones,
until the others are. Python's own are 700, 10 and 10. With 20 in the middle a look through what an answer of Prometheus
is made of took 0.4 s at 3,000 policies."""

FILLING: Final = 6
"""Cycles in which the memory fills: the first reads all objects, the others the rest of the hour's metrics."""

_NO_FULL_ONE: Final = 10**6
"""Looks at the older objects until everything is looked through: more than these cycles have."""

LET_GO_S: Final = 2.0
"""So long after a leadership nobody holds its tasks any more."""

_YOUNG: Final = 1
"""The generations that were looked through not at all, or once."""


def slow_down() -> None:
    """Have the collector work less often from now on, in a process that holds a fleet: a follower's watch does, too."""
    gc.set_threshold(*THRESHOLDS)


class Collector:
    """The collector during one leadership after the other.

    Args:
        let_go_s: from the end of a leadership to the collection of what it left.
    """

    def __init__(self, *, let_go_s: float = LET_GO_S) -> None:
        self._let_go_s = let_go_s
        self._cycles = 0

    def began(self) -> None:
        """Before the first look at everything, have only what is new looked through."""
        gc.set_threshold(*THRESHOLDS[:2], _NO_FULL_ONE)

    def looked(self) -> None:
        """After each of the first looks at everything, spare what is there now; what is new and garbage goes first.

        Older garbage of these looks stays as long as the leadership does: it is little, and to find it takes 0.4 s at
        3,000 policies.
        """
        if self._cycles == FILLING:
            return
        self._cycles += 1
        gc.collect(_YOUNG)
        gc.freeze()
        if self._cycles == FILLING:
            slow_down()

    def forgot(self) -> None:
        """After a leadership, spare nothing any more, and look through everything as soon as its tasks are gone."""
        gc.unfreeze()
        slow_down()
        self._cycles = 0
        asyncio.get_running_loop().call_later(self._let_go_s, gc.collect)
