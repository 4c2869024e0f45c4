"""What a Kafka cluster's answers mean, and the sentences about those that say too little: pure."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException
from confluent_kafka.admin import ConfigSource

from heartbeat_tuner.adapters.kafka.kafka_client import plain
from heartbeat_tuner.adapters.kafka.kafka_reading import NoAnswerError
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.clients.java_groups import RECORD_LOCK
from heartbeat_tuner.domain.kafka_groups import (
    ConsumerBounds,
    Group,
    GroupConfig,
    GroupOverrides,
    GroupState,
    Member,
    UnreadableGroup,
)
from heartbeat_tuner.domain.sentences import Sentence, say

_BROKER_TIMES: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")
_GROUP_TIMES: Final = ("min.session.timeout", "max.session.timeout", "min.heartbeat.interval", "max.heartbeat.interval")
_NOT_DESCRIBED: Final = "Kafka cluster {cluster} does not describe group {group}: {why}"

_DENIED: Final = frozenset({KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED})

_STATES: Final[Mapping[ConsumerGroupState, GroupState]] = MappingProxyType(
    {
        ConsumerGroupState.EMPTY: GroupState.EMPTY,
        ConsumerGroupState.STABLE: GroupState.STABLE,
        ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
        ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterAnswers:
    """The answers of one cluster.

    Attributes:
        cluster: its name, for sentences.
    """

    cluster: str

    def understood(self, group_id: str, answer: Future[Any]) -> Group | UnreadableGroup | None:
        """Return what a coordinator said of a group.

        Raises:
            NoAnswerError: it said nothing.
        """
        error = error_of(answer)
        if error is None:
            return _group(answer.result())
        is_refused = error.name() == "_INVALID_ARG"  # so librdkafka refuses a group of Connect's workers
        if is_silent(error) and not is_refused:
            raise NoAnswerError
        seen = self.not_described(group_id, error)
        return seen if seen is None else dataclasses.replace(seen, of_another_kind=is_refused)

    def no_answer(self, group_id: str, why: str) -> UnreadableGroup:
        """Return a group of which nothing was said, and why."""
        words = say(_NOT_DESCRIBED, cluster=self.cluster, group=group_id, why=why)
        return UnreadableGroup(words, tells_of_group=False)

    def unread(self, group_id: str) -> UnreadableGroup:
        """Return a group for which there was no time."""
        unreadable = self.no_answer(group_id, "not read in time, the next cycle begins with it")
        return dataclasses.replace(unreadable, unread=True)

    def group_config(self, group_id: str, kind: str, future: Future[Any]) -> GroupConfig | str:
        """Return what a broker prescribes to a group, and what of it is the group's own; or why it cannot be read."""
        names, entries = keys_of(kind), future.result() if error_of(future) is None else {}
        times = self._times(future, names, f"group {group_id}", _group_option(group_id))
        if isinstance(times, str):
            return times
        session, interval = times
        own = (ConfigSource(entries[name].source) is ConfigSource.GROUP_CONFIG for name in names)
        overrides = (time if is_own else None for time, is_own in zip(times, own, strict=True))
        # Brokers show the keys of all kinds for every group.
        lock = _time_of(entries.get(RECORD_LOCK)) if kind == Protocol.SHARE else None
        return GroupConfig(session, interval, GroupOverrides(*overrides), lock)

    def broker_times(self, future: Future[Any]) -> tuple[timedelta, ...] | str:
        """Return the shortest and the longest session that a broker accepts, or why they cannot be read."""
        return self._times(future, _BROKER_TIMES, "the cluster", "--cluster")

    def group_bounds(self, kind: str, futures: Iterable[Future[Any]]) -> ConsumerBounds | str:
        """Return what every broker accepts for groups of a kind, or why that cannot be read.

        A broker before 4.0 (`consumer`) or 4.1 (`streams`, `share`) has no such bounds, and no such groups.
        """
        names = tuple(f"group.{kind}.{name}.ms" for name in _GROUP_TIMES)
        read = [self._times(future, names, "the cluster", "--cluster") for future in futures]
        unread = next((times for times in read if isinstance(times, str)), None)
        if unread is not None:
            return unread
        low, high, least, most = zip(*(times for times in read if not isinstance(times, str)), strict=True)
        return ConsumerBounds(max(low), min(high), max(least), min(most))

    def alteration_refused(self, group_id: str, kind: str, error: KafkaError) -> str:
        """Return why Kafka does not take a group's new configuration, and what to do."""
        if error.code() in _DENIED:
            return self._lacks("AlterConfigs", f"group {group_id}", _group_option(group_id))
        return say(
            "Kafka cluster {cluster} does not take these values for group {group}: {why}. What may be set is said by "
            "group.{kind}.{{min,max}}.session.timeout.ms and group.{kind}.{{min,max}}.heartbeat.interval.ms of "
            "the brokers and, with processes of their own, of the controllers: the controllers' count",
            kind=kind,
            cluster=self.cluster,
            group=group_id,
            why=plain(error.str()),
        )

    def not_described(self, group_id: str, error: KafkaError) -> UnreadableGroup | None:
        """Return why a group cannot be seen; None if it is not there."""
        group = f"group {group_id}"
        match error.code():
            case KafkaError.GROUP_ID_NOT_FOUND:
                return None
            case KafkaError.GROUP_AUTHORIZATION_FAILED:
                lacks = self._lacks("Describe", group, _group_option(group_id))
                return UnreadableGroup(lacks, tells_of_group=False)  # brokers check rights first
            case KafkaError.TOPIC_AUTHORIZATION_FAILED:  # a group of the consumer protocol is shown with its topics
                return UnreadableGroup(self._lacks("Describe", f"the topics of {group}", "--topic TOPIC"))
        return UnreadableGroup(say(_NOT_DESCRIBED, cluster=self.cluster, group=group_id, why=plain(error.str())))

    def _times(self, future: Future[Any], names: tuple[str, ...], on: str, option: str) -> tuple[timedelta, ...] | str:
        """Return times of a configuration, or why they cannot be read."""
        error = error_of(future)
        if error is not None:
            is_denied = error.code() in _DENIED
            return (
                self._lacks("DescribeConfigs", on, option) if is_denied else f"the configuration of {on}: {error.str()}"
            )
        config = future.result()
        try:
            return tuple(timedelta(milliseconds=int(config[name].value)) for name in names)
        except (KeyError, TypeError):  # TypeError: the value is hidden from us
            return f"the configuration of {on} does not show {' and '.join(names)}"

    def _lacks(self, operation: str, on: str, option: str) -> Sentence:
        """Return what to grant, as Kafka's own tool is told; OPERATOR is whom the operator logs in as."""
        phrase = (
            "Kafka cluster {cluster} does not give the operator the right {operation} on {on}; grant it: kafka-acls "
            "--add --allow-principal User:OPERATOR --operation {operation} {option}"
        )
        return say(phrase, cluster=self.cluster, operation=operation, on=on, option=option)


def keys_of(kind: str) -> tuple[str, str]:
    """Return the keys of session and heartbeat interval in the configuration of a group (`Group.kind`)."""
    return f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"


def error_of(future: Future[Any]) -> KafkaError | None:
    """Return the error of a request that has been answered; None if it went well."""
    exception = future.exception()
    if exception is None:
        return None
    if not isinstance(exception, KafkaException):
        raise exception
    return exception.args[0]


def is_silent(error: KafkaError) -> bool:
    """Whether nobody answered: the broker's own errors are positive, librdkafka's are negative."""
    return bool(error.code() < 0)


def _group(description: Any) -> Group | None:
    if description.state == ConsumerGroupState.DEAD:
        return None
    by_broker = description.type == ConsumerGroupType.CONSUMER
    # librdkafka knows the states of classic groups; those that only the consumer protocol has are unknown to it.
    members = tuple(
        Member(
            member.member_id,
            member.host.removeprefix("/"),
            client_id=member.client_id,
            instance_id=member.group_instance_id,
            partitions=len(member.assignment.topic_partitions),
        )
        for member in description.members
    )
    state = _STATES.get(description.state, GroupState.RECONCILING if by_broker else GroupState.UNKNOWN)
    assignor = description.partition_assignor or ""
    coordinator = -1 if description.coordinator is None else description.coordinator.id
    return Group(
        description.group_id,
        state,
        members,
        consumer_protocol=by_broker,
        assignor=assignor,
        coordinator=coordinator,
    )


def _time_of(entry: Any) -> timedelta | None:
    """Return a time of a configuration that may do without it; None where it is not shown."""
    return None if entry is None or entry.value is None else timedelta(milliseconds=int(entry.value))


def _group_option(group_id: str) -> str:
    return f"--group {shlex.quote(group_id)}"
