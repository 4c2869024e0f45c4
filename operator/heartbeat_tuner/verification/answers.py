"""What is said of a change, as sentences with their facts; which of them is true is found in `verify`."""

import dataclasses
import math
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verifications import Effect, EpisodeRate, Outcome, PromisedRate
from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import e_process, fast_paths, scatter
from heartbeat_tuner.verification.change import HORIZON, Change, Verification
from heartbeat_tuner.verification.references import Before

_TIMES: Final = (2, 3, 5, 10, 30)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_NAMES: Final = {2: "a doubling"}


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What an answer rests on.

    Attributes:
        before: the record.
        accepted: the rate per day beyond which a change is harm; None without a record.
        promised: the rate per day that the model promised; None if none did.
        is_trade: whether harm is what is more than both the record and the promise.
        episodes: since the change.
        days: exposure since the change.
        log_harm: logarithm of the strongest evidence of harm.
        promise: what the model said; None if it was not asked.
    """

    before: Before
    accepted: float | None
    promised: float | None
    is_trade: bool
    episodes: int
    days: float
    log_harm: float
    promise: PromisedRate | None = None

    def answer(self, outcome: Outcome, message: Sentence, reached: datetime | None = None) -> Verification:
        """Return an answer that rests on this."""
        return Verification(outcome, message, reached, self.episodes, self.days, self.log_harm, self._effect)

    @property
    def _effect(self) -> Effect:
        """The rates before and after with their bounds, and what one eviction stalls."""
        record, promise = self.before, self.promise
        stalled = (None, None) if promise is None else (promise.stalled_before, promise.stalled_after)
        rate = EpisodeRate(record.episodes, record.days, record.lower, record.upper, stalled[0])
        bounds = count_bounds.garwood(self.episodes, self.days, alpha=e_process.ALPHA, dispersion=record.dispersion)
        return Effect(
            rate if record.is_known else None, EpisodeRate(self.episodes, self.days, *bounds, stalled_each=stalled[1])
        )

    @property
    def since(self) -> Sentence:
        """What was counted since the change; in whole days, so that a status moves once a day for it."""
        whole = math.floor(self.days)
        return say(
            "{episodes} {noun} of evictions in {days} since the change",
            episodes=self.episodes,
            noun="episode" if self.episodes == 1 else "episodes",
            days=f"{whole} whole day{'s' if whole > 1 else ''}" if whole else "less than a day",
        )


def clock_jumped(change: Change) -> Verification:
    """Say that the moments of a change cannot be true."""
    return Verification(
        Outcome.INCONCLUSIVE,
        say(
            "written at {written:%Y-%m-%dT%H:%M:%SZ} and landed {landed}, which is later than now: a clock was set, so "
            "nothing is concluded from it",
            written=change.written,
            landed="not yet" if change.landed is None else f"at {change.landed:%Y-%m-%dT%H:%M:%SZ}",
        ),
    )


def rolling_out(change: Change) -> Verification:
    """Say that the pods do not all run with the values yet."""
    return Verification(
        Outcome.VERIFYING,
        say(
            "the values written at {written:%Y-%m-%dT%H:%M:%SZ} are not in all pods yet; counting begins when they are",
            written=change.written,
        ),
    )


def in_incident(begins: datetime) -> Verification:
    """Say that the change was made in the middle of an incident."""
    return Verification(
        Outcome.VERIFYING,
        say(
            "the values were written in the middle of an incident, which may go on whatever they are; counting begins "
            "at {begins:%Y-%m-%dT%H:%M:%SZ}",
            begins=begins,
        ),
    )


def nothing_to_compare(episodes: int, *, is_over: bool) -> Verification:
    """Say that there is neither a record nor a promise."""
    return Verification(
        Outcome.INCONCLUSIVE if is_over else Outcome.VERIFYING,
        say(
            "{episodes} episodes of evictions since the change, and nothing to compare them with: the group was not "
            "watched before it, and no model said what to expect",
            episodes=episodes,
        ),
        episodes=episodes,
    )


def stormy(known: Known, reference: float, at: datetime, hours_allowed: float) -> Verification:
    """Say that the first hour had more episodes than chance allows."""
    return known.answer(
        Outcome.WORSE,
        say(
            "the first hour with the new values had at least {least} episodes of evictions more than the {allowed} "
            "that {rate:figure} a day allow, by {at:%Y-%m-%dT%H:%M:%SZ}",
            least=fast_paths.STORM,
            allowed=math.floor(hours_allowed),
            rate=reference,
            at=at,
        ),
        at,
    )


def worse(known: Known, reference: float, at: datetime) -> Verification:
    """Say that evictions are more frequent than before, or than was accepted."""
    return known.answer(
        Outcome.WORSE,
        say(
            "{since}, {limit}: shown at {at:%Y-%m-%dT%H:%M:%SZ}, and chance alone shows so much with a probability of "
            "at most {alpha:.0%}",
            since=known.since,
            limit=_limit(known, reference),
            at=at,
            alpha=e_process.ALPHA,
        ),
        at,
    )


def worse_than_promised(known: Known, promised: float, at: datetime) -> Verification:
    """Say that the model was wrong, and that no harm has shown against the record."""
    return known.answer(
        Outcome.WORSE_THAN_PROMISED,
        say(
            "{since}, more than the {promised:figure} a day that the model promised at most, as showed at "
            "{at:%Y-%m-%dT%H:%M:%SZ}; {before}",
            since=known.since,
            promised=promised,
            at=at,
            before=_against_record(known),
        ),
        at,
    )


def verified(known: Known, at: datetime) -> Verification:
    """Say that evictions are rarer than before, or no more than was accepted."""
    shown = "no more than was accepted for this change" if known.is_trade else "fewer than before"
    return known.answer(
        Outcome.VERIFIED,
        say(
            "{since}, {shown} ({before}): shown at {at:%Y-%m-%dT%H:%M:%SZ}",
            since=known.since,
            shown=shown,
            before=_record(known),
            at=at,
        ),
        at,
    )


def verifying(known: Known) -> Verification:
    """Say that nothing has shown yet, and how long harm would take to show."""
    return known.answer(
        Outcome.VERIFYING,
        say(
            "{since}; {before}. {patience}",
            since=known.since,
            before=_record(known),
            patience=patience(known),
        ),
    )


def inconclusive(known: Known) -> Verification:
    """Say that the time is over and nothing has shown; the values stay."""
    return known.answer(
        Outcome.INCONCLUSIVE,
        say(
            "{since}; {before}. Neither harm nor benefit has shown in {horizon} days; the values stay",
            since=known.since,
            before=_record(known),
            horizon=HORIZON.days,
        ),
    )


def patience(known: Known) -> Sentence:
    """Say after how many days a doubling would show; where it would not, how many times as many would."""
    reference = known.accepted or known.promised
    if reference is None:
        raise ValueError("known: must have a reference")
    mean = known.before.mean if known.before.is_known and known.before.episodes else reference
    days = {times: _days_to_show(times * mean, known, reference) for times in _TIMES}
    shows = next((times for times, after in days.items() if after <= HORIZON.days), None)
    if shows is None:
        if known.before.is_known and known.before.days < 1:
            return say(
                "The record before the change is too short to compare with: even {most} times as many evictions would "
                "not show within {horizon} days",
                most=_TIMES[-1],
                horizon=HORIZON.days,
            )
        return say(
            "Even {most} times as many as {rate:figure} a day would not show within {horizon} days",
            most=_TIMES[-1],
            rate=mean,
            horizon=HORIZON.days,
        )
    return say(
        "{what} of {rate:figure} a day would show after about {days:.2g} days{not_sooner}",
        what="A doubling" if shows == _TIMES[0] else f"{shows} times the rate",
        rate=mean,
        days=days[shows],
        not_sooner="" if shows == _TIMES[0] else f"; a doubling would not within {HORIZON.days}",
    )


def _days_to_show(rate: float, known: Known, reference: float) -> float:
    """Return after how many days a rate would show as harm; without a record, as more than was promised."""
    before, promised = known.before, known.promised
    if not before.is_known:
        return e_process.days_to_show(rate, reference, scatter.usual(reference))
    days = e_process.days_to_show_by_record(rate, before.whole, before.possible_dispersion)
    if known.is_trade and promised is not None:
        return max(days, e_process.days_to_show(rate, promised, before.possible_dispersion))
    return days


def _record(known: Known) -> Sentence:
    if not known.before.is_known:
        return say("the group was not watched before the change")
    return say(
        "{count} in {span} before it, so at most {upper:figure} a day",
        count=known.before.episodes,
        span=_length(known.before.days),
        upper=known.before.upper,
    )


def _length(days: float) -> str:
    """Return a time in days; one of less than a day in hours, minutes and seconds."""
    if days >= 1:
        return f"{float(f'{days:.2g}'):g} days"
    whole = timedelta(seconds=round(days * durations.DAY_S))
    return durations.show(whole if whole < _HOUR else timedelta(minutes=round(whole / _MINUTE)))


def _against_record(known: Known) -> Sentence:
    if not known.before.is_known:
        return say("whether that is worse than before is unknown, for the group was not watched then")
    return say("not shown to be worse than before ({before})", before=_record(known))


def _limit(known: Known, reference: float) -> Sentence:
    if known.is_trade:
        return say("more than the {accepted:figure} a day that were accepted", accepted=reference)
    return say("more than before ({before})", before=_record(known))
