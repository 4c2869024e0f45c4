"""Series as Prometheus would have scraped them from the pods of a group."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics.conventions import JMX_EXPORTER, KAFKAJS_EXPORTER
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.signals import Signal

SCRAPE: Final = timedelta(seconds=5)

Answers = dict[Signal, list[Series]]

ACCEPTED_BEATS: Final = KAFKAJS_EXPORTER.accepted_beats
JOINS: Final = KAFKAJS_EXPORTER.joins
JOIN_SECONDS: Final = KAFKAJS_EXPORTER.join_time
assert KAFKAJS_EXPORTER.refused_beats is not None
BEAT_REQUESTS: Final = KAFKAJS_EXPORTER.refused_beats.beat_requests
REBALANCINGS: Final = KAFKAJS_EXPORTER.refused_beats.rebalancings
assert JMX_EXPORTER.poll_gaps is not None
POLL_GAP_MAX: Final = JMX_EXPORTER.poll_gaps.longest
LAST_POLL_AGE: Final = JMX_EXPORTER.poll_gaps.since_last


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
        BEAT_REQUESTS: [counter(pod, since, until, lambda s: s // 5, **more) for pod in pods],
        REBALANCINGS: [counter(pod, since, until, lambda _: 0, **more) for pod in pods],
        JOINS: [counter(pod, since, until, lambda s: 1 + s // 5, **more) for pod in pods],
        JOIN_SECONDS: [counter(pod, since, until, lambda s: 3 * (s // 5), **more) for pod in pods],
    }


def quiet(pods: Sequence[Pod], since: datetime, until: datetime, **more: str) -> Answers:
    """Return what a healthy group leaves: a beat every 5 s, all of them accepted, one join at the start."""
    return {
        ACCEPTED_BEATS: [
            counter(pod, since, until, lambda s: s // 5, member_id=f"client-{pod.name}-0", **more) for pod in pods
        ],
        BEAT_REQUESTS: [counter(pod, since, until, lambda s: s // 5, **more) for pod in pods],
        REBALANCINGS: [counter(pod, since, until, lambda _: 0, **more) for pod in pods],
        JOINS: [counter(pod, since, until, lambda _: 1, **more) for pod in pods],
        JOIN_SECONDS: [counter(pod, since, until, lambda _: 0.1, **more) for pod in pods],
    }


def together(*answers: Mapping[Signal, Sequence[Series]]) -> Answers:
    """Return the series of several groups as one answer."""
    found = dict.fromkeys(signal for answer in answers for signal in answer)
    return {signal: [one for answer in answers for one in answer.get(signal, ())] for signal in found}
