"""A group played out under what is set and under something else, beside what the formulas say of both."""

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.cost.cost_model import Costs
from heartbeat_tuner.decision.optimize import explanation
from heartbeat_tuner.domain.durations import DAY_S, MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.simulation import play
from heartbeat_tuner.simulation.play import Played

MOST_EVENTS: Final = 3_000_000
"""Some minutes of a processor."""

ROLLOUT_DAYS: Final = 40.0
ROLLOUTS_PER_DAY: Final = 0.25
"""Ten rollouts, one long over before the next begins."""

_LEAST_DAYS: Final = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFigures:
    """What one way of computing says of one set of values.

    Attributes:
        evictions_per_month: live members removed, of the whole group.
        rebalances_per_day: of the whole group.
        stalled_per_day: partition-seconds, beyond what no setting can change.
        floor_per_day: those that no setting can change.
        detection_s: from a crash to the removal, on average; None where none was played.
        rollout: partition-seconds of replacing every pod once; None where that is not asked.
    """

    evictions_per_month: float
    rebalances_per_day: float
    stalled_per_day: float
    floor_per_day: float
    detection_s: float | None
    rollout: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """One set of values, played and computed.

    Attributes:
        settings: the values.
        static: whether members have a `group.instance.id`.
        played: what so many days brought.
        formula: what the closed formulas say; they hold only while rebalances are rare.
    """

    settings: LivenessSettings
    static: bool
    played: GroupFigures
    formula: GroupFigures


def scene(
    profile: Profile,
    settings: LivenessSettings,
    *,
    days: float,
    seed: int,
    rollout: bool,
    progress: Callable[[float], object] | None = None,
) -> Scene:
    """Play a group out, and compute the same.

    Args:
        profile: what happens to the group.
        settings: that all members have.
        days: how long.
        seed: of chance.
        rollout: whether to play rollouts, too.
        progress: is called with the share that is done.

    Raises:
        UsageProblem: that would take too many events.
    """
    reckoned = _reckoned(profile, settings)
    _affordable(profile, settings, reckoned, days, rollout=rollout)
    in_turn = profile.restarts_in_turn
    played = play.simulate(profile, settings, days=days, seed=seed, rollouts=in_turn, progress=progress)
    rolled = _rolled(profile, settings, seed) if rollout else None
    formula = GroupFigures(
        float(reckoned.evictions_per_month[0]),
        float(reckoned.rebalances_per_day[0]),
        float(reckoned.net_per_day[0]),
        reckoned.floor_per_day,
        float(reckoned.detection_s[0]),
        _rollout_cost(profile, settings) if rollout else None,
    )
    return Scene(settings, profile.static, _figures(played, rolled), formula)


def _figures(played: Played, rolled: float | None) -> GroupFigures:
    return GroupFigures(
        played.false_evictions_per_day * MONTH_DAYS,
        played.rebalances_per_day,
        played.net_per_day,
        played.floor_per_day,
        played.detections_s.get("crashes"),
        rolled,
    )


def _reckoned(profile: Profile, settings: LivenessSettings) -> Costs:
    limit = allowed_values.poll_limit(catalogue.client(profile.client), settings)
    with np.errstate(all="ignore"):
        return cost_model.costs(
            profile,
            interval_s=settings.heartbeat_interval.total_seconds(),
            wait_s=settings.fetch_wait.total_seconds(),
            poll_limit_s=None if limit is None else limit.total_seconds(),
            sessions_s=np.array([settings.session_timeout.total_seconds()]),
        )


def _rollout_cost(profile: Profile, settings: LivenessSettings) -> float:
    return cost_model.rollout_cost(
        profile,
        interval_s=settings.heartbeat_interval.total_seconds(),
        wait_s=settings.fetch_wait.total_seconds(),
        session_s=settings.session_timeout.total_seconds(),
    )


def _rolled(profile: Profile, settings: LivenessSettings, seed: int) -> float | None:
    """Return what a rollout costs, on average over some of them; None if chance brought none."""
    played = play.simulate(_rolling(profile), settings, days=ROLLOUT_DAYS, seed=seed, rollouts=True)
    return played.stalled_per_day["restarts"] * played.days / played.rollouts if played.rollouts else None


def _rolling(profile: Profile) -> Profile:
    """Return the group to which nothing happens but rollouts."""
    calm = explanation.without(profile, "pauses", "node_pauses", "outages", "crashes", "hangs")
    return dataclasses.replace(calm, restarts=dataclasses.replace(profile.restarts, per_day=ROLLOUTS_PER_DAY))


def _affordable(profile: Profile, settings: LivenessSettings, reckoned: Costs, days: float, *, rollout: bool) -> None:
    """Refuse what would take too many events.

    Raises:
        UsageProblem: it does.
    """
    per_day = events_per_day(profile, settings, reckoned)
    rolls = 0.0
    if rollout:
        calm = _rolling(profile)
        rolls = ROLLOUT_DAYS * events_per_day(calm, settings, _reckoned(calm, settings))
        rolls += ROLLOUT_DAYS * ROLLOUTS_PER_DAY * profile.members**2
    if per_day * days + rolls <= MOST_EVENTS:
        return
    enough = (MOST_EVENTS - rolls) / per_day
    shorter = f"choose at most --days {enough:.2g}" if enough >= _LEAST_DAYS else "play a smaller group"
    raise UsageProblem(
        f"--days {days:g}: {profile.members} members with these values have about "
        f"{(per_day * days + rolls) / 1e6:.0f} million events in that time, of which {MOST_EVENTS / 1e6:.0f} million "
        f"are played at most; {shorter}"
    )


def events_per_day(profile: Profile, settings: LivenessSettings, reckoned: Costs) -> float:
    """Return roughly how many events a day of a group has."""
    client, own = catalogue.client(profile.client), (profile.pauses, profile.crashes, profile.restarts, profile.hangs)
    events = (
        profile.members * sum(failure_process.per_day for failure_process in own)
        + profile.node_pauses.per_day
        + profile.outages.per_day
    )
    if profile.slow_handlers is not None:
        events += profile.members * profile.slow_handlers.per_day
    elif client.handler_delays_beat:
        bearable_s = max((settings.session_timeout - settings.heartbeat_interval).total_seconds(), 0.0)
        late = float(profile.handlers.sf(bearable_s))
        events += profile.members * late * DAY_S / max(profile.handlers.mean_s, 1e-3)
    most = DAY_S / max(profile.settle_s, 0.1)  # a group that rebalances without end
    rebalances = float(reckoned.rebalances_per_day[0])
    each = 1 if profile.rebalancing is Rebalancing.CONSUMER else profile.members
    return events + each * (min(rebalances, most) if np.isfinite(rebalances) else most)
