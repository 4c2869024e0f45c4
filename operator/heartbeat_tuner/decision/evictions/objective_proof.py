"""Is it shown that a group meets its objective of evictions? What is shown, and no more, may be said of a group.

Two things can show it. A fitted model does, if the evictions that it expects at most (95 %) are within the objective
and it has a week of history or more: who was not watched for a week may have been seen without its busiest day. The
count of evictions with the values that are set does, if Garwood's upper bound of their rate is within the objective. No
eviction in an hour shows nothing of a month: 1 a month takes 90 days without one. In between nobody knows, and the
sentence says what would show it. `Healthy` and the condition ObjectiveMet both rest on this one finding.
"""

import dataclasses
import math
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.decision.evictions import eviction_evidence
from heartbeat_tuner.decision.evictions.assessment import ENOUGH_EVICTIONS
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.domain.durations import DAY_S, MONTH_DAYS
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.domain.verdicts import Confidence, Finding, Prediction, rounded
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange

_SURE: Final = 0.95


@dataclasses.dataclass(frozen=True, slots=True)
class CountedEvictions:
    """Evictions of live members with the values that are set, as far back as anybody counted them.

    Attributes:
        since: from when they were counted.
        counted: how many, in which time.
        is_of_record: whether a record of an hour was counted, whose beginning moves from look to look.
    """

    since: datetime
    counted: EvictionEvidence
    is_of_record: bool = False

    def contradicts(self, per_month: float) -> bool:
        """Whether they show, at 95 %, that there are more than an objective allows; a chance or two do not."""
        return self.counted.episodes >= ENOUGH_EVICTIONS and self.counted.refutes(per_month)


def counted_so_far(
    history: EvictionHistory | None,
    policy: Policy,
    followed: FollowedChange | None,
    current: LivenessSettings | None,
    record: Record,
) -> CountedEvictions | None:
    """Return what was counted with the values that are set: by the history where there is one of them, else the record.

    Args:
        history: of the group; None where nothing is remembered.
        policy: with our last change.
        followed: how far that is.
        current: what is set; None while the pods differ.
        record: of the last hour at most; who left for not polling is counted in it alone.
    """
    if current is None or record.unobserved_pods:
        return None
    since = eviction_evidence.begins(history, policy, followed, current)
    if history is None or since is None:
        since, seen = record.since, EvictionEvidence(record.evictions, record.span.total_seconds() / DAY_S, 1)
    else:
        since = max(since, history.hidden_until or since)  # a time without a count shows no quiet
        seen = eviction_evidence.count(history, since, record.until)
    if not seen.days > 0.0:
        return None
    counted = dataclasses.replace(seen, episodes=seen.episodes + record.poll_gap_evictions)
    return CountedEvictions(since, counted, is_of_record=since == record.since)


def finding(
    expected: Prediction | None, confidence: Confidence, counted: CountedEvictions | None, per_month: float
) -> Finding:
    """Return whether it is shown that the objective is met, with the numbers.

    Args:
        expected: of the values in force, by a model, and no less than was counted; None where no model says anything.
        confidence: on how much data the model rests.
        counted: what was counted with them; None where nothing could be.
        per_month: how many evictions the objective allows.

    Returns:
        `WithinObjective` or `AboveObjective` where either is shown, `LikelyWithin` where a model expects it without
        being sure, and else `TooEarly`.
    """
    if counted is not None and counted.contradicts(per_month):
        return Finding(Reason.ABOVE_OBJECTIVE, counted.counted.shown(per_month))
    is_sure = confidence is not Confidence.LOW
    if expected is not None and expected.evictions_upper <= per_month and is_sure:
        return Finding(Reason.WITHIN_OBJECTIVE, _expected(expected, per_month))
    if expected is not None and expected.evictions_per_month > per_month:
        return Finding(Reason.ABOVE_OBJECTIVE, _expected(expected, per_month))
    if counted is not None and counted.counted.upper_per_month <= per_month:
        return Finding(Reason.WITHIN_OBJECTIVE, _counted_within(counted, per_month))
    if expected is not None:
        why = "" if is_sure else " by less than a week of history"
        likely = "{expected}: likely within it, and not shown{why}"
        return Finding(Reason.LIKELY_WITHIN, say(likely, expected=_expected(expected, per_month), why=why))
    return Finding(Reason.TOO_EARLY, _too_early(counted, per_month))


def days_without(per_month: float) -> float:
    """Return how many days without an eviction show, at 95 %, that there are at most so many a month."""
    return math.inf if per_month <= 0.0 else -math.log(1.0 - _SURE) / per_month * MONTH_DAYS


def _expected(expected: Prediction, per_month: float) -> Sentence:
    return say(
        "{evictions:g} evictions of live members a month are expected, at most {evictionsUpper:g} (95 %), where the "
        "objective allows {objective:g}",
        evictions=Reading(rounded(expected.evictions_per_month)),
        evictionsUpper=Reading(rounded(expected.evictions_upper)),
        objective=per_month,
    )


def _counted_within(counted: CountedEvictions, per_month: float) -> Sentence:
    return say(
        "{evicted} since {since}: at most {upper:.2g} a month (95 %), where the objective allows {objective:g}",
        evicted=_evicted(counted),
        since=_moment(counted),
        upper=Reading(counted.counted.upper_per_month),
        objective=per_month,
    )


def _too_early(counted: CountedEvictions | None, per_month: float) -> Sentence:
    """Say what was seen so far, and what would show that the objective is met."""
    if counted is None:
        return say("too early to tell whether evictions are within the objective: only a fitted model shows it")
    days = days_without(per_month)
    takes = (
        "no count can show that none ever comes"
        if math.isinf(days)
        else say(
            "at most {objective:g} a month is shown by {days:.0f} days without one, or by a fitted model",
            objective=per_month,
            days=math.ceil(days),
        )
    )
    return say(
        "too early to tell whether evictions are within the objective: {evicted} since {since}, and {takes}",
        evicted=_evicted(counted),
        since=_moment(counted),
        takes=takes,
    )


def _evicted(counted: CountedEvictions) -> Sentence | str:
    episodes = counted.counted.episodes
    if not episodes:
        return "no live member has been evicted"
    times = "once" if episodes == 1 else say("{episodes} times", episodes=episodes)
    return say("live members have been evicted {times}", times=times)


def _moment(counted: CountedEvictions) -> str | Reading:
    """Return since when they were counted: a moment stands still, where a duration up to now would move."""
    moment = counted.since.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Reading(moment) if counted.is_of_record else moment
