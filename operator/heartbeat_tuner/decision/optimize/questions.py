"""The nouns of tuning: what is asked of a group, and what is answered."""

import dataclasses
import functools
import math
from collections.abc import Hashable, Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.decision.profile import group_profile
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective, Policy, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, ObjectivePrice, Prediction, Verdict
from heartbeat_tuner.limits.allowed_values import Limit
from heartbeat_tuner.models.failure_profile import Profile
from heartbeat_tuner.models.group_model import GroupModel

CONSUMER_INTERVAL: Final = Range(timedelta(seconds=5), timedelta(seconds=15))
"""H that a broker accepts for groups of KIP-848, where nothing else is set."""

SURE: Final = {Confidence.HIGH: (14.0, 30.0), Confidence.MEDIUM: (7.0, 7.0)}
"""From how many days, and member-days, on: two weeks with two of each weekday, and a month of an objective."""


@dataclasses.dataclass(frozen=True)
class ModelHistory:
    """What happens to a group by its model, worked out when somebody needs it: that takes a millisecond.

    Attributes:
        model: what its history says.
        facts: the group as it is now.
    """

    model: GroupModel
    facts: Facts

    @functools.cached_property
    def profile(self) -> Profile:
        """What happens to the group, expected and at most."""
        return group_profile.profile(self.model, self.facts)


_OF_THE_MODEL: Final = frozenset(
    {"watched_days", "member_days", "largest_absence_s", "largest_poll_gap_s", "gaps_watched_days", "gaps_member_days"}
)
"""Fields of a question that its model says."""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """All that an answer rests on. Nothing in it moves while nothing happens, so that an answer may be remembered.

    Attributes:
        history: what happens to the group, by its model; or as somebody knows it.
        current: what is set.
        objective: what the group must hold.
        bounds: the policy's, by setting.
        least_session: the shortest that the broker accepts.
        most_session: the longest that the broker accepts.
        watched_days: the span of the data behind `profile`.
        member_days: the same, of all members together.
        evictions: false ones in the group's own record.
        evictions_days: the span of that record.
        largest_absence_s: that was seen; None where absences are not measured.
        largest_poll_gap_s: that was seen; None where poll gaps are not measured: M is then left alone.
        horizon: within which a change must have paid for its own restarts.
        broker_interval: H that the broker accepts; asked of groups of KIP-848 alone.
        held: the least H that the budget of the cluster's heartbeats leaves; None where it leaves any.
        gaps_watched_days: the span of the poll gaps seen; infinite where they were seen for as long as all else.
        gaps_member_days: the same, of all members together.
        brokers: of the Kafka cluster.
        bounds_assumed: the broker's bounds could not be read, and are those of one that nobody configured.
        fixed: the settings that are not asked for, and stay as they are.
        baseline: what stood before the first of our changes that led to what is set; None where somebody else set that.
    """

    history: ModelHistory | Profile
    current: LivenessSettings
    objective: Objective
    bounds: Mapping[Setting, Range]
    least_session: timedelta
    most_session: timedelta
    watched_days: float
    member_days: float
    evictions: int
    evictions_days: float
    largest_absence_s: float | None
    largest_poll_gap_s: float | None
    horizon: timedelta
    broker_interval: Range = CONSUMER_INTERVAL
    held: Limit | None = None
    gaps_watched_days: float = math.inf
    gaps_member_days: float = math.inf
    brokers: int = 1
    bounds_assumed: bool = False
    fixed: frozenset[Setting] = frozenset()
    baseline: LivenessSettings | None = None

    @property
    def profile(self) -> Profile:
        """What happens to the group, expected and at most."""
        return self.history if isinstance(self.history, Profile) else self.history.profile

    @property
    def key(self) -> Hashable:
        """All of it but what the model says, of which only whose it is; None where there is no model."""
        if isinstance(self.history, Profile):
            return None
        model, left_out = self.history.model, {"history", "bounds", *_OF_THE_MODEL}
        rest = (getattr(self, field) for field in self.__slots__ if field not in left_out)
        whose = (model.namespace, model.group, model.cluster)
        return (whose, self.history.facts, frozenset(self.bounds.items()), *rest)

    def without_record(self) -> "Question":
        """Return the same of a group that nobody watched."""
        return dataclasses.replace(self, evictions=0, evictions_days=0.0)

    def rests_on(self, target: LivenessSettings) -> tuple[float, float]:
        """Return the days, and member-days, behind a change; gaps between polls speak for a lower M, too."""
        if not guard.lowers_poll_limit(self.current, target):
            return self.watched_days, self.member_days
        return min(self.watched_days, self.gaps_watched_days), min(self.member_days, self.gaps_member_days)


def baseline(policy: Policy, current: LivenessSettings) -> LivenessSettings | None:
    """Return what stood before the first of our changes that led to what is set; None where somebody else set that.

    Where an older version noted no more than our last change, it is what stood before that; a revert has none then.

    Args:
        policy: with our last change.
        current: what is set.
    """
    change = policy.application
    if change is None or change.values != current:
        return None
    return change.baseline or (change.previous if change.reverts is None else None)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What to do, and why.

    Attributes:
        verdict: at a glance; unknown with a target where only a record can say that it would help.
        reason: of it.
        message: the sentence with its numbers.
        target: the values that should be set; None where nothing should be changed.
        lower: the least S that costs about the same as the best; None where none is known.
        upper: the greatest.
        uncapped: the best values without the policy's bounds, where these are others.
        now: what the values set bring; None where that is unknown.
        new: what the target brings.
        objective_met: whether false evictions are within the objective, at 95 %, with what will be in force.
        wait_for_restart: the change does not pay for a rollout of its own within the horizon.
        only_recommend: there is too little data to make the change, and enough to show it.
        confidence: how much data all this rests on.
        price: of the objective, where the values that are sure to meet it cost more than is paid for it.
    """

    verdict: Verdict
    reason: Reason
    message: str
    target: LivenessSettings | None = None
    lower: timedelta | None = None
    upper: timedelta | None = None
    uncapped: LivenessSettings | None = None
    now: Prediction | None = None
    new: Prediction | None = None
    objective_met: bool | None = None
    wait_for_restart: bool = False
    only_recommend: bool = False
    confidence: Confidence = Confidence.LOW
    price: ObjectivePrice | None = None
