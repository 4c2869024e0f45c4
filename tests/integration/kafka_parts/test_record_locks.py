"""A handler of a share group that outlasts the lock of its record: what the broker does, and what is known of it."""

import dataclasses
import math
import re
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.java_groups import RECORD_LOCK
from heartbeat_tuner.decision.at_broker import record_locks
from heartbeat_tuner.domain.evidence import Pod as RunningPod
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.metrics import share_polls
from heartbeat_tuner.metrics.conventions.java_metrics import SHARE_CONSUMER
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from sandbox.kafka import Kafka
from sandbox.processes import wait_until
from tests.integration.kafka_parts.pods import Pod, StartPod, value
from tests.integration.kafka_parts.test_java import send_one
from tests.support import worlds

pytestmark = pytest.mark.timeout(180)

GROUP: Final = "java-locked"
LOCK: Final = timedelta(seconds=15)
"""The shortest that a broker allows by default."""

HANDLER: Final = timedelta(seconds=20)

_SHARE: Final = "kafka_consumer_consumer_share"
_SAMPLE: Final = re.compile(r"^(?P<name>[a-z_]+){(?P<labels>[^}]*)} (?P<value>\S+)$", re.MULTILINE)


def shown(pod: Pod, metric: str) -> float:
    """Return a metric of a share consumer; not a number while the pod shows none."""
    try:
        return value(pod.get("/metrics"), f"{_SHARE}_{metric}")
    except (OSError, AssertionError):
        return math.nan


def scraped(pod: Pod) -> list[Series]:
    """Return what Prometheus would have of a pod by one scrape."""
    found = []
    for sample in _SAMPLE.finditer(pod.get("/metrics")):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', sample["labels"]))
        labels |= {"__name__": sample["name"], "namespace": "shop", "pod": pod.name}
        found.append(Series.from_raw(labels, [(time.time(), float(sample["value"]))]))
    return found


async def described(kafka: Kafka) -> Group:
    """Return the group as the operator reads it."""
    with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=30))) as groups:
        found = (await groups.describe("main", [GROUP]))[GROUP]
    assert isinstance(found, Group)
    return found


async def test_what_is_handled_for_longer_than_the_lock_is_delivered_twice_and_that_is_seen(
    kafka: Kafka, start_share_pod: StartPod
) -> None:
    """One record, which two members are handed: the first one is still at it, and shows its gap between polls."""
    kafka.create_topic(GROUP)
    milliseconds = str(round(LOCK.total_seconds() * 1000))
    kafka.configure_group(GROUP, {RECORD_LOCK: milliseconds, "share.auto.offset.reset": "earliest"})
    since = datetime.now(UTC)
    slow = start_share_pod("slow", GROUP, HANDLER="wait", HANDLER_MS=round(HANDLER.total_seconds() * 1000))
    wait_until(
        lambda: shown(slow, "coordinator_metrics_heartbeat") >= 2, part="slow", what="beats", process=slow.process
    )
    assert shown(slow, "metrics_time_between_poll_max") < 5_000
    send_one(kafka, GROUP)
    wait_until(lambda: shown(slow, "metrics_last_poll_seconds_ago") >= 2, part="slow", what="its handler")
    quick = start_share_pod("quick", GROUP)
    wait_until(
        lambda: shown(quick, "fetch_manager_metrics_records_consumed") >= 1,
        part="quick",
        what="the record",
        process=quick.process,
        timeout_s=60,
    )
    gap_ms = HANDLER.total_seconds() * 1000
    wait_until(lambda: shown(slow, "metrics_time_between_poll_max") >= gap_ms, part="slow", what="its next poll")
    delivered = [shown(pod, "fetch_manager_metrics_records_consumed") for pod in (slow, quick)]
    assert delivered == [1, 1]
    assert shown(slow, "fetch_manager_metrics_acknowledgements_error") == 0  # no metric counts what came too late

    group = await described(kafka)
    assert group.config is not None
    assert group.config.record_lock == LOCK
    read = resolver.by_group([*scraped(slow), *scraped(quick)], [SHARE_CONSUMER], {("shop", GROUP)})["shop", GROUP]
    pods = [RunningPod(pod.name, pod.name, pod.ip, since, 0) for pod in (slow, quick)]
    gap = share_polls.longest_gap(read, pods, since=since)
    assert gap is not None
    assert HANDLER <= gap < HANDLER + timedelta(seconds=5)
    record = dataclasses.replace(worlds.record(), longest_poll_gap=gap)
    left = Decision(Verdict.UNKNOWN, Finding(Reason.CONSUMER_PROTOCOL, "nothing else is known"))
    decision = record_locks.with_locks(group, record, catalogue.client("java"), left)
    assert decision.finding.reason is Reason.POLL_GAP_EXCEEDS_LOCK
    assert "a record is locked for 15s" in decision.finding.message
