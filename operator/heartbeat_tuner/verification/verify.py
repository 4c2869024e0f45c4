"""`verify`: did a change help, or did it harm? From values to one answer.

The answer depends on what happened, not on when it was looked at: evidence is taken right after each episode, and of
benefit at each hour, so that a new leader comes to the same verdict. Unknown is never harm: without a record before
nothing is called worse than it, and what cannot be judged is `Inconclusive`, with the reason.
"""

import dataclasses
from datetime import UTC, datetime
from typing import Final

import numpy as np

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.verifications import PromisedRate
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import answers, e_process, episodes, exposure, fast_paths, references, scatter
from heartbeat_tuner.verification.change import HORIZON, Change, Verification, Watched
from heartbeat_tuner.verification.exposure import ExposureClock
from heartbeat_tuner.verification.references import Before

_LOOK_S: Final = 3600.0
_LEAST_DAYS: Final = 1.0
"""Nothing is called better before one whole day: a change at dusk would be verified by the night."""


@dataclasses.dataclass(frozen=True, slots=True)
class EpisodeCount:
    """What was counted before and since a change.

    Attributes:
        before: the record.
        times_s: when episodes began since, within the horizon.
        days: the exposure until each.
        clock: of the group.
        since_s: when counting begins: when the values had landed, or a day later if they were written in an incident.
        until_s: now, or the end of the horizon.
    """

    before: Before
    times_s: Array
    days: Array
    clock: ExposureClock
    since_s: float
    until_s: float

    @property
    def exposed(self) -> float:
        """The exposure until now, in days."""
        return float(self.clock.days(self.since_s, self.until_s))


def verify(change: Change, watched: Watched, *, now: datetime) -> Verification:
    """Return what is known now of a change.

    Args:
        change: and how it went.
        watched: what was seen of the group.
        now: the time of the look.
    """
    return judge(change, counted_since(change, watched, now), now=now)


def judge(change: Change, counted: EpisodeCount | None, *, now: datetime) -> Verification:
    """Return what is known now of a change, by what `counted_since` returned."""
    if now < change.written or (change.landed is not None and not change.written <= change.landed <= now):
        return answers.clock_jumped(change)
    early = fast_paths.without_statistics(change, now)
    if early is not None:
        return early
    if change.landed is None or counted is None:
        return answers.rolling_out(change)
    if counted.until_s < counted.since_s:
        return answers.in_incident(_moment(counted.since_s))
    return _judged(counted, change.promise, is_over=now >= change.landed + HORIZON)


def counted_since(change: Change, watched: Watched, now: datetime) -> EpisodeCount | None:
    """Return what was counted since a change landed; None before it has, and where a clock was set back since."""
    if change.landed is None or not change.written <= change.landed <= now:
        return None
    return count(change, watched, change.landed, now)


def count(change: Change, watched: Watched, landed: datetime, now: datetime) -> EpisodeCount:
    """Return what was counted: episodes, and the exposure in which they came."""
    written_s, since_s = change.written.timestamp(), landed.timestamp()
    until_s = min(now, landed + HORIZON).timestamp()
    start_s = min(watched.since.timestamp(), written_s)
    out = exposure.left_out(watched.left_out, watched.others_s, start_s, until_s)
    begun = episodes.starts(episodes.outside(np.asarray(watched.evictions_s, dtype=np.float64), out))
    record = begun[(begun >= start_s) & (begun < written_s)]
    clock = exposure.clock(record, start_s, written_s, out)
    before = references.before(record, start_s, written_s, clock)
    if before.in_incident:
        since_s += DAY_S
    after = begun[(begun >= since_s) & (begun <= until_s)]
    return EpisodeCount(before, after, clock.days(since_s, after), clock, since_s, until_s)


def _judged(counted: EpisodeCount, promise: PromisedRate | None, *, is_over: bool) -> Verification:
    before = references.by_record(counted.before)
    promised = references.by_promise(None if promise is None else promise.upper_per_day)
    most = references.larger(before, promised)
    if most is None:
        return answers.nothing_to_compare(counted.times_s.size, is_over=is_over)
    is_trade = promise is not None and promise.is_trade and before is not None and promised is not None
    accepted = most if is_trade else before
    against_record, against_promise = harm_by_record(counted), harm_by_promise(counted, promised)
    against = np.minimum(against_record, against_promise) if is_trade else against_record
    known = answers.Known(
        counted.before,
        accepted,
        promised,
        is_trade,
        counted.times_s.size,
        counted.exposed,
        _strongest(against),
        promise,
    )
    stormy = _storm(counted, most, known)
    if stormy is not None:
        return stormy
    harmed = shown(counted, against)
    if harmed is not None and accepted is not None:
        return answers.worse(known, accepted, harmed)
    broken = shown(counted, against_promise)
    if broken is not None and promised is not None:
        return answers.worse_than_promised(known, promised, broken)
    better = _benefit(counted, accepted if is_trade else None)
    if better is not None:
        return answers.verified(known, better)
    return answers.inconclusive(known) if is_over else answers.verifying(known)


def harm_by_record(counted: EpisodeCount) -> Array:
    """Return the logarithm of the evidence that the rate is higher than before, at each episode; nothing if unknown."""
    before = counted.before
    if not before.is_known:
        return _nothing(counted)
    return e_process.harm_of_record(counted.days, before.whole, before.possible_dispersion)


def harm_by_promise(counted: EpisodeCount, promised: float | None) -> Array:
    """Return the logarithm of the evidence that the rate is higher than promised, at each episode; nothing if unknown.

    It takes nothing back, so days are taken to scatter as they show, not as they may.
    """
    if promised is None:
        return _nothing(counted)
    return e_process.harm(promised * counted.days, _dispersion(counted.before, promised))


def shown(counted: EpisodeCount, logs: Array) -> datetime | None:
    """Return when harm had shown, if it has."""
    place = e_process.first(logs >= e_process.THRESHOLD)
    return None if place is None else _moment(counted.times_s[place])


def _nothing(counted: EpisodeCount) -> Array:
    return np.full(counted.times_s.size, -np.inf)


def _strongest(logs: Array) -> float:
    return max(0.0, float(logs.max(initial=0.0)))


def _storm(counted: EpisodeCount, reference: float, known: answers.Known) -> Verification | None:
    """Return that the first hour had too many episodes, however much is allowed; None if it had not."""
    if counted.before.in_incident:
        return None  # counting begins a day later, and that hour is not the first
    hour = float(counted.clock.days(counted.since_s, counted.since_s + fast_paths.FIRST_HOUR_S))
    expected = reference * hour
    allowed = fast_paths.allowed_by_chance(expected, _dispersion(counted.before, reference))
    place = fast_paths.storm(counted.times_s, counted.since_s, allowed)
    if place is None:
        return None
    return answers.stormy(known, reference, _moment(counted.times_s[place]), allowed)


def _benefit(counted: EpisodeCount, accepted: float | None) -> datetime | None:
    """Return when benefit had shown, against the calm part of the record or what was accepted; None if it has not."""
    before = counted.before
    first_s = counted.since_s + _LEAST_DAYS * DAY_S
    if not before.calm.days > 0.0 or counted.until_s < first_s:
        return None
    looks = np.append(np.arange(first_s, counted.until_s, _LOOK_S), counted.until_s)
    days = counted.clock.days(counted.since_s, looks)
    seen = np.searchsorted(counted.times_s, looks, side="right").astype(np.float64)
    if accepted is None:
        logs = e_process.log_e_of_record(seen, days, before.calm, e_process.HELPFUL, before.middle_dispersion)
    else:
        logs = e_process.log_e(seen, accepted * days, e_process.HELPFUL, before.middle_dispersion)
    place = e_process.first((logs >= e_process.THRESHOLD) & (days > 0.0))
    return None if place is None else _moment(float(looks[place]))


def _dispersion(before: Before, reference: float) -> float:
    """Return how much days scatter: as in the record, or as is usual where none says so."""
    return before.dispersion if before.is_known else scatter.usual(reference)


def _moment(at_s: float) -> datetime:
    return datetime.fromtimestamp(float(at_s), UTC)
