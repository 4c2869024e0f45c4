"""Who sets a group's values: nobody, a rule of thumb, somebody who knows the truth, and the tuner.

All get the same bounds and the same objective. What a choice is worth, the truth says (`outcome`).
"""

import dataclasses
import itertools
import zlib
from datetime import timedelta
from typing import Final

import numpy as np

from bench.observed import Seen, settings_of
from bench.quality_figures import OBJECTIVE, Outcome
from heartbeat_tuner.clients import catalogue as clients
from heartbeat_tuner.decision.cost.cost_model import Costs, costs
from heartbeat_tuner.decision.optimize import answer_sentences, tuning
from heartbeat_tuner.decision.optimize.questions import Answer, ModelHistory, Question
from heartbeat_tuner.decision.profile import group_facts
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.durations import MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.gpd import Array

HORIZON: Final = timedelta(days=14)

_CLASSIC: Final = {
    Setting.SESSION_TIMEOUT: Range(timedelta(seconds=6), timedelta(seconds=1800)),
    Setting.HEARTBEAT_INTERVAL: Range(timedelta(seconds=1), timedelta(seconds=15)),
}
"""What brokers allow unless told otherwise, and for H what a member may cost."""

AT_BROKER: Final = dict(_CLASSIC)
"""The same of groups of the consumer protocol, where brokers and controllers were given the bounds of classic groups:
with Kafka's own, sessions of 45 s to 60 s, there is next to nothing to choose."""

_INTERVALS_S: Final = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0)
_SESSIONS_S: Final[Array] = np.concatenate(
    (np.arange(6.0, 30.0, 0.5), np.arange(30.0, 60.0), np.geomspace(60, 1800, 88))
)
_LIMITS_S: Final[Array] = np.geomspace(20, 3600, 28)
_RULE: Final = 1.5


def bounds(profile: Profile) -> dict[Setting, Range]:
    """Return the range that a group's values may lie in."""
    return dict(AT_BROKER if profile.rebalancing is Rebalancing.CONSUMER else _CLASSIC)


def outcome(truth: Profile, settings: LivenessSettings) -> Outcome:
    """Return what settings come to in a group."""
    found = _costs(truth, settings, np.array([settings.session_timeout.total_seconds()]))
    return _outcome(settings, found, 0)


def _costs(truth: Profile, settings: LivenessSettings, sessions_s: Array) -> Costs:
    limit = settings.max_poll_interval
    return costs(
        truth,
        interval_s=settings.heartbeat_interval.total_seconds(),
        wait_s=settings.fetch_wait.total_seconds(),
        poll_limit_s=None if limit is None else limit.total_seconds(),
        sessions_s=sessions_s,
    )


def _outcome(settings: LivenessSettings, found: Costs, place: int) -> Outcome:
    net = float(found.net_per_day[place])
    return Outcome(settings, net, net + found.floor_per_day, float(found.evictions_per_month[place]))


def rule_of_thumb(truth: Profile, seen: Seen) -> LivenessSettings:
    """Return what many do: half as much again as the longest absence that showed, and a third of it between beats."""
    settings, within = settings_of(truth), bounds(truth)
    if not seen.largest_absence_s:
        return settings
    session_s = _clipped(_RULE * seen.largest_absence_s, within[Setting.SESSION_TIMEOUT])
    interval_s = _clipped(session_s / 3, within[Setting.HEARTBEAT_INTERVAL])
    return _sound(truth, _with(settings, session_s, interval_s))


def oracle(truth: Profile) -> Outcome | None:
    """Return the cheapest settings within bounds and objective that there are for who knows the truth.

    Args:
        truth: what happens to the group.

    Returns:
        None where nothing meets the objective.
    """
    best = safest_or_cheapest(truth)
    return best if best is not None and best.within else None


def safest_or_cheapest(truth: Profile, longest: timedelta | None = None) -> Outcome | None:
    """Return the cheapest settings within bounds and objective or, where nothing meets it, the safest.

    Args:
        truth: what happens to the group.
        longest: that a session may be; None: as long as the bounds allow.

    Returns:
        None where no settings are sound.
    """
    start, sessions_s = settings_of(truth), _sessions_s(truth)
    if longest is not None:
        sessions_s = sessions_s[sessions_s <= longest.total_seconds()]
    limits = [start.max_poll_interval]
    if clients.client(truth.client).hung.has_limit:
        limits = [timedelta(seconds=round(limit_s)) for limit_s in _LIMITS_S]
    best: Outcome | None = None
    # M and the rest meet only in what a rebalance costs: in turns, they find their common best.
    for _ in range(2):
        chosen = start if best is None else best.settings
        found = [_best(truth, dataclasses.replace(chosen, max_poll_interval=limit), sessions_s) for limit in limits]
        limit = _cheapest(found, start).settings.max_poll_interval
        found = [
            _best(
                truth,
                dataclasses.replace(_with_interval(chosen, interval_s, wait), max_poll_interval=limit),
                sessions_s,
            )
            for interval_s, wait in itertools.product(_INTERVALS_S, (True, False))
            if _inside(interval_s, bounds(truth)[Setting.HEARTBEAT_INTERVAL])
            and (wait or clients.client(truth.client).beat_waits_for_fetch)
        ]
        best = _cheapest([*found, *([] if best is None else [best])], start)
    return best


def _best(truth: Profile, settings: LivenessSettings, sessions_s: Array) -> Outcome | None:
    """Return the best S with everything else as it is: the cheapest within the objective, or else the safest."""
    client = clients.client(truth.client)
    sound = [
        session_s
        for session_s in sessions_s
        if not client.violations(_with(settings, float(session_s), settings.heartbeat_interval.total_seconds()))
    ]
    if not sound:
        return None
    found = _costs(truth, settings, np.array(sound))
    within = found.evictions_per_month <= OBJECTIVE.max_false_evictions_per_month
    ranks = np.where(within, found.net_per_day, np.inf) if within.any() else found.evictions_per_month
    place = int(np.argmin(ranks))
    return _outcome(_with(settings, float(sound[place]), settings.heartbeat_interval.total_seconds()), found, place)


def _cheapest(found: list[Outcome | None], start: LivenessSettings) -> Outcome:
    some = [item for item in found if item is not None]
    if not some:
        return Outcome(start, np.inf, np.inf, np.inf)
    return min(
        some,
        key=lambda candidate: (
            not candidate.within,
            candidate.net_per_day if candidate.within else candidate.evictions_per_month,
        ),
    )


_STEPS: Final = 12
"""More than halvings from the longest session to the shortest."""


def tuned(truth: Profile, model: GroupModel, seen: Seen) -> Answer:
    """Return what the tuner makes of a group in the end, step by step, by its model and its records only.

    One step at most halves S and M. After one that did it is asked again, a day (the default cooldown) later, with what
    was set and the evictions of that day. The model stays, as if the days went on alike.
    """
    facts = Facts(
        client=truth.client,
        rebalancing=truth.rebalancing,
        members=truth.members,
        partitions=truth.partitions,
        static=truth.static,
        surge=truth.surge,
    )
    unfit = group_facts.unfit(model)
    if unfit is not None:
        return Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, unfit.message)
    within = bounds(truth)
    session = within[Setting.SESSION_TIMEOUT]
    asked = Question(
        history=ModelHistory(model, facts),
        current=settings_of(truth),
        objective=OBJECTIVE,
        bounds=within,
        least_session=session.min or timedelta(seconds=6),
        most_session=session.max or timedelta(seconds=1800),
        watched_days=seen.days,
        member_days=seen.member_days,
        evictions=seen.evictions,
        evictions_days=seen.days,
        largest_absence_s=seen.largest_absence_s,
        largest_poll_gap_s=seen.largest_poll_gap_s,
        horizon=HORIZON,
    )
    first = tuning.answer(asked)
    last, rng = first, np.random.default_rng(zlib.crc32(model.group.encode()))
    for _ in range(_STEPS):
        if last.target is None or not answer_sentences.halved(asked.current, last.target):
            break
        a_day = outcome(truth, last.target).evictions_per_month / MONTH_DAYS
        asked = dataclasses.replace(asked, current=last.target, evictions=int(rng.poisson(a_day)), evictions_days=1.0)
        last = tuning.answer(asked)
    return first if first.target is None else dataclasses.replace(first, target=last.target or asked.current)


def _sessions_s(truth: Profile) -> Array:
    within = bounds(truth)[Setting.SESSION_TIMEOUT]
    return np.array([item for item in _SESSIONS_S if _inside(float(item), within)])


def _inside(time_s: float, within: Range) -> bool:
    time = timedelta(seconds=time_s)
    return (within.min is None or time >= within.min) and (within.max is None or time <= within.max)


def _clipped(time_s: float, within: Range) -> float:
    least_s = 0.0 if within.min is None else within.min.total_seconds()
    most_s = np.inf if within.max is None else within.max.total_seconds()
    return float(np.clip(time_s, least_s, most_s))


def _milliseconds(time_s: float) -> timedelta:
    return timedelta(milliseconds=round(time_s * 1000))


def _with(settings: LivenessSettings, session_s: float, interval_s: float) -> LivenessSettings:
    return dataclasses.replace(
        settings, session_timeout=_milliseconds(session_s), heartbeat_interval=_milliseconds(interval_s)
    )


def _with_interval(settings: LivenessSettings, interval_s: float, wait: bool) -> LivenessSettings:  # noqa: FBT001 - private
    """Return other H; and W as it is, or as long as H."""
    interval = _milliseconds(interval_s)
    return dataclasses.replace(
        settings, heartbeat_interval=interval, fetch_wait=settings.fetch_wait if wait else interval
    )


def _sound(truth: Profile, settings: LivenessSettings) -> LivenessSettings:
    """Return the settings with M raised where the library wants it to cover S."""
    client = clients.client(truth.client)
    if not client.limit_violations(settings) or settings.max_poll_interval is None:
        return settings
    return dataclasses.replace(settings, max_poll_interval=max(settings.max_poll_interval, settings.session_timeout))
