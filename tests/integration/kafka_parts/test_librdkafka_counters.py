"""What the lines to paste make a consumer with librdkafka export, beside what the coordinator saw of it."""

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import generate_latest

from heartbeat_tuner.doctor import fixes
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.vocabulary import Quantity
from sandbox import network
from sandbox.consumers import confluent_python_command
from sandbox.consumers.python import membership
from sandbox.kafka import Kafka
from sandbox.processes import wait_until
from sandbox.request_log import Heartbeat, RequestLog

pytestmark = pytest.mark.timeout(180)

PROTOCOLS: Final = ("classic", "consumer", "share")
SESSION_MS: Final = 4_000
PAUSE_S: Final = 7.0
POLL_LIMIT_MS: Final = 6_000
SLOW_S: Final = 8.0

_SAMPLE: Final = re.compile(
    r"^(?P<name>[a-z_]+){(?P<labels>[^}]*)} (?P<value>[0-9.e+-]+)( (?P<at_ms>[0-9]+))?$", re.MULTILINE
)

Exported = Mapping[Quantity, tuple[float, float]]
"""Value and time, in Unix seconds; the time is 0 where it is the scrape's."""


def settings(kafka: Kafka, group: str, protocol: str) -> dict[str, str]:
    """Create a topic and a group's values; return what a consumer is configured with, by librdkafka's names."""
    kafka.create_topic(group)
    if protocol != "classic":
        values = {"session.timeout.ms": str(SESSION_MS), "heartbeat.interval.ms": "1000"}
        kafka.configure_group(group, {f"{protocol}.{name}": value for name, value in values.items()})
        return {"group.protocol": protocol}
    return {"group.protocol": protocol, "session.timeout.ms": str(SESSION_MS), "heartbeat.interval.ms": "1000"}


@contextmanager
def pod(kafka: Kafka, group: str, protocol: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Run the sandbox's consumer; give its process, and where its metrics are."""
    probe, port = network.free_ports(2)
    own = {"KAFKA_BROKERS": kafka.bootstrap, "KAFKA_GROUP_ID": group, "KAFKA_TOPIC": group, "HOSTNAME": group}
    own |= {"POD_IP": "127.0.0.1", "PROBE_PORT": str(probe), "METRICS_PORT": str(port)}
    own |= {
        f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in settings(kafka, group, protocol).items()
    }
    with subprocess.Popen(confluent_python_command(), env={**os.environ, **own}) as process:
        try:
            yield process, f"http://127.0.0.1:{port}/metrics"
        finally:
            process.kill()


def exported(text: str, group: str) -> Exported:
    """Return what is exported of a group's only consumer, by the names that are read."""
    found: dict[Quantity, tuple[float, float]] = {}
    for sample in _SAMPLE.finditer(text):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', sample["labels"]))
        metric = COUNTERS.metric_of({"__name__": sample["name"], **labels})
        if metric is not None and labels["group_id"] == group:
            found[metric.quantity] = (float(sample["value"]), float(sample["at_ms"] or 0) / 1000)
    return found


def scraped(url: str, group: str) -> Exported:
    """Return what a consumer exports; nothing while it is not there."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - on loopback
            return exported(answer.read().decode(), group)
    except OSError:
        return {}


def test_the_lines_to_paste_are_those_that_are_tried_here() -> None:
    """The sandbox's consumer is counted by them, too."""
    pasted = fixes.of_quantities(COUNTERS, [Quantity.HEARTBEATS])
    assert (pasted.language, pasted.snippet) == ("python", Path(membership.__file__).read_text())


def test_beats_are_those_that_the_coordinator_saw_and_a_fencing_is_counted_once(kafka: Kafka) -> None:
    """Commits and all other requests are none; a member of a share group shows that it joined again, and no more."""
    log = RequestLog(kafka.request_log)
    with ExitStack() as started:
        groups = {f"counted-{protocol}": protocol for protocol in PROTOCOLS}
        pods = {group: started.enter_context(pod(kafka, group, protocol)) for group, protocol in groups.items()}

        def seen(group: str) -> Exported:
            return scraped(pods[group][1], group)

        def joined() -> bool:
            return all(seen(group).get(Quantity.HEARTBEATS, (0.0, 0.0))[0] >= 5 for group in groups)

        wait_until(joined, part="counted", what="beats of all members", timeout_s=40)
        before = {group: seen(group) for group in groups}
        for process, _ in pods.values():
            process.send_signal(signal.SIGSTOP)
        time.sleep(PAUSE_S)
        for process, _ in pods.values():
            process.send_signal(signal.SIGCONT)

        def back() -> bool:
            return all(seen(group)[Quantity.REBALANCES] > before[group][Quantity.REBALANCES] for group in groups)

        wait_until(back, part="counted", what="members that joined again", timeout_s=40)
        time.sleep(3.0)  # a fencing that were counted twice would be by now
        after = {group: seen(group) for group in groups}
    beats = [record for record in log.read_new() if isinstance(record, Heartbeat)]
    for group, protocol in groups.items():
        assert before[group][Quantity.REBALANCES][0] == 1
        for found in (before[group], after[group]):
            value, at_s = found[Quantity.HEARTBEATS]
            arrived = sum(1 for beat in beats if beat.group_id == group and beat.arrival_s <= at_s)
            assert abs(value - arrived) <= 2, (group, value, arrived)  # one may be on its way, or be just counted
        lost = [after[group].get(each) for each in (Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS)]
        assert before[group][Quantity.POLL_GAP_MAX][0] < 2.0
        assert before[group][Quantity.POLL_AGE][0] < 2.0
        if protocol == "share":
            assert lost == [None, None]
        else:
            assert [value for value, _ in filter(None, lost)] == [1.0, 0.0]
            assert before[group][Quantity.LOST_FOR_SILENCE][0] == 0.0


def test_who_does_not_poll_in_time_lost_its_assignment_for_that(kafka: Kafka) -> None:
    """In a group of the consumer protocol it stops beating and is fenced: for want of a poll all the same."""
    groups = {f"late-{protocol}": protocol for protocol in ("classic", "consumer")}
    calls: dict[str, list[str]] = {group: [] for group in groups}
    consumers: list[membership.CountedConsumer] = []
    for group, protocol in groups.items():
        config = {**settings(kafka, group, protocol), "bootstrap.servers": kafka.bootstrap, "group.id": group}
        consumer, mine = membership.CountedConsumer({**config, "max.poll.interval.ms": POLL_LIMIT_MS}), calls[group]
        noted = {f"on_{what}": lambda *_, mine=mine, what=what: mine.append(what) for what in ("assign", "lost")}
        consumer.subscribe([group], **noted)
        consumers.append(consumer)

    def found(group: str, quantity: Quantity) -> float:
        return exported(generate_latest().decode(), group)[quantity][0]

    def poll_for(seconds: float, *, until_assigned: int = 0) -> None:
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            for each in consumers:
                each.poll(0.1)
                each.consume(100, 0.1)
            if until_assigned and all(mine.count("assign") >= until_assigned for mine in calls.values()):
                return

    poll_for(40.0, until_assigned=1)
    poll_for(2.5)  # the statistics of a second bring what was counted
    for group in groups:
        assert [found(group, each) for each in (Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS)] == [0.0, 0.0]
        assert found(group, Quantity.POLL_GAP_MAX) < 2.0
    time.sleep(SLOW_S)  # a handler
    assert all(found(group, Quantity.POLL_AGE) >= SLOW_S for group in groups)
    poll_for(40.0, until_assigned=2)
    poll_for(2.5)
    assert all(found(group, Quantity.POLL_GAP_MAX) == pytest.approx(SLOW_S, abs=2.0) for group in groups)
    for consumer in consumers:
        consumer.close()
    for group, called in calls.items():
        assert called == ["assign", "lost", "assign"]
        assert [found(group, each) for each in (Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS)] == [0.0, 1.0]
        assert found(group, Quantity.REBALANCES) == 2.0


def test_what_was_lost_outlives_the_consumer() -> None:
    """A consumer that is closed for an error and made again goes on counting: the loss came with the error."""
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "made-again", "log_level": 0}
    for _ in range(2):
        consumer = membership.CountedConsumer(config)
        (mine,) = (each for each in membership.Membership.exported if each.group_id == "made-again")
        mine.loses()
        consumer.close()
    beside = [membership.CountedConsumer(config) for _ in range(2)]
    alike = [each for each in membership.Membership.exported if each.group_id == "made-again"]
    assert [(each.client_id, each.lost["silence"]) for each in alike] == [("rdkafka-0", 2), ("rdkafka-1", 0)]
    for consumer in beside:
        consumer.close()


def test_the_applications_own_statistics_go_on() -> None:
    """Who exports them already loses nothing."""
    heard: list[str] = []
    consumer = membership.CountedConsumer(
        {"bootstrap.servers": "127.0.0.1:1", "group.id": "own", "stats_cb": heard.append, "log_level": 0}
    )
    ends_s = time.monotonic() + 10.0
    while not heard and time.monotonic() < ends_s:
        consumer.poll(0.1)
    consumer.close()
    assert heard
