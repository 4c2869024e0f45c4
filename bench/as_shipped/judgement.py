"""What the truth says of a group in the operator's hands, at the end of a day: never what the engine believes.

A group is judged by the values that are in force then, and by what its policy's status says then. J and false
evictions are those of the true profile (`bench.policies.outcome`), or of a play of it (`played`).
"""

import dataclasses
from typing import Final

from bench import policies
from bench.as_shipped.held_group import HeldGroup
from bench.observed import settings_of
from bench.quality_figures import Outcome
from bench.rare_events import rare_per_day
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Verdict
from heartbeat_tuner.models.failure_profile import Profile
from heartbeat_tuner.simulation.play import simulate

_EVENTS: Final = 600
_MOST_EVENTS: Final = 40_000
_MOST_DAYS: Final = 4_000.0


@dataclasses.dataclass(frozen=True)
class Yardstick:
    """What a group is judged against.

    Attributes:
        default: with the library's defaults.
        oracle: of who knows the truth, with a session as long as it likes; the defaults where nothing meets the
            objective.
        feasible: whether anything does.
        attainable: the same within the objective's detection time; where nothing meets that, the safest values.
        is_attainable: whether anything meets the whole objective.
    """

    default: Outcome
    oracle: Outcome
    feasible: bool
    attainable: Outcome
    is_attainable: bool


@dataclasses.dataclass(frozen=True)
class Standing:
    """One group at the end of a day.

    Attributes:
        name: of the group.
        client: its library.
        kind: what is remarkable about it.
        values: in force.
        outcome: of them, by the truth.
        yardstick: what that is judged against.
        objective: evictions a month that are allowed.
        verdict: of the last decision.
        reason: of its finding.
        hold: why its target is not written; empty where it is written, or where there is no target.
        bound: evictions a month at most, as the status says of the values in force; None where it says nothing.
        changes: that were written so far.
        reverts: how many of them took a change back.
        flips: how many brought back values that an earlier change had replaced.
        evicted: live members removed for silence so far.
        target: what is recommended; None where nothing is.
        target_outcome: of it, by the truth; that of the values in force where nothing is recommended.
        is_called_well: whether the status says that all is well, or that the objective is met.
    """

    name: str
    client: str
    kind: str
    values: LivenessSettings
    outcome: Outcome
    yardstick: Yardstick
    objective: float
    verdict: Verdict
    reason: str
    hold: str
    bound: float | None
    changes: int
    reverts: int
    flips: int
    evicted: int
    target: LivenessSettings | None
    target_outcome: Outcome
    is_called_well: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether other values than the library's defaults are in force."""
        return self.values != self.yardstick.default.settings

    @property
    def is_within(self) -> bool:
        """Whether the values in force truly meet the objective of evictions."""
        return self.outcome.evictions_per_month <= self.objective

    @property
    def is_vouched_falsely(self) -> bool:
        """Whether it was called well and is not, or evicts more than its bound says."""
        return self.is_above_bound or (self.is_called_well and not self.is_within)

    @property
    def is_above_bound(self) -> bool:
        """Whether it evicts more than its bound says."""
        return self.bound is not None and self.outcome.evictions_per_month > max(self.bound, _AS_GOOD_AS_NONE)


_AS_GOOD_AS_NONE: Final = 0.001
"""Evictions a month that a status rounds to none."""


def yardstick(asked: tuple[Profile, Objective]) -> Yardstick:
    """Return what a group is judged against, by its truth and the objective of its policy."""
    truth, objective = asked
    default = policies.outcome(truth, settings_of(truth))
    best = policies.oracle(truth)
    attainable = best
    if best is None or best.settings.session_timeout > objective.max_detection_time:
        attainable = policies.safest_or_cheapest(truth, longest=objective.max_detection_time)
    is_attainable = attainable is not None and attainable.within
    return Yardstick(default, best or default, best is not None, attainable or default, is_attainable)


def standing(held: HeldGroup, day: int, against: Yardstick) -> Standing | None:
    """Return how a group stands after so many days; None where nothing was decided yet."""
    decision, life = held.decision, held.life
    if decision is None:
        return None
    truth = life.truth(day - 1)
    target = decision.target if held.values != decision.target else None
    outcome = policies.outcome(truth, held.values)
    return Standing(
        name=life.name,
        client=truth.client,
        kind=life.group.kind.value,
        values=held.values,
        outcome=outcome,
        yardstick=against,
        objective=held.policy.objective.max_false_evictions_per_month,
        verdict=decision.verdict,
        reason=decision.finding.reason.value,
        hold="" if decision.hold is None else decision.hold.reason.value,
        bound=_bound(decision),
        changes=len(held.changes),
        reverts=held.reverts,
        flips=held.flips,
        evicted=held.evicted,
        target=target,
        target_outcome=outcome if target is None else policies.outcome(truth, target),
        is_called_well=_is_called_well(decision),
    )


def said_again(before: Standing, decision: Decision) -> Standing:
    """Return how a group with the same values stands by another decision; what is recommended stays unjudged."""
    return dataclasses.replace(
        before,
        verdict=decision.verdict,
        reason=decision.finding.reason.value,
        hold="" if decision.hold is None else decision.hold.reason.value,
        bound=_bound(decision),
        is_called_well=_is_called_well(decision),
    )


def _is_called_well(decision: Decision) -> bool:
    is_met = decision.proof is not None and decision.proof.reason is Reason.WITHIN_OBJECTIVE
    return is_met or decision.verdict is Verdict.HEALTHY


def _bound(decision: Decision) -> float | None:
    """Return how many evictions a month are said to come at most with the values in force; None where nothing is."""
    forecast = decision.forecast
    if forecast is None:
        return None
    in_force = forecast.now if decision.to_apply is None else forecast.new or forecast.now
    return in_force.evictions_upper


def played(asked: tuple[Profile, LivenessSettings, bool]) -> tuple[float, float]:
    """Return J, net of what no setting changes, and evictions a month of a play of some hundred rare events.

    Args:
        asked: what happens to the group, its settings, and whether all its members are restarted with each deploy.
    """
    truth, settings, deployed = asked
    rare = rare_per_day(truth)
    every = rare + truth.members * truth.pauses.per_day
    days = min(_EVENTS / rare, _MOST_EVENTS / every, _MOST_DAYS)
    play = simulate(truth, settings, days=days, seed=1, rollouts=deployed)
    return play.net_per_day, play.false_evictions_per_day * 30
