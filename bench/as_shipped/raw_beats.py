"""What the product's own measuring shows of an absence, where heartbeats that did not come are all that shows it.

Days of raw samples are made of one member that is absent now and then, scraped every 15 s, and go through
`metrics.quantities` as the fit's would. What shows of each of these absences, or that nothing does, is drawn from ever
after: the raw samples of whole fleets would be too many.

An absence of less than a heartbeat's period delays a heartbeat by less than that, and none is missing: it does not
show. What shows of absences of one or two periods is one in some, and that as longer than it was.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from heartbeat_tuner.metrics import measured, quantities
from heartbeat_tuner.metrics.absence import blocks
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.tails.gpd import Array

SCRAPE_S: Final = 15.0

_SPAN_S: Final = 3 * 86_400.0
_SPANS: Final = 3
_EVERY_S: Final = 600.0
_JITTER: Final = 0.03
_LONGEST: Final = 15.0  # in periods
_ALIKE: Final = 8
"""So many absences that are a little shorter, and as many that are longer, are taken to show as one does."""

_LABELS: Final = {"namespace": "shop", "pod": "orders-0", "group_id": "orders"}
_START_S: Final = 1_767_571_200.0


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class MeasuredAbsences:
    """What the product made of absences.

    Attributes:
        lasted_s: how long each was, ascending.
        shown_s: what shows of it; -infinite where nothing does.
    """

    lasted_s: Array
    shown_s: Array

    @property
    def least_s(self) -> float:
        """The shortest absence that showed at all."""
        return float(self.lasted_s[int(np.argmax(np.isfinite(self.shown_s)))])

    def drawn(self, absences_s: Array, rng: np.random.Generator) -> Array:
        """Return what shows of absences; -infinite where nothing does."""
        near = np.searchsorted(self.lasted_s, absences_s) + rng.integers(-_ALIKE, _ALIKE, absences_s.size)
        alike = np.clip(near, 0, self.lasted_s.size - 1)
        return np.asarray(absences_s + (self.shown_s - self.lasted_s)[alike])


@functools.lru_cache(maxsize=512)
def measured_absences(period_s: float, *, is_frozen: bool) -> MeasuredAbsences:
    """Return what the product makes of absences of all lengths.

    Args:
        period_s: between two heartbeats.
        is_frozen: the process stands still, and is not scraped either; else only its beats wait.
    """
    spans = [_measured(period_s, np.random.default_rng(seed), is_frozen=is_frozen) for seed in range(_SPANS)]
    lasted_s, shown_s = (np.concatenate(column) for column in zip(*spans, strict=True))
    order = np.argsort(lasted_s)
    return MeasuredAbsences(lasted_s[order], shown_s[order])


def _measured(period_s: float, rng: np.random.Generator, *, is_frozen: bool) -> tuple[Array, Array]:
    """Return how long the absences of one span are, and what shows of each."""
    begins = np.arange(_EVERY_S, _SPAN_S - _EVERY_S, _EVERY_S)
    begins += rng.uniform(0.0, _EVERY_S / 3, begins.size)
    lasts = rng.uniform(0.0, min(_LONGEST * period_s, _EVERY_S / 2), begins.size)
    beats = _beats(period_s, begins, lasts, rng)
    scrapes = np.arange(0.0, _SPAN_S, SCRAPE_S) + float(rng.uniform(0.0, SCRAPE_S))
    if is_frozen:
        place = np.searchsorted(begins, scrapes) - 1
        away = (place >= 0) & (scrapes < (begins + lasts)[place])
        scrapes = scrapes[~away]
    values = _absence_rows(scrapes, np.searchsorted(beats, scrapes, side="right").astype(np.float64))
    return lasts, np.array(_shown(values, begins + lasts))


def _beats(period_s: float, begins: Array, lasts: Array, rng: np.random.Generator) -> Array:
    """Return when a member beats: one that is due in an absence comes at its end, and the others follow upon that."""
    beats, time_s = [0.0], 0.0
    for begin, last in zip([*begins.tolist(), _SPAN_S], [*lasts.tolist(), 0.0], strict=True):
        many = int((begin - time_s) / period_s) + 1
        steps = period_s * (1.0 + _JITTER * rng.random(many))
        usual = time_s + np.cumsum(steps)
        beats += usual[usual < begin].tolist()
        time_s = max(float(usual[usual >= begin][0]), begin + last)
        beats.append(time_s)
    return np.array(beats)


def _absence_rows(scrapes: Array, counts: Array) -> dict[float, float]:
    """Return what rows a fit would get of the counter, by the block that they begin with, in seconds from the start."""
    times_s = (_START_S + scrapes).tolist()

    def series(values: Sequence[float], **labels: str) -> Series:
        return Series.from_raw({**_LABELS, **labels}, zip(times_s, values, strict=True))

    observed: Observed = {
        Quantity.HEARTBEATS: [series(counts.tolist())],
        Quantity.REBALANCES: [series([1.0] * len(times_s))],
        Quantity.REBALANCE_TIME: [series([0.1] * len(times_s))],
    }
    rows = quantities.rows(("shop", "orders"), quantities.measured(observed, {}))
    return {block_s - _START_S: value_s for _, name, block_s, value_s in rows if name == measured.ABSENCE}


def _shown(rows: dict[float, float], ends: Array) -> list[float]:
    """Return what shows of absences, by when each ended: in the block of the scrape after it; nothing is -infinite."""
    shown = []
    for end in ends.tolist():
        near = {blocks.start_s(_START_S + end + late) - _START_S for late in (0.0, SCRAPE_S, 2 * SCRAPE_S)}
        shown.append(max((rows[block_s] for block_s in near if block_s in rows), default=-np.inf))
    return shown
