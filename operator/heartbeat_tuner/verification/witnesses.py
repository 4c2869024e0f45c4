"""Whose evictions tell that something hit the whole broker: other groups, few enough that chance seldom says so.

Three groups with an episode within 15 minutes are an event of the broker (`episodes.broker_wide`), and what a group had
meanwhile is left out. Among thousands of groups three always coincide: everything would be left out, and harm with it.
So the witnesses are chosen, and the choice rests on what was seen before the values were written: every look and every
leader chooses the same.

Chance: the episodes of all witnesses are at most a Poisson process with the sum of their rates. Three within one window
are rare enough while the sum is at most `MOST_PER_DAY`. A short record without episodes does not show that there are
none, so one episode more than was counted is taken to be in each.

Order: each policy has a place on a ring, by a hash of its name, and a group asks those that follow on its own place. So
groups ask different witnesses, and a choice costs no look at all groups.

Tenants: names decide only who is asked first. Of a foreign namespace a single group testifies, and it takes a fifth of
the sum at most, so a tenant who chooses names can neither push the others out nor make an event of the broker alone.
Three tenants who conspire, or have three namespaces, can; it then looks as if nothing had been learnt, not as if values
were good. Groups of the own namespace may all testify: who hides harm there hides it from himself.
"""

import dataclasses
import functools
import itertools
import math
import operator
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verifications import EvictionHistory
from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import episodes, fleet

MOST: Final = 20
"""Witnesses."""

BY_CHANCE: Final = 1e-4
"""The probability, at most, that three episodes of witnesses begin in the same 15 minutes by chance."""

MOST_PER_DAY: Final = count_bounds.gamma_quantile(episodes.WITNESSES, BY_CHANCE) / episodes.WITHIN_S * DAY_S
"""Episodes of all witnesses together: the third of a Poisson process comes after a time that has a gamma law of shape
three, and that time must be longer than a window."""

MOST_OF_A_WITNESS: Final = MOST_PER_DAY / 5
"""Episodes of one witness a day: so five fit at least, however busy they are, and an event shows when three are hit."""

_LEAST_RECORD: Final = timedelta(days=1)
_RECORD: Final = timedelta(days=14)
"""Of a history so much counts: it is still there when the last look is taken at a change."""

_LEAST_PER_DAY: Final = 1 / _RECORD.total_seconds() * DAY_S
"""The rate of a group without an episode in a whole record."""

_AT_ONCE: Final = 64
"""So many are asked before it is worth to look which of all others are quiet enough to be asked."""


@dataclasses.dataclass(frozen=True, slots=True)
class WitnessGroup:
    """A group that might testify.

    Attributes:
        policy: of the group.
        group_id: Kafka's name of it.
        changed: when its values were changed last; None if never.
        history: of its evictions.
    """

    policy: ObjectKey
    group_id: str
    changed: datetime | None
    history: EvictionHistory


class WitnessRing:
    """The groups of one Kafka cluster in the order in which they are asked.

    Args:
        groups: in any order.

    Attributes:
        groups: by their places.
    """

    def __init__(self, groups: Sequence[WitnessGroup]) -> None:
        placed = [(_place(group.policy), group.policy, group) for group in groups]
        placed.sort(key=operator.itemgetter(0, 1))
        self._places = [place for place, _, _ in placed]
        self.groups = [group for _, _, group in placed]
        self._since_s = np.array([group.history.since.timestamp() for group in self.groups])
        self._changed_s = np.array(
            [-math.inf if group.changed is None else group.changed.timestamp() for group in self.groups]
        )
        self._least_by_day = dict[int, NDArray[np.float64]]()

    def eligible(self, own: ObjectKey, written: datetime) -> NDArray[np.intp]:
        """Return the numbers of groups that may testify, from the place of a policy on.

        They were watched for long enough, and their values were not changed shortly before, or since.
        """
        unchanged = self._changed_s < (written - fleet.LATELY).timestamp()
        watched = self._since_s <= (written - _LEAST_RECORD).timestamp()
        numbers = np.flatnonzero(unchanged & watched)
        first = np.searchsorted(numbers, bisect_left(self._places, _place(own)))
        return np.concatenate((numbers[first:], numbers[:first]))

    def least_per_day(self, written: datetime) -> NDArray[np.float64]:
        """Return how many episodes a day each group had at least before a change, with one more than were seen.

        Whole days of the record count only, so the many changes of one day ask once.
        """
        day = int(written.timestamp() // DAY_S)
        if day not in self._least_by_day:
            times_s, ends = self._episodes
            since_s, until_s = (day + 1) * DAY_S - _RECORD.total_seconds(), day * DAY_S
            inside = np.cumsum(np.concatenate(([0], (times_s >= since_s) & (times_s < until_s))))
            self._least_by_day[day] = (np.diff(inside[ends]) + 1) / _RECORD.total_seconds() * DAY_S
        return self._least_by_day[day]

    @functools.cached_property
    def _episodes(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The episodes of all groups in one array, and where in it each group's end, from a zero on."""
        counts = [len(group.history.episodes_s) for group in self.groups]
        times_s = itertools.chain.from_iterable(group.history.episodes_s for group in self.groups)
        return np.fromiter(times_s, np.float64), np.cumsum([0, *counts])


class _Choice:
    """The witnesses for a change, one after the other.

    Args:
        own: the policy whose values were changed.
        group_id: of its group.
        written: when the values were changed.

    Attributes:
        witnesses: so far.
        rest_per_day: episodes that more of them may have together.
    """

    def __init__(self, own: ObjectKey, group_id: str, written: datetime) -> None:
        self.witnesses: list[WitnessGroup] = []
        self.rest_per_day = MOST_PER_DAY
        self._own, self._written = own, written
        self._group_ids, self._foreign = {group_id}, set[str]()

    @property
    def is_full(self) -> bool:
        """Whether no group at all is taken any more."""
        return len(self.witnesses) == MOST or self.rest_per_day < _LEAST_PER_DAY

    def ask(self, other: WitnessGroup) -> None:
        """Take a group among the witnesses, if there is a place for it."""
        namespace = other.policy.namespace
        if self.is_full or namespace in self._foreign or other.group_id in self._group_ids:
            return
        per_day = _per_day(other.history, self._written)
        if per_day > min(MOST_OF_A_WITNESS, self.rest_per_day):
            return
        self.witnesses.append(other)
        self.rest_per_day -= per_day
        self._group_ids.add(other.group_id)
        if namespace != self._own.namespace:
            self._foreign.add(namespace)


def chosen(own: ObjectKey, group_id: str, others: WitnessRing, written: datetime) -> tuple[tuple[float, ...], ...]:
    """Return when episodes began of each group that testifies about a change, in Unix seconds.

    Args:
        own: the policy whose values were changed.
        group_id: of its group.
        others: groups of the same Kafka cluster; the own group may be among them.
        written: when the values were changed.
    """
    choice, asked = _Choice(own, group_id, written), _AT_ONCE
    waiting = others.eligible(own, written)
    while True:
        for number in waiting[:asked].tolist():
            choice.ask(others.groups[number])
        waiting = waiting[asked:]
        if choice.is_full or not waiting.size:
            return tuple(group.history.episodes_s for group in choice.witnesses)
        quiet_enough = others.least_per_day(written)[waiting] <= min(MOST_OF_A_WITNESS, choice.rest_per_day)
        waiting, asked = waiting[quiet_enough], 2 * asked


def _place(policy: ObjectKey) -> int:
    """Return where on the ring a policy stands: always there."""
    return zlib.crc32(str(policy).encode())


def _per_day(history: EvictionHistory, written: datetime) -> float:
    """Return the rate of episodes before a change, with one more than were seen."""
    since_s, until_s = max(history.since, written - _RECORD).timestamp(), written.timestamp()
    seen = bisect_left(history.episodes_s, until_s) - bisect_left(history.episodes_s, since_s)
    out_s = sum(max(0.0, min(last_s, until_s) - max(first_s, since_s)) for first_s, last_s in history.left_out)
    watched_s = until_s - since_s - out_s
    return (seen + 1) / watched_s * DAY_S if watched_s > 0.0 else float("inf")
