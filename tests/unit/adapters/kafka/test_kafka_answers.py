"""What a Kafka cluster's answers come to, those that say too little too."""

from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException
from confluent_kafka.admin import ConfigSource

from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers
from heartbeat_tuner.adapters.kafka.kafka_reading import NoAnswerError
from heartbeat_tuner.domain.kafka_groups import (
    ConsumerBounds,
    Group,
    GroupConfig,
    GroupOverrides,
    GroupState,
    Member,
    UnreadableGroup,
)

ANSWERS = ClusterAnswers("main")


def answered(result: object) -> Future[Any]:
    """Return an answer."""
    future = Future[Any]()
    future.set_result(result)
    return future


def refused(code: int) -> Future[Any]:
    """Return an error of a broker, or of librdkafka below 0."""
    future = Future[Any]()
    future.set_exception(KafkaException(KafkaError(code)))
    return future


def description(state: ConsumerGroupState, kind: ConsumerGroupType = ConsumerGroupType.CLASSIC) -> SimpleNamespace:
    """Return a group of one member as librdkafka describes it."""
    member = SimpleNamespace(
        member_id="orders-1",
        host="/10.0.0.1",
        client_id="orders",
        group_instance_id=None,
        assignment=SimpleNamespace(topic_partitions=["a", "b"]),
    )
    return SimpleNamespace(
        group_id="orders",
        state=state,
        type=kind,
        members=[member],
        partition_assignor="range",
        coordinator=SimpleNamespace(id=3),
    )


def test_a_group_is_what_its_coordinator_describes() -> None:
    """With its members at their addresses."""
    group = ANSWERS.understood("orders", answered(description(ConsumerGroupState.STABLE)))
    member = Member("orders-1", "10.0.0.1", client_id="orders", instance_id=None, partitions=2)
    assert group == Group("orders", GroupState.STABLE, (member,), assignor="range", coordinator=3)


def test_a_state_that_librdkafka_does_not_know_is_one_of_the_consumer_protocol_or_unknown() -> None:
    """Only groups of the consumer protocol have states of their own."""
    for kind, state in (
        (ConsumerGroupType.CONSUMER, GroupState.RECONCILING),
        (ConsumerGroupType.CLASSIC, GroupState.UNKNOWN),
    ):
        group = ANSWERS.understood("orders", answered(description(ConsumerGroupState.UNKNOWN, kind)))
        assert isinstance(group, Group)
        assert (group.state, group.consumer_protocol) == (state, kind is ConsumerGroupType.CONSUMER)


@pytest.mark.parametrize(
    "answer",
    [refused(KafkaError.GROUP_ID_NOT_FOUND), answered(description(ConsumerGroupState.DEAD))],
    ids=["unknown", "dead"],
)
def test_a_group_that_is_not_there_is_none(answer: Future[Any]) -> None:
    """Whichever way a broker says so."""
    assert ANSWERS.understood("orders", answer) is None


def test_silence_is_no_answer() -> None:
    """What librdkafka says by itself is nothing about the group."""
    with pytest.raises(NoAnswerError):
        ANSWERS.understood("orders", refused(KafkaError._TIMED_OUT))


def test_a_group_that_librdkafka_refuses_to_describe_has_a_reason() -> None:
    """It is the library's own error, as silence is; but the coordinator has answered."""
    future = Future[Any]()
    error = KafkaError(KafkaError._INVALID_ARG, "GroupId etl is not a consumer group (connect).")
    future.set_exception(KafkaException(error))
    group = ANSWERS.understood("etl", future)
    assert isinstance(group, UnreadableGroup)
    assert group.message == (
        "Kafka cluster main does not describe group etl: GroupId etl is not a consumer group (connect)."
    )
    assert group.of_another_kind


@pytest.mark.parametrize(
    ("code", "grant", "of_group"),
    [
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "--operation Describe --group 'my orders'", False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "--operation Describe --topic TOPIC", True),
    ],
)
def test_a_right_that_is_missing_is_named_with_the_command_that_grants_it(
    code: int, grant: str, *, of_group: bool
) -> None:
    """Names are quoted for a shell."""
    group = ANSWERS.understood("my orders", refused(code))
    assert isinstance(group, UnreadableGroup)
    assert grant in group.message
    assert group.tells_of_group is of_group


def test_a_group_that_was_not_read_in_time_is_unread() -> None:
    """One whose coordinator did not answer is not: it was asked."""
    assert ANSWERS.unread("orders").unread
    assert not ANSWERS.no_answer("orders", "no answer from its coordinator").unread


def test_times_are_read_from_configurations_or_it_is_said_why_not() -> None:
    """Each of the two configurations has names of its own."""
    bounds = {"group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "1800000"}
    config = answered({name: SimpleNamespace(value=value) for name, value in bounds.items()})
    assert ANSWERS.broker_times(config) == (timedelta(seconds=6), timedelta(minutes=30))
    hidden = answered({name: SimpleNamespace(value=None) for name in bounds})
    assert "does not show group.min.session.timeout.ms" in str(ANSWERS.broker_times(hidden))


def group_entries(session_source: ConfigSource, interval_source: ConfigSource) -> Future[Any]:
    """Return a group's configuration, 20 s and 2 s, from these sources."""
    entries = {
        "consumer.session.timeout.ms": SimpleNamespace(value="20000", source=session_source.value),
        "consumer.heartbeat.interval.ms": SimpleNamespace(value="2000", source=interval_source.value),
    }
    return answered(entries)


def test_a_groups_own_values_are_told_from_the_brokers() -> None:
    """Both are in force; only its own are what the tuner compares, and takes away again."""
    session, interval = timedelta(seconds=20), timedelta(seconds=2)
    broker, own = ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.GROUP_CONFIG
    for sources, overrides in (
        ((broker, ConfigSource.DEFAULT_CONFIG), GroupOverrides()),
        ((own, broker), GroupOverrides(session_timeout=session)),
        ((own, own), GroupOverrides(session, interval)),
    ):
        assert ANSWERS.group_config("orders", "consumer", group_entries(*sources)) == GroupConfig(
            session, interval, overrides
        )


def test_a_groups_values_that_cannot_be_read_are_no_values() -> None:
    """It is said what is missing: the keys, or the right."""
    assert ANSWERS.group_config("orders", "consumer", answered({})) == (
        "the configuration of group orders does not show consumer.session.timeout.ms and consumer.heartbeat.interval.ms"
    )
    denied = ANSWERS.group_config("orders", "consumer", refused(KafkaError.GROUP_AUTHORIZATION_FAILED))
    assert isinstance(denied, str)
    assert "--operation DescribeConfigs --group orders" in denied


@pytest.mark.parametrize(("shown", "lock"), [("20000", timedelta(seconds=20)), (None, None), ("", None)])
def test_a_share_groups_lock_is_read_where_the_broker_shows_it(shown: str | None, lock: timedelta | None) -> None:
    """The two times of a fencing are known all the same: where it is hidden, or the broker has no such key."""
    default = ConfigSource.DEFAULT_CONFIG.value
    entries = {
        "share.session.timeout.ms": SimpleNamespace(value="45000", source=default),
        "share.heartbeat.interval.ms": SimpleNamespace(value="5000", source=default),
    }
    if shown != "":
        entries["share.record.lock.duration.ms"] = SimpleNamespace(value=shown, source=default)
    found = ANSWERS.group_config("orders", "share", answered(entries))
    assert found == GroupConfig(timedelta(seconds=45), timedelta(seconds=5), record_lock=lock)


def test_other_groups_have_no_lock_though_brokers_show_all_keys() -> None:
    """A group of consumers would else differ from what is written for it."""
    shown = {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "5000"}
    shown["share.record.lock.duration.ms"] = "30000"
    default = ConfigSource.DEFAULT_CONFIG.value
    entries = {name: SimpleNamespace(value=value, source=default) for name, value in shown.items()}
    found = ANSWERS.group_config("orders", "consumer", answered(entries))
    assert found == GroupConfig(timedelta(seconds=45), timedelta(seconds=5))


def consumer_entries(*times_ms: int) -> Future[Any]:
    """Return a broker's bounds of S and H for groups of the consumer protocol."""
    settings = ("session.timeout", "heartbeat.interval")
    names = [f"group.consumer.{side}.{setting}.ms" for setting in settings for side in ("min", "max")]
    return answered({name: SimpleNamespace(value=str(ms)) for name, ms in zip(names, times_ms, strict=True)})


def test_the_bounds_are_those_that_every_broker_accepts() -> None:
    """Each may become the coordinator; of brokers that differ the narrower side counts, each for itself."""
    brokers = [consumer_entries(45000, 60000, 1000, 15000), consumer_entries(10000, 50000, 5000, 9000)]
    assert ANSWERS.group_bounds("consumer", brokers) == ConsumerBounds(
        *(timedelta(seconds=item) for item in (45, 50, 5, 9))
    )


def test_the_bounds_are_unknown_where_one_broker_does_not_show_them() -> None:
    """One of the others is not taken for it, and an older broker has none."""
    for hidden in (answered({}), refused(KafkaError.CLUSTER_AUTHORIZATION_FAILED), refused(KafkaError._TRANSPORT)):
        assert isinstance(ANSWERS.group_bounds("consumer", [consumer_entries(45000, 60000, 5000, 15000), hidden]), str)


def test_a_refused_alteration_says_what_to_grant_or_to_configure() -> None:
    """A missing right is one command away; a bound is a property of brokers and controllers."""
    denied = ANSWERS.alteration_refused("my orders", "consumer", KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    assert "--operation AlterConfigs --group 'my orders'" in denied
    invalid = ANSWERS.alteration_refused(
        "orders", "consumer", KafkaError(KafkaError.INVALID_CONFIG, "must be in the range")
    )
    assert "must be in the range" in invalid
    assert "group.consumer.{min,max}.session.timeout.ms and group.consumer.{min,max}.heartbeat.interval.ms" in invalid
    assert "controllers" in invalid
