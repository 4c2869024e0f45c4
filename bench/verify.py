"""Does the verification of changes keep its promises? `python -m bench.verify [GROUPS]`.

Groups whose truth is known (`verify_worlds`) are given to `verification` as the operator will give them: times of
evictions, and nothing else. Nothing was changed: how many are taken back, or called better? The rate was multiplied:
after how many days does it show? Other procedures (`verify_others`) get the same groups. Writes
build/bench/verify.json, and fails where a goal is missed.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bench import verify_others, verify_worlds
from bench.verify_worlds import AFTER_DAYS, LANDED, WORLDS, Drawn, World
from heartbeat_tuner.domain.verifications import Outcome
from heartbeat_tuner.verification import canary, fleet
from heartbeat_tuner.verification.change import HORIZON
from heartbeat_tuner.verification.verify import count, harm_by_promise, shown, verify

SEED: Final = 20_261_125
GROUPS: Final = 2_000
RATES: Final = (0.1, 1.0, 10.0)
HARMS: Final = (2.0, 3.0, 5.0, 10.0, 30.0)
BENEFIT: Final = 0.1

_DETECTED_PART: Final = 4  # groups of a harm, as a part of those of none
_FLEET: Final = 100
_FLEETS_PART: Final = 40
_SHARES: Final = (0.25, 0.5)
_MOST: Final = 0.05
_KNOWN_5X_DAYS: Final = 1.5
_RECORD_5X_DAYS: Final = 3.0
_PROCESSES: Final = 2
_REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "verify.json"


class Cell(NamedTuple):
    """Groups of one kind.

    Attributes:
        world: that they live in.
        rate: episodes a day before the change.
        times: the rate after it, as a multiple.
        groups: how many.
    """

    world: World
    rate: float
    times: float
    groups: int


class Judged(NamedTuple):
    """What became of the groups of a cell.

    Attributes:
        cell: they.
        harm_days: after how many days harm showed, infinite where it did not.
        verified_days: after how many days benefit showed; infinite where it never did.
        others: the share that each other procedure takes back.
    """

    cell: Cell
    harm_days: list[float]
    verified_days: list[float]
    others: dict[str, float]


def judged(cell: Cell) -> Judged:
    """Draw the groups of a cell, and judge each."""
    numbers = np.random.default_rng([SEED, WORLDS.index(cell.world), round(100 * cell.rate), round(100 * cell.times)])
    groups = [verify_worlds.draw(cell.world, cell.rate, cell.times, numbers) for _ in range(cell.groups)]
    answers = [_answers(group) for group in groups]
    before, after = _hourly(groups)
    others = {name: float(procedure(before, after).mean()) for name, procedure in verify_others.PROCEDURES.items()}
    return Judged(cell, [pair[0] for pair in answers], [pair[1] for pair in answers], others)


def _answers(group: Drawn) -> tuple[float, float]:
    """Return after how many days harm and benefit showed; infinite where they did not.

    Where the rate is known it is what a model promised, and worse than promised is what is asked.
    """
    change, watched, now = group.change, group.watched, LANDED + HORIZON
    answer = verify(change, watched, now=now)
    verified = _days(answer.reached) if answer.outcome is Outcome.VERIFIED else math.inf
    if not group.world.known:
        return (_days(answer.reached) if answer.outcome is Outcome.WORSE else math.inf), verified
    counted = count(change, watched, LANDED, now)
    broken = shown(counted, harm_by_promise(counted, verify_worlds.counted_rate(group.world, group.rate)))
    return _days(broken), verified


def _days(moment: datetime | None) -> float:
    return math.inf if moment is None else (moment - LANDED) / timedelta(days=1)


def _hourly(groups: Sequence[Drawn]) -> tuple[verify_others.Counts, verify_others.Counts]:
    written_s = verify_worlds.WRITTEN.timestamp()
    hours = 24 * groups[0].world.record_days
    before = np.arange(-hours, 1) * 3600.0 + written_s
    after = np.arange(24 * AFTER_DAYS + 1) * 3600.0 + written_s
    return (
        np.array([np.histogram(group.evictions_s, before)[0] for group in groups], dtype=np.float64),
        np.array([np.histogram(group.evictions_s, after)[0] for group in groups], dtype=np.float64),
    )


def fleets(count_of_fleets: int) -> dict[str, float]:
    """Return how many of the fleets of a hundred groups are stopped, with nothing and with a threefold rate."""
    every = next(world for world in WORLDS if world.name == "all, record")
    return {
        f"{times:g}x": float(np.mean([_is_stopped(every, times, place) for place in range(count_of_fleets)]))
        for times in (1.0, 3.0)
    }


def _is_stopped(world: World, times: float, place: int) -> bool:
    """Whether a fleet is stopped within its first day, looked at every four hours."""
    numbers = np.random.default_rng([SEED, place, round(100 * times)])
    groups = [verify_worlds.draw(world, float(numbers.choice(RATES)), times, numbers) for _ in range(_FLEET)]
    looks = (LANDED + timedelta(hours=hours) for hours in range(4, 25, 4))
    return any(fleet.must_stop([count(group.change, group.watched, LANDED, now) for group in groups]) for now in looks)


def canaries(groups: int) -> dict[str, dict[str, float]]:
    """Return the share of canaries that are taken out, by share of the pods and by how often they are hit."""
    return {
        f"{share:g}": {f"{times:g}x": _taken_out(share, times, groups) for times in (1.0, 5.0, 10.0)}
        for share in _SHARES
    }


def _taken_out(share: float, times: float, groups: int) -> float:
    """Return it for 30 episodes, whose halves share whatever makes them come."""
    numbers = np.random.default_rng([SEED, round(100 * share), round(times)])
    likely = times * share / (times * share + 1.0 - share)
    hit = np.cumsum(numbers.random((groups, 30)) < likely, axis=1)
    harmed = [
        any(canary.shows_harm(int(hits), place + 1 - int(hits), share) for place, hits in enumerate(row)) for row in hit
    ]
    return float(np.mean(harmed))


def interval(share: float, groups: int) -> list[float]:
    """Return Wilson's 95 % interval of a share."""
    z2 = 1.96**2 / groups
    middle, half = share + z2 / 2, math.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return [round(max(0.0, (middle - half) / (1 + z2)), 5), round((middle + half) / (1 + z2), 5)]


def cells(groups: int) -> list[Cell]:
    """Return all that is judged: nothing in each world, harm and benefit in those that tell most."""
    few = max(groups // _DETECTED_PART, 1)
    some = [world for world in WORLDS if world.name.startswith(("even", "all", "regimes of days, record"))]
    return [
        *(Cell(world, rate, 1.0, groups) for world in WORLDS for rate in RATES),
        *(Cell(world, rate, times, few) for world in some for rate in RATES for times in (*HARMS, BENEFIT)),
    ]


def report(results: Iterable[Judged]) -> dict[str, Any]:
    """Return the figures of all cells."""
    every = list(results)
    same = [result for result in every if result.cell.times == 1.0]
    still = [result for result in same if not result.cell.world.beyond]
    beyond = [result for result in same if result.cell.world.beyond]
    harmed = [result for result in every if result.cell.times > 1.0]
    helped = [result for result in every if result.cell.times < 1.0]
    false = _table(still, lambda result: _share(result.harm_days))
    better = _table(still, lambda result: _share(result.verified_days))
    by_world = _harms(harmed, lambda result: _finite(np.median(result.harm_days)))
    return {
        "false_revert": false,
        "false_revert_interval": _table(still, lambda result: interval(_share(result.harm_days), result.cell.groups)),
        "false_revert_beyond_the_record": _table(beyond, lambda result: _share(result.harm_days)),
        "falsely_verified_beyond_the_record": _table(beyond, lambda result: _share(result.verified_days)),
        "falsely_verified": max(share for rates in better.values() for share in rates.values()),
        "falsely_verified_by_world": better,
        "median_days_to_detect": by_world["even, B known"],
        "median_days_to_detect_by_record": by_world["even, record"],
        "median_days_to_detect_by_world": by_world,
        "found_in_28_days": _harms(harmed, lambda result: _share(result.harm_days)),
        "median_days_to_verify_a_tenth": _table(helped, lambda result: _finite(np.median(result.verified_days))),
        "others": {
            name: {
                "false_revert": _table(still, lambda result, name=name: result.others[name]),
                "finds": _harms(harmed, lambda result, name=name: result.others[name]),
            }
            for name in verify_others.PROCEDURES
        },
    }


def _table(results: Iterable[Judged], figure: Any) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for result in results:
        table.setdefault(result.cell.world.name, {})[f"{result.cell.rate:g}"] = figure(result)
    return table


def _harms(results: Iterable[Judged], figure: Any) -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for result in results:
        rates = table.setdefault(result.cell.world.name, {}).setdefault(f"{result.cell.rate:g}", {})
        rates[f"{result.cell.times:g}x"] = figure(result)
    return table


def _share(days: Sequence[float]) -> float:
    return float(np.isfinite(days).mean())


def _finite(days: float) -> float | None:
    return round(float(days), 3) if math.isfinite(days) else None


def missed(figures: dict[str, Any]) -> list[str]:
    """Return the goals that are missed, as sentences."""
    too_often = _too_often("false revert", figures["false_revert"])
    late = [
        f"5x at 1 a day after {days} days ({name}): at most {most}"
        for name, most in (
            ("median_days_to_detect", _KNOWN_5X_DAYS),
            ("median_days_to_detect_by_record", _RECORD_5X_DAYS),
        )
        if (days := figures[name]["1"]["5x"]) is None or days > most
    ]
    falsely = figures["falsely_verified"]
    return too_often + late + ([f"falsely verified {falsely:.3f}: at most {_MOST}"] if falsely > _MOST else [])


def missed_beyond(figures: dict[str, Any]) -> list[str]:
    """Return where the worlds without a goal would miss it, as sentences."""
    return [
        *_too_often("false revert", figures["false_revert_beyond_the_record"]),
        *_too_often("falsely verified", figures["falsely_verified_beyond_the_record"]),
    ]


def _too_often(what: str, table: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"{what} {share:.3f} in '{world}' at {rate} a day: at most {_MOST}"
        for world, rates in table.items()
        for rate, share in rates.items()
        if share > _MOST
    ]


def main(*arguments: str) -> int:
    """Judge and report; 1 if a goal is missed."""
    groups = int(arguments[0]) if arguments else GROUPS
    results = []
    with ProcessPoolExecutor(_PROCESSES) as pool:
        for result in pool.map(judged, cells(groups)):
            results.append(result)
            print(
                f"{result.cell.world.name:26s} {result.cell.rate:4g}/d x{result.cell.times:<4g}"
                f" harm {_share(result.harm_days):.4f} in {np.median(result.harm_days):6.2f} d,"
                f" verified {_share(result.verified_days):.4f}",
                flush=True,
            )
        stopped = pool.submit(fleets, max(groups // _FLEETS_PART, 1))
        taken_out = pool.submit(canaries, groups)
        extra = {"fleets_stopped_in_a_day": stopped.result(), "canaries_taken_out": taken_out.result()}
    figures = {"seed": SEED, "groups": groups, **report(results), **extra}
    failures = missed(figures)
    short = {"missed": failures, "missed_beyond_the_record": missed_beyond(figures)}
    print(json.dumps({**extra, **short}, indent=2))
    _REPORT.parent.mkdir(parents=True, exist_ok=True)
    _REPORT.write_text(json.dumps({**figures, **short}, indent=2) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
