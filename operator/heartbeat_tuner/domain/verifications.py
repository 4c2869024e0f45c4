"""What is remembered of a change of ours: what was promised of it, how it went, and what must not be tried again.

Values only. `verification` judges a change, `reconcile.following` follows it from look to look, and policies' statuses
and the workloads' own notes keep what a new leader must know.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping
from datetime import datetime, timedelta
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
        stalled_before: partition-seconds that one eviction stalled with the values before; None where nobody knows.
        stalled_after: likewise with the new ones.
    """

    upper_per_day: float
    is_trade: bool = False
    stalled_before: float | None = None
    stalled_after: float | None = None


LEAST_CANARY_PODS: Final = 4
"""A workload of fewer pods has no canary: one pod would be too large a part of it."""


class CanaryPhase(enum.StrEnum):
    """How far a canary is."""

    RUNNING = "Running"  # pods get the values one at a time, and are watched
    PASSED = "Passed"  # nothing spoke against the values; the template follows
    FAILED = "Failed"  # the values did harm; the pods that have them are replaced
    ENDED = "Ended"  # nothing was found out; likewise
    OVER = "Over"  # no pod has the values any more; it failed, or the next canary waits for its time


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryRules:
    """How a policy wants new values to be tried.

    Attributes:
        share: of the pods that get them first; none for no canary.
        duration: how long they are to be watched.
    """

    share: float = 0.25
    duration: timedelta = timedelta(hours=1)

    def pods(self, wanted: int) -> int:
        """Return how many of so many pods get new values first; 0 where there is no canary."""
        if wanted < LEAST_CANARY_PODS or self.share <= 0.0:
            return 0
        return max(1, math.floor(wanted * self.share))


@dataclasses.dataclass(frozen=True, slots=True)
class Canary:
    """New values in a part of a workload's pods, before its template gets them.

    Attributes:
        since: when it began: which one it is.
        until: its end, whatever is known by then; once it failed or ended, when it did.
        values: that are tried.
        previous: those of the other pods.
        entries: what the pods of the canary have in their environment, by variable: by it they are known.
        pods: how many get the values at most.
        workload_uid: of the workload.
        template: the fingerprint of the pods' template: another one ends it.
        spec: the fingerprint of what the policy asked for.
        phase: how far it is.
        message: why it failed or ended.
        outcome: what was found where it failed; None else.
        ticket: the number of the newest pod that may get the values; 0 before the first.
        replaced: the uid of the pod that was evicted last, for a ticket or to have the template's values again.
        replaced_at: when; None before the first.
        landed: when all its pods were ready first; None before.
        exposed: how long its pods were seen to run.
        seen_until: up to when that is counted; None before it landed.
        hits_s: when episodes of evictions began at its pods since it landed, in Unix seconds.
        others_s: likewise at the others.
        again: when another may begin; None where nothing but its end is waited for.
        promise: what the model said of the values.
        left_alone: whether it is over, and nobody evicts its pods: they keep the values until somebody replaces them.
    """

    since: datetime
    until: datetime
    values: LivenessSettings
    previous: LivenessSettings
    entries: Mapping[str, str]
    pods: int
    workload_uid: str
    template: str
    spec: str
    phase: CanaryPhase = CanaryPhase.RUNNING
    message: str = ""
    outcome: Outcome | None = None
    ticket: int = 0
    replaced: str = ""
    replaced_at: datetime | None = None
    landed: datetime | None = None
    exposed: timedelta = timedelta(0)
    seen_until: datetime | None = None
    hits_s: tuple[float, ...] = ()
    others_s: tuple[float, ...] = ()
    again: datetime | None = None
    promise: PromisedRate | None = None
    left_alone: bool = False

    @property
    def is_trying(self) -> bool:
        """Whether its pods have the values on purpose."""
        return self.phase in {CanaryPhase.RUNNING, CanaryPhase.PASSED}

    @property
    def is_taking_back(self) -> bool:
        """Whether its pods are replaced by pods with the template's values."""
        return self.phase in {CanaryPhase.FAILED, CanaryPhase.ENDED}

    def moves_pods(self, now: datetime, patience: timedelta) -> bool:
        """Whether pods are replaced for it, and the last one was not longer ago than `patience`."""
        is_going_back = self.is_taking_back and not self.left_alone
        is_moving = is_going_back or (self.phase is CanaryPhase.RUNNING and self.landed is None)
        return is_moving and now - (self.replaced_at or self.since) < patience


MOST_EVICTING: Final = 4
"""Sessions that a policy remembers as too short; the shortest are forgotten first."""


@dataclasses.dataclass(frozen=True, slots=True)
class EvictingSession:
    """A session under which live members were evicted, of values that are not set any more.

    Attributes:
        session: the timeout.
        episodes: of evictions that were counted.
        days: in which they could be.
        on_days: how many days of 24 hours, each from an episode on, have all of them.
        until: when the last of them began, to the second.
        spec: the fingerprint of what the policy asked for then: another may try again.
    """

    session: timedelta
    episodes: int
    days: float
    on_days: int
    until: datetime
    spec: str


@dataclasses.dataclass(frozen=True, slots=True)
class EvictionHistory:
    """When a group's live members were evicted while the same values were set, and under the change after them.

    Attributes:
        since: where it begins: a whole second, as all moments here, so that a status keeps what it says.
        values: that are set at its end.
        episodes_s: when episodes began, in order, in Unix seconds; none within 15 minutes of another.
        left_out: from and to of stretches in which nothing could be learnt, in Unix seconds: in order and apart.
        group: the Kafka cluster's name, and the group's.
        evicting: sessions of earlier values that evicted, the longest first; they outlast the episodes.
        hidden_until: until when members may have been evicted unseen; None where each eviction showed.
    """

    since: datetime
    values: LivenessSettings
    episodes_s: tuple[float, ...] = ()
    left_out: tuple[tuple[float, float], ...] = ()
    group: tuple[str, str] = ("", "")
    evicting: tuple[EvictingSession, ...] = ()
    hidden_until: datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class EpisodeRate:
    """Episodes of evictions a day, of a time.

    Attributes:
        episodes: that were counted.
        days: of exposure.
        lower: the rate per day is above it with a probability of 97.5 %.
        upper: the rate per day is below it with a probability of 97.5 %.
        stalled_each: partition-seconds that one eviction stalls, by the model's word at the write; None where no model
            was asked. An episode of several evictions stalls more.
    """

    episodes: int
    days: float
    lower: float
    upper: float
    stalled_each: float | None = None


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
