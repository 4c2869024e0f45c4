"""Series as Prometheus would have scraped them from the pods of a group."""

import dataclasses
import functools
import itertools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Samples, Series
from heartbeat_tuner.metrics.vocabulary import Quantity

SCRAPE: Final = timedelta(seconds=5)

_ESCAPE: Final = re.compile(r"\\\\(.)")

Answers = dict[Quantity, list[Series]]
"""Series by what they are; `exported` gives them an exporter's names and units."""

KAFKAJS: Final = kafkajs_metrics.EXPORTER
JMX: Final = java_metrics.JMX_EXPORTER


def labels(pod: str, *, namespace: str = "shop", group: str = "orders", **more: str) -> dict[str, str]:
    """Return the labels of a series of one pod."""
    return {"namespace": namespace, "pod": pod, "group_id": group, **more}


def series(pairs: Iterable[tuple[float, float]], *, pod: str = "orders-0", **more: str) -> Series:
    """Return a series from times and values."""
    return Series.from_raw(labels(pod, **more), pairs)


def counter(pod: Pod, since: datetime, until: datetime, count: Callable[[float], float], **more: str) -> Series:
    """Return the scrapes of a counter of `pod` that has `count(seconds since start)` at each moment."""
    scraped = _scraped(since, until, count)
    own = Samples(scraped.times_s[:], scraped.values[:])
    return Series(labels(pod.name, **more), own)


@functools.lru_cache(maxsize=64)
def _scraped(since: datetime, until: datetime, count: Callable[[float], float]) -> Samples:
    """Return the samples of a counter: the same for all pods of a group, and in most tests."""
    scrape_s = SCRAPE.total_seconds()
    ages_s = [number * scrape_s for number in range((until - since) // SCRAPE + 1)]
    times_s = map(operator.add, itertools.repeat(since.timestamp()), ages_s)
    return series(zip(times_s, map(count, ages_s), strict=True)).samples


def _beats(age_s: float) -> float:
    """Return how often a member has beaten that beats each 5 s."""
    return age_s // 5


def _refused_joins(age_s: float) -> float:
    """Return how often it has joined if each beat is refused."""
    return 1 + age_s // 5


def _join_time(age_s: float) -> float:
    """Return how long its joins took, in seconds, if each beat is refused."""
    return 3 * (age_s // 5)


def _never(_age_s: float) -> float:
    return 0.0


def _once(_age_s: float) -> float:
    return 1.0


def _short(_age_s: float) -> float:
    """Return how long the join at the start took, in seconds."""
    return 0.1


def stormy(pods: Sequence[Pod], since: datetime, until: datetime, **more: str) -> Answers:
    """Return what a storm leaves: each beat (one in 5 s) is refused and followed by a join; none was ever accepted."""
    return {
        Quantity.HEARTBEAT_REQUESTS: [counter(pod, since, until, _beats, **more) for pod in pods],
        Quantity.REBALANCE_NOTICES: [counter(pod, since, until, _never, **more) for pod in pods],
        Quantity.REBALANCES: [counter(pod, since, until, _refused_joins, **more) for pod in pods],
        Quantity.REBALANCE_TIME: [counter(pod, since, until, _join_time, **more) for pod in pods],
    }


def quiet(pods: Sequence[Pod], since: datetime, until: datetime, **more: str) -> Answers:
    """Return what a healthy group leaves: a beat every 5 s, all of them accepted, one join at the start."""
    return {
        Quantity.HEARTBEATS: [
            counter(pod, since, until, _beats, member_id=f"client-{pod.name}-0", **more) for pod in pods
        ],
        Quantity.HEARTBEAT_REQUESTS: [counter(pod, since, until, _beats, **more) for pod in pods],
        Quantity.REBALANCE_NOTICES: [counter(pod, since, until, _never, **more) for pod in pods],
        Quantity.REBALANCES: [counter(pod, since, until, _once, **more) for pod in pods],
        Quantity.REBALANCE_TIME: [counter(pod, since, until, _short, **more) for pod in pods],
    }


def evicted(pods: Sequence[Pod], since: datetime, until: datetime, *, every_s: float) -> Answers:
    """Return what a group leaves whose first member is removed again and again, and is well between."""
    first, *others = pods
    removed: Answers = {
        **quiet([first], since, until),
        Quantity.HEARTBEATS: [
            counter(first, since, until, lambda s: s // 5 - s // every_s, member_id=f"client-{first.name}-0")
        ],
        Quantity.REBALANCES: [counter(first, since, until, lambda s: 1 + s // every_s)],
    }
    return together(removed, quiet(others, since, until))


def beating(pod: Pod, beats: Sequence[tuple[float, float]]) -> Answers:
    """Return what a healthy member of one pod leaves whose accepted beats were counted as given, at these scrapes."""
    still = {Quantity.REBALANCE_NOTICES: 0.0, Quantity.REBALANCES: 1.0, Quantity.REBALANCE_TIME: 0.1}
    return {
        Quantity.HEARTBEATS: [series(beats, pod=pod.name, member_id=f"client-{pod.name}-0")],
        Quantity.HEARTBEAT_REQUESTS: [series(beats, pod=pod.name)],
        **{name: [series(((at_s, value) for at_s, _ in beats), pod=pod.name)] for name, value in still.items()},
    }


def together(*answers: Mapping[Quantity, Sequence[Series]]) -> Answers:
    """Return the series of several groups as one answer."""
    found = dict.fromkeys(quantity for answer in answers for quantity in answer)
    return {quantity: [item for answer in answers for item in answer.get(quantity, ())] for quantity in found}


def exported(
    answers: Mapping[Quantity, Sequence[Series]], convention: Convention, names: Collection[str] | None = None
) -> list[Series]:
    """Return the series as an exporter gives them: by its first name for each, in its unit; all, or those of names."""
    found = []
    for quantity, group in answers.items():
        metric = convention.by_quantity[quantity]
        if names is None or metric.names[0] in names:
            name = {"__name__": metric.names[0], **dict(metric.matchers)}
            found += [Series({**item.labels, **name}, item.in_unit(1 / metric.unit_s).samples) for item in group]
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What a query asks for.

    Attributes:
        names: of metrics.
        namespaces: likewise.
        window_s: how far back.
    """

    names: frozenset[str]
    namespaces: frozenset[str]
    window_s: float

    def of(self, found: Iterable[Series], at: datetime) -> list[Series]:
        """Return what of some series it selects at a time: those that were scraped, though they be no numbers."""
        named = (item for item in found if item.labels["__name__"] in self.names)
        return self.in_window((item for item in named if item.labels["namespace"] in self.namespaces), at)

    def in_window(self, found: Iterable[Series], at: datetime) -> list[Series]:
        """Return what its window at a time shows of some series, whatever their names."""
        until_s = at.timestamp()
        chosen = []
        for item in found:
            cut = item.samples.between(until_s - self.window_s, until_s)
            if cut or not item.samples:
                chosen.append(Series(item.labels, cut))
        return chosen


def asked(query: str) -> Asked:
    """Return what a query asks for."""
    names, namespaces = (
        frozenset(_ESCAPE.sub(r"\1", query.partition(f'{label}=~"')[2].partition('"')[0]).split("|"))
        for label in ("__name__", "namespace")
    )
    return Asked(names, namespaces, float(query.rpartition("[")[2].removesuffix("s]")))


def names_in(query: str) -> list[str]:
    """Return the names of metrics that a query asks for."""
    return sorted(asked(query).names)
