"""What a status keeps of a group that the policy may not be shown, and how it notes that it may. Pure.

A policy that never could prove anything has nothing to hide but what an older version showed. One that could, and
cannot now, keeps what new pods depend on: the protocol that they speak, their static ids, and values that were decided
while the group was its own.
"""

from datetime import UTC
from typing import Final

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionType, OwnershipStatus, Status
from heartbeat_tuner.domain.kafka_groups import GroupOwnership

OF_OUR_WRITES: Final = (
    "observed_generation",
    "installation",
    "applied",
    "workloads",
    "slots",
    "taken_back",
    "writing",
    "group_config",
    "contradicted",
    "verification",
    "reverted",
    "canary",
)
"""What is about the workload, and must outlast whatever becomes of the group: it holds back writes."""

FOR_NEW_PODS: Final = ("group_ownership", "group_protocol", "static_ids", "initial")

OF_ITS_OWN_TIME: Final = ("history",)
"""What was seen while the group was the policy's own, and a change is compared with later."""

OF_THE_GROUP: Final = ("verdict", "reason", "current", "recommendation", "summary", "model", "predicted")
"""What is left out: each field of a status stands in one of these lists.

`current` as well: in a group of the consumer protocol the broker prescribes it."""


def without_group(previous: Status, *, is_edited: bool) -> Status:
    """Return the status without what it says of the group.

    Args:
        previous: the status.
        is_edited: whether it is about another spec, and so perhaps about another workload.
    """
    fields: tuple[str, ...] = OF_OUR_WRITES
    if previous.group_ownership is not None and not is_edited:
        fields += FOR_NEW_PODS + OF_ITS_OWN_TIME
    ready = [condition for condition in previous.conditions if condition.type is ConditionType.READY]
    return Status(**{name: getattr(previous, name) for name in fields}, conditions=ready)


def noted(standing: OwnershipStatus | None, proven: GroupOwnership | None) -> OwnershipStatus | None:
    """Return the note that should stand: as it is while it is about the same group and workload."""
    if proven is None:
        return standing
    if standing is not None and (standing.cluster_ref, standing.group_id, standing.workload_uid) == (
        proven.cluster,
        proven.group_id,
        proven.workload_uid,
    ):
        return standing
    return OwnershipStatus(
        cluster_ref=proven.cluster,
        group_id=proven.group_id,
        workload_uid=proven.workload_uid,
        since=f"{proven.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
