"""Evictions as the operator's group watcher counted them, of groups whose clients show nothing.

Of each it is known which session it outlasted, where the operator exported that, and nothing else: no beats, so no
period by which the absence would be shorter. Only certain ones are evictions, so that how often they come is a lower
bound. New member ids that no description explains are counted beside them: some of them are evictions that were over
between two descriptions (`fitting.models.unseen_evictions`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics import evictions as counted
from heartbeat_tuner.metrics.absence import blocks, process_lives
from heartbeat_tuner.metrics.measured import Evictions, Observation
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

_BORN: Final = datetime.fromtimestamp(0, UTC)


def evictions(
    observed: Mapping[Quantity, Sequence[Series]], session_s: Callable[[float], float | None]
) -> Evictions | None:
    """Return the evictions of a group, by block; None where the group watcher exported nothing of it.

    Args:
        observed: the group's series.
        session_s: which session timeout was set at a time in Unix seconds, in seconds; None where nothing tells.
    """
    return _counted(observed.get(Quantity.EVICTIONS_SEEN, ()), session_s)


def unseen_rejoins(observed: Mapping[Quantity, Sequence[Series]]) -> Evictions | None:
    """Return the new member ids between two descriptions of a group, by block; None where they were not counted.

    Args:
        observed: the group's series.
    """
    return _counted(observed.get(Quantity.UNSEEN_REJOINS, ()), lambda _: None)


def _counted(counters: Sequence[Series], session_s: Callable[[float], float | None]) -> Evictions | None:
    """Return what counters of the group watcher counted; None where they have no sample."""
    events: list[Observation] = []
    watched: list[float] = []
    for pod in process_lives.pods_in({Quantity.EVICTIONS_SEEN: counters}):
        mine = process_lives.of_pod({Quantity.EVICTIONS_SEEN: counters}, pod)
        if not any(series.samples for series in mine[Quantity.EVICTIONS_SEEN]):
            continue
        watched += blocks.block_starts(mine[Quantity.EVICTIONS_SEEN])
        process = Pod(name=pod, uid="", ip="", started=_BORN, restarts=0)
        first_s = min(series.samples.times_s[0] for series in mine[Quantity.EVICTIONS_SEEN] if series.samples)
        for change in counted.counted(Quantity.EVICTIONS_SEEN, process, mine, since_s=first_s):
            at_s = change.at.timestamp()
            events.append(Observation(pod, blocks.start_s(at_s), session_s(at_s) or 0.0, math.inf))
    if not watched:
        return None
    return Evictions(tuple(sorted(events, key=lambda event: (event.block_s, event.pod))), tuple(sorted(watched)))
