"""What is remembered of a change of ours: what was promised of it, how it went, and what must not be tried again.

Values only. `verification` judges a change, `reconcile.following` follows it from look to look, and policies' statuses
and the workloads' own notes keep what a new leader must know.
"""

import dataclasses
import enum
from datetime import datetime
from typing import Final

from heartbeat_tuner.domain.liveness import LivenessSettings

MOST_FAILED: Final = 4
"""Values that one policy remembers as failed; the oldest are forgotten first."""

MOST_EPISODES: Final = 256
"""Episodes of evictions that a policy's status has: so many tell a rate to 6 %."""

MOST_LEFT_OUT: Final = 64
"""Stretches of a record in which nothing could be learnt that a status has."""


class Outcome(enum.StrEnum):
    """What is known of a change, at a glance."""

    VERIFYING = "Verifying"  # nothing has shown yet
    VERIFIED = "Verified"  # evictions are rarer than before; after a trade, no more than was accepted
    WORSE = "Worse"  # they are more frequent than before, or than was accepted
    WORSE_THAN_PROMISED = "WorseThanPromised"  # they are more frequent than the model said, not shown worse than before
    NO_EFFECT = "NoEffect"  # the application does not use the values
    ROLLOUT_FAILED = "RolloutFailed"  # pods with the values do not become ready, or do not stay so
    INCONCLUSIVE = "Inconclusive"  # nothing has shown, and nothing will


HARMFUL: Final = frozenset({Outcome.WORSE, Outcome.ROLLOUT_FAILED})
"""What takes a change back."""


@dataclasses.dataclass(frozen=True, slots=True)
class PromisedRate:
    """What the model said of the new values when they were written.

    Attributes:
        upper_per_day: evictions of the whole group a day at most, at 95 %.
        is_trade: whether more evictions than before were accepted for something else.
    """

    upper_per_day: float
    is_trade: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class EvictionHistory:
    """When a group's live members were evicted while the same values were set, and under the change after them.

    Attributes:
        since: where it begins: a whole second, as all moments here, so that a status keeps what it says.
        values: that are set at its end.
        episodes_s: when episodes began, in order, in Unix seconds; none within 15 minutes of another.
        left_out: from and to of stretches in which nothing could be learnt, in Unix seconds: in order and apart.
        group: the Kafka cluster's name, and the group's.
    """

    since: datetime
    values: LivenessSettings
    episodes_s: tuple[float, ...] = ()
    left_out: tuple[tuple[float, float], ...] = ()
    group: tuple[str, str] = ("", "")


@dataclasses.dataclass(frozen=True, slots=True)
class EpisodeRate:
    """Episodes of evictions a day, of a time.

    Attributes:
        episodes: that were counted.
        days: of exposure.
        lower: the rate per day is above it with a probability of 97.5 %.
        upper: the rate per day is below it with a probability of 97.5 %.
    """

    episodes: int
    days: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to a group's evictions.

    Attributes:
        before: in the record before it; None where the group was not watched.
        after: since it landed.
    """

    before: EpisodeRate | None
    after: EpisodeRate


@dataclasses.dataclass(frozen=True, slots=True)
class FailedValues:
    """Values that were taken back by the tuner.

    Attributes:
        values: that failed.
        previous: that stood before, and were set again.
        at: when they were written.
        outcome: what was found.
        message: the sentence with its numbers.
        spec: the fingerprint of what the policy asked for when they failed: another may try again.
        promised_per_day: evictions a day at most that the model promised; None where none was asked.
        observed_per_day: episodes a day at least that were counted, at 97.5 %; None where none were.
    """

    values: LivenessSettings
    previous: LivenessSettings
    at: datetime
    outcome: Outcome
    message: str
    spec: str
    promised_per_day: float | None = None
    observed_per_day: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class FollowedChange:
    """How far the last change is.

    Attributes:
        at: when it was written: which one it is.
        landed: when all pods had stayed ready with the values; None while they have not.
        template: the fingerprint of the pods' template that it left; empty until that was seen.
        deployed: when somebody else's change of the pods' template was seen after it, since when harm may be of that;
            None where nobody changed it.
        outcome: what is known of it.
        message: the sentence with its numbers.
        reached: when that showed; None where nothing has.
        effect: what was counted; None where nothing was.
    """

    at: datetime
    landed: datetime | None = None
    template: str = ""
    deployed: datetime | None = None
    outcome: Outcome = Outcome.VERIFYING
    message: str = ""
    reached: datetime | None = None
    effect: Effect | None = None

    @property
    def is_harmful(self) -> bool:
        """Whether it is to be taken back: not where the harm may be of somebody's deploy."""
        return self.outcome in HARMFUL and self.deployed is None
