"""From the samples of one window to what the contract counts: pure, and the same however they came.

Each consumer group is found by its series, measured as the operator measures it, and what begins within the window is
counted by bucket. What could not be measured has no rows at all: neither values nor watched blocks.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from heartbeat_tuner.fitting.prometheus.sessions_in_force import SessionsInForce
from heartbeat_tuner.fitting.prometheus.slices import SliceWindow
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.conventions import (
    java_metrics,
    known_conventions,
    librdkafka_metrics,
    platform,
    share_groups,
)
from heartbeat_tuner.metrics.conventions.watched_groups import GROUP_WATCHER
from heartbeat_tuner.metrics.measured import Quantities
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.resolver import GroupKey, PodKey
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS

OF_MEMBERS: Final = (
    Quantity.REBALANCES,
    Quantity.HEARTBEATS,
    Quantity.HEARTBEAT_REQUESTS,
    Quantity.REBALANCE_NOTICES,
    Quantity.REBALANCE_TIME,
    Quantity.FAILED_REBALANCES,
    Quantity.JOIN_ANSWERS,
    Quantity.LOST_FOR_SILENCE,
    Quantity.ASSIGNED_PARTITIONS,
    Quantity.POLL_GAP_MAX,
    Quantity.POLL_AGE,
    Quantity.REBALANCE_LATENCY_MAX,
    Quantity.HEARTBEAT_RESPONSE_TIME_MAX,
    Quantity.COMMIT_LATENCY_MAX,
    Quantity.COORDINATOR_ROUND_TRIP_MAX,
)
"""What measuring needs of consumers; what a record or `doctor` tells beside is not read."""

OF_GROUP_WATCHER: Final = (Quantity.EVICTIONS_SEEN, Quantity.UNSEEN_REJOINS)
"""What it needs of groups whose clients show nothing."""

_OF_CLIENTS: Final = (*known_conventions.OF_GROUPS, java_metrics.SHARE_CONSUMER)
CONVENTIONS: Final = (*_OF_CLIENTS, GROUP_WATCHER)
"""Whose series are read. The group watcher's count for groups whose clients show nothing."""

AROUND: Final = tuple(
    sorted({metric.quantity for convention in platform.CONVENTIONS for metric in convention.metrics}, key=str)
)
"""What it needs of their pods."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is counted together: a row of the contract but for its day, cluster and count."""

    namespace: str
    group: str
    client: str
    quantity: str
    bucket: int


def pods_in(series: Iterable[Series]) -> set[PodKey]:
    """Return the pods of the consumers whose group is known."""
    return {
        (entry.labels[queries.NAMESPACE_LABEL], entry.labels[queries.POD_LABEL])
        for entry in series
        if _group_of(entry) is not None
    }


def counts(
    series: Sequence[Series], around: Iterable[Series], window: SliceWindow, policies: Iterable[Series] = ()
) -> Counter[Cell]:
    """Return how often each thing was seen in a window.

    Args:
        series: the series of consumers, as Prometheus gave them, with the window's margins.
        around: what is exported around their pods.
        window: what is counted.
        policies: what the operator exported of them.
    """
    sessions = SessionsInForce(policies)
    known = [(entry, group) for entry in series if (group := _group_of(entry)) is not None]
    pods = resolver.by_pod(around, platform.CONVENTIONS, pods_in(series))
    groups = {group for _, group in known}
    by_group = resolver.by_group([entry for entry, _ in known], CONVENTIONS, groups)
    counted: Counter[Cell] = Counter()
    for place, by_convention in sorted(by_group.items()):
        convention, observed = resolver.followed(by_convention, _OF_CLIENTS)
        client = convention.libraries[0]
        library, described = sessions.client(place), by_convention.get(GROUP_WATCHER, {})
        if not any(observed.values()):
            if library not in known_conventions.IN_POLICIES:
                continue  # the group watcher itself does not say whose consumers it watches
            observed, client = described, known_conventions.measured_as(library)
        elif convention in share_groups.RECORDS:
            if convention is librdkafka_metrics.COUNTERS and library in convention.libraries:
                client = library
            if not observed.get(Quantity.LOST_FOR_SILENCE):  # of a share group: its clients do not count it
                observed = {**described, **observed}
        measured = quantities.measured(observed, pods, session_s=functools.partial(sessions.at, place))
        for (quantity, bucket), count in _of_group(place, measured, window).items():
            counted[Cell(*place, client, quantity, bucket)] = count
    return counted


def _group_of(series: Series) -> GroupKey | None:
    """Return the group that a consumer's series names by itself; None if it names none, or no pod."""
    labels = series.labels
    namespace, pod = labels.get(queries.NAMESPACE_LABEL), labels.get(queries.POD_LABEL)
    if not namespace or not pod:
        return None
    convention = next((of_group for of_group in CONVENTIONS if of_group.metric_of(labels) is not None), None)
    group = None if convention is None else resolver.group_named(labels, convention)
    if convention is None or group is None or resolver.is_groupless(group, convention):
        return None
    return namespace, group


def _of_group(group: GroupKey, measured: Quantities, window: SliceWindow) -> Counter[tuple[str, int]]:
    since_s, until_s = window.start.timestamp(), window.end.timestamp()
    values: dict[str, list[float]] = {}
    for _, quantity, block_s, value_s in quantities.rows(group, measured):
        if since_s <= block_s < until_s:
            values.setdefault(quantity, []).append(value_s)
    counted: Counter[tuple[str, int]] = Counter()
    for quantity, several in values.items():
        buckets = histogram.bucket_of(several)
        for bucket, count in zip(*np.unique(buckets[buckets != histogram.NO_BUCKET], return_counts=True), strict=True):
            counted[quantity, int(bucket)] = int(count)
    for quantity, blocks in quantities.watched(measured):
        mine = [block_s for block_s in blocks if since_s <= block_s < until_s]
        if mine:
            counted[quantity, MEMBER_BLOCKS] = len(mine)
            counted[quantity, GROUP_BLOCKS] = len(set(mine))
    return counted
