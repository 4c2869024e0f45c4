"""Which metrics tell what about a consumer group, as data, and the queries that fetch them.

Labels are those of a usual Kubernetes scrape configuration (`namespace`, `pod`) and of the exporter (`group_id`).
Matchers are ours and always carry the policy's namespace, so that one tenant's policy never reads another tenant's
series; names that come from tenants are quoted.
"""

import dataclasses
import re
from collections.abc import Collection
from datetime import timedelta
from typing import Final

NAMESPACE_LABEL: Final = "namespace"
POD_LABEL: Final = "pod"
GROUP_LABEL: Final = "group_id"


@dataclasses.dataclass(frozen=True, slots=True)
class Signal:
    """One counter.

    Attributes:
        metric: its name.
        matchers: further label values that select it.
    """

    metric: str
    matchers: tuple[tuple[str, str], ...] = ()


ACCEPTED_BEATS: Final = Signal("kafka_consumer_heartbeat_total")
"""Heartbeats answered without an error, by member id (kafkajs-prometheus-exporter)."""

BEAT_REQUESTS: Final = Signal("kafkajs_consumer_requests_total", (("api_name", "Heartbeat"),))
"""Heartbeats answered at all (from the instrumentation event `consumer.network.request`)."""

REBALANCINGS: Final = Signal("kafkajs_consumer_rebalancing_total")
"""Heartbeats and commits answered with "rebalance in progress" (from `consumer.rebalancing`)."""

JOINS: Final = Signal("kafkajs_consumer_group_join_seconds_count")
"""Completed joins (from `consumer.group_join`)."""

JOIN_SECONDS: Final = Signal("kafkajs_consumer_group_join_seconds_sum")
"""Seconds spent in completed joins."""

ALWAYS_THERE: Final = (BEAT_REQUESTS, REBALANCINGS, JOINS, JOIN_SECONDS)
"""Counters that a consumer exports from its start, at 0: without one of them, nothing can be said of evictions.

Accepted heartbeats are not among them: their series are born with a member's first, and a storm may never have one.
"""

SCRAPE_LABELS: Final = frozenset(
    {"job", "instance", "endpoint", "service", "prometheus", "prometheus_replica", "replica", "container", "node"}
)
"""Labels that say by whom a series was scraped, not what it is."""

SIGNALS: Final = (ACCEPTED_BEATS, BEAT_REQUESTS, REBALANCINGS, JOINS, JOIN_SECONDS)


def query(signal: Signal, *, namespaces: Collection[str], group_ids: Collection[str], window: timedelta) -> str:
    """Return the PromQL that reads `signal`'s raw samples of all those groups at once.

    An instant query of a range selector: it returns raw samples with their true times.
    """
    exact = [f'{label}="{value}"' for label, value in signal.matchers]
    matchers = [_any_of(NAMESPACE_LABEL, namespaces), _any_of(GROUP_LABEL, group_ids), *exact]
    return f"{signal.metric}{{{','.join(matchers)}}}[{round(window.total_seconds())}s]"


def _any_of(label: str, values: Collection[str]) -> str:
    """Return a matcher for exactly these values; regular-expression characters in them mean themselves."""
    alternatives = "|".join(re.escape(value) for value in sorted(values))
    quoted = alternatives.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{label}=~"{quoted}"'
