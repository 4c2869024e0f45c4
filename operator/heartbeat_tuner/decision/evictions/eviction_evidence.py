"""What weeks of a group's own evictions say of the values that are set: of how many a month nobody may promise less.

A record has an hour at most, and three evictions a day are one in a record, or none. The history that a policy's status
keeps (`domain.verifications.EvictionHistory`) has the episodes of up to four weeks, and survives leaders. Those since
the last change landed, over the time in which something could be learnt, bound the rate by Garwood's interval: the
quantiles of gamma laws. An episode is one eviction at least.
"""

import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.decision.evictions.assessment import ENOUGH_EVICTIONS
from heartbeat_tuner.domain.durations import DAY_S, MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.domain.verdicts import Forecast, Prediction
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange
from heartbeat_tuner.tails import count_bounds

_SURE: Final = 0.95

_STORM: Final = 1e-5
"""As many episodes as an hour of these weeks has so rarely, once in eleven years, are something new."""

_PARTS_OF_DAY: Final = 4
"""Days are rounded down to such parts, so that a status with these figures stays for hours."""

LEAST_DAYS: Final = 1.0
"""Of less than a day the record of the hour speaks."""

LONGEST: Final = timedelta(days=42)
"""Months without an eviction before that do not thin out those that come now."""


@dataclasses.dataclass(frozen=True, slots=True)
class EvictionEvidence:
    """Episodes of evictions with the values that are set.

    Attributes:
        episodes: that were counted.
        days: in which they could be.
        on_days: how many days of 24 hours, each from an episode on, have all of them.
    """

    episodes: int
    days: float
    on_days: int

    @property
    def per_month(self) -> float:
        """The mean rate in 30 days."""
        return self.episodes / self.days * MONTH_DAYS

    @property
    def lower_per_month(self) -> float:
        """At 95 %, the rate in 30 days is above it; 0 without an episode."""
        if not self.episodes:
            return 0.0
        return count_bounds.gamma_quantile(float(self.episodes), 1.0 - _SURE) / self.days * MONTH_DAYS

    @property
    def upper_per_month(self) -> float:
        """At 95 %, the rate in 30 days is below it."""
        return count_bounds.gamma_quantile(self.episodes + 1.0, _SURE) / self.days * MONTH_DAYS

    def is_dangerous(self, per_month: float) -> bool:
        """Whether live members are removed more often than an objective allows, and not on a single bad day."""
        return self.episodes >= ENOUGH_EVICTIONS and self.on_days > 1 and self.per_month > per_month

    def refutes(self, promised_per_month: float) -> bool:
        """Whether at most so many a month cannot have been promised."""
        return self.lower_per_month > promised_per_month

    def explains(self, hour: "EvictionEvidence") -> bool:
        """Whether a record is one of these weeks', and no storm: so many episodes come by chance at their rate.

        Args:
            hour: what was counted in the record.
        """
        if not hour.episodes:
            return True
        by_chance = count_bounds.gamma_quantile(float(hour.episodes), _STORM)
        return by_chance <= self.upper_per_month / MONTH_DAYS * hour.days

    def held_to(self, forecast: Forecast) -> Forecast:
        """Return what may be promised: of what is set what was counted, where that refutes it; of others then nothing.

        Args:
            forecast: what a model promises.
        """
        now = forecast.now
        if not self.refutes(now.evictions_upper):
            return forecast
        counted = dataclasses.replace(
            now,
            evictions_per_month=max(now.evictions_per_month, self.per_month),
            evictions_upper=self.upper_per_month,
        )
        return dataclasses.replace(forecast, now=counted, new=self._of_target(forecast))

    def _of_target(self, forecast: Forecast) -> Prediction | None:
        """Return what may be promised of other values by a law that was refuted: more evictions than counted alone."""
        new = forecast.new
        return new if new is not None and not self.refutes(new.evictions_upper) else None

    def shown(self, per_month: float) -> Sentence:
        """Return the sentence with its numbers.

        Args:
            per_month: what the objective allows.
        """
        return say(
            "{episodes} times live members were evicted within {watchedDays:.3g} days with the values set (at least "
            "{least:.2g} times a month, at 95 %), where the objective allows {objective:g} a month",
            episodes=Reading(self.episodes),
            watchedDays=Reading(self.days),
            least=Reading(self.lower_per_month),
            objective=per_month,
        )


def since_the_change(
    history: EvictionHistory | None,
    policy: Policy,
    followed: FollowedChange | None,
    current: LivenessSettings | None,
    now: datetime,
) -> EvictionEvidence | None:
    """Return what was counted with the values that are set; None where that is less than a day, or of other values.

    Args:
        history: of the group.
        policy: with our last change.
        followed: how far that is.
        current: what is set; None while the pods differ.
        now: the moment of it.
    """
    since = begins(history, policy, followed, current)
    return None if history is None or since is None else counted(history, max(since, now - LONGEST), now)


def begins(
    history: EvictionHistory | None,
    policy: Policy,
    followed: FollowedChange | None,
    current: LivenessSettings | None,
) -> datetime | None:
    """Return since when a history has evictions with the values that are set; None where it is of other values.

    Args:
        history: of the group.
        policy: with our last change.
        followed: how far that is.
        current: what is set; None while the pods differ.
    """
    if history is None or current is None or history.values != current:
        return None
    since_s = history.since.timestamp()
    change = policy.application
    if change is not None and change.values == current:
        landed = None if followed is None or followed.at != change.at else followed.landed
        since_s = max(since_s, (landed or change.at).timestamp())
    write = policy.group_write
    if write is not None and followed is not None and followed.at == write.at:
        since_s = max(since_s, (followed.landed or write.at).timestamp())
    return datetime.fromtimestamp(since_s, UTC)


def counted(history: EvictionHistory, since: datetime, until: datetime) -> EvictionEvidence | None:
    """Return what was counted between two moments; None where something could be learnt for less than a day.

    Args:
        history: of the group.
        since: from.
        until: to.
    """
    exact = count(history, since, until)
    if exact.days < LEAST_DAYS:
        return None
    return dataclasses.replace(exact, days=math.floor(exact.days * _PARTS_OF_DAY) / _PARTS_OF_DAY)


def count(history: EvictionHistory, since: datetime, until: datetime) -> EvictionEvidence:
    """Return what was counted between two moments, however short the time is; its days are exact.

    Args:
        history: of the group.
        since: from.
        until: to.
    """
    since_s, until_s = since.timestamp(), until.timestamp()
    hidden_s = sum(max(0.0, min(end_s, until_s) - max(begun_s, since_s)) for begun_s, end_s in history.left_out)
    begun_s = [at_s for at_s in history.episodes_s if since_s <= at_s <= until_s]
    return EvictionEvidence(len(begun_s), (until_s - since_s - hidden_s) / DAY_S, _on_days(begun_s))


def _on_days(begun_s: Sequence[float]) -> int:
    """Return how many days of 24 hours, each from an episode on, have all of them."""
    on_days, ends_s = 0, -math.inf
    for at_s in begun_s:
        if at_s >= ends_s:
            on_days, ends_s = on_days + 1, at_s + DAY_S
    return on_days
