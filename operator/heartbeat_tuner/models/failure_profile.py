"""What happens to one consumer group, as rates and laws: all that the cost of settings depends on, but the settings.

One value of this stands between three parts. `decision.evidence` makes it from what was measured, with its doubts;
`decision.cost.cost_model` computes with it; `simulation` plays it out. A benchmark makes the true ones.
"""

import dataclasses
import enum

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import Law


class Rebalancing(enum.StrEnum):
    """Who stands still while a group rebalances."""

    EAGER = "eager"  # everybody gives up all partitions
    COOPERATIVE = "cooperative"  # only the partitions that move stand still, in two rounds
    CONSUMER = "consumer"  # KIP-848: only those too, and nobody waits for anybody


class Delivery(enum.StrEnum):
    """What becomes of a heartbeat that network or coordinator hold up."""

    LATE = "late"  # it arrives when they are back
    RETRIED = "retried"  # it fails at once and is tried again after a back-off
    NEXT_TICK = "next tick"  # it is lost; the next one comes when it always would
    ONE_IN_FLIGHT = "one in flight"  # it is lost, and no other is sent until it has timed out


@dataclasses.dataclass(frozen=True, slots=True)
class FailureProcess:
    """Something that takes members away for a time, now and then.

    Attributes:
        per_day: how often, on average; a Poisson process.
        law: for how long.
        upper_per_day: how often a day it lasts longer than each of `law.TIMES_S`, at most, at 95 %; None where the
            law is known and not estimated.
    """

    per_day: float
    law: Law
    upper_per_day: Array | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """One group. Rates are for each member, unless said otherwise.

    Attributes:
        client: the library, as policies call it (`clients.catalogue`).
        rebalancing: how its partitions are moved.
        members: how many there are.
        partitions: how many they share.
        static: whether members have a `group.instance.id`.
        pauses: the process stands still, and beats again as soon as it wakes.
        node_pauses: of a node, with `node_members` members of the group on it; per day of the group.
        node_members: how many members such a pause takes away together.
        outages: network or coordinator are away, for the whole group; per day of the group.
        delivery: what becomes of heartbeats meanwhile.
        crashes: the process dies unannounced, and is back after so long.
        restarts: it is closed and replaced, and is back after so long.
        surge: the new one is started before the old one is closed.
        hangs: a handler does not return; the process is killed after so long.
        handlers: from one poll to the next; for a library whose beat waits for handlers, one turn of its loop.
        slow_handlers: how often a day, of each member, it is longer than a limit; where `handlers` tells only what is
            usual. None: `handlers` tells it all.
        idle_turns: which share of those turns, for such a library, finds nothing and lasts as long as the fetch wait
            that is set; `handlers` has the others.
        settle_s: join, sync and fetch again, once all have joined.
        at_once: whether a rollout stops all members before a new one is ready.
        restarts_in_turn: whether restarts are of all members, one after the other; else each comes alone.
        eviction_price: of one false eviction beside the standstill, in partition-seconds: reprocessing, cold caches.
    """

    client: str
    rebalancing: Rebalancing
    members: int
    partitions: int
    static: bool
    pauses: FailureProcess
    node_pauses: FailureProcess
    node_members: int
    outages: FailureProcess
    delivery: Delivery
    crashes: FailureProcess
    restarts: FailureProcess
    surge: bool
    hangs: FailureProcess
    handlers: Law
    slow_handlers: FailureProcess | None
    settle_s: float
    eviction_price: float = 0.0
    idle_turns: float = 0.0
    at_once: bool = False
    restarts_in_turn: bool = False

    @property
    def share(self) -> float:
        """Partitions of one member, on average."""
        return self.partitions / self.members
