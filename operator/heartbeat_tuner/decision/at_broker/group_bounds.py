"""What may be asked for where S and H are the group's, at the broker. Pure."""

from collections.abc import Mapping
from typing import Final

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.decision.optimize.questions import CONSUMER_INTERVAL
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Range

OF_GROUP: Final = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})
OF_CLIENT: Final = frozenset({Setting.MAX_POLL_INTERVAL})


def fixed(group: Group, free: frozenset[Setting]) -> frozenset[Setting]:
    """Return which settings stay as they are, since they are not asked for.

    What is the group's and what is the client's is written in different places, the latter with a rollout. From metrics
    alone people are advised, who may set both at a time.

    Args:
        group: as its coordinator describes it; without a configuration where nobody asked that.
        free: what is asked for.
    """
    return frozenset(Setting) - free if group.consumer_protocol and group.config is not None else frozenset()


def poll_limit_is_clients(group: Group) -> bool:
    """Whether S and H of a group are its configuration at the broker, and M is its clients'."""
    return group.consumer_protocol and group.config is not None


def allowed(
    group: Group, client: Client, bounds: Mapping[Setting, Range], current: LivenessSettings
) -> Mapping[Setting, Range]:
    """Return a policy's bounds, with what a group's kind adds: librdkafka's poll limit in a share group only grows.

    There a member that did not poll in time has an error raised by its next poll, which ends most applications
    (measured: docs/design/0042).

    Args:
        group: as its coordinator describes it.
        client: the card of its library.
        bounds: of the policy.
        current: what is set.
    """
    own, limit = bounds.get(Setting.MAX_POLL_INTERVAL, Range()), current.max_poll_interval
    goes_on = group.kind != Protocol.SHARE or Protocol.SHARE in client.protocols
    if goes_on or limit is None or (own.max is not None and own.max < limit):
        return bounds
    least = limit if own.min is None else max(own.min, limit)
    return {**bounds, Setting.MAX_POLL_INTERVAL: Range(least, own.max)}


def intervals(cluster: Cluster) -> Range:
    """Return which heartbeat intervals all brokers accept for such groups; Kafka's own where that is not known."""
    bounds = cluster.consumer
    return CONSUMER_INTERVAL if bounds is None else Range(bounds.min_interval, bounds.max_interval)
