"""What the consumers of `bench.cycle` export, without the consumers; a process of its own.

`python -m bench.cycle_exporter --port 9100 --policies 1000` stands for three KafkaJS pods a policy, seven series each:
the five that the operator reads and two that it does not. Pages are text made once, since this process shares the
machine with what is measured; only the two counters of beats move. The past, written before the first scrape, goes on
in what is scraped.
"""

import argparse
import http.client
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.exporters import LOT_S, SCRAPE_S, encoded_series, moment, post_series, serve_pages
from heartbeat_tuner.metrics.conventions.kafkajs_metrics import EXPORTER
from heartbeat_tuner.metrics.vocabulary import Quantity
from sandbox.network import LOOPBACK

PODS_OF_POLICY: Final = 3
POLICIES_OF_NAMESPACE: Final = 500
SUBJECTS_OF_PAGE: Final = 100
TEMPLATE_HASH: Final = "6b5f7c9d4"

_MOVING: Final = b"@"
"""Stands in a page for the beats until it is asked for; occurs in no label."""


@dataclass(frozen=True)
class Subject:
    """One policy with its Deployment, its group and its pods; all but the pods have one name."""

    number: int

    @property
    def namespace(self) -> str:
        """Where it all lives."""
        return f"cycle-{self.number // POLICIES_OF_NAMESPACE:03}"

    @property
    def name(self) -> str:
        """Of policy, Deployment and group."""
        return f"group-{self.number:05}"

    @property
    def pods(self) -> list[str]:
        """The names of its pods."""
        return [self.pod(place) for place in range(PODS_OF_POLICY)]

    def pod(self, place: int) -> str:
        """Return the name of one of its pods, by its place among all that it ever had."""
        return f"{self.name}-{TEMPLATE_HASH}-{place:05}"


@dataclass(frozen=True)
class Exported:
    """One series of every pod.

    Attributes:
        name: of the metric.
        value: what it says; None for the beats, one a second.
        more: labels besides those of every series.
        by_member: whether it carries the member's id.
    """

    name: str
    value: float | None
    more: dict[str, str] = field(default_factory=dict)
    by_member: bool = False

    def labels(self, subject: Subject, pod: str) -> dict[str, str]:
        """Return its labels in a pod, but for its name."""
        member = {"member_id": f"{pod}-1"} if self.by_member else {}
        return {
            "container": "app",
            "group_id": subject.name,
            "instance": f"{pod}:9404",
            "namespace": subject.namespace,
            "node": f"node-{subject.number % 200:03}",
            "pod": pod,
            **self.more,
            **member,
        }


def _read(quantity: Quantity, value: float | None, *, by_member: bool = False) -> Exported:
    metric = EXPORTER.by_quantity[quantity]
    return Exported(metric.names[0], value, dict(metric.matchers), by_member)


SERIES: Final = (
    _read(Quantity.HEARTBEATS, None, by_member=True),
    _read(Quantity.HEARTBEAT_REQUESTS, None),
    _read(Quantity.REBALANCE_NOTICES, 0.0),
    _read(Quantity.REBALANCES, 1.0),
    _read(Quantity.REBALANCE_TIME, 0.1),
    Exported("kafkajs_consumer_requests_total", 4711.0, {"api_name": "Fetch"}),
    Exported("kafkajs_consumer_requests_total", 42.0, {"api_name": "OffsetCommit"}),
)
"""A group that is well: a beat a second, each accepted, and one join long ago."""


def subjects(count: int) -> list[Subject]:
    """Return as many."""
    return [Subject(number) for number in range(count)]


def page_count(policies: int) -> int:
    """Return how many pages their pods fill."""
    return -(-policies // SUBJECTS_OF_PAGE)


def beats(at_s: float) -> float:
    """Return what the moving counters say at a time."""
    return at_s // 1


class Page:
    """What one target says of the pods of its subjects."""

    def __init__(self, some: Sequence[Subject]) -> None:
        lines = (_line(series, subject, pod) for subject in some for pod in subject.pods for series in SERIES)
        self._text = "".join(lines).encode()

    def body(self, at_s: float) -> bytes:
        """Return the text format at a time."""
        return self._text.replace(_MOVING, str(beats(at_s)).encode())


def _line(series: Exported, subject: Subject, pod: str) -> str:
    labels = ",".join(f'{name}="{text}"' for name, text in series.labels(subject, pod).items())
    return f"{series.name}{{{labels}}} {_MOVING.decode() if series.value is None else series.value}\n"


PodsAt = Callable[[Subject, float], Sequence[str]]
"""Which pods a subject had at a time."""


def write_history(
    port: int,
    everybody: Sequence[Subject],
    *,
    since_s: float,
    until_s: float,
    pods_at: PodsAt = lambda subject, _: subject.pods,
) -> None:
    """Write the past of all by remote write, quarter of an hour by quarter of an hour."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    times = [since_s + SCRAPE_S * number for number in range(int((until_s - since_s) / SCRAPE_S))]
    block = int(LOT_S / SCRAPE_S)
    for first in range(0, len(times), block):
        for lot in range(0, len(everybody), SUBJECTS_OF_PAGE):
            some = everybody[lot : lot + SUBJECTS_OF_PAGE]
            post_series(connection, _past(some, times[first : first + block], pods_at))
    connection.close()


def _past(some: Sequence[Subject], times_s: Sequence[float], pods_at: PodsAt) -> Iterator[bytes]:
    for subject in some:
        lived_s: dict[str, list[float]] = {}
        for time_s in times_s:
            for pod in pods_at(subject, time_s):
                lived_s.setdefault(pod, []).append(time_s)
        for pod, pod_times_s in lived_s.items():
            moments = [moment(time_s) for time_s in pod_times_s]
            for series in SERIES:
                values = [beats(time_s) if series.value is None else series.value for time_s in pod_times_s]
                labels = {**series.labels(subject, pod), "__name__": series.name, "job": "pods"}
                yield encoded_series(labels, list(zip(values, moments, strict=True)))


def main() -> None:
    """Write the past to a Prometheus, then serve until the process is told to end."""
    parser = argparse.ArgumentParser(description="What the consumers of bench.cycle export.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--policies", type=int, required=True)
    parser.add_argument("--history-to", type=int, required=True, help="port of a Prometheus that takes remote write")
    parser.add_argument("--history-s", type=float, required=True, help="how far back, in seconds")
    asked = parser.parse_args()
    everybody = subjects(asked.policies)
    now_s = time.time()
    write_history(asked.history_to, everybody, since_s=now_s - asked.history_s, until_s=now_s)
    pages = range(0, len(everybody), SUBJECTS_OF_PAGE)
    serve_pages(asked.port, [Page(everybody[first : first + SUBJECTS_OF_PAGE]).body for first in pages])


if __name__ == "__main__":
    main()
