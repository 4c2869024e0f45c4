"""What may be asked for where S and H are the group's, at the broker. Pure."""

from collections.abc import Mapping

from heartbeat_tuner.decision.optimize.questions import CONSUMER_INTERVAL
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Policy, Range

_OF_GROUP = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})


def settings(policy: Policy, group: Group, current: LivenessSettings) -> Mapping[Setting, Range]:
    """Return the policy's bounds, with what is the client's left as it is: that would take a rollout.

    From metrics alone people are advised, who may set the client's, too.

    Args:
        policy: of the group.
        group: as its coordinator describes it; without a configuration where nobody asked that.
        current: what is set.
    """
    if group.config is None:
        return policy.bounds
    fixed = {name: Range(value, value) for name, value in current.by_setting.items() if name not in _OF_GROUP}
    return {**policy.bounds, **fixed}


def intervals(cluster: Cluster) -> Range:
    """Return which heartbeat intervals all brokers accept for such groups; Kafka's own where that is not known."""
    bounds = cluster.consumer
    return CONSUMER_INTERVAL if bounds is None else Range(bounds.min_interval, bounds.max_interval)
