"""The sentences of an answer, with the numbers of the day."""

from typing import Final

from heartbeat_tuner.decision import rules
from heartbeat_tuner.decision.choosing import Point
from heartbeat_tuner.decision.foresight import figure
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings

NO_FIGURE: Final = "the rates and delays measured give no cost of what is set: they are beyond all that can be reckoned"


def changed(now: Point, new: Point) -> str:
    """Say what to set, and what that brings."""
    return (
        f"Set {_moves(now.settings, new.settings)}: {figure(new.net_per_day)} instead of {figure(now.net_per_day)} "
        f"stalled partition-seconds a day (beside {figure(now.floor_per_day)} that no setting can change); false "
        f"evictions a month {_evictions(new)} instead of {_evictions(now)}; a crash is noticed after "
        f"{figure(new.detection_s)} s instead of {figure(now.detection_s)} s"
    )


def halved(now: LivenessSettings, new: LivenessSettings) -> str:
    """Say that one step goes no further; empty where it need not."""
    session, limit, before = new.session_timeout, new.max_poll_interval, now.max_poll_interval
    short = session < now.session_timeout and session == rules.half_of(now.session_timeout)
    low = limit is not None and before is not None and limit < before and limit == rules.half_of(before)
    return "; one step at most halves a timeout: more may follow after rollout.cooldown" if short or low else ""


def left(now: Point, best: Point, per_month: float) -> str:
    """Say why what is set stays."""
    says = (
        f"Left as it is: {figure(now.net_per_day)} stalled partition-seconds a day, and the best that is safe "
        f"({_values(best.settings)}) costs {figure(best.net_per_day)}, which is not better by enough; false evictions "
        f"a month {_evictions(now)}"
    )
    if now.evictions_upper <= per_month:
        return says
    return f"{says}, where the objective allows {per_month:g}; the group's own record does not show more than that"


def too_little(watched_days: float, member_days: float) -> str:
    """Say that there are too few data for a change."""
    return (
        f"other values look better, but the group was watched for {figure(watched_days)} days and "
        f"{figure(member_days)} member-days only; at least one of each is needed"
    )


def unstable(now: Point, target: LivenessSettings | None) -> str:
    """Say that the group rebalances all the time, and what its record asks for."""
    says = _storm(now)
    return says if target is None else f"{says}; by its record, set {_moves(now.settings, target)}"


def calmed(now: Point, new: Point) -> str:
    """Say that the group rebalances all the time, and under which values it hardly would."""
    return (
        f"{_storm(now)}; set {_moves(now.settings, new.settings)}, and expect {new.rebalancing_share:.2%} of the day, "
        f"and false evictions a month {_evictions(new)}"
    )


def _storm(now: Point) -> str:
    return (
        f"the group is expected to rebalance for {now.rebalancing_share:.0%} of the day, where no cost can be reckoned"
    )


def _moves(before: LivenessSettings, after: LivenessSettings) -> str:
    return ", ".join(
        f"{one} {durations.show(before[one])} → {durations.show(after[one])}" for one in liveness.changed(before, after)
    )


def _values(settings: LivenessSettings) -> str:
    return ", ".join(f"{name} {durations.show(value)}" for name, value in settings.by_setting.items())


def _evictions(point: Point) -> str:
    return f"{figure(point.evictions_per_month)} (at most {figure(point.evictions_upper)})"
