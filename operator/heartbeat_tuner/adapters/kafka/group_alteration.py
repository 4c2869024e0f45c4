"""Writing into a group's configuration at the broker: compared, tried, asked of the fence, and then done.

Kafka has no field owners and no compare-and-swap. So the group's own values are read right before the write and must be
the expected ones: what is left is the time of two requests. A request that only validates comes first: the controller
decides what is allowed, and its bounds need not be those that brokers show. An answer to the write that does not come
leaves it open whether it was done: who asked has noted before what it was about to write.
"""

from datetime import timedelta
from typing import Any, Final

from confluent_kafka import KafkaError
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers, error_of, is_silent, keys_of
from heartbeat_tuner.adapters.kafka.kafka_client import KafkaClient
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import GroupConfigChangedError, GroupConfigRefusedError, NoTimeToWriteError
from heartbeat_tuner.domain.kafka_groups import GroupOverrides
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.ports.leader_lease import Fence

SHORTEST_S: Final = 1.0
"""With less of the leadership left no write is begun."""

_OPEN: Final = frozenset(
    {
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.KAFKA_STORAGE_ERROR,
    }
)
"""A broker hands a write on to the controller. It answers so, too, if that one did it and its own answer was lost."""


def alter(
    client: KafkaClient,
    answers: ClusterAnswers,
    group_id: str,
    expected: GroupOverrides,
    wanted: GroupOverrides,
    *,
    kind: str,
    timeout_s: float,
    fence: Fence,
) -> None:
    """Set what differs between `expected` and `wanted` for a group, in one request.

    Args:
        client: of the cluster.
        answers: what its answers mean.
        group_id: of the group.
        expected: what is set for the group itself, as far as is known.
        wanted: what is to be set; None takes a value of the group's own away.
        kind: whose keys are written (`Group.kind`).
        timeout_s: for one request.
        fence: asked right before the write.

    Raises:
        GroupConfigChangedError: another value is set than expected; nothing was written.
        GroupConfigRefusedError: Kafka does not take the values, or the right is missing; nothing was written.
        ClusterUnreachableError: no answer, or one that leaves open whether it was done.
        NotLeaderError: the leadership is over; nothing was written.
    """
    operations = _operations(kind, expected, wanted)
    _compare(client, answers, (group_id, kind), expected, timeout_s)
    resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=operations)
    for validate_only in (True, False):
        request_s = min(timeout_s, fence.remaining_s())
        if request_s < SHORTEST_S:
            raise NoTimeToWriteError(f"too little time is left of the leadership to write group {group_id}")
        (future,) = client.admin.incremental_alter_configs(
            [resource], validate_only=validate_only, request_timeout=request_s
        ).values()
        client.wait([future])
        error = error_of(future)
        if error is not None:
            raise _failure(client, answers, (group_id, kind), error)


def _failure(client: KafkaClient, answers: ClusterAnswers, group: tuple[str, str], error: KafkaError) -> Exception:
    if is_silent(error) or error.code() in _OPEN:
        return client.silence()
    return GroupConfigRefusedError(answers.alteration_refused(*group, error))


def _compare(
    client: KafkaClient, answers: ClusterAnswers, group: tuple[str, str], expected: GroupOverrides, timeout_s: float
) -> None:
    """Look whether the group's own values are the expected ones; the group is its id and its kind."""
    group_id, kind = group
    (future,) = client.admin.describe_configs(
        [ConfigResource(ResourceType.GROUP, group_id)], request_timeout=timeout_s
    ).values()
    client.wait([future])
    error = error_of(future)
    if error is not None and is_silent(error):
        raise client.silence()
    config = answers.group_config(group_id, kind, future)
    if isinstance(config, str):
        raise GroupConfigRefusedError(config)
    if config.overrides != expected:
        raise GroupConfigChangedError(
            say(
                "group {group} has {found} at the broker, and {expected} was expected: somebody set it meanwhile",
                group=group_id,
                found=str(config.overrides),
                expected=str(expected),
            )
        )


def _operations(kind: str, expected: GroupOverrides, wanted: GroupOverrides) -> list[Any]:
    session, interval = keys_of(kind)
    changes = (
        (session, expected.session_timeout, wanted.session_timeout),
        (interval, expected.heartbeat_interval, wanted.heartbeat_interval),
    )
    return [_operation(name, after) for name, before, after in changes if before != after]


def _operation(name: str, value: timedelta | None) -> ConfigEntry:
    if value is None:
        return ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE)
    return ConfigEntry(name, str(durations.to_ms(value)), incremental_operation=AlterConfigOpType.SET)
