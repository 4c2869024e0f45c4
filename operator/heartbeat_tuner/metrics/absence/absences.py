"""From what witnesses show to the absences of a group's members: the largest in each block, never the sum.

One stop shows to several witnesses at once: a frozen process misses beats, fails scrapes and lengthens a poll gap. So
per member and block the absence is the largest that any of them shows surely; how long it can have been is the largest
that any of them leaves open. A node that stands still stops all its members: that is one event.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal, Unknown
from heartbeat_tuner.metrics.absence import blocks, process_lives, scrapes, stalls
from heartbeat_tuner.metrics.absence.missing_beats import Deficits
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.vocabulary import Quantity

SHARED_FROM_S: Final = 1.0
"""Shorter ones of two members meet by chance."""

WITNESSED_BY: Final = (
    Quantity.GC_PAUSE_MAX,
    Quantity.GC_TIME,
    Quantity.CPU_THROTTLED_PERIODS,
    Quantity.EVENT_LOOP_LAG_MAX,
    Quantity.SCRAPED,
)
"""A block with a sample of one of these was watched, whatever it shows; beats and poll gaps say it of themselves."""

NODE_LABEL: Final = "node"

TELLS_NODE: Final = (Quantity.CPU_PERIODS, Quantity.CPU_THROTTLED_PERIODS, Quantity.SCRAPED)
"""Whose label `node` is that of the pod: cAdvisor's is its own node, and a target's is where it runs."""


@dataclasses.dataclass(frozen=True, slots=True)
class BlockAbsence:
    """The longest absence of one member in one block.

    Attributes:
        pod: whose.
        block_s: when the block begins, in Unix seconds.
        seen_s: the scrape that showed it.
        at_least_s: what it surely had.
        at_most_s: what any witness leaves open.
        signal: what shows it.
        likely_s: what it had on average of all that it can have had; None where that is what it surely had.
    """

    pod: str
    block_s: float
    seen_s: float
    at_least_s: float
    at_most_s: float
    signal: AbsenceSignal
    likely_s: float | None = None


def shown(
    observed: Observed, platform: Observed, beats: Iterable[tuple[str, Deficits | Unknown]]
) -> tuple[list[Absence], set[tuple[str, float]], list[Unknown]]:
    """Return what all witnesses show of a group's pods, which blocks of which pods were watched, and what was withheld.

    Args:
        observed: the group's series.
        platform: what is exported around its pods.
        beats: what its heartbeats show, from `missing_beats.of_group`.
    """
    absences: list[Absence] = []
    watched: set[tuple[str, float]] = set()
    withheld: list[Unknown] = []
    for pod, lacking in beats:
        if isinstance(lacking, Unknown):
            withheld.append(lacking)
        else:
            absences += lacking.absences()
            watched |= {(pod, block.block_s) for block in lacking.blocks}
    scraped = scrapes.scraped_blocks(platform)
    for pod in process_lives.pods_in(observed):
        mine = {**process_lives.of_pod(platform, pod), **process_lives.of_pod(observed, pod)}
        absences += [
            *stalls.gc_pauses(pod, mine),
            *stalls.throttling(pod, mine),
            *stalls.cpu_stalls(pod, mine),
            *stalls.event_loop(pod, mine),
            *scrapes.failed_scrapes(pod, mine, scraped=scraped),
            *stalls.poll_gaps(pod, mine),
        ]
        witnesses = [series for quantity in WITNESSED_BY for series in mine.get(quantity, ())]
        witnesses += [series for series, _ in stalls.short_gaps(mine)]
        watched |= {(pod, block_s) for block_s in blocks.block_starts(witnesses)}
    return absences, watched, withheld


def by_block(absences: Iterable[Absence]) -> list[BlockAbsence]:
    """Return the longest absence of each member in each block that shows one, in order of time."""
    together: dict[tuple[float, str], list[Absence]] = {}
    for absence in absences:
        together.setdefault((blocks.start_s(absence.seen_s), absence.pod), []).append(absence)
    longest = []
    for (block_s, pod), several in sorted(together.items()):
        sure = max(several, key=lambda absence: absence.at_least_s)
        if sure.at_least_s > 0:
            at_most_s = max(absence.at_most_s for absence in several)
            longest.append(
                BlockAbsence(pod, block_s, sure.seen_s, sure.at_least_s, at_most_s, sure.signal, sure.likely_s)
            )
    return longest


def once_per_node(block_absences: Iterable[BlockAbsence], nodes: Mapping[str, str]) -> list[BlockAbsence]:
    """Return the absences with those that members of one node had together counted once, as the longest of them.

    Together means: seen within one block's length of the first, each of another member, each `SHARED_FROM_S` or longer.

    Args:
        block_absences: from `by_block`.
        nodes: where pods run; those whose node is not known are counted each.
    """
    counted: list[BlockAbsence] = []
    stops: dict[str, list[BlockAbsence]] = {}
    for block_absence in sorted(block_absences, key=lambda absence: absence.seen_s):
        node = nodes.get(block_absence.pod)
        if node is None or block_absence.at_least_s < SHARED_FROM_S:
            counted.append(block_absence)
            continue
        stop = stops.get(node, [])
        if (
            stop
            and block_absence.seen_s - stop[0].seen_s < blocks.BLOCK_S
            and all(block_absence.pod != other.pod for other in stop)
        ):
            stop.append(block_absence)
        else:
            counted += _longest(stop)
            stops[node] = [block_absence]
    for stop in stops.values():
        counted += _longest(stop)
    return sorted(counted, key=lambda absence: (absence.block_s, absence.pod))


def nodes_of(platform: Observed) -> dict[str, str]:
    """Return where pods run, of those of which it is told."""
    return {
        series.labels[queries.POD_LABEL]: series.labels[NODE_LABEL]
        for quantity in TELLS_NODE
        for series in platform.get(quantity, ())
        if NODE_LABEL in series.labels
    }


def _longest(stop: list[BlockAbsence]) -> list[BlockAbsence]:
    return [max(stop, key=lambda block_absence: block_absence.at_least_s)] if stop else []
