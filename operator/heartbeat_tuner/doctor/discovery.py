"""Queries that find what a Prometheus has, before anything is known of it: four, however large it is.

One row for each kind of series (its name, and the labels that tell exporter, group and consumer), the raw samples of
one metric or two of each consumer, one row for each name that is exported around a consumer's pod, and one example of
each name that only looks like a consumer's.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions import platform
from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.vocabulary import Quantity

RECENT: Final = timedelta(minutes=10)
"""How far back raw samples are read: enough for two of a rare scrape."""

_RECENT: Final = f"{round(RECENT.total_seconds())}s"

JOB_LABEL: Final = "job"

TELLING: Final = (Quantity.HEARTBEATS, Quantity.REBALANCES)
"""Of each consumer these tell pod, scrapes and age: at least one of them is there from its start."""

_KAFKA: Final = ".*(kafka|consumer).*[_.:-]"
_TOTAL: Final = "([_.:-](total|count))?"

LOOKS_LIKE: Final[Mapping[Quantity, str]] = MappingProxyType(
    {
        Quantity.FAILED_REBALANCES: f".*failed[_.-]rebalances?{_TOTAL}",
        Quantity.REBALANCE_TIME: f".*rebalance[_.-]latency([_.-](ms|milliseconds|seconds))?{_TOTAL}",
        Quantity.REBALANCES: f"{_KAFKA}rebalances?{_TOTAL}",
        Quantity.HEARTBEATS: f"{_KAFKA}heartbeats?{_TOTAL}",
        Quantity.JOIN_ANSWERS: f"{_KAFKA}joins?{_TOTAL}",
        Quantity.POLL_GAP_MAX: ".*time[_.-]between[_.-]polls?([_.-](ms|milliseconds|seconds))?[_.-]max"
        "([_.-](ms|milliseconds|seconds))?",
        Quantity.POLL_AGE: ".*last[_.-]poll([_.-](seconds|ms))?[_.-](ago|age)([_.-]seconds)?",
    }
)
"""What an unknown name is likely to be, by its end; the first that fits. RE2 and Python read them alike."""

_NO_COUNTS: Final = ".*[_.:-](rate|avg|mean|ratio)([_.:-].*)?"
"""What is computed from counts: nothing can be counted by it."""

RATES: Final = f"{_KAFKA}(heartbeat|rebalance|join)s?[_.:-](rate|avg|mean)([_.:-].*)?"
"""What is computed from a consumer's counts."""

STATISTICS: Final = "(.*[_.:-])?cgrp[_.:-](rebalance[_.:-](cnt|count|age)|assignment[_.:-](size|count))([_.:-].*)?"
"""librdkafka's statistics of a consumer group (`cgrp`), whatever an exporter puts before them."""

_GENERIC: Final = frozenset({Quantity.REBALANCES, Quantity.HEARTBEATS, Quantity.JOIN_ANSWERS})
"""What other programs have too: their consumers join, and beat."""

_NO_CONSUMERS: Final = "kafka_(server|coordinator|network|controller|log|cluster|connect|producer|admin)_.*"
"""The broker's own, and those of Connect's workers."""


def kinds(conventions: Collection[Convention], namespaces: Collection[str], *, lookback: timedelta) -> str:
    """Return the query that counts the series of each kind, with those that ended within `lookback`."""
    known = _selector([queries.any_of(queries.NAME_LABEL, map(re.escape, _names(conventions)))], namespaces)
    by = ", ".join(map(queries.label_name, kind_labels(conventions)))
    return f"count by ({by}) (last_over_time({known}[{round(lookback.total_seconds())}s]))"


def members(conventions: Collection[Convention], namespaces: Collection[str]) -> str:
    """Return the query that reads recent samples of each consumer."""
    names = {name for convention in conventions for metric in telling(convention) for name in metric.names}
    chosen = _selector([queries.any_of(queries.NAME_LABEL, map(re.escape, names))], namespaces)
    return f"{chosen}[{_RECENT}]"


def around(conventions: Collection[Convention], namespaces: Collection[str]) -> str:
    """Return the query that finds what is exported around the pods of consumers: name, namespace and pod.

    What kube-state-metrics and cAdvisor say of pods whose names Prometheus did not keep (`exported_pod`) is counted by
    name and job.
    """
    place = f"{queries.NAMESPACE_LABEL}, {queries.POD_LABEL}"
    asked = [(_names([convention]), convention.with_labels) for convention in platform.CONVENTIONS]
    asked.append(({platform.CONTAINERS}, platform.CADVISOR.with_labels))
    selected = [
        f"last_over_time({_selector(_exactly(names, with_labels), namespaces)}[{_RECENT}])"
        for names, with_labels in asked
    ]
    # Without the name among them, two metrics of one target would be the same to `or`.
    everything = f" or on ({queries.NAME_LABEL}, {place}) ".join(
        f"count by ({queries.NAME_LABEL}, {place}) ({selector})" for selector in selected
    )
    names = {name for convention in conventions for metric in telling(convention) for name in metric.names}
    in_pods = _selector(_exactly(names, (queries.POD_LABEL,)), namespaces)
    consumers = f"count by ({place}) (last_over_time({in_pods}[{_RECENT}]))"
    others = (platform.KUBE_STATE_METRICS, platform.KUBE_STATE_METRICS_CONTAINERS, platform.CADVISOR)
    where = [queries.any_of("exported_namespace", map(re.escape, namespaces))] if namespaces else []
    unkept = _selector([*_exactly(_names(others), ("exported_pod",)), *where], ())
    moved = f"count by ({queries.NAME_LABEL}, {JOB_LABEL}) ({unkept})"
    return f"(({everything}) and on ({place}) {consumers}) or on ({JOB_LABEL}) {moved}"


def members_of_namespaces(
    conventions: Collection[Convention], namespaces: Collection[str], *, lookback: timedelta
) -> str:
    """Return the query that counts the consumers of each namespace, with those that ended within `lookback`."""
    names = {name for convention in conventions for metric in telling(convention) for name in metric.names}
    chosen = _selector([queries.any_of(queries.NAME_LABEL, map(re.escape, names))], namespaces)
    place = queries.NAMESPACE_LABEL
    by_name = f"count by ({queries.NAME_LABEL}, {place}) (last_over_time({chosen}[{round(lookback.total_seconds())}s]))"
    return f"max by ({place}) ({by_name})"


def telling(convention: Convention) -> tuple[Metric, ...]:
    """Return the metrics of an exporter that tell its members; of one that has none of the usual, its first."""
    return tuple(metric for metric in convention.metrics if metric.quantity in TELLING) or convention.metrics[:1]


def strangers(conventions: Collection[Convention], namespaces: Collection[str]) -> str:
    """Return the query that gives one example of each unknown name that looks like a consumer's."""
    name = queries.NAME_LABEL
    # By the names of an exporter that tells neither group nor client, no group is found.
    telling_whose = [convention for convention in conventions if convention.group_label or convention.client_label]
    known = "|".join([*sorted(map(re.escape, _names(telling_whose))), _NO_CONSUMERS])
    patterns = [*LOOKS_LIKE.values(), RATES, STATISTICS]
    looks_like = [queries.any_of(name, patterns), f"{name}!~{queries.quoted(known)}"]
    return f"topk by ({name}, {queries.NAMESPACE_LABEL}, {JOB_LABEL}) (1, {_selector(looks_like, namespaces)})"


def of_group(
    convention: Convention, quantities: Collection[Quantity], *, namespace: str, group: str, window: timedelta
) -> str:
    """Return the query that reads the raw samples of one group's quantities, and little else."""
    names = {
        name
        for quantity in quantities
        if quantity in convention.by_quantity
        for name in convention.by_quantity[quantity].names
    }
    escaped = re.escape(group)
    # JMX quotes a client id with characters of its own; the rest of it the resolver looks at.
    whose = (
        queries.any_of(convention.group_label, [escaped])
        if convention.group_label
        else queries.any_of(convention.client_label, [f'"?consumer-{escaped}-.*', f'"?{escaped}-.*-StreamThread-.*'])
    )
    matchers = [queries.any_of(queries.NAME_LABEL, map(re.escape, names)), whose]
    return f"{_selector(matchers, [namespace])}[{round(window.total_seconds())}s]"


def threads_of_group(convention: Convention, *, namespace: str, group: str, window: timedelta) -> str:
    """Return the query that reads what the stream threads of a group tell; empty where the exporter has nothing of it.

    Args:
        convention: the exporter's.
        namespace: of the group.
        group: the application.
        window: how far back.
    """
    mine = [metric for metric in convention.metrics if metric.thread_label]
    if not mine:
        return ""
    names = {name for metric in mine for name in metric.names}
    threads = queries.any_of(mine[0].thread_label, [f'"?{re.escape(group)}-.*-StreamThread-.*'])
    chosen = _selector([queries.any_of(queries.NAME_LABEL, map(re.escape, names)), threads], [namespace])
    return f"{chosen}[{round(window.total_seconds())}s]"


def kind_labels(conventions: Iterable[Convention]) -> list[str]:
    """Return the labels that tell name, place, exporter, group and consumer, each once."""
    labels = {queries.NAME_LABEL, queries.NAMESPACE_LABEL, JOB_LABEL}
    for convention in conventions:
        labels |= convention.with_labels | convention.without_labels | {convention.client_label, convention.group_label}
        labels |= {label for metric in convention.metrics for label, _ in metric.matchers}
        labels |= {metric.thread_label for metric in convention.metrics}
    return sorted(labels - {""})


def likely(name: str) -> Quantity | None:
    """Return what a metric with an unknown name is likely to be; None if it does not look like any."""
    if re.fullmatch(_NO_COUNTS, name):
        return None
    return next((quantity for quantity, pattern in LOOKS_LIKE.items() if re.fullmatch(pattern, name)), None)


def is_generic(name: str) -> bool:
    """Whether a name that looks like a consumer's is no sign of one by itself: it says nothing of Kafka."""
    return likely(name) in _GENERIC and "kafka" not in name.lower()


def _names(conventions: Iterable[Convention]) -> set[str]:
    return {name for convention in conventions for metric in convention.metrics for name in metric.names}


def _exactly(names: Iterable[str], with_labels: Iterable[str]) -> list[str]:
    """Return the matchers of metrics that have these labels."""
    there = [f'{queries.label_name(label)}!=""' for label in sorted(with_labels)]
    return [queries.any_of(queries.NAME_LABEL, map(re.escape, names)), *there]


def _selector(matchers: list[str], namespaces: Collection[str]) -> str:
    place = [queries.any_of(queries.NAMESPACE_LABEL, map(re.escape, namespaces))] if namespaces else []
    return f"{{{','.join([*matchers, *place])}}}"
