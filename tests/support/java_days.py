"""Hours of a Java consumer that stands still now and then, or polls too late: what its counters show.

It beats every 3 s. Who is silent for longer than the session has to ask for another member id; so has who polled too
late and left. What is scraped of a process that stands still is nothing.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters
from tests.support.counters import Answers
from tests.support.kafkajs_days import Absence

PERIOD_S: Final = 3.0
JOIN_S: Final = 0.8
SHOWN_S: Final = 68.0
"""A windowed maximum shows a gap for so long."""


def member(
    stops: Sequence[Absence] = (),
    late: Sequence[Absence] = (),
    *,
    hours: float,
    scrape_s: float = 15.0,
    session_s: float = 45.0,
    limit_s: float = 300.0,
    usual_gap_s: float = 5.0,
    seed: int = 1,
) -> Answers:
    """Return what is scraped of a member.

    Args:
        stops: when its process stands still, in order of time.
        late: handlers that take longer than the poll limit, in order of time.
        hours: for how long.
        scrape_s: how often.
        session_s: its session timeout.
        limit_s: its poll limit.
        usual_gap_s: between polls.
        seed: of the phases of beats and scrapes.
    """
    chance = random.Random(seed)  # noqa: S311 - phases, no secret
    end_s = hours * 3_600.0
    silent = [(stop.at_s, stop.at_s + stop.lasts_s) for stop in stops]
    left = [(handler.at_s + limit_s, handler.at_s + handler.lasts_s) for handler in late]
    beats = _beats(sorted([*silent, *left]), end_s, chance)
    lost = [end for begin, end in silent if end - last_before(beats, begin) > session_s]
    lost += [end for _, end in left]
    gaps = sorted((stop.at_s + stop.lasts_s, stop.lasts_s + chance.uniform(0, usual_gap_s)) for stop in stops)
    gaps = sorted([*gaps, *((handler.at_s + handler.lasts_s, handler.lasts_s) for handler in late)])
    phase_s = chance.uniform(0.0, scrape_s)
    every = [phase_s + scrape_s * number for number in range(int(end_s / scrape_s) - 1)]
    scrapes = [at_s for at_s in every if not any(begin <= at_s < end for begin, end in silent)]

    def total(times: Sequence[float], first: float, late_s: float = 0.0) -> list[tuple[float, float]]:
        ordered = sorted(time_s + late_s for time_s in times)
        return [(at_s, first + bisect_right(ordered, at_s)) for at_s in scrapes]

    joined = total(lost, 1.0, JOIN_S)
    longest = [
        (at_s, max([usual_gap_s, *(gap_s for ended_s, gap_s in gaps if ended_s <= at_s < ended_s + SHOWN_S)]))
        for at_s in scrapes
    ]
    return {
        Quantity.HEARTBEATS: [counters.series(total(beats, 0.0))],
        Quantity.REBALANCES: [counters.series(joined)],
        Quantity.JOIN_ANSWERS: [counters.series(joined)],
        Quantity.FAILED_REBALANCES: [counters.series(total(lost, 1.0))],
        Quantity.REBALANCE_TIME: [counters.series([(at_s, JOIN_S * value) for at_s, value in joined])],
        Quantity.POLL_GAP_MAX: [counters.series(longest)],
    }


def last_before(beats: Sequence[float], time_s: float) -> float:
    """Return the last beat before a time."""
    return beats[bisect_right(beats, time_s) - 1]


def _beats(silences: Sequence[tuple[float, float]], end_s: float, chance: random.Random) -> list[float]:
    """Return when it beats."""
    beats, due_s = [], chance.uniform(0.0, PERIOD_S)
    waiting = list(silences)
    while due_s < end_s:
        if waiting and waiting[0][0] <= due_s:
            due_s = max(due_s, waiting.pop(0)[1] + JOIN_S)
        beats.append(due_s)
        due_s += PERIOD_S * (1.0 + 0.03 * chance.random())
    return beats
