"""What the usual exporter of each client library calls things, as data.

A `Convention` says which metric tells what, how a series is tied to its group, and which ways there are to see an
eviction. The two that are known: the KafkaJS exporter with four counters beside it, and the Prometheus JMX exporter 1.x
with its default names.
"""

import dataclasses
import re
from collections.abc import Callable, Collection
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics import signals
from heartbeat_tuner.metrics.signals import Signal


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedBeats:
    """Counters that show an eviction as a rejoin that nobody announced.

    Attributes:
        beat_requests: heartbeats answered at all.
        rebalancings: heartbeats and commits answered with "rebalance in progress".
    """

    beat_requests: Signal
    rebalancings: Signal


@dataclasses.dataclass(frozen=True, slots=True)
class LostIds:
    """Counters that show how often a member had to ask for a new member id.

    Attributes:
        failed_joins: attempts to join that failed; asking for an id is one of them.
        join_answers: JoinGroup requests that were answered with success. One that was not followed by a completed join
            was overtaken by another rebalance, and failed for that.
    """

    failed_joins: Signal
    join_answers: Signal

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Both."""
        return self.failed_joins, self.join_answers


@dataclasses.dataclass(frozen=True, slots=True)
class PollGaps:
    """Gauges that show how long a member did not poll.

    Attributes:
        longest: the longest time between two polls, over the last minute or so.
        since_last: time since the last poll; negative before the first one.
    """

    longest: Signal
    since_last: Signal


@dataclasses.dataclass(frozen=True, slots=True)
class Convention:
    """One exporter's way to name things.

    Attributes:
        group_label: the label that ties a series to its group.
        group_pattern: the regular expression of that label's values, for a group.
        group_of: the group that a value of that label names; None if it names none.
        accepted_beats: heartbeats that were answered well, by member.
        joins: completed joins.
        join_time: time spent in completed joins.
        refused_beats: one way in which evictions show in counters; None where there is no such way.
        lost_ids: another one; likewise.
        poll_gaps: how long members did not poll; None where the client has no limit for it.
        always_there: signals that a consumer exports from its start: without one of them, nothing can be said.
    """

    group_label: str
    group_pattern: Callable[[str], str]
    group_of: Callable[[str], str | None]
    accepted_beats: Signal
    joins: Signal
    join_time: Signal
    refused_beats: RefusedBeats | None
    lost_ids: LostIds | None
    poll_gaps: PollGaps | None
    always_there: tuple[Signal, ...]

    @property
    def signals(self) -> tuple[Signal, ...]:
        """All signals, in the order in which they are read and told."""
        more: tuple[Signal, ...] = ()
        if self.refused_beats is not None:
            more += (self.refused_beats.beat_requests, self.refused_beats.rebalancings)
        if self.lost_ids is not None:
            more += self.lost_ids.signals
        if self.poll_gaps is not None:
            more += (self.poll_gaps.longest, self.poll_gaps.since_last)
        return (self.accepted_beats, *more, self.joins, self.join_time)

    def query(
        self, signal: Signal, *, namespaces: Collection[str], group_ids: Collection[str], window: timedelta
    ) -> str:
        """Return the PromQL that reads `signal`'s raw samples of all those groups at once."""
        matcher = signals.any_of(self.group_label, map(self.group_pattern, group_ids))
        return signals.query(signal, namespaces=namespaces, group_matcher=matcher, window=window)


_KAFKAJS_REFUSED: Final = RefusedBeats(
    beat_requests=Signal("kafkajs_consumer_requests_total", (("api_name", "Heartbeat"),)),
    rebalancings=Signal("kafkajs_consumer_rebalancing_total"),
)
_KAFKAJS_JOINS: Final = Signal("kafkajs_consumer_group_join_seconds_count")
_KAFKAJS_JOIN_TIME: Final = Signal("kafkajs_consumer_group_join_seconds_sum")

KAFKAJS_EXPORTER: Final = Convention(
    group_label="group_id",
    group_pattern=re.escape,
    group_of=lambda label_value: label_value,
    accepted_beats=Signal("kafka_consumer_heartbeat_total"),
    joins=_KAFKAJS_JOINS,
    join_time=_KAFKAJS_JOIN_TIME,
    refused_beats=_KAFKAJS_REFUSED,
    lost_ids=None,
    poll_gaps=None,
    # Accepted heartbeats are not among them: their series are born with a member's first, and a storm may have none.
    always_there=(
        _KAFKAJS_REFUSED.beat_requests,
        _KAFKAJS_REFUSED.rebalancings,
        _KAFKAJS_JOINS,
        _KAFKAJS_JOIN_TIME,
    ),
)
"""kafkajs-prometheus-exporter, and counters of KafkaJS' instrumentation events `consumer.network.request`,
`consumer.rebalancing` and `consumer.group_join`, which that exporter leaves out."""

_COORDINATOR: Final = "kafka_consumer_consumer_coordinator_metrics"
_CONSUMER: Final = "kafka_consumer_consumer_metrics"
_JMX_BEATS: Final = Signal(f"{_COORDINATOR}_heartbeat")
_JMX_REBALANCES: Final = Signal(f"{_COORDINATOR}_rebalance")
_JMX_REBALANCE_TIME: Final = Signal(f"{_COORDINATOR}_rebalance_latency", unit_s=0.001)
_JMX_POLL_GAPS: Final = PollGaps(
    longest=Signal(f"{_CONSUMER}_time_between_poll_max", unit_s=0.001),
    since_last=Signal(f"{_CONSUMER}_last_poll_seconds_ago"),
)

_CLIENT_ID: Final = re.compile(r'"?consumer-(?P<group>.+)-[0-9]+"?', re.DOTALL)


def _group_of_client_id(client_id: str) -> str | None:
    """Return the group of which the Java consumer made this `client.id`; None if it is one of somebody's own."""
    match = _CLIENT_ID.fullmatch(client_id)
    return None if match is None else match["group"]


JMX_EXPORTER: Final = Convention(
    group_label="client_id",
    # The consumer's own default; quotes appear when the group's name has characters that JMX quotes.
    group_pattern=lambda group_id: f'"?consumer-{re.escape(group_id)}-[0-9]+"?',
    group_of=_group_of_client_id,
    accepted_beats=_JMX_BEATS,
    joins=_JMX_REBALANCES,
    join_time=_JMX_REBALANCE_TIME,
    refused_beats=None,
    lost_ids=LostIds(
        failed_joins=Signal(f"{_COORDINATOR}_failed_rebalance"), join_answers=Signal(f"{_COORDINATOR}_join")
    ),
    poll_gaps=_JMX_POLL_GAPS,
    # The longest poll gap is not among them: it is no number while nobody polls. Nor are lost ids: a member of the
    # consumer protocol has no such counters, and what the broker shows of them is less, but enough.
    always_there=(_JMX_BEATS, _JMX_REBALANCES, _JMX_REBALANCE_TIME, _JMX_POLL_GAPS.since_last),
)
"""jmx_prometheus_javaagent 1.x without rules: a counter's `-total` is lost, times are milliseconds."""

_OF_LIBRARY: Final = MappingProxyType({"java": JMX_EXPORTER, "kafkajs": KAFKAJS_EXPORTER})

LIBRARIES: Final = tuple(_OF_LIBRARY)
"""The client libraries whose consumers can be measured; of the others only the physics are known."""


def of_library(name: str) -> Convention:
    """Return the convention in which consumers of a client library are exported.

    Raises:
        KeyError: the library is unknown.
    """
    return _OF_LIBRARY[name]
