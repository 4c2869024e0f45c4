"""Series as Prometheus would have scraped them from the pods of a group."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics.conventions import java, kafkajs
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

SCRAPE: Final = timedelta(seconds=5)

Answers = dict[Quantity, list[Series]]
"""Series by what they are; `exported` gives them an exporter's names and units."""

KAFKAJS: Final = kafkajs.EXPORTER
JMX: Final = java.JMX_EXPORTER


def labels(pod: str, *, namespace: str = "shop", group: str = "orders", **more: str) -> dict[str, str]:
    """Return the labels of a series of one pod."""
    return {"namespace": namespace, "pod": pod, "group_id": group, **more}


def series(pairs: Iterable[tuple[float, float]], *, pod: str = "orders-0", **more: str) -> Series:
    """Return a series from times and values."""
    return Series.from_raw(labels(pod, **more), pairs)


def counter(of: Pod, since: datetime, until: datetime, count: Callable[[float], float], **more: str) -> Series:
    """Return the scrapes of a counter of `of` that has `count(seconds since start)` at each moment."""
    times = itertools.takewhile(lambda at: at <= until, (since + number * SCRAPE for number in itertools.count()))
    return series(((at.timestamp(), count((at - since).total_seconds())) for at in times), pod=of.name, **more)


def stormy(pods: Sequence[Pod], since: datetime, until: datetime, **more: str) -> Answers:
    """Return what a storm leaves: each beat (one in 5 s) is refused and followed by a join; none was ever accepted."""
    return {
        Quantity.HEARTBEAT_REQUESTS: [counter(pod, since, until, lambda s: s // 5, **more) for pod in pods],
        Quantity.REBALANCE_NOTICES: [counter(pod, since, until, lambda _: 0, **more) for pod in pods],
        Quantity.REBALANCES: [counter(pod, since, until, lambda s: 1 + s // 5, **more) for pod in pods],
        Quantity.REBALANCE_TIME: [counter(pod, since, until, lambda s: 3 * (s // 5), **more) for pod in pods],
    }


def quiet(pods: Sequence[Pod], since: datetime, until: datetime, **more: str) -> Answers:
    """Return what a healthy group leaves: a beat every 5 s, all of them accepted, one join at the start."""
    return {
        Quantity.HEARTBEATS: [
            counter(pod, since, until, lambda s: s // 5, member_id=f"client-{pod.name}-0", **more) for pod in pods
        ],
        Quantity.HEARTBEAT_REQUESTS: [counter(pod, since, until, lambda s: s // 5, **more) for pod in pods],
        Quantity.REBALANCE_NOTICES: [counter(pod, since, until, lambda _: 0, **more) for pod in pods],
        Quantity.REBALANCES: [counter(pod, since, until, lambda _: 1, **more) for pod in pods],
        Quantity.REBALANCE_TIME: [counter(pod, since, until, lambda _: 0.1, **more) for pod in pods],
    }


def together(*answers: Mapping[Quantity, Sequence[Series]]) -> Answers:
    """Return the series of several groups as one answer."""
    found = dict.fromkeys(quantity for answer in answers for quantity in answer)
    return {quantity: [one for answer in answers for one in answer.get(quantity, ())] for quantity in found}


def exported(answers: Mapping[Quantity, Sequence[Series]], convention: Convention) -> list[Series]:
    """Return the series as an exporter gives them: by its first name for each, in its unit."""
    found = []
    for quantity, group in answers.items():
        metric = convention.by_quantity[quantity]
        for one in group:
            name = {"__name__": metric.names[0], **dict(metric.matchers)}
            raw = ((sample.time_s, sample.value / metric.unit_s) for sample in one.samples)
            found.append(Series.from_raw({**one.labels, **name}, raw))
    return found


def names_in(query: str) -> list[str]:
    """Return the names of metrics that a query asks for."""
    return query.partition('__name__=~"')[2].partition('"')[0].split("|")
