"""What failed and late scrapes of a living pod show of its absences."""

import dataclasses
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal
from heartbeat_tuner.metrics.absence import blocks, process_lives
from heartbeat_tuner.metrics.absence.stalls import OfPod
from heartbeat_tuner.metrics.raw import queries, samples
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

LATE_FROM_S: Final = 1.0

LATE_TIMES: Final = 10
"""An answer to a scrape is late if it takes so long, and so many times as long as usual."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Scrape:
    """A scrape of a target; `prompt` if it was answered, and about as soon as usual."""

    at_s: float
    succeeded: bool
    took_s: float
    prompt: bool


def scraped_blocks(observed: Mapping[Quantity, Sequence[Series]]) -> dict[float, set[str]]:
    """Return of which pods a target was scraped with success in each block."""
    scraped_blocks: dict[float, set[str]] = {}
    for series in observed.get(Quantity.SCRAPED, ()):
        for sample in series.samples:
            if sample.value > 0:
                scraped_blocks.setdefault(blocks.start_s(sample.time_s), set()).add(series.labels[queries.POD_LABEL])
    return scraped_blocks


def failed_scrapes(pod: str, mine: OfPod, *, scraped: Mapping[float, Collection[str]]) -> list[Absence]:
    """Return what failed scrapes show of a living pod, and those that were answered late.

    A run of them after one that was answered, up to the next answer, however late it came. It is no absence if another
    target of the pod answered meanwhile, if the process was made again, or if nobody else was scraped in one of its
    blocks: then Prometheus was away, or its network.

    Args:
        pod: whose.
        mine: what is observed of it.
        scraped: from `scraped_blocks`.
    """
    renewed = process_lives.renewals(mine)
    targets = [_scrapes(series, mine) for series in mine.get(Quantity.SCRAPED, ())]
    shown = []
    for number, target in enumerate(targets):
        answers = [
            scrape.at_s for other in targets[:number] + targets[number + 1 :] for scrape in other if scrape.prompt
        ]
        for before, run, after in _runs(target):
            first_s, last_s = run[0].at_s, run[-1].at_s + run[-1].took_s
            ended_s = last_s if after is run[-1] else after.at_s + after.took_s
            alone = any(not set(scraped.get(blocks.start_s(scrape.at_s), ())) - {pod} for scrape in run)
            answered = any(first_s <= at_s <= last_s for at_s in answers)
            if not (alone or answered or process_lives.overlap((before.at_s, after.at_s), renewed)):
                at_most_s = ended_s - before.at_s
                shown.append(Absence(pod, AbsenceSignal.FAILED_SCRAPES, after.at_s, last_s - first_s, at_most_s))
    return shown


def _runs(target: Iterable[_Scrape]) -> Iterator[tuple[_Scrape, list[_Scrape], _Scrape]]:
    """Yield the runs of failed and late scrapes of a target, with the answers before and after them.

    Who answers late is back: its answer is the last of the run, and stands for the one after it, too.
    """
    before: _Scrape | None = None
    run: list[_Scrape] = []
    for scrape in target:
        if not scrape.prompt:
            run.append(scrape)
        if scrape.succeeded:
            if run and before is not None:
                yield before, run, scrape
            before, run = scrape, []


def _scrapes(series: Series, mine: OfPod) -> list[_Scrape]:
    """Return the scrapes of a target in order of time."""
    took = {
        sample.time_s: sample.value
        for times in samples.twins(series, mine.get(Quantity.SCRAPE_TIME, ()))
        for sample in times.samples
    }
    answered = [took[sample.time_s] for sample in series.samples if sample.value > 0 and sample.time_s in took]
    late_s = max(LATE_FROM_S, LATE_TIMES * statistics.median(answered)) if answered else math.inf
    return [
        _Scrape(sample.time_s, sample.value > 0, lasted_s, sample.value > 0 and lasted_s < late_s)
        for sample in series.samples
        for lasted_s in [took.get(sample.time_s, 0.0)]
    ]
