"""What fields say that mean the same wherever they stand: the definitions describe every field of theirs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "apiVersion": "Version of the schema of this object, heartbeat-tuner.dev/v1alpha1.",
        "kind": "Kind of the object, such as ConsumerGroupPolicy or Deployment.",
        "name": "Name of the object, such as orders-consumer.",
        "container": "Container of the consumer, such as app.",
        "pod": "Name of the pod, such as orders-consumer-6d4f-x2x9z.",
        "clusterRef": "Kafka cluster in the operator's configuration, such as main.",
        "groupId": "Consumer group (group.id), such as orders.",
        "workloadUid": "uid of the workload.",
        "sessionTimeout": "Session timeout (session.timeout.ms), such as 45s.",
        "heartbeatInterval": "Heartbeat interval (heartbeat.interval.ms), such as 3s.",
        "fetchWait": "Longest wait of a fetch (fetch.max.wait.ms), such as 500ms.",
        "maxPollInterval": "Max poll interval (max.poll.interval.ms), such as 5m. Absent for clients without one.",
        "changeTime": "Time of the change, such as 2026-03-02T12:01:00Z.",
        "startTime": "Start of the record, such as 2026-03-02T12:01:00Z.",
        "endTime": "End of the record, such as 2026-03-02T12:01:00Z.",
        "lastTransitionTime": "Time of the last change of the condition's status, such as 2026-03-02T12:01:00Z.",
        "observedGeneration": "Generation of the policy that this is about, such as 3.",
        "episodes": "Number of episodes of evictions, such as 2.",
        "evicting": "Sessions that evicted.",
        "message": "Explanation for people.",
        "conditions": "Conditions of the policy, one of each type.",
        "quantities": "Quantities that were measured.",
    }
)
