"""How much of a silence the product's own measuring misses, where heartbeats that did not come are all that shows it.

A day of raw samples is made of one member that is absent now and then, scraped every 15 s, and goes through
`metrics.quantities` as the fit's would. What the rows have less than the silence itself is drawn from ever after: the
raw samples of whole fleets would be too many.
"""

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
_EVERY_S: Final = 600.0
_JITTER: Final = 0.03
_SHORTEST, _LONGEST = 2.5, 15.0  # in periods
_LABELS: Final = {"namespace": "shop", "pod": "orders-0", "group_id": "orders"}
_START_S: Final = 1_767_571_200.0


@functools.lru_cache(maxsize=512)
def missed_s(period_s: float, *, is_frozen: bool) -> Array:
    """Return by how much rows fall short of silences, in seconds; infinite for one that did not show at all.

    Args:
        period_s: between two heartbeats.
        is_frozen: the process stands still, and is not scraped either; else only its beats wait.
    """
    rng = np.random.default_rng(1)
    begins = np.arange(_EVERY_S, _SPAN_S - _EVERY_S, _EVERY_S) + rng.uniform(0.0, _EVERY_S / 3, _absences())
    lasts = period_s * rng.uniform(_SHORTEST, min(_LONGEST, _EVERY_S / 2 / period_s), begins.size)
    beats = _beats(period_s, begins, lasts, rng)
    scrapes = np.arange(0.0, _SPAN_S, SCRAPE_S) + float(rng.uniform(0.0, SCRAPE_S))
    if is_frozen:
        place = np.searchsorted(begins, scrapes) - 1
        away = (place >= 0) & (scrapes < (begins + lasts)[place])
        scrapes = scrapes[~away]
    values = _absence_rows(scrapes, np.searchsorted(beats, scrapes, side="right").astype(np.float64))
    ends = begins + lasts
    last_beat = beats[np.searchsorted(beats, begins, side="right") - 1]
    return np.array([silence - shown for silence, shown in zip(ends - last_beat, _shown(values, ends), strict=True)])


def _absences() -> int:
    return len(np.arange(_EVERY_S, _SPAN_S - _EVERY_S, _EVERY_S))


def _beats(period_s: float, begins: Array, lasts: Array, rng: np.random.Generator) -> Array:
    """Return when a member beats: an absence delays the next beat to its end, and the others follow upon that."""
    beats, time_s = [0.0], 0.0
    for begin, last in zip([*begins.tolist(), _SPAN_S], [*lasts.tolist(), 0.0], strict=True):
        many = int((begin - time_s) / period_s) + 1
        steps = period_s * (1.0 + _JITTER * rng.random(many))
        usual = time_s + np.cumsum(steps)
        beats += usual[usual < begin].tolist()
        time_s = begin + last
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
