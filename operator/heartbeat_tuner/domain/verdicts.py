"""What was decided for one group, and why.

`decision` makes a `Decision`; `reconcile` carries it out and reports it. A decision is complete: its sentences hold
every number that `kubectl describe` shows, as facts with names (`sentences`), so that nobody has to read them back.
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from heartbeat_tuner.domain import sentences
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join


class Verdict(enum.StrEnum):
    """The answer at a glance."""

    HEALTHY = "Healthy"  # nothing is better by enough, and it is shown that the objective is met
    UNPROVEN = "Unproven"  # nothing is better by enough, and it is not shown that the objective is met
    CHANGE = "Change"
    INFEASIBLE = "Infeasible"
    UNKNOWN = "Unknown"  # there are no data to decide on


LEAVES_THE_VALUES: Final = frozenset({Verdict.HEALTHY, Verdict.UNPROVEN})
"""Verdicts that ask for nothing: no values are known to be better by enough than those set."""


def headline(verdict: str, reason: str | None) -> str:
    """Return a verdict with its reason, as one line; a reason that says the same is left out."""
    return verdict if reason in {None, "", verdict} else f"{verdict}: {reason}"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A reason with the sentence that carries its facts.

    Attributes:
        reason: why something is so.
        message: for people; made with `sentences.say`, it has its facts for programs, too.
    """

    reason: Reason
    message: str

    @property
    def facts(self) -> Mapping[str, float | str]:
        """What was found, by name."""
        return sentences.facts(self.message)


LEAST_FIGURE: Final = 0.001
"""Evictions a month, or seconds a day, that are as good as none."""


class Confidence(enum.StrEnum):
    """On how much data a forecast rests."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """What values are expected to bring to a group.

    Attributes:
        net_per_day: stalled partition-seconds, beyond what no setting can change.
        floor_per_day: stalled partition-seconds that no setting can change.
        evictions_per_month: live members removed, of the whole group in 30 days.
        evictions_upper: the same at most, at 95 %.
        detection_s: from a crash to the removal, on average.
        rollout_cost: stalled partition-seconds of replacing every pod once.
        stalled_per_eviction: partition-seconds, of one live member that is removed; None where nobody knows.
    """

    net_per_day: float
    floor_per_day: float
    evictions_per_month: float
    evictions_upper: float
    detection_s: float
    rollout_cost: float
    stalled_per_eviction: float | None = None


def rounded(number: float) -> float:
    """Return a figure of a prediction to two significant digits; hardly any is none."""
    return 0.0 if number < LEAST_FIGURE else float(f"{number:.2g}")


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectivePrice:
    """What it costs to be sure to meet the objective, where that is more than is paid for it.

    Attributes:
        values: the cheapest that are sure to meet it.
        share: so much more than what is set, of its net cost.
        is_of_crashes: whether it costs so much only if members crash as often as they may, at 95 %.
        follows_our_changes: whether what is paid is measured by what stood before our changes.
    """

    values: LivenessSettings
    share: float
    is_of_crashes: bool
    follows_our_changes: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Forecast:
    """What a fitted model expects of a group's values.

    Attributes:
        now: of those that are set.
        new: of those recommended; None where nothing is.
        lower: the shortest session that costs about as little as the best; None where none was found.
        upper: the longest such session.
        uncapped: the best values without the policy's bounds; None where the bounds change nothing.
        confidence: on how much data it rests.
        price: of the objective, where what is set is expected to miss it and the values that meet it cost too much;
            None where none meet it, or where no price is in the way.
    """

    now: Prediction
    new: Prediction | None
    lower: timedelta | None
    upper: timedelta | None
    uncapped: LivenessSettings | None
    confidence: Confidence
    price: ObjectivePrice | None = None


class Worth(enum.StrEnum):
    """Whether static ids pay for a group."""

    PAYS = "Pays"
    CLOSE = "Close"  # not by enough to begin with them, nor to give them up
    COSTS = "Costs"
    REFUSED = "Refused"  # the client library makes no good use of them
    UNKNOWN = "Unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class StaticAdvice:
    """Whether a group's members should have static ids.

    Attributes:
        worth: at a glance.
        message: the sentence with its numbers.
    """

    worth: Worth
    message: str


class TraceStep(NamedTuple):
    """One step on the way to a decision.

    Attributes:
        name: of the step, gate or review.
        reason: that it gave; None where it had nothing to say.
    """

    name: str
    reason: Reason | None


Trace = tuple[TraceStep, ...]
"""The steps that were asked, in order, after them the gates, and reviews that overruled what was found."""


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one group in one cycle.

    Attributes:
        verdict: the answer at a glance.
        finding: what the evidence shows.
        advice: what to do about it, as a sentence; empty when there is nothing to do.
        target: the values that should be set; None unless the verdict is CHANGE.
        hold: why the target may not be written now; None when it may (or there is none).
        outlook: what a fitted model expects, or why none does, as a sentence.
        forecast: the same in figures; None where no model could be asked.
        proof: whether it is shown that the objective of evictions is met with what will be in force; None where
            nothing is known.
        static_ids: whether members should have static ids; None where nobody asked, or nothing is known now.
        reverts: whether the target is what stood before a change of ours that did harm or failed.
        goes_on: whether a change that has begun is written to one more workload.
        at_broker: whether the target is set for the group at the broker, and not in pods.
        effect_is_unseen: whether no metric would show what the target does, so that it is only recommended.
        trace: how it was found. What was found another way is the same decision.
    """

    verdict: Verdict
    finding: Finding
    advice: str = ""
    target: LivenessSettings | None = None
    hold: Finding | None = None
    outlook: str = ""
    forecast: Forecast | None = None
    proof: Finding | None = None
    static_ids: StaticAdvice | None = None
    reverts: bool = False
    goes_on: bool = False
    at_broker: bool = False
    effect_is_unseen: bool = False
    trace: Trace = dataclasses.field(default=(), compare=False)

    @property
    def has_begun(self) -> bool:
        """Whether what is to be written belongs to a change that was begun before."""
        return self.reverts or self.goes_on

    @property
    def decided_by(self) -> str:
        """The step that decided; empty where nobody noted the way."""
        return next((step.name for step in self.trace if step.reason is not None), "")

    @property
    def story(self) -> Finding:
        """The finding with the advice: what one condition says."""
        return Finding(self.finding.reason, join(". ", (self.finding.message, self.advice)))

    @property
    def to_apply(self) -> LivenessSettings | None:
        """The values to write into pods now; None when nothing is to be written there."""
        return self.target if self.hold is None and not self.at_broker else None

    @property
    def to_alter(self) -> LivenessSettings | None:
        """The values to set for the group at the broker now; None when nothing is to be set there."""
        return self.target if self.hold is None and self.at_broker else None
