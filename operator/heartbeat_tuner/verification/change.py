"""What a verdict is asked of: a change of ours, and what was seen of the group before and after it. Values only."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Effect, Outcome, PromisedRate
from heartbeat_tuner.verification.episodes import Stretch

HORIZON: Final = timedelta(days=28)
"""What has not shown by then is not waited for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change of ours, and how it went.

    Attributes:
        written: when.
        landed: when all pods ran with the values and had stayed ready; None while they do not.
        rollout: how far the pods are, as seen now.
        contradiction: what the record proves against the new values being in force, if anything
            (`decision.evictions.contradictions`).
        promise: None where no model could be asked.
    """

    written: datetime
    landed: datetime | None
    rollout: Rollout
    contradiction: Finding | None = None
    promise: PromisedRate | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """What was seen of the group, before the change and since.

    Attributes:
        since: start of the record.
        evictions_s: when live members were evicted, in Unix seconds, in any order.
        left_out: when nothing can be learnt: rollouts and steps of scale of the workload, and gaps of scrapes. Not the
            rollout of this change: what begins in it belongs to it, and goes on as the same episode.
        others_s: evictions of each other group of the same broker or node whose values were not changed lately.
    """

    since: datetime
    evictions_s: Sequence[float]
    left_out: Sequence[Stretch] = ()
    others_s: Sequence[Sequence[float]] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Verification:
    """The answer, with its reasons.

    Attributes:
        outcome: the answer at a glance.
        message: the sentence with its numbers.
        reached: when it showed; None where it has not, or nothing tells.
        episodes: since the change.
        days: exposure since the change.
        log_harm: logarithm of the strongest evidence of harm against the record before, or against what was accepted.
        effect: what was counted, with its bounds; None where nothing was.
    """

    outcome: Outcome
    message: str
    reached: datetime | None = None
    episodes: int = 0
    days: float = 0.0
    log_harm: float = 0.0
    effect: Effect | None = None
