"""Days of metrics of a few consumers, as exporters would have given them: the same for the same seed.

Each member beats every 3 s, polls at random gaps, and now and then stands still; once a day a pod
is replaced, and its group rebalances.
"""

import random
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from heartbeat_tuner.metrics.conventions import java_metrics, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Samples, Series
from heartbeat_tuner.metrics.vocabulary import Quantity

SCRAPE_S: Final = 60.0
"""Once a minute, as many sites do."""

_BEAT_S: Final = 3.0
_JOIN_S: Final = 2.5
_STALL_S: Final = 20.0


def midnight_s(day: date) -> float:
    """Return when a day begins in UTC, in Unix seconds."""
    return datetime.combine(day, time(), UTC).timestamp()


def of_days(
    since: date,
    until: date,
    *,
    group: str = "orders",
    namespace: str = "shop",
    members: int = 2,
    convention: Convention = java_metrics.JMX_EXPORTER,
    every_s: float = SCRAPE_S,
    seed: int = 0,
) -> list[Series]:
    """Return what a group's members and their pods export from a day to another, both included, and an hour around.

    Args:
        since: the first day.
        until: the last.
        group: whose members.
        namespace: of their pods.
        members: how many there are at a time.
        convention: how they export it.
        every_s: how often they are scraped.
        seed: of chance.
    """
    begin_s, end_s = midnight_s(since) - 3_600, midnight_s(until + timedelta(days=1)) + 3_600
    found: list[Series] = []
    for number in range(members):
        chance = random.Random(f"{seed}/{namespace}/{group}/{number}")  # noqa: S311 - no secret
        found += _Member(namespace, group, number, convention, chance).series(begin_s, end_s, every_s)
    return found


class _Member:
    """One pod after another in one place of a group, each of which lives a day from 05:00."""

    def __init__(self, namespace: str, group: str, number: int, convention: Convention, chance: random.Random) -> None:
        self._namespace = namespace
        self._group = group
        self._number = number
        self._convention = convention
        self._chance = chance

    def series(self, begin_s: float, end_s: float, every_s: float) -> Iterator[Series]:
        born_s = begin_s - begin_s % 86_400 - 86_400 + 5 * 3_600 + 600 * self._number
        while born_s < end_s:
            times = array("d")
            # Scrapes of one pod are as far from a whole minute as its address says.
            at_s = max(born_s + 20, begin_s - begin_s % every_s) + 7 * self._number
            while at_s < min(born_s + 86_400, end_s):
                times.append(at_s)
                at_s += every_s
            if times:
                yield from self._pod(born_s, times)
            born_s += 86_400

    def _pod(self, born_s: float, times: "array[float]") -> Iterator[Series]:
        pod = f"{self._group}-{int(born_s // 86_400) % 1000}-{self._number}"
        place = {"namespace": self._namespace, "pod": pod, "job": "pods", "instance": f"{pod}:9404"}
        of_pod = {**place, "uid": f"uid-{pod}", "container": "app"}
        chance = self._chance
        stalls = [chance.random() < 0.01 for _ in times]
        lost, beats = 0.0, []
        for at_s, stalled in zip(times, stalls, strict=True):
            lost += _STALL_S / _BEAT_S if stalled else 0.0
            beats.append(float(int((at_s - born_s) / _BEAT_S - lost)))
        joins = [1.0 if at_s - born_s < 43_200 else 2.0 for at_s in times]
        values: dict[Quantity, Sequence[float]] = {
            Quantity.HEARTBEATS: beats,
            Quantity.REBALANCES: joins,
            Quantity.REBALANCE_TIME: [_JOIN_S * count for count in joins],
            Quantity.FAILED_REBALANCES: [0.0] * len(times),
            Quantity.LOST_FOR_SILENCE: [0.0] * len(times),
            Quantity.ASSIGNED_PARTITIONS: [4.0] * len(times),
            Quantity.POLL_GAP_MAX: [
                _STALL_S if stalled else round(chance.lognormvariate(-2.5, 0.6), 3) for stalled in stalls
            ],
            Quantity.POLL_AGE: [0.0] * len(times),
            Quantity.HEARTBEAT_RESPONSE_TIME_MAX: self._delays(len(times), 0.004),
            Quantity.COMMIT_LATENCY_MAX: self._delays(len(times), 0.009),
            Quantity.COORDINATOR_ROUND_TRIP_MAX: [0.009] * len(times),
            Quantity.REBALANCE_LATENCY_MAX: self._delays(len(times), _JOIN_S),
        }
        own = dict.fromkeys(self._convention.with_labels, "1")
        if self._convention.client_label:
            own[self._convention.client_label] = f"consumer-{self._group}-1"
        else:
            own[self._convention.group_label] = self._group
        for quantity, several in values.items():
            metric = self._convention.by_quantity.get(quantity)
            if metric is not None:
                labels = {**place, **own, **dict(metric.matchers), "__name__": metric.names[0]}
                yield Series(labels, Samples(times, array("d", [value / metric.unit_s for value in several])))
        for convention, quantity, several in self._around(born_s, times):
            name = convention.by_quantity[quantity].names[0]
            labels = {**place, **{label: of_pod.get(label, "1") for label in convention.with_labels}, "__name__": name}
            yield Series(labels, Samples(times, array("d", several)))

    def _delays(self, count: int, usual_s: float) -> list[float]:
        return [round(usual_s * self._chance.lognormvariate(0.0, 0.5), 3) for _ in range(count)]

    def _around(self, born_s: float, times: Sequence[float]) -> Iterator[tuple[Convention, Quantity, Sequence[float]]]:
        count = len(times)
        throttled = [float(int((at_s - born_s) / 50)) for at_s in times]
        yield platform.KUBE_STATE_METRICS, Quantity.POD_STARTED, [born_s] * count
        yield platform.KUBE_STATE_METRICS_CONTAINERS, Quantity.CONTAINER_STARTED, [born_s + 2.0] * count
        yield platform.CADVISOR, Quantity.CPU_PERIODS, [10 * (at_s - born_s) for at_s in times]
        yield platform.CADVISOR, Quantity.CPU_THROTTLED_PERIODS, throttled
        yield platform.CADVISOR, Quantity.CPU_THROTTLED_TIME, [0.04 * value for value in throttled]
        yield platform.PROMETHEUS, Quantity.SCRAPED, [1.0] * count
        yield platform.PROMETHEUS, Quantity.SCRAPE_TIME, [0.01] * count
