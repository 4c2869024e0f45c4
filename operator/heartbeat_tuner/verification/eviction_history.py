"""How a history of evictions is accumulated: a cycle sees an hour at most, a verdict needs weeks.

Every look hands in what it sees, so the same evictions come again and again, also to a new leader: what is known
already adds nothing, and the same object comes back. A history never holds more than its bounds. With more episodes it
begins later. With more stretches in which nothing could be learnt, those that are nearest to each other become one:
steps of scale come several times a day, and would else have erased the record before a change within weeks.

The caller hands in no future: a moment after now would hide all that really happens until then.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verifications import MOST_EPISODES, MOST_LEFT_OUT, EvictionHistory
from heartbeat_tuner.verification import episodes
from heartbeat_tuner.verification.episodes import Stretch

_LATEST_S: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""What comes later is no moment that a `datetime` holds."""


def begun(values: LivenessSettings, at: datetime, group: tuple[str, str]) -> EvictionHistory:
    """Return a history that begins.

    Args:
        values: that are set.
        at: when: a whole second.
        group: the Kafka cluster's name, and the group's.
    """
    return EvictionHistory(since=at, values=values, group=group)


def with_evictions(history: EvictionHistory, times_s: Sequence[float]) -> EvictionHistory:
    """Return a history with the episodes that evictions begin after its last; itself where they begin none.

    Evictions before it begins, and while nothing could be learnt, do not count.

    Args:
        history: so far.
        times_s: when live members were evicted, in Unix seconds, in any order; those that it has already, too.
    """
    if not times_s:
        return history
    times = np.asarray(times_s, dtype=np.float64)
    times = times[(times >= _first_s(history)) & (times <= _LATEST_S)]
    new_s = episodes.starts(episodes.outside(times, history.left_out)).tolist()
    if not new_s:
        return history
    return _begun_later(dataclasses.replace(history, episodes_s=(*history.episodes_s, *new_s)))


def left_out(history: EvictionHistory, since_s: float, until_s: float) -> EvictionHistory:
    """Return a history in which nothing could be learnt for a time; itself where that is known, or before it.

    Episodes that began in that time are no episodes any more, nor those between stretches that become one.

    Args:
        history: so far.
        since_s: from, in Unix seconds.
        until_s: to; now for what has not ended. A time without an end is no stretch.
    """
    since_s = max(since_s, history.since.timestamp())
    if not since_s < until_s <= _LATEST_S:
        return history
    stretches = episodes.merged([*history.left_out, (since_s, until_s)])
    if tuple(stretches) == history.left_out:
        return history
    stretches = _fewer(stretches)
    outside = episodes.outside(np.array(history.episodes_s), stretches).tolist()
    return dataclasses.replace(history, episodes_s=tuple(outside), left_out=tuple(stretches))


def trimmed(history: EvictionHistory, at: datetime) -> EvictionHistory:
    """Return a history that begins at a moment; itself where it does not begin before.

    Args:
        history: so far.
        at: what was earlier goes.
    """
    if at <= history.since:
        return history
    at_s = at.timestamp()
    return dataclasses.replace(
        history,
        since=at,
        episodes_s=tuple(begun_s for begun_s in history.episodes_s if begun_s >= at_s),
        left_out=tuple((max(since_s, at_s), until_s) for since_s, until_s in history.left_out if until_s > at_s),
    )


def _first_s(history: EvictionHistory) -> float:
    """Return when the next episode may begin, at the earliest."""
    since_s = history.since.timestamp()
    return max(since_s, history.episodes_s[-1] + episodes.WITHIN_S) if history.episodes_s else since_s


def _begun_later(history: EvictionHistory) -> EvictionHistory:
    """Return a history that begins after the last episode that does not fit."""
    too_early_s = history.episodes_s[-MOST_EPISODES - 1 : -MOST_EPISODES]
    return trimmed(history, datetime.fromtimestamp(too_early_s[0] // 1.0 + 1.0, UTC)) if too_early_s else history


def _fewer(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return stretches that fit, in order: the nearest two become one, and of those as near the two that are shortest.

    Else steps at the same hours of each day, all as far apart, would grow to one long stretch from the oldest on.
    """
    fewer = list(stretches)
    while len(fewer) > MOST_LEFT_OUT:
        pairs = enumerate(itertools.pairwise(fewer))
        *_, place = min((later[0] - first[1], later[1] - first[0], place) for place, (first, later) in pairs)
        fewer[place : place + 2] = [(fewer[place][0], fewer[place + 1][1])]
    return fewer
