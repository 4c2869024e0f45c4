"""How much one cycle may ask of Prometheus: so many requests, of so much weight, for so long.

What is new has a share by what is known of its size, what is older a fixed one.
"""

import asyncio
import dataclasses
import math
from collections.abc import Mapping
from typing import Final

from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.reconcile.series.reading_plan import Ask, Missing, Size

REQUESTS: Final = 20
"""How many requests one cycle makes for what is new: more than ten thousand policies need, if cycles are in time."""

WEIGHT: Final = 17 * reading_plan.REQUEST_WEIGHT
"""How much they may bring: seventeen full answers, some three seconds of reading."""

MARGIN: Final = 1.25
"""A fleet that needs more, or that has more to be read after a long cycle, is given this times what it needs, by what
was read of it before: else what is left would make the next cycle longer still."""

MOST: Final = 3
"""Requests and weight are never more than this times the above, whatever a fleet needs."""


BACKFILL_REQUESTS: Final = 60
BACKFILL_WEIGHT: Final = 20 * reading_plan.REQUEST_WEIGHT
"""Likewise for what is older: four slices of each quantity for a small fleet; a large one takes some cycles."""

PATIENCE_S: Final = 45.0
BACKFILL_PATIENCE_S: Final = 20.0
"""After so long a cycle asks for nothing more that is new, or older: the next one goes on."""

EARLY_PATIENCE_S: Final = 3.0
"""After so long an early look asks for nothing more: the next cycle may have to wait for it."""

SHARE: Final = 0.25
"""A namespace that takes more than this part of the weight comes after all others."""


@dataclasses.dataclass
class CycleShare:
    """What is left of a cycle's share.

    Attributes:
        requests: how many.
        weight: of their answers.
        until_s: up to when, by the event loop's clock.
    """

    requests: int
    weight: float
    until_s: float

    def is_spent(self) -> bool:
        """Whether nothing more may be asked for."""
        return self.requests <= 0 or self.weight <= 0 or asyncio.get_running_loop().time() > self.until_s


@dataclasses.dataclass
class SplitQuery:
    """A query that is asked in pieces.

    Attributes:
        ask: the whole of it.
        share: what it may cost.
        waiting: the pieces that were not sent yet; None before the first.
        refused: the pieces that were too much.
    """

    ask: Ask
    share: CycleShare
    waiting: list[Ask] | None = None
    refused: list[Ask] = dataclasses.field(default_factory=list)


def for_new(missing: Missing, sizes: Mapping[tuple[Quantity, str], Size], began_s: float) -> CycleShare:
    """Return what a cycle may ask for what is new, by what is known of its size.

    Args:
        missing: all of it, but of namespaces that flood: they are given nothing.
        sizes: what was read of each quantity and namespace before.
        began_s: when the reading began, by the event loop's clock.
    """
    needed = reading_plan.needed(missing, sizes)
    requests = min(MOST * REQUESTS, max(REQUESTS, math.ceil(MARGIN * needed.requests)))
    return CycleShare(requests, min(MOST * WEIGHT, max(WEIGHT, MARGIN * needed.weight)), began_s + PATIENCE_S)


def for_older(began_s: float) -> CycleShare:
    """Return what a cycle may ask for what is older."""
    return CycleShare(BACKFILL_REQUESTS, BACKFILL_WEIGHT, began_s + BACKFILL_PATIENCE_S)


def for_early(began_s: float) -> CycleShare:
    """Return what may be asked for between two cycles."""
    return CycleShare(BACKFILL_REQUESTS, BACKFILL_WEIGHT, began_s + EARLY_PATIENCE_S)


def over_their_share(missing: Missing, sizes: Mapping[tuple[Quantity, str], Size]) -> set[str]:
    """Return the namespaces that would take more of a cycle than is fair; none if there is only one."""
    if len(missing) == 1:
        return set()
    weights = {
        name: sum(
            reading_plan.known_size(sizes, quantity, name).weight(stretch.length_s)
            for quantity, stretch in stretches.items()
        )
        for name, stretches in missing.items()
    }
    return {name for name, weight in weights.items() if weight > SHARE * WEIGHT}
