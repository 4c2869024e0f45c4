"""When the processes of a pod were made anew: what happened then is a restart, and no absence of a living member."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from heartbeat_tuner.metrics import counter_steps, queries
from heartbeat_tuner.metrics.resolver import Observed
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Kind, Quantity, Scope

Stretch = tuple[float, float]
"""From and to, in Unix seconds."""

OF_A_MEMBER: Final = (Quantity.ASSIGNED_PARTITIONS, Quantity.HEARTBEATS, Quantity.REBALANCES)
"""What a member exports for as long as it is one."""

STARTS: Final = (Quantity.CONTAINER_STARTED, Quantity.POD_STARTED)
"""What tells when a process of a pod began, the exacter first."""


def pods_in(*observed: Observed) -> list[str]:
    """Return the names of all pods that have a series here, sorted."""
    every = (one for quantities in observed for group in quantities.values() for one in group)
    return sorted({one.labels[queries.POD_LABEL] for one in every if one.labels.get(queries.POD_LABEL)})


def of_pod(observed: Observed, pod: str) -> dict[Quantity, list[Series]]:
    """Return what is observed of one pod."""
    found = {
        quantity: [one for one in group if one.labels.get(queries.POD_LABEL) == pod]
        for quantity, group in observed.items()
    }
    return {quantity: group for quantity, group in found.items() if group}


def instants(group: Iterable[Series]) -> list[float]:
    """Return the different moments that instants tell of, sorted."""
    return sorted({sample.value for one in group for sample in one.samples})


def renewals(mine: Mapping[Quantity, Sequence[Series]]) -> list[Stretch]:
    """Return the stretches in which a pod's process ended, began, or had been told to end.

    A counter that fell, a container that was counted as restarted, the start of a container or pod, and all that
    follows the order to end.
    """
    found: list[Stretch] = []
    for quantity, group in mine.items():
        if quantity.kind is Kind.COUNTER and quantity.scope in {Scope.MEMBER, Scope.PROCESS}:
            restarts = quantity is Quantity.CONTAINER_RESTARTS
            found += [
                (step.since_s, step.until_s)
                for one in group
                for step in counter_steps.moves(one)
                if step.reset or (restarts and step.grown > 0)
            ]
    found += [(at_s, at_s) for quantity in STARTS for at_s in instants(mine.get(quantity, ()))]
    told = [
        min(one.samples[0].time_s, one.samples[0].value) for one in mine.get(Quantity.POD_DELETED, ()) if one.samples
    ]
    return found + [(at_s, math.inf) for at_s in told]


def overlap(one: Stretch, others: Iterable[Stretch]) -> bool:
    """Whether a stretch shares a moment with any of these."""
    return any(since <= one[1] and until >= one[0] for since, until in others)
