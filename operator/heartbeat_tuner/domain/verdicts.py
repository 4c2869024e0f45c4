"""What was decided for one group, and why.

`decision` makes a `Decision`; `reconcile` carries it out and reports it. A decision is complete: the sentence in
`message` holds every number that `kubectl describe` shows.
"""

import dataclasses
import enum

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason


class Verdict(enum.StrEnum):
    """The answer at a glance."""

    HEALTHY = "Healthy"
    CHANGE = "Change"
    INFEASIBLE = "Infeasible"
    UNKNOWN = "Unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A reason with the sentence that carries its numbers."""

    reason: Reason
    message: str


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
    """

    verdict: Verdict
    finding: Finding
    advice: str = ""
    target: LivenessSettings | None = None
    hold: Finding | None = None
    outlook: str = ""

    @property
    def story(self) -> Finding:
        """The finding with the advice: what one condition says."""
        told = self.finding.message if not self.advice else f"{self.finding.message}. {self.advice}"
        return Finding(self.finding.reason, told)

    @property
    def to_apply(self) -> LivenessSettings | None:
        """The values to write now; None when nothing is to be written."""
        return self.target if self.hold is None else None
