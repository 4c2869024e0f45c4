"""How long a policy that a cycle did not reach keeps what was last found out about it. Pure.

Kafka's coordinators are asked for so many seconds in each cycle, and between cycles, and Prometheus with so many
requests; who is left over comes first in the next one. Nothing is known of such a policy's group in this cycle, so
nothing is decided and nothing written: the policy's status stands until what it says is stale, by the same rule as
metrics are. The status that an earlier leader wrote counts from when this one began. A policy without any status is not
left alone: it gets one that says what it waits for.
"""

import dataclasses
from datetime import datetime

from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.kafka_groups import UnreadableGroup
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES


@dataclasses.dataclass(frozen=True, slots=True)
class LastRead:
    """When a policy's group was read last, and how many cycles have not read it since.

    Attributes:
        at: that moment; of a policy that this leader has not read yet, when it first tried.
        missed: cycles since then.
    """

    at: datetime
    missed: int = 0

    def stale(self, now: datetime) -> bool:
        """Whether what was found out then says nothing about now."""
        return now - self.at > STALE_AFTER and self.missed > STALE_SCRAPES


def missed(before: LastRead | None, *, now: datetime) -> LastRead:
    """Return what is remembered of a policy after a cycle that did not reach it."""
    return LastRead(now, missed=1) if before is None else dataclasses.replace(before, missed=before.missed + 1)


def keeps(policy: Policy, last: LastRead, *, now: datetime) -> bool:
    """Whether the policy's status stands for this cycle: there is one, and it is not stale."""
    return policy.observed_generation is not None and not last.stale(now)


def is_unread(group: object) -> bool:
    """Whether nobody waited for the group's coordinator in this cycle."""
    return isinstance(group, UnreadableGroup) and group.unread


def is_left_over(record: Record | Unknown) -> bool:
    """Whether the cycle's requests to Prometheus were spent before this group's turn."""
    return isinstance(record, Unknown) and record.reason is Reason.NOT_READ_YET
