"""What stands around a group: the policy that names it, and the coordinator that describes it."""

import functools
from datetime import UTC, datetime, timedelta
from typing import Final

from bench import policies
from bench.as_shipped.lives import Life
from bench.as_shipped.rows import CLUSTER
from bench.observed import settings_of
from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.kafka_groups import (
    CONSUMER_INTERVAL_DEFAULT,
    CONSUMER_MAX_SESSION,
    CONSUMER_MIN_SESSION,
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    ConsumerBounds,
    Group,
    GroupConfig,
    GroupState,
    Member,
)
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Mode, Policy
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.models.failure_profile import Rebalancing

START: Final = datetime(2026, 1, 5, tzinfo=UTC)
"""Day 0, a Monday."""

_LIBRARIES: Final = {
    "java-kip848": "java",
    "confluent-kafka-python-kip848": "confluent-kafka-python",
    "streams-kip1071": "streams",
    "share": "java",
}
"""What a policy calls the library of a group that has its values at the broker."""

_KINDS: Final = {"streams-kip1071": "streams", "share": "share"}
"""What the keys of such a group begin with, where that is not `consumer`."""

_RECORD_LOCK: Final = timedelta(seconds=30)
"""Of records of a share group, where nobody set another."""

_SESSIONS, _INTERVALS = policies.AT_BROKER[Setting.SESSION_TIMEOUT], policies.AT_BROKER[Setting.HEARTBEAT_INTERVAL]
_BOUNDS: Final = ConsumerBounds(
    _SESSIONS.min or CONSUMER_MIN_SESSION,
    _SESSIONS.max or CONSUMER_MAX_SESSION,
    _INTERVALS.min or CONSUMER_INTERVAL_DEFAULT,
    _INTERVALS.max or CONSUMER_INTERVAL_DEFAULT,
)
BROKER: Final = Cluster(
    3,
    DEFAULT_MIN_SESSION,
    DEFAULT_MAX_SESSION,
    consumer=_BOUNDS,
    streams=_BOUNDS,
    share=_BOUNDS,
    alters_groups=True,
    group_version=1,
)
"""It lets the operator write into groups' configurations, and allows there what it allows classic groups."""


def policy_of(life: Life) -> Policy | None:
    """Return a policy that sets nothing but the mode Apply; None where the library exports too little to be tuned by.

    The operator counts evictions of such groups itself, and decides by them alone; the worlds here do not draw those
    counts.
    """
    truth = life.group.truth
    library = _LIBRARIES.get(truth.client, truth.client)
    if library not in known_conventions.LIBRARIES:
        return None
    kind = "Deployment" if truth.surge else "StatefulSet"
    body = {
        "metadata": {
            "name": life.name,
            "namespace": life.namespace,
            "uid": f"policy-{life.name}",
            "generation": 1,
            "creationTimestamp": (START + timedelta(days=life.joins_on)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": {
            "groupId": life.name,
            "clusterRef": CLUSTER,
            "workloadRef": {"kind": kind, "name": life.name, "container": "app"},
            "client": {"library": library},
            "mode": Mode.APPLY.value,
        },
    }
    return parsing.policy_of(body)


@functools.cache
def address(number: int) -> str:
    """Return the address of a pod."""
    return f"10.0.0.{number + 1}"


def described(life: Life) -> Group:
    """Return the group as its coordinator describes it at rest, with the broker's own values where they are its."""
    truth = life.group.truth
    is_modern, now = truth.rebalancing is Rebalancing.CONSUMER, settings_of(truth)
    lock = _RECORD_LOCK if truth.client == "share" else None
    base, more = divmod(truth.partitions, truth.members)
    members = tuple(
        Member(
            f"member-{number}",
            address(number),
            instance_id=f"static-{number}" if truth.static else None,
            partitions=base + (number < more),
        )
        for number in range(truth.members)
    )
    return Group(
        life.name,
        GroupState.STABLE,
        members,
        consumer_protocol=is_modern,
        config=GroupConfig(now.session_timeout, now.heartbeat_interval, record_lock=lock) if is_modern else None,
        assignor="cooperative-sticky" if truth.rebalancing is Rebalancing.COOPERATIVE else "range",
        kind=_KINDS.get(truth.client, "consumer"),
    )
