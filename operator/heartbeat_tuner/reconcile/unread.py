"""How long a group that was not read in time keeps what was last found out about it. Pure.

Kafka's coordinators are asked for so many seconds in each cycle, and between cycles; who is left over comes first in
the next one. Nothing is known of such a group in this cycle, so nothing is decided and nothing written: its policy's
status stands until what it says is stale by the same rule as metrics are. So does that of a group which this leadership
has never read: another replica may have read it a minute ago.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from heartbeat_tuner.domain.evidence import UnreadableGroup
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES
from heartbeat_tuner.reconcile.owners import Shown


@dataclasses.dataclass(frozen=True, slots=True)
class LastRead:
    """When a policy's group was read last, or first asked for, and how many cycles have not read it since."""

    at: datetime
    missed: int = 0

    def stale(self, now: datetime) -> bool:
        """Whether what was found out then says nothing about now."""
        return now - self.at > STALE_AFTER and self.missed > STALE_SCRAPES


Reads = Mapping[ObjectKey, LastRead]

NEVER: Reads = MappingProxyType({})


def observe(before: Reads, shown: Shown, *, looked_at: Mapping[ObjectKey, datetime], now: datetime) -> Reads:
    """Return when each policy's group was read last, after one more cycle; policies that are gone are forgotten.

    Args:
        before: what was returned by the cycle before.
        shown: what this one found.
        looked_at: when that was read.
        now: the time of this cycle.
    """
    found: dict[ObjectKey, LastRead] = {}
    for key, group in shown.items():
        if is_unread(group):
            last = before.get(key, LastRead(now))
            found[key] = dataclasses.replace(last, missed=last.missed + 1)
        else:
            found[key] = LastRead(looked_at[key])
    return found


def is_unread(group: object) -> bool:
    """Whether nobody waited for the group's coordinator in this cycle."""
    return isinstance(group, UnreadableGroup) and group.unread
