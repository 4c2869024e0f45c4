"""What a model says of settings: how many evictions are to be expected, and what a group needs.

Beyond what a record of an hour can show stand weeks of history. Where the record demands a cure, a model may ask for
more than the rule does, never for less; where it demands none, a model changes nothing and is only quoted. A quantity
whose tail was rejected says nothing.

An absence evicts a member if it outlasts what is left of the session when it begins: S less the age of the last beat,
which is anything up to P. Expectations are taken over all ages; what a group needs, at the oldest.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients.client import Client, Period
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.profile.usable_model import LEAST_DAYS, USED
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.durations import MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.limits.allowed_values import LONGEST, Limit, poll_limit_for
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import Fitted, QuantityModel, Unfitted
from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.model import Z_95

_AGES: Final = (np.arange(12) + 0.5) / 12
"""Ages of the last beat, as parts of P."""

_CACHED: Final = 2**15
"""Answers that are kept: models and settings stay for a day, cycles ask every minute, and a law takes half a ms."""

_RAREST: Final = 1e-30
"""Shares below this are none."""

_ONE_SEEN: Final = 1.0 + Z_95 + 1.35
"""The upper bound of a count of one (`shape_free`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """Evictions a month.

    Attributes:
        mean: how many are expected.
        upper: at most how many, at 95 %.
        unbounded: part of the times lie below the tail, so that there are more than that.
    """

    mean: float
    upper: float
    unbounded: bool = False

    def __str__(self) -> str:
        if self.unbounded:
            return f"more than {figure(self.mean)}"
        return f"{figure(self.mean)} (at most {figure(self.upper)})"


def session_wish(model: Fitted | Unfitted, per_month: float, period: timedelta) -> Limit | None:
    """Return the session that a model asks for; None if it says nothing of absences.

    Args:
        model: of the group.
        per_month: how many live members may be removed.
        period: between two heartbeats.
    """
    if isinstance(model, Unfitted) or ABSENCE not in model.model.quantities:
        return None
    needed_s = needed(model.model.quantities[ABSENCE], per_month)
    if needed_s is None:
        return None
    return Limit(_whole(period.total_seconds() + needed_s), _source(model))


def poll_wish(model: Fitted | Unfitted, client: Client) -> Limit | None:
    """Return the poll limit that a model asks for; None if none says anything of poll gaps.

    It is of the largest gap seen only: M has no ceiling of its own, and a handler that hangs is noticed no sooner.
    """
    quantity = None if isinstance(model, Unfitted) else model.model.quantities.get(POLL_GAP)
    if isinstance(model, Unfitted) or quantity is None or quantity.law is None or quantity.largest_s is None:
        return None
    gap = timedelta(seconds=min(quantity.largest_s, LONGEST.total_seconds()))
    return Limit(min(poll_limit_for(client, gap), LONGEST), _source(model))


@functools.lru_cache(maxsize=_CACHED)
def needed(quantity: QuantityModel, per_month: float) -> float | None:
    """Return the time in seconds that is exceeded no more often than so, by the fit's bound and the shape-free one.

    Args:
        quantity: its tail is what is asked.
        per_month: how often the group may see more than that; never is never certain, so infinite.
    """
    law = quantity.law
    if law is None or quantity.group_days < LEAST_DAYS:
        return None
    tail, per_day = law
    share = per_month / MONTH_DAYS / per_day
    if share < _RAREST:
        return math.inf
    fitted_s = tail.quantile_upper_s(min(share, tail.share))
    largest_s = tail.largest_s if quantity.largest_s is None else quantity.largest_s
    return max(fitted_s, shape_free.least_beyond_s(per_month / MONTH_DAYS, largest_s, quantity.group_days))


@functools.lru_cache(maxsize=_CACHED)
def expected(quantity: QuantityModel, limit: timedelta, age: timedelta = timedelta(0)) -> Expectation | None:
    """Return how often the group exceeds a limit; None if the quantity has no tail.

    Args:
        quantity: what is limited.
        limit: its timeout.
        age: how much of that can have passed already when it begins.
    """
    law = quantity.law
    if law is None or quantity.group_days < LEAST_DAYS:
        return None
    tail, per_day = law
    times = limit.total_seconds() - age.total_seconds() * _AGES
    times_in_tail = np.maximum(times, tail.threshold_s)  # below its threshold a tail knows nothing but that it is more
    largest_s = max(tail.largest_s if quantity.largest_s is None else quantity.largest_s, tail.threshold_s)
    beyond = shape_free.beyond_per_day(times_in_tail, largest_s, quantity.group_days)
    counted = np.where(times_in_tail < largest_s, _ONE_SEEN / quantity.group_days, beyond)
    return Expectation(
        mean=MONTH_DAYS * per_day * float(tail.sf(times_in_tail).mean()),
        upper=MONTH_DAYS * float(np.maximum(per_day * tail.exceedance_upper(times_in_tail), counted).mean()),
        unbounded=bool(np.any(times < tail.threshold_s)),
    )


def per_day_at_most(fitted: Fitted, values: LivenessSettings, beats: Period) -> float:
    """Return how many members a day a model expects to be evicted at most, for silence and for not polling.

    Args:
        fitted: the model.
        values: that are set.
        beats: between two heartbeats.

    Returns:
        The group's evictions a day, at 95 %; infinite where a limit lies below what a tail knows.
    """
    expectations = [each for each in (_silent(fitted, values, beats), _late(fitted, values)) if each is not None]
    if any(each.unbounded for each in expectations):
        return math.inf
    return sum(each.upper for each in expectations) / MONTH_DAYS


def outlook(
    model: Fitted | Unfitted,
    period: Callable[[LivenessSettings], Period],
    current: LivenessSettings | None,
    target: LivenessSettings | None,
    evidence: EvictionEvidence | None = None,
) -> str:
    """Return what the model expects of the settings in force, and of those recommended; or why no model says so.

    Args:
        model: of the group.
        period: between two heartbeats, by the settings.
        current: what is set; None while the pods differ.
        target: what is recommended, if anything is.
        evidence: what was counted with the settings in force; None where nothing was.
    """
    if isinstance(model, Unfitted):
        return f"No fitted model: {model.message}"
    silent = None if current is None else _silent(model, current, period(current))
    if evidence is not None and silent is not None and not silent.unbounded and evidence.refutes(silent.upper):
        return say(
            "{source} expects {expected} evictions a month for silence at the values set; {least:.2g} at least were "
            "counted, so nothing is promised by its law alone",
            source=_source(model),
            expected=str(silent),
            least=Reading(evidence.lower_per_month),
        )
    whose = ((current, "the values set"), (target, "those recommended"))
    parts = [_expectations(model, values, period(values), name) for values, name in whose if values is not None]
    sentences = ", ".join(part for part in parts if part)
    says = f"expects evictions a month: {sentences}" if sentences else "says nothing of the values set"
    return f"{_source(model)} {says}{_kept(model)}{_regimes(model)}"


def _expectations(fitted: Fitted, values: LivenessSettings, beats: Period, whose: str) -> str:
    expectations = [
        f"{expectation} for {why}"
        for expectation, why in ((_silent(fitted, values, beats), "silence"), (_late(fitted, values), "not polling"))
        if expectation is not None
    ]
    return f"{' and '.join(expectations)} at {whose}" if expectations else ""


def _silent(fitted: Fitted, values: LivenessSettings, beats: Period) -> Expectation | None:
    absences = fitted.model.quantities.get(ABSENCE)
    return None if absences is None else expected(absences, values.session_timeout, beats.longest)


def _late(fitted: Fitted, values: LivenessSettings) -> Expectation | None:
    gaps, limit = fitted.model.quantities.get(POLL_GAP), values.max_poll_interval
    return None if gaps is None or limit is None else expected(gaps, limit)


def _kept(fitted: Fitted) -> str:
    """Say which tails are not of the newest fit."""
    tails = {name: model.kept for name, model in sorted(fitted.model.quantities.items()) if name in USED}
    sentence = ", ".join(
        f"{name} of days until {earlier_tail.until}" for name, earlier_tail in tails.items() if earlier_tail is not None
    )
    return f"; the newest fit was rejected, so these are older: {sentence}" if sentence else ""


def _regimes(fitted: Fitted) -> str:
    """Say which quantities are of a new regime, and so of few days."""
    begun = {name: model.regime_since for name, model in sorted(fitted.model.quantities.items()) if name in USED}
    sentence = ", ".join(f"{name} since {day}" for name, day in begun.items() if day is not None)
    return f"; longer than on all days before, which do not count any more: {sentence}" if sentence else ""


def _source(fitted: Fitted) -> str:
    return f"ConsumerGroupModel {fitted.name} ({fitted.model.days} days until {fitted.model.until})"


def _whole(time_s: float) -> timedelta:
    """Return a time rounded up to whole seconds, no longer than Kafka's settings can say."""
    longest_s = LONGEST.total_seconds()
    return min(durations.ceil_to_second(timedelta(seconds=min(time_s, longest_s))), LONGEST)


def figure(number: float) -> str:
    """Return two significant digits; what is hardly anything, as such."""
    return "under 0.01" if number < 0.01 else f"{float(f'{number:.2g}'):g}"  # noqa: PLR2004 - a hundredth
