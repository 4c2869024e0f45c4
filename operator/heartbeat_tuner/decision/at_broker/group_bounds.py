"""What may be asked for where S and H are the group's, at the broker. Pure."""

from collections.abc import Mapping

from heartbeat_tuner.decision.optimize.questions import CONSUMER_INTERVAL
from heartbeat_tuner.domain.kafka_groups import Cluster
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Policy, Range

_OF_GROUP = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})


def settings(policy: Policy, current: LivenessSettings) -> Mapping[Setting, Range]:
    """Return the policy's bounds, with what is the client's left as it is: that would take a rollout.

    Args:
        policy: of the group.
        current: what is set.
    """
    fixed = {name: Range(value, value) for name, value in current.by_setting.items() if name not in _OF_GROUP}
    return {**policy.bounds, **fixed}


def intervals(cluster: Cluster) -> Range:
    """Return which heartbeat intervals all brokers accept for such groups; Kafka's own where that is not known."""
    bounds = cluster.consumer
    return CONSUMER_INTERVAL if bounds is None else Range(bounds.min_interval, bounds.max_interval)
