"""Groups to which nothing happens, in a large fleet: which of them a cycle takes as the cycle before found them.

To make a record of every group and to decide on it is half of a cycle's work, and nearly always the same comes out.
So groups that stand still take turns: each is looked at whole in every `EVERY`th cycle, and at once when any counter
but those of its heartbeats moves (whatever happens to a member ends with a join), when its policy, workload, members,
model or what may be shown of it change, or when its metrics are not there. Only groups that are healthy with the values
that are set rest at all: where something is recommended, waits, or was written in the last hour, each cycle looks.
"""

import dataclasses
import zlib
from collections.abc import Collection
from datetime import datetime
from typing import Final, Generic, TypeVar

from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOwnership
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.models.group_model import Fitted, Unfitted
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW

_Input = TypeVar("_Input")

EVERY: Final = 3
"""Cycles in which each group is looked at whole once: with the default interval its record is 3 minutes old at most."""

SMALL: Final = 1_000
"""A fleet of no more policies is looked at whole in each cycle: that takes a second or two."""


@dataclasses.dataclass(frozen=True, slots=True)
class CycleView:
    """What is at hand in each cycle without any work; each object stays the same while nothing changes.

    Attributes:
        policy: as it was seen with its workload.
        workload: as it was looked up.
        group: what is shown of it.
        cluster: what the brokers allow.
        model: to decide with.
        ownership: of the group.
        peers: pods of other policies of the group.
    """

    policy: Policy
    workload: Workload
    group: Group
    cluster: Cluster
    model: Fitted | Unfitted
    ownership: GroupOwnership | None
    peers: tuple[Pod, ...] = ()

    def is_as(self, before: "CycleView") -> bool:
        """Whether it is what was seen before; a model is compared by what it is, not number by number."""
        return (
            self.policy is before.policy
            and self.workload is before.workload
            and (self.model is before.model or (isinstance(self.model, Unfitted) and self.model == before.model))
            and (self.group, self.cluster, self.ownership) == (before.group, before.cluster, before.ownership)
            and self.peers == before.peers
        )


class Resting(Generic[_Input]):
    """What was found out of each group, for as long as it rests; during one leadership."""

    def __init__(self) -> None:
        self._before: dict[ObjectKey, tuple[CycleView, _Input]] = {}
        self._healthy: Collection[ObjectKey] = ()
        self._cycle = 0

    def begin(self, keys: Collection[ObjectKey], healthy: Collection[ObjectKey]) -> None:
        """Begin a cycle.

        Args:
            keys: of all policies; others are forgotten.
            healthy: those whose last decision was that all is well with what is set.
        """
        self._cycle += 1
        self._before = {key: before for key, before in self._before.items() if key in keys}
        self._healthy = healthy if len(keys) > SMALL else ()

    def before(self, key: ObjectKey, seen: CycleView, *, now: datetime) -> _Input | None:
        """Return what was found in the cycle before, the same object, where it may stand; None where it may not."""
        before, inputs = self._before.get(key, (None, None))
        if before is None or key not in self._healthy or self._has_its_turn(key):
            return None
        changed_at = seen.policy.changed_at
        if changed_at is not None and now - changed_at < RECORD_WINDOW:
            return None
        return inputs if seen.is_as(before) else None

    def found(self, key: ObjectKey, seen: CycleView, inputs: _Input) -> None:
        """Remember what a look at a whole group found out."""
        self._before[key] = seen, inputs

    def forget(self, key: ObjectKey) -> None:
        """Have the group looked at whole in the next cycle."""
        self._before.pop(key, None)

    def _has_its_turn(self, key: ObjectKey) -> bool:
        return (zlib.crc32(f"{key}".encode()) + self._cycle) % EVERY == 0
