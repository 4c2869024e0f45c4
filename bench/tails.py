"""How near are fitted tails to the truth, and how fast are they? `python -m bench.tails [PART ...]`.

`accuracy`: fleets of known truth (`bench.tail_truths`), each in three guises: as it is, rounded to whole milliseconds,
and cut off by a timeout. The time that one value in a million exceeds, estimated by `heartbeat_tuner.tails` and, group
by group, by SciPy's maximum likelihood, probability-weighted moments and the largest value. `limit`: the error on the
exact truth over several seeds, beside the least that any estimator can have. `speed`: the whole pipeline for 2,000
groups beside SciPy's loop, in seconds of processor time, since the machine may be shared. `critical`: what the goodness
of fit reaches by chance.
"""

import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from scipy import stats

from bench import tail_truths
from bench.tail_truths import Group
from heartbeat_tuner.tails import gpd, histogram
from heartbeat_tuner.tails.fit import dependence, fitness, likelihood, tail_estimate, threshold
from heartbeat_tuner.tails.fit.exceedances import Exceedances
from heartbeat_tuner.tails.fit.tail_estimate import Fleet
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, Histogram
from heartbeat_tuner.tails.model import TailModel

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "tails.json"

_RARE: Final = 1e-6
_SIZES: Final = {300: 500, 2_880: 500, 28_800: 150}
"""Values of a group, and how many groups."""

_LIMIT_SEEDS: Final = 8
_LIMIT_VALUES: Final = 2_880

_RUN: Final = 2
"""Quiet values that end a cluster."""

_SPEED_GROUPS: Final = 2_000
_SPEED_VALUES: Final = 2_880


@dataclasses.dataclass(frozen=True)
class Seen:
    """A group as an estimator sees it.

    Attributes:
        values_s: what was measured, in order of time.
        cut_s: longer values are only known to be longer; infinite where nothing cuts them.
        unit: what the group's times were multiplied by.
    """

    values_s: Array
    cut_s: float = np.inf
    unit: float = 1.0


def _whole(group: Group) -> Seen:
    return Seen(group.values_s)


def _rounded(group: Group) -> Seen:
    """Return the group with a usual delay near 4 ms, as a gauge of whole milliseconds tells it."""
    return Seen(np.round(group.values_s * 0.04 * 1000) / 1000, unit=0.04)


def _cut(group: Group) -> Seen:
    """Return the group with a timeout that one value in 1,000 exceeds."""
    cut_s = float(EDGES_S[np.searchsorted(EDGES_S, group.quantile(1e-3))])
    return Seen(np.minimum(group.values_s, cut_s * 1.01), cut_s)


GUISES: Final[dict[str, Callable[[Group], Seen]]] = {"whole": _whole, "rounded": _rounded, "cut": _cut}


def _peaks(seen: Seen) -> tuple[Array, float, float]:
    """Return the top 1 % (at least 50) as excesses, their threshold and share, as a fit group by group takes them."""
    sort = np.sort(seen.values_s[seen.values_s <= seen.cut_s])
    count = min(max(50, sort.size // 100), sort.size - 1)
    start_s = float(sort[-count - 1])
    return sort[-count:] - start_s, start_s, count / sort.size


def _by_scipy(seen: Seen) -> float:
    excess, start_s, share = _peaks(seen)
    shape, _, scale = stats.genpareto.fit(excess[excess > 0], floc=0)
    return start_s + float(gpd.excess_at(_RARE / share, shape, scale))


def _by_moments(seen: Seen) -> float:
    """Return what probability-weighted moments say (Hosking and Wallis, Technometrics 29, 1987)."""
    excess, start_s, share = _peaks(seen)
    ranks = (np.arange(excess.size) + 0.65) / excess.size
    first, second = excess.mean(), float((excess * (1 - ranks)).mean())
    shape, scale = 2 - first / (first - 2 * second), 2 * first * second / (first - 2 * second)
    return start_s + float(gpd.excess_at(_RARE / share, shape, scale))


def _by_largest(seen: Seen) -> float:
    return float(seen.values_s.max())


_OTHERS: Final = {"SciPy": _by_scipy, "moments": _by_moments, "largest": _by_largest}


def _weight(seen: list[Seen], first: Array) -> Array:
    """Return how much each group's values tell, by the clusters of those over a threshold."""
    exceeding = np.array(
        [np.sum(item.values_s > start_s) for item, start_s in zip(seen, first, strict=True)], dtype=float
    )
    repeating = np.array(
        [
            np.sum(dependence.repeats(item.values_s, run=_RUN) > start_s)
            for item, start_s in zip(seen, first, strict=True)
        ],
        dtype=float,
    )
    return dependence.information(dependence.extremal_index(exceeding, repeating))


def _fleet(seen: list[Seen], *, dependent: bool) -> Fleet:
    counts = histogram.dense(Histogram.of(item.values_s) for item in seen)
    cut = np.array([min(int(np.searchsorted(EDGES_S, item.cut_s)), BUCKETS) for item in seen], dtype=np.int64)
    if not dependent:
        return Fleet.of(counts, cut=cut)
    # One in 100 is where clusters are asked for; a fleet has one extremal index, single groups have too few clusters.
    first = threshold.edges_over(counts, 0.01 * counts.sum(axis=1))
    weight = np.full(len(seen), float(np.mean(_weight(seen, EDGES_S[first]))))
    return Fleet.of(counts, cut=cut, weight=weight)


def accuracy() -> list[dict[str, object]]:
    """Return a line for each truth, guise and size."""
    lines = []
    for truth, make in tail_truths.TRUTHS.items():
        for size, groups in _SIZES.items():
            rng = np.random.default_rng(size)
            fleet = [make(rng, size) for _ in range(groups)]
            exact = np.array([group.quantile(_RARE) for group in fleet])
            for guise, look in GUISES.items():
                seen = [look(group) for group in fleet]
                lines.append(
                    {
                        "truth": truth,
                        "guise": guise,
                        "values": size,
                        "groups": groups,
                        **_line(seen, exact * seen[0].unit),
                    }
                )
                print(lines[-1], flush=True)
    return lines


def _line(seen: list[Seen], exact: Array) -> dict[str, object]:
    line: dict[str, object] = {}
    for name, dependent in (("ours", False), ("ours, clusters told", True)):
        fleet = _fleet(seen, dependent=dependent)
        found = tail_estimate.models(fleet)
        pairs = [(item, true) for item, true in zip(found, exact, strict=True) if isinstance(item, TailModel)]
        guesses = np.array([item.quantile_s(_RARE) for item, _ in pairs])
        bounds = np.array([item.quantile_upper_s(_RARE) for item, _ in pairs])
        array = np.array([true for _, true in pairs])
        line[name] = {
            **_errors(guesses, array),
            "bound_holds": round(float(np.mean(bounds >= array)), 3),
            "bound_over_truth": round(float(np.median(bounds / array)), 2),
            "rejected": len(found) - len(pairs),
            "weight": round(float(fleet.weight[0]), 2),
        }
    for name, guess in _OTHERS.items():
        line[name] = _errors(np.array([guess(item) for item in seen]), exact)
    return line


def _errors(guesses: Array, exact: Array) -> dict[str, float]:
    away = np.log(guesses / exact)
    return {"rmse": round(float(np.sqrt(np.mean(away**2))), 3), "median": round(float(np.median(away)), 3)}


def speed() -> dict[str, object]:
    """Return seconds of processor time for the whole pipeline, and for SciPy's loop over the same groups."""
    rng = np.random.default_rng(1)
    fleet = [tail_truths.exact(rng, _SPEED_VALUES) for _ in range(_SPEED_GROUPS)]
    counts = histogram.dense(Histogram.of(group.values_s) for group in fleet)
    seen = [_whole(group) for group in fleet]
    ours = [_processor_s(lambda: tail_estimate.models(Fleet.of(counts))) for _ in range(3)]
    first = threshold.edges_over(counts, 0.01 * counts.sum(axis=1))
    one_pass = [_processor_s(lambda: likelihood.fit(Exceedances.over(counts, first))) for _ in range(3)]
    loop = _processor_s(lambda: [_by_scipy(item) for item in seen])
    values = np.concatenate([group.values_s for group in fleet])
    bucketing = min(_processor_s(lambda: histogram.bucket_of(values)) for _ in range(3))
    return {
        "groups": _SPEED_GROUPS,
        "values_each": _SPEED_VALUES,
        "pipeline_s": [round(took, 2) for took in ours],
        "one_likelihood_pass_s": [round(took, 3) for took in one_pass],
        "scipy_loop_s": round(loop, 2),
        "scipy_ms_per_group": round(1000 * loop / _SPEED_GROUPS, 2),
        "scipy_loop_over_one_pass": round(loop / min(one_pass), 1),
        "scipy_loop_over_pipeline": round(loop / min(ours), 1),
        "million_values_bucketed_per_s": round(values.size / bucketing / 1e6, 1),
    }


def _processor_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def critical() -> list[dict[str, object]]:
    """Return how often chance alone exceeds the limits of `fitness`: for fitted laws, and for laws that were known."""
    lines: list[dict[str, object]] = []
    first = int(np.searchsorted(EDGES_S, 1.0))
    for shape in (0.0, 0.15, 0.4):
        for size in (20, 100, 1_000):
            rng = np.random.default_rng(size)
            drawn = EDGES_S[first] + stats.genpareto.rvs(shape, scale=0.5, size=(2_000, size), random_state=rng)
            exceedances = Exceedances.over(histogram.dense(map(Histogram.of, drawn)), np.full(2_000, first))
            fits = likelihood.fit(exceedances)
            known = np.tile([shape, np.log(0.5)], (2_000, 1))
            line: dict[str, object] = {"shape": shape, "exceedances": size}
            for name, theta, which in (("fitted", fits.theta, fits.converged), ("known", known, slice(None))):
                statistic = fitness.measure_fitness(exceedances, theta).anderson_darling[which]
                line[name] = {
                    "95 %": round(float(np.quantile(statistic, 0.95)), 2),
                    "over_critical": round(float(np.mean(statistic > fitness.CRITICAL)), 4),
                    "over_rejected": round(float(np.mean(statistic > fitness.REJECTED)), 4),
                }
            lines.append(line)
            print(line, flush=True)
    return lines


def limit() -> list[dict[str, object]]:
    """Return, for several seeds and for all together, errors on the exact truth beside the least that there can be."""
    lines: list[dict[str, object]] = []
    away: list[Array] = []
    for seed in range(_LIMIT_SEEDS):
        rng = np.random.default_rng(seed)
        fleet = [tail_truths.exact(rng, _LIMIT_VALUES) for _ in range(_SIZES[_LIMIT_VALUES])]
        found = tail_estimate.models(Fleet.of(histogram.dense(Histogram.of(group.values_s) for group in fleet)))
        models = [item for item in found if isinstance(item, TailModel)]
        if len(models) < len(fleet):
            sys.exit(f"seed {seed}: {len(fleet) - len(models)} groups have no model; errors would not be of the same")
        guesses = [
            [model.quantile_s(_RARE) for model in models],
            [_by_scipy(_whole(group)) for group in fleet],
            [_by_truth(group) for group in fleet],
        ]
        away.append(np.log(guesses) - np.log([group.quantile(_RARE) for group in fleet]))
        lines.append({"seed": seed, **_beside_scipy(away[-1])})
        print(lines[-1], flush=True)
    return [*lines, {"seed": "all", **_beside_scipy(np.hstack(away))}]


_LAWS: Final = np.array(tail_truths.LAW_MEAN) + np.array(tail_truths.LAW_SD) * np.stack(
    np.meshgrid(np.linspace(-4.0, 4.0, 41), np.linspace(-4.0, 4.0, 41)), axis=-1
)
"""Shapes and logarithms of scales, to four standard deviations around those of the exact truth."""


def _by_truth(group: Group) -> float:
    """Return the best guess of who is told a group's threshold and share, and how laws are drawn for groups.

    On a grid of laws, the posterior mean of the logarithm: on average no estimator has a smaller squared error.
    """
    start_s = group.quantile(tail_truths.TAIL_SHARE)
    excess = group.values_s[group.values_s > start_s] / start_s - 1.0
    shape, log_scale = np.moveaxis(_LAWS, 2, 0)
    t, _, _ = gpd.exponent(excess[:, None, None], shape, np.exp(log_scale))
    heights = -((1.0 + shape) * t + log_scale).sum(axis=0)
    heights -= 0.5 * (((_LAWS - tail_truths.LAW_MEAN) / tail_truths.LAW_SD) ** 2).sum(axis=2)
    weights = np.exp(heights - heights.max())
    logs = np.log1p(gpd.excess_at(_RARE / tail_truths.TAIL_SHARE, shape, np.exp(log_scale)))
    return start_s * float(np.exp((weights * logs).sum() / weights.sum()))


def _beside_scipy(away: Array) -> dict[str, object]:
    """Return the errors of us, SciPy and the limit (one row each), and the first and last as parts of SciPy's."""
    ours, scipy, least = np.sqrt(np.mean(away**2, axis=1))
    return {
        "ours": round(float(ours), 3),
        "SciPy": round(float(scipy), 3),
        "limit": round(float(least), 3),
        "ours_over_SciPy": round(float(ours / scipy), 3),
        "limit_over_SciPy": round(float(least / scipy), 3),
    }


_PARTS: Final[dict[str, Callable[[], object]]] = {
    "accuracy": accuracy,
    "limit": limit,
    "speed": speed,
    "critical": critical,
}


def main() -> None:
    """Run the parts named on the command line, all by default, and write what they found."""
    unknown = [name for name in sys.argv[1:] if name not in _PARTS]
    if unknown:
        sys.exit(f"there is no part {unknown[0]!r}; the parts are {', '.join(_PARTS)}")
    found = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    found["machine"] = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    for name in sys.argv[1:] or _PARTS:
        found[name] = _PARTS[name]()
        print(name, json.dumps(found[name]))
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(found, indent=2) + "\n")
    print(f"written to {REPORT}")


if __name__ == "__main__":
    main()
