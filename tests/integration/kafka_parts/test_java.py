from __future__ import annotations

import itertools
import math
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from sandbox import consumers, network
from sandbox.processes import wait_until
from sandbox.request_log import UNKNOWN_MEMBER_ID, Heartbeat, JoinGroup, LeaveGroup, Record, RequestLog, median_s
from tests.integration.kafka_parts.pods import await_members, await_ready, value

if TYPE_CHECKING:
    from confluent_kafka.admin import ConsumerGroupDescription

    from sandbox.kafka import Kafka
    from tests.integration.kafka_parts.pods import StartPod

pytestmark = pytest.mark.timeout(120)

NERVOUS = {"KAFKA_SESSION_TIMEOUT_MS": 6000, "KAFKA_HEARTBEAT_INTERVAL_MS": 1000}
COORDINATOR = "kafka_consumer_consumer_coordinator_metrics"
CONSUMER = "kafka_consumer_consumer_metrics"


def describe(kafka: Kafka, group: str) -> ConsumerGroupDescription:
    """Return what the broker says of a group."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    return admin.describe_consumer_groups([group])[group].result(10)


def only_member_id(kafka: Kafka, group: str) -> str:
    """Return the id of a group's one member."""
    (member,) = describe(kafka, group).members
    return str(member.member_id)


def send_one(kafka: Kafka, topic: str) -> None:
    """Give a consumer one record to handle."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce(topic, "record")
    assert producer.flush(30) == 0


def beats_of(records: list[Record], member_id: str) -> list[float]:
    """Return when the heartbeats of a member arrived."""
    return [record.arrival_s for record in records if isinstance(record, Heartbeat) and record.member_id == member_id]


def leaves_of(records: list[Record], member_id: str) -> list[float]:
    """Return when a member left of its own accord."""
    return [record.arrival_s for record in records if isinstance(record, LeaveGroup) and member_id in record.member_ids]


def attempts_without_member_id(metrics: str) -> float:
    """Return how often a member has had to ask for a member id: once to begin with, and once for each time it lost it.

    Two kinds of attempt to rebalance fail: those that only fetch a member id, and those whose group rebalanced again
    between join and sync. Only the latter have a successful join to them.
    """
    failed, joined, done = (
        value(metrics, f"{COORDINATOR}_{name}") for name in ("failed_rebalance", "join", "rebalance")
    )
    return failed - (joined - done)


def test_idle_members_beat_with_their_interval_from_their_own_address(kafka: Kafka, start_java_pod: StartPod) -> None:
    """The beat is a thread of its own; host and default client id are what members can be told by."""
    group = "java-idle"
    kafka.create_topic(group, 4)
    pods = [start_java_pod(f"{group}-{number}", group, **NERVOUS) for number in range(2)]
    await_ready(pods)
    await_members(kafka, group, 2)
    log = RequestLog(kafka.request_log)
    log.read_new()
    time.sleep(6)
    records = log.read_new()
    described = describe(kafka, group)
    assert described.type.name == "CLASSIC"
    assert {(member.client_id, member.host) for member in described.members} == {
        (f"consumer-{group}-1", f"/{pod.ip}") for pod in pods
    }
    for member in described.members:
        period_s = median_s([b - a for a, b in itertools.pairwise(beats_of(records, member.member_id))])
        assert period_s is not None
        assert 0.95 < period_s < 1.5
    own = {"client_id": f"consumer-{group}-1"}
    metrics = pods[0].get("/metrics")
    assert value(metrics, f"{COORDINATOR}_heartbeat", **own) >= 4
    assert value(metrics, f"{COORDINATOR}_join", **own) >= 1
    assert value(metrics, f"{COORDINATOR}_rebalance", **own) >= 1
    # The attempt that only fetches a member id is a failed rebalance to the library.
    assert value(metrics, f"{COORDINATOR}_failed_rebalance", **own) >= 1
    assert attempts_without_member_id(metrics) == 1
    assert value(metrics, f"{COORDINATOR}_rebalance_latency", **own) > 0
    assert value(metrics, f"{COORDINATOR}_last_heartbeat_seconds_ago", **own) <= 3
    assert value(metrics, f"{CONSUMER}_last_poll_seconds_ago", **own) <= 3
    assert 0 < value(metrics, f"{CONSUMER}_time_between_poll_max", **own) < 5000


def test_a_member_paused_beyond_its_session_comes_back_as_another(kafka: Kafka, start_java_pod: StartPod) -> None:
    """It is removed without a word from it, its next beat is refused, and polling on makes it join again."""
    group = "java-paused"
    kafka.create_topic(group, 2)
    pod = start_java_pod(group, group, **NERVOUS)
    await_ready([pod])
    await_members(kafka, group, 1)
    before = only_member_id(kafka, group)
    rebalances = value(pod.get("/metrics"), f"{COORDINATOR}_rebalance")
    assert math.isnan(value(pod.get("/metrics"), f"{COORDINATOR}_partition_lost_latency_max"))
    log = RequestLog(kafka.request_log)
    pod.process.pause()
    try:
        time.sleep(8)
        assert describe(kafka, group).members == []
    finally:
        pod.process.resume()
    await_members(kafka, group, 1)
    assert only_member_id(kafka, group) != before
    records = log.read_new()
    assert leaves_of(records, before) == []
    beats = [record for record in records if isinstance(record, Heartbeat) and record.group_id == group]
    refused = {beat.member_id for beat in beats if beat.error_code == UNKNOWN_MEMBER_ID}
    assert refused == {before}
    wait_until(
        lambda: value(pod.get("/metrics"), f"{COORDINATOR}_rebalance") == rebalances + 1,
        part=group,
        what="one more rebalance",
    )
    metrics = pod.get("/metrics")
    assert attempts_without_member_id(metrics) == 2
    assert value(metrics, f"{COORDINATOR}_partition_lost_latency_max") >= 0  # there only when partitions were lost


def test_a_handler_slower_than_the_poll_interval_makes_the_member_leave(kafka: Kafka, start_java_pod: StartPod) -> None:
    """Beats go on during the handling, yet after M the member says that it leaves; it joins again when it polls."""
    group, poll_interval_s = "java-slow", 3.0
    kafka.create_topic(group, 1)
    slow = {"KAFKA_MAX_POLL_INTERVAL_MS": 3000, "HANDLER_MS": 6000}
    log = RequestLog(kafka.request_log)
    pod = start_java_pod(group, group, **(NERVOUS | {"KAFKA_HEARTBEAT_INTERVAL_MS": 500} | slow))
    await_ready([pod])
    member = only_member_id(kafka, group)
    send_one(kafka, group)
    handled_from = time.time()
    records: list[Record] = []

    def left() -> bool:
        records.extend(log.read_new())
        return bool(leaves_of(records, member))

    wait_until(left, part=group, what="the leave", timeout_s=30)
    (leave_s,) = leaves_of(records, member)
    assert poll_interval_s - 0.5 < leave_s - handled_from < poll_interval_s + 3
    assert len([beat for beat in beats_of(records, member) if handled_from < beat < leave_s]) >= 3
    await_members(kafka, group, 1)
    assert only_member_id(kafka, group) != member
    assert value(pod.get("/metrics"), f"{CONSUMER}_time_between_poll_max") >= 6000


def test_a_stopped_member_leaves_at_once_also_from_its_handler(kafka: Kafka, start_java_pod: StartPod) -> None:
    """SIGTERM means an orderly leave: the group does not have to wait for the session to expire."""
    group = "java-leaving"
    kafka.create_topic(group, 1)
    pod = start_java_pod(group, group, HANDLER_MS=60_000)
    await_ready([pod])
    log, member = RequestLog(kafka.request_log), only_member_id(kafka, group)
    send_one(kafka, group)
    time.sleep(1)  # it is handling by now
    pod.process.stop(grace_s=5)
    assert pod.process.returncode() == 143  # how a JVM ends that was asked to
    assert len(leaves_of(log.read_new(), member)) == 1


def test_the_consumer_protocol_makes_a_group_of_another_type(kafka: Kafka, start_java_pod: StartPod) -> None:
    """KIP-848: the broker decides S and H, nobody joins or syncs, and the metric names of beats stay."""
    group = "java-848"
    kafka.create_topic(group, 1)
    log = RequestLog(kafka.request_log)
    log.read_new()
    pod = start_java_pod(group, group, KAFKA_GROUP_PROTOCOL="consumer")
    await_ready([pod])
    await_members(kafka, group, 1)
    described = describe(kafka, group)
    assert described.type.name == "CONSUMER"
    assert [(member.client_id, member.host) for member in described.members] == [(f"consumer-{group}-1", f"/{pod.ip}")]
    assert not [item for item in log.read_new() if isinstance(item, JoinGroup) and item.group_id == group]
    assert value(pod.get("/metrics"), f"{COORDINATOR}_heartbeat") >= 1


def test_by_the_consumer_protocol_a_removed_member_comes_back_under_its_id(
    kafka: Kafka, start_java_pod: StartPod
) -> None:
    """The client makes the id and keeps it: evictions cannot be counted by changed ids there."""
    group = "java-848-paused"
    kafka.create_topic(group, 1)
    kafka.configure_group(group, {"consumer.session.timeout.ms": "2000", "consumer.heartbeat.interval.ms": "500"})
    pod = start_java_pod(group, group, KAFKA_GROUP_PROTOCOL="consumer")
    await_ready([pod])
    await_members(kafka, group, 1)
    # A member that is removed before it knows its offsets ends: their fetch is refused, and poll() throws that.
    wait_until(
        lambda: "Resetting offset" in pod.process.log_tail(), part=group, what="the offsets", process=pod.process
    )
    before = only_member_id(kafka, group)
    pod.process.pause()
    try:
        wait_until(lambda: describe(kafka, group).members == [], part=group, what="the removal", timeout_s=20)
    finally:
        pod.process.resume()
    wait_until(
        lambda: len(describe(kafka, group).members) == 1,
        part=group,
        what="its return",
        process=pod.process,
        timeout_s=90,
    )
    assert only_member_id(kafka, group) == before


@pytest.mark.parametrize(
    ("variable", "bad", "sentence"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS", "30s", 'KAFKA_SESSION_TIMEOUT_MS is "30s", but it must be a positive integer.'),
        ("HANDLER_MS", "-1", 'HANDLER_MS is "-1", but it must be zero or a positive integer.'),
        ("KAFKA_GROUP_ID", "", "KAFKA_GROUP_ID is not set, but the consumer needs it."),
        (
            "KAFKA_HEARTBEAT_INTERVAL_MS",
            "45000",
            "kafka-clients refuses these settings: Heartbeat must be set lower than the session timeout",
        ),
    ],
)
def test_a_bad_setting_ends_the_pod_with_a_sentence(
    start_java_pod: StartPod, variable: str, bad: str, sentence: str
) -> None:
    """The log names variable, value and rule, and nothing else; what only the library knows is in its words."""
    pod = start_java_pod("bad-0", "bad", **{variable: bad})
    wait_until(lambda: not pod.process.alive(), part="bad", what="its end", timeout_s=30)
    assert pod.process.returncode() == 1
    assert pod.process.log_tail(1) == sentence
    assert "\tat " not in pod.process.log_tail()


def test_java_maps_the_archive_of_a_consumers_classes() -> None:
    """Where it does not, consumers start as well, and only the time that they take would show it."""
    consumers.java_class_archive()
    (port,) = network.free_ports(1)
    java, *options = consumers.java_command(address=network.LOOPBACK, metrics_port=port)
    path = {"PATH": os.environ["PATH"]}  # and no variable of a consumer: it loads its classes, and refuses
    ended = subprocess.run(
        [java, "-Xshare:on", "-Xlog:class+load", *options], env=path, capture_output=True, text=True, check=False
    )
    assert "KAFKA_BROKERS is not set" in ended.stderr
    assert ended.stdout.count("source: shared objects file (top)") > 500
