"""Answers of the coordinator that were late for most members of a group at once: it was away, or the network was.

One heartbeat is in flight at a time (Java, librdkafka), so no other is sent while its answer is late: beats are missing
then, and no member was absent. A windowed maximum shows how late an answer was; scrapes show when it had come. A
process that stood still, or waited for a CPU, may find an answer late that was not. So what one member shows alone is
its own affair, and so is all that a group of one pod shows.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from heartbeat_tuner.metrics.absence import process_lives
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

LATE_S: Final = 1.0
"""An answer that takes so long may be late; whether it held up a beat depends on the member's period."""

SHOWN_BY: Final = (Quantity.HEARTBEAT_RESPONSE_TIME_MAX, Quantity.COORDINATOR_ROUND_TRIP_MAX)


@dataclasses.dataclass(frozen=True, slots=True)
class LateAnswer:
    """An answer that took so long, and since when and by when it was waited for: as far as scrapes tell."""

    since_s: float
    until_s: float
    took_s: float

    def meets(self, other: "LateAnswer") -> bool:
        """Whether both were waited for at the same time."""
        return self.since_s < other.until_s and other.since_s < self.until_s


def of_most(observed: Observed) -> dict[str, list[LateAnswer]]:
    """Return the late answers of each pod that more than half of the pods had at that time, and two at least.

    Args:
        observed: a group's series; pods of other times do not count.
    """
    shown = {
        pod: [series for quantity in SHOWN_BY for series in mine.get(quantity, ()) if series.samples]
        for pod in process_lives.pods_in(observed)
        for mine in [process_lives.of_pod(observed, pod)]
    }
    late = {pod: [answer for series in mine for answer in _of_series(series)] for pod, mine in shown.items()}
    return {pod: [answer for answer in mine if _is_of_most(answer, late, shown)] for pod, mine in late.items()}


def _of_series(series: Series) -> list[LateAnswer]:
    """Return the late answers that a maximum shows when it rises; when it falls, it shows nothing new."""
    return [
        LateAnswer(before.time_s - sample.value, sample.time_s, sample.value)
        for before, sample in itertools.pairwise(series.samples)
        if sample.value >= LATE_S and sample.value > before.value
    ]


def _is_of_most(
    answer: LateAnswer, late: Mapping[str, Sequence[LateAnswer]], shown: Mapping[str, Sequence[Series]]
) -> bool:
    there = [
        pod
        for pod, mine in shown.items()
        if any(
            series.samples.times_s[0] <= answer.until_s and series.samples.times_s[-1] >= answer.since_s
            for series in mine
        )
    ]
    count = sum(any(each.meets(answer) for each in late[pod]) for pod in there)
    return count > 1 and count > len(there) / 2
