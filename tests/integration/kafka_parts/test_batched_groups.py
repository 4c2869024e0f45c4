"""Classic groups in one request at a real broker: the same as librdkafka shows of each, and of nothing else."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka import kafka_access
from heartbeat_tuner.adapters.kafka.batched_groups import BatchedGroups
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from sandbox.kafka import Kafka
from sandbox.processes import wait_until
from tests.support.fleets import commit_offsets

pytestmark = pytest.mark.timeout(180)

CLASSIC = ("batched-static", "batched-dynamic")
EMPTY = [f"batched-empty-{number:03d}" for number in range(250)]
OTHERS = ("batched-848", "batched-nobody")


@pytest.fixture(scope="module")
def groups(kafka: Kafka) -> Iterator[tuple[str, ...]]:
    """Two classic groups of two topics, one of them with static members; empty ones; one of KIP-848; one not there."""
    topics = ["batched-a", "batched-b"]
    for topic in topics:
        kafka.create_topic(topic, 3)
    commit_offsets(kafka.bootstrap, topics[0], EMPTY)
    base: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, "log_level": 0}
    with ExitStack() as closes:
        consumers = []
        members = [*((group, number) for group in CLASSIC for number in range(2)), (OTHERS[0], 0)]
        for group, number in members:
            protocol = "classic" if group in CLASSIC else "consumer"
            names = {"group.id": group, "group.protocol": protocol, "client.id": f"app-{number}"}
            static = {"group.instance.id": f"slot-{number}"} if group == CLASSIC[0] else {}
            consumer = Consumer(base | names | static)
            closes.callback(consumer.close)
            consumer.subscribe(topics)
            consumers.append(consumer)

        def assigned() -> bool:
            for consumer in consumers:
                consumer.poll(0.05)
            return sorted(len(consumer.assignment()) for consumer in consumers) == [2, 2, 4, 4, 6]

        wait_until(assigned, part="kafka", what="an assignment", timeout_s=60)
        yield (*CLASSIC, *EMPTY, *OTHERS)


def by_librdkafka(kafka: Kafka, group_ids: tuple[str, ...]) -> dict[str, Group | UnreadableGroup | None]:
    """Return what librdkafka shows of groups."""
    admin, answers = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0}), ClusterAnswers("main")
    futures = {name: admin.describe_consumer_groups([name], request_timeout=30)[name] for name in group_ids}
    for future in futures.values():
        future.exception(30)
    return {name: answers.understood(name, future) for name, future in futures.items()}


def test_a_batch_shows_of_classic_groups_what_librdkafka_shows(kafka: Kafka, groups: tuple[str, ...]) -> None:
    """Members, partitions, states, assignors and coordinators; a group of another kind or none is left to it."""
    keys = kafka_access.read("main", KafkaAccess(kafka.bootstrap))
    with closing(BatchedGroups("main")) as batched:
        before = kafka.request_log.stat().st_size
        found = batched.described(keys, groups, within_s=20)
        again = batched.described(keys, groups, within_s=20)
        assert batched.serves
    expected = by_librdkafka(kafka, (*CLASSIC, *EMPTY))
    assert found == again == expected
    assert {member.partitions for name in CLASSIC for member in found[name].members} == {2, 4}
    with kafka.request_log.open() as log:
        log.seek(before)
        kinds = [
            request["requestHeader"]["requestApiKeyName"]
            for line in log
            if '"clientId":"heartbeat-tuner"' in line
            for request in [json.loads(line[line.index("{") :])]
        ]
    assert sorted(kinds) == [*["DESCRIBE_GROUPS"] * 6, "FIND_COORDINATOR"]
