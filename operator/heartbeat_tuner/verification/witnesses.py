"""Whose evictions tell that something hit the whole broker: other groups, few enough that chance seldom says so.

Three groups with an episode within 15 minutes are an event of the broker (`episodes.broker_wide`), and what a group had
meanwhile is left out. Among thousands of groups three always coincide: everything would be left out, and harm with it.
So the witnesses are chosen, and the choice rests on what was seen before the values were written: every look and every
leader chooses the same.

Chance: the episodes of all witnesses are at most a Poisson process with the sum of their rates. Three within one window
are rare enough while the sum is at most `MOST_PER_DAY`. A short record without episodes does not show that there are
none, so one episode more than was counted is taken to be in each.

Tenants: names decide only who is asked first. Of a foreign namespace a single group testifies, and it takes a fifth of
the sum at most, so a tenant who chooses names can neither push the others out nor make an event of the broker alone.
Three tenants who conspire, or have three namespaces, can; it then looks as if nothing had been learnt, not as if values
were good. Groups of the own namespace may all testify: who hides harm there hides it from himself.
"""

import dataclasses
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verifications import EvictionHistory
from heartbeat_tuner.verification import counts, episodes, fleet

MOST: Final = 20
"""Witnesses."""

BY_CHANCE: Final = 1e-4
"""The probability, at most, that three episodes of witnesses begin in the same 15 minutes by chance."""

MOST_PER_DAY: Final = counts.gamma_quantile(episodes.WITNESSES, BY_CHANCE) / episodes.WITHIN_S * DAY_S
"""Episodes of all witnesses together: the third of a Poisson process comes after a time that has a gamma law of shape
three, and that time must be longer than a window."""

MOST_OF_A_WITNESS: Final = MOST_PER_DAY / 5
"""Episodes of one witness a day: so five fit at least, however busy they are, and an event shows when three are hit."""

_LEAST_RECORD: Final = timedelta(days=1)
_RECORD: Final = timedelta(days=14)
"""Of a history so much counts: it is still there when the last look is taken at a change."""


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


def chosen(
    own: ObjectKey, group_id: str, others: Sequence[WitnessGroup], written: datetime
) -> tuple[tuple[float, ...], ...]:
    """Return when episodes began of each group that testifies about a change, in Unix seconds.

    Args:
        own: the policy whose values were changed.
        group_id: of its group.
        others: groups of the same Kafka cluster, in any order; the own group may be among them.
        written: when the values were changed.
    """
    witnesses: list[WitnessGroup] = []
    group_ids, foreign = {group_id}, set[str]()
    sum_per_day = 0.0
    for other in sorted(others, key=lambda other: _place(own, other.policy)):
        if len(witnesses) == MOST:
            break
        namespace = other.policy.namespace
        if other.group_id in group_ids or namespace in foreign or not _is_eligible(other, written):
            continue
        per_day = _per_day(other.history, written)
        if per_day > MOST_OF_A_WITNESS or sum_per_day + per_day > MOST_PER_DAY:
            continue
        witnesses.append(other)
        sum_per_day += per_day
        group_ids.add(other.group_id)
        if namespace != own.namespace:
            foreign.add(namespace)
    return tuple(asked.history.episodes_s for asked in witnesses)


def _place(own: ObjectKey, policy: ObjectKey) -> tuple[int, str, str]:
    """Return where a policy stands among those that are asked: for each group elsewhere, and always there."""
    return zlib.crc32(str(policy).encode(), zlib.crc32(str(own).encode())), policy.namespace, policy.name


def _is_eligible(other: WitnessGroup, written: datetime) -> bool:
    """Whether a group was watched for long enough, and its values were not changed shortly before, or since."""
    if other.changed is not None and other.changed >= written - fleet.LATELY:
        return False
    return other.history.since <= written - _LEAST_RECORD


def _per_day(history: EvictionHistory, written: datetime) -> float:
    """Return the rate of episodes before a change, with one more than were seen."""
    since_s, until_s = max(history.since, written - _RECORD).timestamp(), written.timestamp()
    seen = bisect_left(history.episodes_s, until_s) - bisect_left(history.episodes_s, since_s)
    out_s = sum(max(0.0, min(last_s, until_s) - max(first_s, since_s)) for first_s, last_s in history.left_out)
    watched_s = until_s - since_s - out_s
    return (seen + 1) / watched_s * DAY_S if watched_s > 0.0 else float("inf")
