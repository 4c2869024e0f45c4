"""What a look at a Kafka group said, and when."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime

from heartbeat_tuner.domain.kafka_groups import Cluster, Group, UnreadableGroup


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """What was said of a group, and when.

    Attributes:
        group: as its coordinator described it; None if there is no such group.
        at: the moment when the answer was there.
        asked_s: when it was asked for, by the monotonic clock.
    """

    group: Group | UnreadableGroup | None
    at: datetime
    asked_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterLook:
    """What is known of one cluster in one cycle; each group that was wanted has a look."""

    cluster: Cluster
    groups: Mapping[str, Look]
