"""What one cycle asks Prometheus for: pure.

A record needs every quantity at once, so namespaces are read in blocks, each with all its quantities before the next:
where the cycle's budget does not last, some are read whole and others not at all. Those come first in the next cycle.
Within a block each quantity is one query; its stretch of time is the newest that has not been read.
"""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.metrics import fencing_proof
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.resolver import GroupKey
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series.series_store import LATE_S
from heartbeat_tuner.reconcile.series.spans import Span

READ: Final = (
    Quantity.HEARTBEATS,
    Quantity.HEARTBEAT_REQUESTS,
    Quantity.REBALANCE_NOTICES,
    Quantity.FAILED_REBALANCES,
    Quantity.JOIN_ANSWERS,
    Quantity.POLL_GAP_MAX,
    Quantity.POLL_AGE,
    Quantity.REBALANCES,
    Quantity.REBALANCE_TIME,
    Quantity.EVICTIONS_SEEN,
    Quantity.DOUBTFUL_EVICTIONS,
    Quantity.LOST_FOR_SILENCE,
    Quantity.LOST_FOR_POLLS,
    *fencing_proof.SHOWN_BY,
)
"""What a record is made of, in the order in which it is read and told."""

OF_CONSUMER_PROTOCOL: Final = frozenset(fencing_proof.SHOWN_BY)
"""What is read only of groups whose status says that they speak the consumer protocol."""

RECORD_WINDOW: Final = timedelta(hours=1)
"""How far back the record reaches at most."""

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the window."""

SLICES: Final = 4
"""Stretches that one cycle reads of each quantity at most, the newest of which ends now."""

WINDOW_S: Final = (RECORD_WINDOW + BASELINE_MARGIN).total_seconds()

LONGEST_S: Final = WINDOW_S / SLICES
"""The longest stretch that is asked for at once: after a start the window is read in one cycle, if nothing hinders."""

REQUEST_WEIGHT: Final = 400_000
"""How much one request asks for, by what earlier ones brought: about 11 MB of JSON, where the default of
`prometheus.maxAnswerBytes` is 16 MiB, and about 100 MiB in memory while it is read."""

USUAL_SERIES: Final = 4
"""Series of a quantity that a group has, where nothing is known: a few pods."""

USUAL_SCRAPE_S: Final = 15.0
"""The time between two scrapes, where nothing is known."""

SERIES_WEIGHT: Final = 16
"""What a series weighs in an answer beside its samples: its labels are some 450 bytes, a sample 28."""

SHORTEST_S: Final = 30.0
"""A namespace that is too much even for so long is given up for this cycle."""

_USUAL_REACH_S: Final = 180.0
"""A cycle's interval, what may come late, and a scrape's age; stretches up to this, twice this and so on are read
together, so that a namespace that fell behind does not have the others read again."""

_LAG_S: Final = 300.0
"""Samples that are older when they arrive are no longer waited for; those that come all the same are read again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """One query: a quantity of some namespaces in a stretch of time."""

    quantity: Quantity
    namespaces: tuple[str, ...]
    span: Span

    def halves(self) -> "tuple[Ask, Ask] | None":
        """Return two that ask for half as much each; None if it cannot be less.

        Half of the namespaces each; of a single one half of the time each, the newer first.
        """
        half = len(self.namespaces) // 2
        if half:
            first, second = self.namespaces[:half], self.namespaces[half:]
            return dataclasses.replace(self, namespaces=first), dataclasses.replace(self, namespaces=second)
        seconds = int(self.span.length_s / 2)
        if seconds < SHORTEST_S:
            return None
        middle_s = self.span.until_s - seconds
        newer, older = Span(middle_s, self.span.until_s), Span(self.span.after_s, middle_s)
        return dataclasses.replace(self, span=newer), dataclasses.replace(self, span=older)


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """How much a quantity of a namespace is, by what was read of it last."""

    series: float = 0.0
    samples_per_s: float = 0.0

    def weight(self, length_s: float) -> float:
        """Return what so long a stretch of it weighs."""
        return SERIES_WEIGHT * self.series + self.samples_per_s * length_s


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """What it takes to read what is missing, as far as its size is known.

    Attributes:
        requests: how many, if each is as large as may be.
        weight: of their answers.
    """

    requests: int
    weight: float


Sizes = Mapping[tuple[Quantity, str], Size]
Missing = Mapping[str, Mapping[Quantity, Span]]
"""Of each namespace the newest stretch of each quantity that is to be read."""


def wanted(policies: Collection[Policy]) -> dict[Quantity, frozenset[GroupKey]]:
    """Return whose quantities the policies need, by what their libraries' exporters may say."""
    groups: dict[Quantity, set[GroupKey]] = {}
    for policy in policies:
        for quantity in of_policy(policy):
            groups.setdefault(quantity, set()).add((policy.key.namespace, policy.group_id))
    return {quantity: frozenset(groups[quantity]) for quantity in READ if quantity in groups}


def of_policy(policy: Policy) -> list[Quantity]:
    """Return the quantities that a policy's record is made of."""
    ownership = policy.ownership
    left_out = frozenset() if ownership is not None and ownership.consumer_protocol else OF_CONSUMER_PROTOCOL
    return [quantity for quantity in READ if quantity not in left_out and needs(policy.library, quantity)]


@functools.cache
def needs(library: str, quantity: Quantity) -> bool:
    """Whether a record of a library's consumers is made of a quantity."""
    return bool(known_conventions.names(known_conventions.asked_for(library), quantity))


def query(quantity: Quantity, libraries: Collection[str], namespaces: Collection[str], *, window_s: float) -> str:
    """Return the query that reads a quantity, by all names that these libraries' exporters may give it."""
    conventions = [convention for name in libraries for convention in known_conventions.asked_for(name)]
    return queries.raw(
        known_conventions.names(conventions, quantity),
        namespaces=namespaces,
        window=timedelta(seconds=window_s),
        matchers=known_conventions.matchers(conventions, quantity),
    )


def whole_query(quantity: Quantity, policy: Policy) -> str:
    """Return the query by which a person sees all that a policy's record is made of, of one quantity."""
    return query(quantity, [policy.library], [policy.key.namespace], window_s=WINDOW_S)


def overlapping(missing: Span, within: Span, newest_s: float | None) -> Span:
    """Return a stretch that ends now, and begins so early that samples that came late are read too.

    Args:
        missing: what has not been read.
        within: all of the window.
        newest_s: the namespace's newest sample so far.
    """
    lag_s = missing.after_s - newest_s if newest_s is not None else 0.0
    after_s = missing.after_s - LATE_S - (lag_s if 0 < lag_s <= _LAG_S else 0.0)
    after_s = max(after_s, within.after_s, missing.until_s - LONGEST_S)
    return Span(missing.until_s - math.ceil(missing.until_s - after_s), missing.until_s)  # a query has whole seconds


def asks(missing: Missing, sizes: Sizes, *, most: float, first: Collection[str], last: Collection[str]) -> list[Ask]:
    """Return what to ask, in this order: all quantities of a block of namespaces before those of the next.

    Args:
        missing: what is to be read.
        sizes: what is known of its size.
        most: what one request may weigh.
        first: namespaces that come before others.
        last: namespaces that come after all others, each for itself.
    """
    classes: dict[tuple[bool, bool, int, str], list[str]] = {}
    for name, stretches in missing.items():
        reach_s = max(stretch.length_s for stretch in stretches.values())
        steps = max(0, math.ceil(math.log2(reach_s / _USUAL_REACH_S)))
        turn = -int(reach_s // 60) if name in first else steps  # of those that were left, who waited longest
        classes.setdefault((name in last, name not in first, turn, name if name in last else ""), []).append(name)
    return [
        ask
        for place in sorted(classes)
        for names in _packed(classes[place], missing, sizes, most)
        for ask in _of_block(names, missing)
    ]


def pieces(ask: Ask, sizes: Sizes, *, most: float) -> list[Ask]:
    """Return a query in pieces that weigh no more than `most`, as far as is known: by namespaces, then by time.

    A namespace whose labels alone weigh half of that is not asked for by time: that would bring them again and again.
    """
    if weight(ask, sizes) <= most:
        return [ask]
    if (
        len(ask.namespaces) == 1
        and SERIES_WEIGHT * known_size(sizes, ask.quantity, ask.namespaces[0]).series > most / 2
    ):
        return [ask]
    halves = ask.halves()
    return [ask] if halves is None else [piece for half in halves for piece in pieces(half, sizes, most=most)]


def weight(ask: Ask, sizes: Sizes) -> float:
    """Return what a query weighs, as far as is known."""
    return sum(known_size(sizes, ask.quantity, name).weight(ask.span.length_s) for name in ask.namespaces)


def needed(missing: Missing, sizes: Sizes) -> Need:
    """Return what it takes to read the newest slice of what is missing, in full requests."""
    planned = [
        piece
        for ask in asks(missing, sizes, most=REQUEST_WEIGHT, first=(), last=())
        for piece in pieces(ask, sizes, most=REQUEST_WEIGHT)
    ]
    return Need(len(planned), sum(weight(piece, sizes) for piece in planned))


def guessed(groups: Collection[GroupKey], known: Sizes) -> dict[tuple[Quantity, str], Size]:
    """Return how large namespaces may be of which nothing is known yet, by the number of their groups.

    Else the first cycle would ask for one quantity of all of them before the next one, and where its share does not
    last, no record would be whole.
    """
    read = {namespace for _, namespace in known}
    counts = Counter(namespace for namespace, _ in groups if namespace not in read)
    return {
        (quantity, namespace): Size(USUAL_SERIES * count, USUAL_SERIES * count / USUAL_SCRAPE_S)
        for namespace, count in counts.items()
        for quantity in READ
    }


def known_size(sizes: Sizes, quantity: Quantity, namespace: str) -> Size:
    """Return what is known of a quantity's size; of one that was never read, what the largest other one has."""
    size = sizes.get((quantity, namespace))
    if size is not None:
        return size
    others = [sizes[other, namespace] for other in READ if (other, namespace) in sizes]
    return max(others, key=lambda other: other.weight(LONGEST_S), default=Size())


def _packed(names: Sequence[str], missing: Missing, sizes: Sizes, most: float) -> list[list[str]]:
    """Return namespaces in lots of which no quantity is too much for one request, light ones first."""
    weights = {
        name: max(
            known_size(sizes, quantity, name).weight(stretch.length_s) for quantity, stretch in missing[name].items()
        )
        for name in names
    }
    lots: list[list[str]] = []
    filled = math.inf
    for name in sorted(names, key=lambda namespace: (weights[namespace], namespace)):
        if filled + weights[name] > most:
            lots.append([])
            filled = 0.0
        lots[-1].append(name)
        filled += weights[name]
    return lots


def _of_block(names: Sequence[str], missing: Missing) -> list[Ask]:
    """Return what to ask of some namespaces: one query for each quantity, or one for each end of a stretch."""
    asks = []
    for quantity in READ:
        by_end: dict[float, list[str]] = {}
        for name in names:
            if quantity in missing[name]:
                by_end.setdefault(missing[name][quantity].until_s, []).append(name)
        for until_s, some in sorted(by_end.items(), reverse=True):
            after_s = min(missing[name][quantity].after_s for name in some)
            asks.append(Ask(quantity, tuple(sorted(some)), Span(after_s, until_s)))
    return asks
