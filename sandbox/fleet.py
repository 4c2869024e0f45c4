"""A synthetic fleet of consumer groups, and the truth of each: what `sandbox.backfill` makes a history of.

Delays that a fit is after (absences, outages) come at random times and follow a generalised Pareto law, whose tail is
again one; what happens all the time (polls, joins, starts of processes) is lognormal. So every rate and quantile is
known without a simulation, and a fit can be compared with it.
"""

import dataclasses
import math
import random
from collections.abc import Sequence
from typing import Final

JAVA: Final = "java"
KAFKAJS: Final = "kafkajs"
SARAMA: Final = "sarama"

_NAMES: Final = ("orders", "billing", "stock", "search", "mails", "audit", "clicks", "prices", "users", "carts")


@dataclasses.dataclass(frozen=True)
class Tail:
    """Delays that come at random times: a Poisson process with a generalised Pareto law.

    Attributes:
        per_day: how many a day.
        scale_s: of the law, in seconds.
        shape: of the law; the larger, the heavier; at least 0.
    """

    per_day: float
    scale_s: float
    shape: float

    def per_day_over(self, time_s: float) -> float:
        """Return how many a day are longer than a time in seconds."""
        excess = max(time_s, 0.0) / self.scale_s
        left = math.exp(-excess) if self.shape == 0 else (1 + self.shape * excess) ** (-1 / self.shape)
        return self.per_day * left

    def exceeded_s(self, per_day: float) -> float:
        """Return the time in seconds that so many a day exceed."""
        if per_day >= self.per_day:
            return 0.0
        ratio = self.per_day / per_day
        excess = math.log(ratio) if self.shape == 0 else (ratio**self.shape - 1) / self.shape
        return self.scale_s * excess


@dataclasses.dataclass(frozen=True)
class Usual:
    """A lognormal law of times.

    Attributes:
        median_s: its median, in seconds.
        sigma: standard deviation of the logarithm.
    """

    median_s: float
    sigma: float


@dataclasses.dataclass(frozen=True)
class GroupTruth:
    """What one group is like.

    Attributes:
        namespace: of its pods.
        group: its `group.id`.
        client: `JAVA`, scraped by the JMX exporter, `KAFKAJS`, with kafkajs-prometheus-exporter and our counters, or
            any library that exports nothing where the group is watched.
        members: how many pods.
        session_timeout_s: who is absent for longer is removed.
        beat_s: the effective period of heartbeats.
        absences: of each member: its process stands still.
        gc_share: so many of the absences are pauses that the JVM counts.
        polls: time between two polls of a Java member that is not absent.
        outages: of the group's coordinator: what is sent meanwhile is answered afterwards.
        crashes_per_day: of each member; its container starts again.
        rollouts_per_day: of the group; each pod is replaced, the new one before the old one ends.
        startup: from the start of a container to its first join.
        join: from the begin of a rebalance to its end.
        look_every_s: the operator describes the group so often and exports what its group watcher counts, and the
            client exports nothing; 0 for a client with metrics of its own.
    """

    namespace: str
    group: str
    client: str
    members: int
    session_timeout_s: float
    beat_s: float
    absences: Tail
    gc_share: float
    polls: Usual
    outages: Tail
    crashes_per_day: float
    rollouts_per_day: float
    startup: Usual
    join: Usual
    look_every_s: float = 0.0

    @property
    def evictions_per_day(self) -> float:
        """How often a member is evicted a day: an absence may begin at any time between two beats."""
        steps = 1000
        outlasted = (self.session_timeout_s - self.beat_s * (step + 0.5) / steps for step in range(steps))
        return math.fsum(map(self.absences.per_day_over, outlasted)) / steps

    @property
    def polls_quickly(self) -> bool:
        """Whether it usually polls at once, so that a longer gap between polls is an absence and no handler."""
        return self.polls.median_s < 1


def fleet(
    groups: int, *, members: int = 3, kafkajs_share: float = 0.2, namespaces: int = 4, seed: int = 1
) -> Sequence[GroupTruth]:
    """Return groups whose laws differ as those of real ones do: scales by a factor of two or three, shapes by 0.1.

    Args:
        groups: how many.
        members: pods of each.
        kafkajs_share: so many of them are KafkaJS consumers, the others Java consumers.
        namespaces: over so many they are spread.
        seed: the same gives the same fleet.
    """
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    return [_group(number, members, kafkajs_share, namespaces, rng) for number in range(groups)]


def watched(
    groups: int, *, rates: tuple[float, float], away_s: float, look_every_s: float, seed: int = 1
) -> Sequence[GroupTruth]:
    """Return groups of one namespace whose clients export nothing; the operator's group watcher shows their evictions.

    Args:
        groups: how many.
        rates: evictions of a member a day, of the calmest and of the worst; evenly spread on a scale of logarithms.
        away_s: how long an evicted member is out of its group, on average.
        look_every_s: between two descriptions of a group.
        seed: the same gives the same fleet.
    """
    rng, (low, high) = random.Random(seed), rates  # noqa: S311 - not for secrets
    truths = []
    for number in range(groups):
        truth = GroupTruth(
            namespace="shop",
            group=f"group-{number:04}",
            client=SARAMA,
            members=rng.randint(2, 4),
            session_timeout_s=10.0,
            beat_s=3.0,
            absences=Tail(per_day=1.0, scale_s=away_s, shape=0.0),
            gc_share=0.0,
            polls=Usual(0.1, 0.25),
            outages=Tail(per_day=0.0, scale_s=0.4, shape=0.1),
            crashes_per_day=0.0,
            rollouts_per_day=0.0,
            startup=Usual(12.0, 0.3),
            join=Usual(1.2, 0.4),
            look_every_s=look_every_s,
        )
        per_day = low * (high / low) ** rng.random() / truth.evictions_per_day
        truths.append(dataclasses.replace(truth, absences=Tail(per_day=per_day, scale_s=away_s, shape=0.0)))
    return truths


def _group(number: int, members: int, kafkajs_share: float, namespaces: int, rng: random.Random) -> GroupTruth:
    # Evenly spread over the fleet, so that a small one has some of each.
    kafkajs = math.floor((number + 1) * kafkajs_share) > math.floor(number * kafkajs_share)
    quick = kafkajs or number % 3 != 1
    return GroupTruth(
        namespace=f"team-{number % namespaces}",
        group=f"{_NAMES[number % len(_NAMES)]}-{number:04}",
        client=KAFKAJS if kafkajs else JAVA,
        members=members,
        session_timeout_s=30.0 if kafkajs else 45.0,
        beat_s=5.05 if kafkajs else 3.05,
        absences=Tail(
            per_day=rng.uniform(60, 180),
            scale_s=0.5 * math.exp(rng.gauss(0, 0.4)),
            shape=min(0.35, max(0.0, rng.gauss(0.15, 0.08))),
        ),
        gc_share=0.0 if kafkajs else 0.3,
        polls=Usual(0.1, 0.25) if quick else Usual(rng.uniform(2, 5), 0.5),
        outages=Tail(per_day=rng.uniform(2, 8), scale_s=0.4 * math.exp(rng.gauss(0, 0.3)), shape=0.1),
        crashes_per_day=rng.uniform(0.02, 0.1),
        rollouts_per_day=rng.uniform(0.1, 0.5),
        startup=Usual(12 * math.exp(rng.gauss(0, 0.4)), 0.3),
        join=Usual(1.2 * math.exp(rng.gauss(0, 0.4)), 0.4),
    )
