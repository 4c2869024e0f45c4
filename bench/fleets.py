"""Two fleets of synthetic groups whose truth is known, as rules and a seed: what `bench.quality` judges by.

`fleet` is the mix of the design's studies: clean Java 22 %, GC-heavy 12, CPU-throttled 12, slow handlers 12, KafkaJS
with long handlers 14, librdkafka with outages 10, frequent deploys 10, static members 8. Its times are lognormal, its
load swings mildly over the day. `holdout` has the same mix of kinds from another seed, but other laws: each of its
groups is lognormal, Weibull, a mixture of three scales, lognormal in bursts, or lognormal under a load that swings
strongly. Nothing may be tuned by looking at it.

`at_broker` adds groups of other clients that have their S and H at the broker: librdkafka's (KIP-848), Kafka Streams'
(KIP-1071) and share groups (KIP-932), 7 % each, of the kinds that KIP-848 groups of Java have.

What is drawn for one group (LN(m, s) is lognormal with median m; a rate per member and day unless said):

| what | drawn |
|---|---|
| members, partitions | LN(7, .7) in 2..40; each with 1, 2, 3, 4 or 8, together 200 at most |
| rebalancing | eager 55 %, cooperative 30 %, KIP-848 15 %; KafkaJS eager, static and librdkafka never KIP-848 |
| routine pauses | 20 of LN(.12 s, .6); GC-heavy 50 of LN(1.2 s, .7); throttled 300 of LN(.7 s, .6) |
| rare freezes | .02 of LN(8 s, .6); GC-heavy .2 of 9 s; throttled 1 of 5 s |
| pauses of a node | .01 of LN(10 s, .8), of 1 to 3 members together |
| outages | of the group: .03 of LN(4 s, .8); librdkafka .3 of 6 s |
| crashes | LN(.01, 1.2); back after LN(22 s, .45), of one in ten after 360 s |
| restarts | .25 (deploys 4) of LN(22 s, .35); in turn, as deploys; with a surge 60 %, static never |
| hangs | .001, killed after LN(1800 s, .7) |
| handlers | LN(.4 s, .6); slow 12 s, KafkaJS 1.2 s; a share of 1e-5 to 5e-3 takes ten times as long |
| settling | LN(.6 s, .5) |

Medians and rates of pauses, freezes and outages scatter over groups besides: by LN(1, .25) and LN(1, .5).
"""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law

HOURS: Final = 24

GROUPS: Final = 300
"""Of each fleet."""


class Kind(enum.StrEnum):
    """What is remarkable about a group."""

    CLEAN = "clean"
    GC = "gc"
    THROTTLED = "throttled"
    SLOW = "slow"
    KAFKAJS = "kafkajs"
    LIBRDKAFKA = "librdkafka"
    DEPLOYS = "deploys"
    STATIC = "static"


class Family(enum.StrEnum):
    """What the laws of a group are like."""

    LOGNORMAL = "lognormal"
    WEIBULL = "weibull"
    MIXTURE = "mixture"
    BURSTS = "bursts"
    DIURNAL = "diurnal"


_MIX: Final[Mapping[Kind, float]] = {
    Kind.CLEAN: 0.22,
    Kind.GC: 0.12,
    Kind.THROTTLED: 0.12,
    Kind.SLOW: 0.12,
    Kind.KAFKAJS: 0.14,
    Kind.LIBRDKAFKA: 0.10,
    Kind.DEPLOYS: 0.10,
    Kind.STATIC: 0.08,
}


@dataclasses.dataclass(frozen=True)
class Group:
    """One group.

    Attributes:
        name: its `group.id`.
        kind: what is remarkable about it.
        family: what its laws are like.
        truth: what happens to it, averaged over the day: what settings are judged by.
        usual: the same at the usual load, as scale 1 of `load`.
        swing: how far the load moves times over the day: their logarithm, at most.
        burst: of the gamma law, of mean 1, by which the rates of pauses differ from hour to hour; None: they do not.
    """

    name: str
    kind: Kind
    family: Family
    truth: Profile
    usual: Profile
    swing: float
    burst: float | None

    def load(self, hour: int) -> float:
        """Return by how much times are longer than usual at an hour of the day."""
        return math.exp(self.swing * math.cos(2 * math.pi * hour / HOURS))


@dataclasses.dataclass(frozen=True)
class _Rules:
    """What the two fleets differ in."""

    seed: int
    families: Sequence[Family]


_FLEETS: Final[Mapping[str, _Rules]] = {
    "fleet": _Rules(3, (Family.LOGNORMAL,)),
    "holdout": _Rules(20_261, tuple(Family)),
}

NAMES: Final = tuple(_FLEETS)

AT_BROKER: Final = ("confluent-kafka-python-kip848", "streams-kip1071", "share")
"""Whose groups `at_broker` draws."""

_SHARE_AT_BROKER: Final = 0.07
_KINDS_AT_BROKER: Final = (Kind.CLEAN, Kind.GC, Kind.THROTTLED, Kind.SLOW, Kind.DEPLOYS)


def fleet(name: str, groups: int = GROUPS, seed: int | None = None) -> Sequence[Group]:
    """Return a fleet, the same ones each time.

    Args:
        name: one of `NAMES`.
        groups: how many; the kinds have their shares of any number.
        seed: of chance; None: the fleet's own.
    """
    rules = _FLEETS[name] if seed is None else dataclasses.replace(_FLEETS[name], seed=seed)
    kinds = _shuffled_kinds(groups, rules.seed)
    return [
        _group(f"{name}-{number:04}", kind, rules.families, np.random.default_rng([rules.seed, number]))
        for number, kind in enumerate(kinds)
    ]


def at_broker(name: str, groups: int = GROUPS, seed: int | None = None) -> Sequence[Group]:
    """Return the groups of `AT_BROKER` that go with a fleet, the same ones each time; numbered after its own.

    Args:
        name: of the fleet.
        groups: how many the fleet has.
        seed: of the random generator; None: the seed of the fleet.
    """
    rules = _FLEETS[name] if seed is None else dataclasses.replace(_FLEETS[name], seed=seed)
    weights = np.array([_MIX[kind] for kind in _KINDS_AT_BROKER])
    added = []
    for place in range(len(AT_BROKER) * max(round(_SHARE_AT_BROKER * groups), 1)):
        rng = np.random.default_rng([rules.seed, groups + place])
        kind = _KINDS_AT_BROKER[int(rng.choice(weights.size, p=weights / weights.sum()))]
        client = AT_BROKER[place % len(AT_BROKER)]
        added.append(_group(f"{name}-{groups + place:04}", kind, rules.families, rng, client))
    return added


def _shuffled_kinds(groups: int, seed: int) -> Sequence[Kind]:
    ends = np.round(np.cumsum(list(_MIX.values())) * groups).astype(int)
    kinds = [kind for kind, size in zip(_MIX, np.diff(ends, prepend=0), strict=True) for _ in range(size)]
    return [kinds[place] for place in np.random.default_rng(seed).permutation(groups)]


def _group(
    name: str, kind: Kind, families: Sequence[Family], rng: np.random.Generator, client: str | None = None
) -> Group:
    family = families[int(rng.integers(len(families)))]
    swing = float(rng.uniform(0.5, 0.8) if family is Family.DIURNAL else rng.uniform(0.15, 0.4))
    burst = float(rng.uniform(0.1, 0.3)) if family is Family.BURSTS else None
    usual = _usual(kind, _Laws(family, rng), rng)
    if client is not None:
        usual = dataclasses.replace(usual, client=client, rebalancing=Rebalancing.CONSUMER)
    group = Group(name, kind, family, usual, usual, swing, burst)
    return dataclasses.replace(group, truth=over_the_day(group))


class _Laws:
    """Laws of one family, by median and spread of the lognormal one that they stand for."""

    def __init__(self, family: Family, rng: np.random.Generator) -> None:
        self._family, self._rng = family, rng

    def __call__(self, median_s: float, sigma: float) -> Law:
        if self._family is Family.WEIBULL:
            # A Weibull law of this exponent has the same spread of the logarithm.
            exponent = math.pi / (math.sqrt(6.0) * sigma) * float(self._rng.uniform(0.6, 0.9))
            scale_s = median_s / math.log(2.0) ** (1.0 / exponent)
            return Law.of(_weibull(scale_s, exponent))
        if self._family is Family.MIXTURE:
            wide = float(self._rng.uniform(2.0, 3.5))
            return Law.mixture(
                (
                    (0.6, Law.lognormal(median_s / wide**0.5, sigma * 0.8)),
                    (0.3, Law.lognormal(median_s * wide**0.5, sigma * 0.8)),
                    (0.1, Law.lognormal(median_s * wide, sigma)),
                )
            )
        return Law.lognormal(median_s, sigma)


def _weibull(scale_s: float, exponent: float) -> Callable[[Array], Array]:
    return lambda times_s: np.asarray(np.exp(-((times_s / scale_s) ** exponent)))


_ROUTINE: Final[Mapping[Kind, tuple[float, float, float]]] = {
    Kind.GC: (50.0, 1.2, 0.7),
    Kind.THROTTLED: (300.0, 0.7, 0.6),
}
_FREEZES: Final[Mapping[Kind, tuple[float, float]]] = {Kind.GC: (0.2, 9.0), Kind.THROTTLED: (1.0, 5.0)}
_HANDLER_S: Final[Mapping[Kind, float]] = {Kind.SLOW: 12.0, Kind.KAFKAJS: 1.2}
_PROTOCOLS: Final = (Rebalancing.EAGER, Rebalancing.COOPERATIVE, Rebalancing.CONSUMER)


def _usual(kind: Kind, laws: _Laws, rng: np.random.Generator) -> Profile:
    members = int(np.clip(round(rng.lognormal(math.log(7.0), 0.7)), 2, 40))
    partitions = min(members * int(rng.choice([1, 2, 3, 4, 8])), 200)
    rebalancing = _rebalancing(kind, rng)
    node_members = min(int(rng.integers(1, 4)), members)
    routine_a_day, routine_s, routine_sigma = _ROUTINE.get(kind, (20.0, 0.12, 0.6))
    freezes_a_day, freeze_s = _FREEZES.get(kind, (0.02, 8.0))
    outages_a_day, outage_s = (0.3, 6.0) if kind is Kind.LIBRDKAFKA else (0.03, 4.0)

    def rate(per_day: float) -> float:
        return per_day * float(rng.lognormal(0.0, 0.5))

    def time(median_s: float, sigma: float) -> Law:
        return laws(median_s * float(rng.lognormal(0.0, 0.25)), sigma)

    return Profile(
        client=_client(kind, rebalancing),
        rebalancing=rebalancing,
        members=members,
        partitions=max(partitions, members),
        static=kind is Kind.STATIC,
        pauses=_together(
            (rate(routine_a_day), time(routine_s, routine_sigma)), (rate(freezes_a_day), time(freeze_s, 0.6))
        ),
        node_pauses=FailureProcess(rate(0.01) * members / node_members, time(10.0, 0.8)),
        node_members=node_members,
        outages=FailureProcess(rate(outages_a_day), time(outage_s, 0.8)),
        delivery=Delivery.LATE,
        crashes=FailureProcess(
            0.01 * float(rng.lognormal(0.0, 1.2)),
            Law.mixture(((0.9, Law.lognormal(22.0, 0.45)), (0.1, Law.lognormal(360.0, 0.2)))),
        ),
        restarts=FailureProcess(4.0 if kind is Kind.DEPLOYS else 0.25, Law.lognormal(22.0, 0.35)),
        surge=bool(rng.random() < 0.6) and kind is not Kind.STATIC,  # noqa: PLR2004 - the rule above
        restarts_in_turn=True,
        hangs=FailureProcess(0.001, Law.lognormal(1800.0, 0.7)),
        handlers=_handlers(_HANDLER_S.get(kind, 0.4), laws, rng),
        slow_handlers=None,
        settle_s=float(rng.lognormal(math.log(0.6), 0.5)),
    )


def _rebalancing(kind: Kind, rng: np.random.Generator) -> Rebalancing:
    drawn = _PROTOCOLS[int(rng.choice(3, p=[0.55, 0.30, 0.15]))]
    if kind is Kind.KAFKAJS:
        return Rebalancing.EAGER
    if drawn is Rebalancing.CONSUMER and kind in {Kind.STATIC, Kind.LIBRDKAFKA}:
        return Rebalancing.COOPERATIVE
    return drawn


def _client(kind: Kind, rebalancing: Rebalancing) -> str:
    if kind is Kind.KAFKAJS:
        return "kafkajs"
    if kind is Kind.LIBRDKAFKA:
        return "confluent-kafka-python"
    return "java-kip848" if rebalancing is Rebalancing.CONSUMER else "java"


def _handlers(median_s: float, laws: _Laws, rng: np.random.Generator) -> Law:
    slow_share = float(10 ** rng.uniform(-5, math.log10(5e-3)))
    median_s *= float(rng.lognormal(0.0, 0.25))
    return Law.mixture(((1 - slow_share, laws(median_s, 0.6)), (slow_share, laws(10 * median_s, 0.6))))


def _together(*kinds: tuple[float, Law]) -> FailureProcess:
    """Return what happens when several things do, each with its rate and law."""
    per_day = sum(rate for rate, _ in kinds)
    return FailureProcess(per_day, Law.mixture((rate / per_day, law) for rate, law in kinds))


def over_the_day(group: Group) -> Profile:
    """Return what happens to a group on average over the hours; of short handlers there are more in an hour."""
    usual = group.usual
    loads = [group.load(hour) for hour in range(HOURS)]
    handlers = [(1.0 / load, stretched(usual.handlers, load)) for load in loads]
    every = sum(weight for weight, _ in handlers)
    return dataclasses.replace(
        usual,
        pauses=FailureProcess(
            usual.pauses.per_day, Law.mixture((1.0 / HOURS, stretched(usual.pauses.law, load)) for load in loads)
        ),
        handlers=Law.mixture((weight / every, law) for weight, law in handlers),
    )


def stretched(law: Law, factor: float) -> Law:
    """Return the law of times that are so many times as long."""
    return Law.table(np.clip(law.sf(TIMES_S / factor), 0.0, 1.0))  # interpolation rounds
