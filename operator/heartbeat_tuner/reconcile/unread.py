"""How long a group that was not read in time keeps what was last found out about it. Pure.

Kafka's coordinators are asked for so many seconds in each cycle; who is left over comes first in the next one. Nothing
is known of such a group in this cycle, so nothing is decided and nothing written: its policy's status stands until what
it says is stale by the same rule as metrics are.
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
    """When a policy's group was read last, and how many cycles have not read it since."""

    at: datetime
    missed: int = 0

    def stale(self, now: datetime) -> bool:
        """Whether what was found out then says nothing about now."""
        return now - self.at > STALE_AFTER and self.missed > STALE_SCRAPES


Reads = Mapping[ObjectKey, LastRead]

NEVER: Reads = MappingProxyType({})


def observe(before: Reads, shown: Shown, *, now: datetime) -> Reads:
    """Return when each policy's group was read last, after one more cycle; policies that are gone are forgotten."""
    found: dict[ObjectKey, LastRead] = {}
    for key, group in shown.items():
        if not is_unread(group):
            found[key] = LastRead(now)
        elif key in before:
            found[key] = dataclasses.replace(before[key], missed=before[key].missed + 1)
    return found


def is_unread(group: object) -> bool:
    """Whether nobody waited for the group's coordinator in this cycle."""
    return isinstance(group, UnreadableGroup) and group.unread
