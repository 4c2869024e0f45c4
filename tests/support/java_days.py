"""Hours of a Java consumer that stands still now and then: what its counters show, lost member ids among it.

Its handlers take a few seconds, so its gaps between polls tell nothing of short stops. A stop that is longer than the
session costs it the membership: it has to ask for a new id. A handler that is longer than the poll limit does so, too,
and the member beats until then.
"""

import dataclasses
import random
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters
from tests.support.counters import Answers

PERIOD_S: Final = 3.0
HANDLER_S: Final = 4.0
SHOWN_S: Final = 60.0


@dataclasses.dataclass(frozen=True)
class Stop:
    """Something that takes long.

    Attributes:
        at_s: when it begins, in seconds since the beginning.
        lasts_s: how long.
        beats_until_s: for how long of it the member goes on to beat: a handler, up to the poll limit.
        loses_id: whether the membership is lost.
    """

    at_s: float
    lasts_s: float
    beats_until_s: float = 0.0
    loses_id: bool = True

    @property
    def end_s(self) -> float:
        """When it is over."""
        return self.at_s + self.lasts_s


def member(stops: Sequence[Stop], *, hours: float, scrape_s: float = 15.0, handler_s: float = HANDLER_S) -> Answers:
    """Return what is scraped of a member; a process that stands still is not scraped.

    Args:
        stops: in order of time.
        hours: for how long.
        scrape_s: how often.
        handler_s: how long it usually takes from one poll to the next.
    """
    chance = random.Random(1)  # noqa: S311 - phases, no secret
    end_s = hours * 3_600.0
    every = [chance.uniform(0.0, scrape_s) + scrape_s * number for number in range(int(end_s / scrape_s) - 1)]
    scrapes = [at_s for at_s in every if not any(_stands(stop, at_s) for stop in stops)]
    lost = [stop.end_s for stop in stops if stop.loses_id]
    beats = [at_s for at_s in _every(PERIOD_S, end_s) if not any(_is_silent(stop, at_s) for stop in stops)]

    def total(times: Sequence[float], first: float = 0.0) -> list[tuple[float, float]]:
        return [(at_s, first + bisect_right(times, at_s)) for at_s in scrapes]

    def longest(at_s: float) -> float:
        return max([handler_s, *(stop.lasts_s for stop in stops if 0.0 <= at_s - stop.end_s < SHOWN_S)])

    return {
        Quantity.HEARTBEATS: [counters.series(total(beats))],
        Quantity.REBALANCES: [counters.series(total(lost, first=1.0))],
        Quantity.JOIN_ANSWERS: [counters.series(total(lost, first=1.0))],
        Quantity.FAILED_REBALANCES: [counters.series(total(lost, first=1.0))],
        Quantity.REBALANCE_TIME: [counters.series([(at_s, 0.1 * value) for at_s, value in total(lost, first=1.0)])],
        Quantity.POLL_GAP_MAX: [counters.series([(at_s, longest(at_s)) for at_s in scrapes])],
        Quantity.POLL_AGE: [counters.series([(at_s, 1.0) for at_s in scrapes])],
    }


def _every(period_s: float, end_s: float) -> list[float]:
    return [period_s * number for number in range(int(end_s / period_s))]


def _stands(stop: Stop, at_s: float) -> bool:
    return not stop.beats_until_s and stop.at_s <= at_s < stop.end_s


def _is_silent(stop: Stop, at_s: float) -> bool:
    return stop.at_s + stop.beats_until_s <= at_s < stop.end_s
