"""When the processes of a pod were made again: what happened then is a restart, and no absence of a living member."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from heartbeat_tuner.metrics.raw import counter_steps, queries
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity, Scope, ValueKind

Stretch = tuple[float, float]
"""From and to, in Unix seconds."""

OF_A_MEMBER: Final = (Quantity.ASSIGNED_PARTITIONS, Quantity.HEARTBEATS, Quantity.REBALANCES)
"""What a member exports for as long as it is one."""

STARTS: Final = (Quantity.CONTAINER_STARTED, Quantity.POD_STARTED)
"""What tells when a process of a pod began, the exacter first."""


def pods_in(*observed: Observed) -> list[str]:
    """Return the names of all pods that have a series here, sorted."""
    every = (series for quantities in observed for group in quantities.values() for series in group)
    return sorted({series.labels[queries.POD_LABEL] for series in every if series.labels.get(queries.POD_LABEL)})


def of_pod(observed: Observed, pod: str) -> dict[Quantity, list[Series]]:
    """Return what is observed of one pod."""
    by_quantity = {
        quantity: [series for series in group if series.labels.get(queries.POD_LABEL) == pod]
        for quantity, group in observed.items()
    }
    return {quantity: group for quantity, group in by_quantity.items() if group}


def instants(group: Iterable[Series]) -> list[float]:
    """Return the different moments that instants name, sorted."""
    return sorted({sample.value for series in group for sample in series.samples})


def renewals(mine: Mapping[Quantity, Sequence[Series]]) -> list[Stretch]:
    """Return the stretches in which a pod's process ended, began, or had been told to end.

    A counter that fell, a container that was counted as restarted, the start of a container or pod, and all that
    follows the order to end.
    """
    stretches: list[Stretch] = []
    for quantity, group in mine.items():
        if quantity.kind is ValueKind.COUNTER and quantity.scope in {Scope.MEMBER, Scope.PROCESS}:
            restarts = quantity is Quantity.CONTAINER_RESTARTS
            stretches += [
                (step.since_s, step.until_s)
                for series in group
                for step in counter_steps.nonzero_steps(series)
                if step.reset or (restarts and step.grown > 0)
            ]
    stretches += [(at_s, at_s) for quantity in STARTS for at_s in instants(mine.get(quantity, ()))]
    deleted_s = [
        min(series.samples[0].time_s, series.samples[0].value)
        for series in mine.get(Quantity.POD_DELETED, ())
        if series.samples
    ]
    return stretches + [(at_s, math.inf) for at_s in deleted_s]


def overlap(stretch: Stretch, others: Iterable[Stretch]) -> bool:
    """Whether a stretch shares a moment with any of these."""
    return any(since <= stretch[1] and until >= stretch[0] for since, until in others)
