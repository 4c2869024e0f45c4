"""How far the last change is, and when members were evicted, in the notation of a policy's status.

A person may edit a status, and another version may have written it: what cannot be true is not believed.
"""

import math
from datetime import datetime
from typing import Final

from heartbeat_tuner.api.applied import settings_of, timestamp, values_of
from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import (
    EffectStatus,
    EpisodeRateStatus,
    EvictingSessionStatus,
    HistoryStatus,
    VerificationStatus,
)
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.verifications import (
    Effect,
    EpisodeRate,
    EvictingSession,
    EvictionHistory,
    FollowedChange,
    Outcome,
)

_PARTS_OF_DAY: Final = 100
"""As exact as days are shown."""

_DIGITS: Final = 10
"""Of seconds: three centuries."""


def verification_of(followed: FollowedChange) -> VerificationStatus:
    """Return a change that is followed, in the API's notation; while nothing shows, each look has its own words."""
    return VerificationStatus(
        at=timestamp(followed.at),
        landed=None if followed.landed is None else timestamp(followed.landed),
        template=followed.template,
        deployed=None if followed.deployed is None else timestamp(followed.deployed),
        outcome=followed.outcome,
        message="" if followed.outcome is Outcome.VERIFYING else fitting(followed.message),
        reached=None if followed.reached is None else timestamp(followed.reached),
        effect=None if followed.effect is None else _effect_status(followed.effect),
    )


def followed_of(noted: VerificationStatus) -> FollowedChange | None:
    """Return the change that is followed; None where its moments cannot be ours."""
    at, landed, deployed, reached = (
        None if text is None else datetime.fromisoformat(text)
        for text in (noted.at, noted.landed, noted.deployed, noted.reached)
    )
    moments = (at, landed, deployed, reached)
    if at is None or not all(moment is None or durations.may_be_ours(moment) for moment in moments):
        return None
    effect = None if noted.effect is None else _effect(noted.effect)
    return FollowedChange(at, landed, noted.template, deployed, noted.outcome, noted.message, reached, effect)


def history_status(history: EvictionHistory) -> HistoryStatus:
    """Return a history in the API's notation: whole seconds since it begins."""
    since_s = history.since.timestamp()
    return HistoryStatus(
        since=timestamp(history.since),
        cluster_ref=history.group[0],
        group_id=history.group[1],
        values=values_of(history.values),
        episodes=" ".join(f"{at - since_s:.0f}" for at in history.episodes_s),
        left_out=" ".join(f"{begin - since_s:.0f}-{end - since_s:.0f}" for begin, end in history.left_out),
        evicting=[_evicting_status(noted) for noted in history.evicting] or None,
        hidden_until=None if history.hidden_until is None else timestamp(history.hidden_until),
    )


def history_of(noted: HistoryStatus) -> EvictionHistory | None:
    """Return the history that is noted; None where we did not write it: no numbers, out of order, of another time."""
    since = datetime.fromisoformat(noted.since)
    given = [pair.split("-") for pair in noted.left_out.split()]
    numbers = [*noted.episodes.split(), *(edge for pair in given for edge in pair)]
    if not durations.may_be_ours(since) or not all(_is_number(text) for text in numbers):
        return None
    since_s = since.timestamp()
    episodes = [since_s + int(text) for text in noted.episodes.split()]
    edges = [since_s + int(edge) for pair in given for edge in pair]
    if len(edges) != 2 * len(given) or episodes != sorted(episodes) or edges != sorted(edges):
        return None
    stretches = tuple(zip(edges[::2], edges[1::2], strict=True))
    group, known = (noted.cluster_ref, noted.group_id), map(_evicting_of, noted.evicting or ())
    evicting = tuple(each for each in known if durations.may_be_ours(each.until))
    hidden_until, values = durations.moment_of(noted.hidden_until), settings_of(noted.values)
    return EvictionHistory(since, values, tuple(episodes), stretches, group, evicting, hidden_until)


def _evicting_status(noted: EvictingSession) -> EvictingSessionStatus:
    return EvictingSessionStatus(
        session_timeout=durations.show(noted.session),
        episodes=noted.episodes,
        days=noted.days,
        on_days=noted.on_days,
        until=timestamp(noted.until),
        spec=noted.spec,
    )


def _evicting_of(noted: EvictingSessionStatus) -> EvictingSession:
    session, until = durations.parse(noted.session_timeout), datetime.fromisoformat(noted.until)
    return EvictingSession(session, noted.episodes, noted.days, noted.on_days, until, noted.spec)


def _effect_status(effect: Effect) -> EffectStatus:
    return EffectStatus(
        before=None if effect.before is None else _rate_status(effect.before), after=_rate_status(effect.after)
    )


def _rate_status(rate: EpisodeRate) -> EpisodeRateStatus:
    """Return a rate in figures that stay; days are rounded down, so that no day passes twice."""
    each = rate.stalled_each
    return EpisodeRateStatus(
        episodes=rate.episodes,
        days=math.floor(rate.days * _PARTS_OF_DAY) / _PARTS_OF_DAY,
        per_day_lower=float(f"{rate.lower:.3g}"),
        per_day_upper=_figure(rate.upper),
        stalled_partition_seconds_each=None if each is None else _figure(each),
        stalled_partition_seconds_per_day_lower=None if each is None else _figure(rate.lower * each),
        stalled_partition_seconds_per_day_upper=None if each is None else _figure(rate.upper * each),
    )


def _figure(number: float) -> float | None:
    """Return a number to three digits; None of one that a status cannot have."""
    return float(f"{number:.3g}") if math.isfinite(number) else None


def _effect(noted: EffectStatus) -> Effect:
    return Effect(None if noted.before is None else _rate(noted.before), _rate(noted.after))


def _rate(noted: EpisodeRateStatus) -> EpisodeRate:
    upper = math.inf if noted.per_day_upper is None else noted.per_day_upper
    return EpisodeRate(
        noted.episodes, noted.days, noted.per_day_lower, upper, stalled_each=noted.stalled_partition_seconds_each
    )


def _is_number(text: str) -> bool:
    """Whether a text is a number of seconds that a history may have."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS
