"""Hours of a KafkaJS consumer whose handlers now and then take long: what its counters show, evictions among it.

It beats every 5 s, the library's default. An absence that is longer than what is left of the session costs it the
membership: its next beat is refused, it joins again, and beats go on under another member id.
"""

import dataclasses
import random
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters
from tests.support.counters import Answers

PERIOD_S: Final = 5.0
JOIN_S: Final = 0.8


@dataclasses.dataclass(frozen=True)
class Absence:
    """A handler that takes long.

    Attributes:
        at_s: when it begins, in seconds since the beginning.
        lasts_s: for how long no beat is sent.
    """

    at_s: float
    lasts_s: float


@dataclasses.dataclass
class _Counted:
    beats: list[tuple[float, int]]
    requests: list[float]
    joins: list[float]


def member(
    absences: Sequence[Absence],
    *,
    hours: float,
    scrape_s: float = 15.0,
    session_s: float = 30.0,
    restart_s: float | None = None,
    seed: int = 1,
) -> Answers:
    """Return what is scraped of a member.

    Args:
        absences: in order of time.
        hours: for how long.
        scrape_s: how often.
        session_s: its session timeout.
        restart_s: when its process is started again within its pod; None: never.
        seed: of the phases of beats and scrapes.
    """
    chance = random.Random(seed)  # noqa: S311 - phases, no secret
    end_s = hours * 3_600.0
    counted = _play(absences, end_s, session_s, chance)
    scrapes = [chance.uniform(0.0, scrape_s) + scrape_s * number for number in range(int(end_s / scrape_s) - 1)]
    cut_s = -1.0 if restart_s is None else restart_s

    def total(times: Sequence[float], first: float = 0.0) -> list[tuple[float, float]]:
        before = bisect_right(times, cut_s)
        return [(at_s, first + bisect_right(times, at_s) - (before if at_s >= cut_s >= 0 else 0)) for at_s in scrapes]

    memberships = sorted({number for _, number in counted.beats})
    beats = []
    for number in memberships:
        times = [at_s for at_s, whose in counted.beats if whose == number]
        shown = [(at_s, value) for at_s, value in total(times) if value > 0]
        beats.append(counters.series(shown, member_id=f"member-{number}"))
    joins = total(counted.joins, first=1.0)
    return {
        Quantity.HEARTBEATS: beats,
        Quantity.HEARTBEAT_REQUESTS: [counters.series(total(counted.requests))],
        Quantity.REBALANCE_NOTICES: [counters.series(total([]))],
        Quantity.REBALANCES: [counters.series(joins)],
        Quantity.REBALANCE_TIME: [counters.series([(at_s, JOIN_S * value) for at_s, value in joins])],
    }


def _play(absences: Sequence[Absence], end_s: float, session_s: float, chance: random.Random) -> _Counted:
    """Return when beats were accepted and by which membership, when any was sent, and when it joined again."""
    counted = _Counted([], [], [])
    waiting = list(absences)
    last_s, due_s, number = 0.0, chance.uniform(0.0, PERIOD_S), 0
    while due_s < end_s:
        if waiting and waiting[0].at_s <= due_s:
            absence = waiting.pop(0)
            due_s = max(due_s, absence.at_s + absence.lasts_s)
        counted.requests.append(due_s)
        if due_s - last_s > session_s:
            number += 1
            due_s += JOIN_S
            counted.joins.append(due_s)
        else:
            counted.beats.append((due_s, number))
        last_s = due_s
        due_s += PERIOD_S
    return counted
