from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from sandbox.kafka_frames import HEARTBEAT, JOIN_GROUP
from sandbox.processes import wait_until
from sandbox.request_log import (
    NONE,
    UNKNOWN_MEMBER_ID,
    RequestLog,
    beat_periods_s,
    beats_by_error_code,
    heartbeats,
    median_s,
    rebalances,
    rebalances_per_minute,
)
from tests.integration.kafka_parts.pods import await_members, await_ready, value

if TYPE_CHECKING:
    from sandbox.kafka import Kafka
    from sandbox.proxy import FaultProxy
    from tests.integration.kafka_parts.pods import StartPod

pytestmark = pytest.mark.timeout(300)

STORM = {"KAFKA_SESSION_TIMEOUT_MS": 1000, "KAFKA_HEARTBEAT_INTERVAL_MS": 333, "KAFKA_MAX_WAIT_TIME_MS": 5000}
CALM = {"KAFKA_SESSION_TIMEOUT_MS": 30000, "KAFKA_HEARTBEAT_INTERVAL_MS": 1000, "KAFKA_MAX_WAIT_TIME_MS": 1000}


def test_a_session_shorter_than_the_fetch_wait_rebalances_for_ever(kafka: Kafka, start_pod: StartPod) -> None:
    """KafkaJS beats after its fetches: at S = 1 s and W = 5 s no beat of an idle consumer is ever in time."""
    group = "storm"
    kafka.create_topic(group, 3)
    pods = [start_pod(f"{group}-{number}", group, **STORM) for number in range(3)]
    await_ready(pods)
    log, since = RequestLog(kafka.request_log), time.time()
    time.sleep(30)
    until = time.time()
    records = log.read_new()
    assert rebalances_per_minute(records, group, since, until) >= 6
    answers = beats_by_error_code(heartbeats(records, group, since, until))
    assert answers[UNKNOWN_MEMBER_ID] > 0
    assert answers[NONE] == 0
    for pod in pods:
        metrics = pod.get("/metrics")
        own = {"client_id": pod.name, "group_id": group}
        assert value(metrics, "kafkajs_consumer_group_join_seconds_count", **own) >= 3
        assert value(metrics, "kafkajs_consumer_requests_total", api_name="Heartbeat", **own) >= 3
        assert pod.is_ready()


def test_a_session_that_covers_the_fetch_wait_is_calm(kafka: Kafka, start_pod: StartPod) -> None:
    """The same consumers with S = 30 s and W = H = 1 s beat every second and never rebalance."""
    group = "calm"
    kafka.create_topic(group, 3)
    pods = [start_pod(f"{group}-{number}", group, **CALM) for number in range(3)]
    await_ready(pods)
    await_members(kafka, group, 3)
    log, since = RequestLog(kafka.request_log), time.time()
    time.sleep(20)
    until = time.time()
    records = log.read_new()
    assert rebalances(records, group, since, until) == 0
    beats = heartbeats(records, group, since, until)
    assert set(beats_by_error_code(beats)) == {NONE}
    for pod in pods:
        period_s = median_s(beat_periods_s(beats, pod.name))
        assert period_s is not None
        assert 0.9 < period_s < 2.5


def test_the_broker_sees_each_pod_as_its_own_host(kafka: Kafka, start_pod: StartPod) -> None:
    """Members carry their pod's address, so that they can be matched with pods."""
    group = "hosts"
    kafka.create_topic(group, 2)
    pods = [start_pod(f"{group}-{number}", group, **CALM) for number in range(2)]
    await_ready(pods)
    await_members(kafka, group, 2)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    members = admin.describe_consumer_groups([group])[group].result(10).members
    assert {(member.client_id, member.host.removeprefix("/")) for member in members} == {
        (pod.name, pod.ip) for pod in pods
    }


def test_a_recording_proxy_sees_what_the_clients_ask(kafka: Kafka, tap: FaultProxy, start_pod: StartPod) -> None:
    """Clients that enter by the proxy stay behind it, and their joins and beats are on record with round trips."""
    group = "tapped"
    kafka.create_topic(group, 2)
    through_proxy = {"KAFKA_BROKERS": f"127.0.0.1:{tap.port}"}
    pods = [start_pod(f"{group}-{number}", group, **CALM, **through_proxy) for number in range(2)]
    await_ready(pods)

    def seen(api_key: int) -> set[str | None]:
        return {
            request.client_id
            for request in tap.requests
            if request.api_key == api_key and request.round_trip_s is not None
        }

    names = {pod.name for pod in pods}
    wait_until(lambda: seen(JOIN_GROUP) == names, part=group, what="joins")
    wait_until(lambda: seen(HEARTBEAT) == names, part=group, what="heartbeats")


def test_consumers_come_back_after_their_wire_was_cut(kafka: Kafka, tap: FaultProxy, start_pod: StartPod) -> None:
    """A consumer outlives its broker's absence, before its first join as well as later."""
    group = "cut"
    kafka.create_topic(group, 1)
    tap.cut()
    pod = start_pod(f"{group}-0", group, **CALM, KAFKA_BROKERS=f"127.0.0.1:{tap.port}")
    wait_until(lambda: "Not connected yet" in pod.process.log_tail(), part=group, what="a vain attempt")
    assert not pod.is_ready()
    tap.heal()
    await_ready([pod])
    tap.cut()
    before = value(pod.get("/metrics"), "kafkajs_consumer_requests_total", api_name="Heartbeat")
    time.sleep(3)
    tap.heal()

    def beats_again() -> bool:
        return value(pod.get("/metrics"), "kafkajs_consumer_requests_total", api_name="Heartbeat") > before + 1

    wait_until(beats_again, part=group, what="heartbeats", process=pod.process)


def test_counters_are_there_before_anything_happened(start_pod: StartPod) -> None:
    """A counter that appears late would hide its first increase from Prometheus."""
    pod = start_pod("early-0", "early", KAFKA_BROKERS="127.0.0.1:1")

    def serves() -> bool:
        try:
            return pod.get("/healthz") == "alive\n"
        except OSError:
            return False

    wait_until(serves, part="early", what="the HTTP server", process=pod.process)
    metrics, own = pod.get("/metrics"), {"client_id": "early-0", "group_id": "early"}
    for name in ("group_join_seconds_sum", "group_join_seconds_count", "rebalancing_total"):
        assert value(metrics, f"kafkajs_consumer_{name}", **own) == 0
    assert value(metrics, "kafkajs_consumer_requests_total", api_name="Heartbeat", **own) == 0
    assert not pod.is_ready()


def test_a_stopped_pod_leaves_its_group_and_ends_well(kafka: Kafka, start_pod: StartPod) -> None:
    """SIGTERM means an orderly leave: the group does not have to wait for the session to expire."""
    group = "leaving"
    kafka.create_topic(group, 1)
    leaving, staying = [start_pod(f"{group}-{number}", group, **CALM) for number in range(2)]
    await_ready([leaving, staying])
    await_members(kafka, group, 2)
    leaving.process.stop()
    assert leaving.process.returncode() == 0
    await_members(kafka, group, 1)


@pytest.mark.parametrize(
    ("variable", "bad", "sentence"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS", "30s", 'KAFKA_SESSION_TIMEOUT_MS is "30s", but it must be a positive integer.'),
        ("KAFKA_HEARTBEAT_INTERVAL_MS", "0", 'KAFKA_HEARTBEAT_INTERVAL_MS is "0", but it must be a positive integer.'),
        ("HANDLER_MS", "-1", 'HANDLER_MS is "-1", but it must be zero or a positive integer.'),
        ("KAFKA_GROUP_ID", "", "KAFKA_GROUP_ID is not set, but the consumer needs it."),
    ],
)
def test_a_bad_setting_ends_the_pod_with_a_sentence(
    start_pod: StartPod, variable: str, bad: str, sentence: str
) -> None:
    """The log names variable, value and rule, and nothing else."""
    pod = start_pod("bad-0", "bad", **{variable: bad})
    wait_until(lambda: not pod.process.alive(), part="bad", what="its end", timeout_s=30)
    assert pod.process.returncode() == 1
    assert pod.process.log_tail() == sentence


def test_settings_that_kafkajs_refuses_end_the_pod(start_pod: StartPod) -> None:
    """A heartbeat interval of at least the session timeout is KafkaJS' own error."""
    pod = start_pod("refused-0", "refused", KAFKA_SESSION_TIMEOUT_MS=1000, KAFKA_HEARTBEAT_INTERVAL_MS=1000)
    wait_until(lambda: not pod.process.alive(), part="refused", what="its end", timeout_s=30)
    assert pod.process.returncode() == 1
    assert "KafkaJS refuses these settings" in pod.process.log_tail()
