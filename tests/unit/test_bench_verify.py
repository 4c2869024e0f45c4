"""The bench of verification: its worlds, its figures and its other procedures, small."""

import math

import numpy as np
import pytest

from bench import verify, verify_others, verify_worlds
from bench.verify import Cell, Judged
from bench.verify_worlds import WORLDS, WRITTEN, World

DAY = 86_400.0


@pytest.mark.parametrize("world", [world for world in WORLDS if not world.storm], ids=lambda world: world.name)
def test_a_world_has_the_rate_that_it_is_said_to_have(world: World) -> None:
    """So many begin a day on average before the change, and twice as many after it."""
    numbers = np.random.default_rng(4)
    groups = [verify_worlds.draw(world, 10.0, 2.0, numbers) for _ in range(40)]
    begun = np.concatenate([group.evictions_s for group in groups]) - WRITTEN.timestamp()
    each = 4.0 if world.bursts else 1.0
    before = np.count_nonzero(begun < 0) / each / (40 * world.record_days)
    after = np.count_nonzero((begun >= 0) & (begun < 28 * DAY)) / each / (40 * 28)
    assert before == pytest.approx(10.0, rel=0.3 if world.scatter else 0.1)
    assert after == pytest.approx(20.0, rel=0.3 if world.scatter else 0.1)


def test_a_known_rate_is_that_of_counted_episodes() -> None:
    """Of those that come at any time, a renewal: each keeps the next ones away for 15 minutes."""
    assert verify_worlds.counted_rate(WORLDS[0], 10.0) == pytest.approx(10.0 / (1.0 + 10.0 / 96.0), rel=0.02)


def test_a_change_is_made_at_the_peak_of_the_day_and_in_the_middle_of_an_incident() -> None:
    """The hours around it are the worst."""
    numbers = np.random.default_rng(5)
    named = {world.name: world for world in WORLDS}
    for name, least in (("swing, record", 1.5), ("in an incident, record", 4.0)):
        groups = [verify_worlds.draw(named[name], 10.0, 1.0, numbers) for _ in range(60)]
        near = [np.abs(group.evictions_s - WRITTEN.timestamp()) < DAY / 12 for group in groups]
        assert np.sum([hits.sum() for hits in near]) / 60 * 6 > least * 10.0


def test_a_small_run_has_all_figures_and_finds_what_is_plain() -> None:
    """Ten groups with an even rate, and ten with thirty times that."""
    even = WORLDS[0], next(world for world in WORLDS if world.name == "even, record")
    cells = [Cell(world, 10.0, times, 10) for world in even for times in (1.0, 30.0, 0.1)]
    figures = verify.report(verify.judged(cell) for cell in cells)
    assert figures["false_revert"]["even, record"] == {"10": 0.0}
    assert figures["median_days_to_detect"]["10"]["30x"] < 0.2
    assert figures["median_days_to_detect_by_record"]["10"]["30x"] < 0.5
    assert figures["falsely_verified"] == 0.0
    assert figures["median_days_to_verify_a_tenth"]["even, record"]["10"] < 5
    assert figures["others"]["failureLimit 0"]["false_revert"]["even, record"] == {"10": 1.0}


def test_goals_that_are_missed_are_named() -> None:
    """And what is within them is not."""
    cells = [Cell(WORLDS[5], 1.0, 1.0, 10), Cell(WORLDS[0], 1.0, 5.0, 10), Cell(WORLDS[5], 1.0, 5.0, 10)]
    none = [math.inf] * 10
    good = [
        Judged(cells[0], none, none, {}),
        Judged(cells[1], [1.5] * 10, none, {}),
        Judged(cells[2], [3.0] * 10, none, {}),
    ]
    assert verify.missed(figures_of(good)) == []
    bad = [
        Judged(cells[0], [1.0] * 10, [2.0] * 10, {}),
        Judged(cells[1], none, none, {}),
        Judged(cells[2], [3.1] * 10, none, {}),
    ]
    assert verify.missed(figures_of(bad)) == [
        "false revert 1.000 in 'even, record' at 1 a day: at most 0.05",
        "5x at 1 a day after None days (median_days_to_detect): at most 1.5",
        "5x at 1 a day after 3.1 days (median_days_to_detect_by_record): at most 3.0",
        "falsely verified 1.000: at most 0.05",
    ]


def test_what_worlds_without_a_goal_miss_is_named_apart() -> None:
    """It fails nothing, and is not hidden either."""
    weeks = next(world for world in WORLDS if world.name == "regimes of weeks, record")
    results = [
        Judged(Cell(world, 1.0, times, 10), [1.0] * 10, [math.inf] * 10, {})
        for world in (WORLDS[0], WORLDS[5], weeks)
        for times in (1.0, 5.0)
    ]
    figures = figures_of(results)
    assert verify.missed_beyond(figures) == [
        "false revert 1.000 in 'regimes of weeks, record' at 1 a day: at most 0.05"
    ]
    assert not any("regimes" in sentence for sentence in verify.missed(figures))


def figures_of(results: list[Judged]) -> dict[str, object]:
    """Return the report of results in which no other procedure was asked."""
    nothing = dict.fromkeys(verify_others.PROCEDURES, 0.0)
    return verify.report(result._replace(others=nothing) for result in results)


def test_an_interval_is_wilson_s() -> None:
    """By hand: none of a hundred, and half of them."""
    assert verify.interval(0.0, 100) == pytest.approx([0.0, 0.037], abs=1e-3)
    assert verify.interval(0.5, 100) == pytest.approx([0.404, 0.596], abs=1e-3)


def test_other_procedures_judge_hours() -> None:
    """One eviction; four bad hours of the first day; five times as many for a fortnight."""
    before = np.zeros((3, 336))
    before[:, ::24] = 1.0
    after = np.zeros((3, 672))
    after[0, 30] = 1.0
    after[1, [1, 5, 9, 20]] = 1.0
    after[2, ::5] = 1.0
    verdicts = {name: test(before, after).tolist() for name, test in verify_others.PROCEDURES.items()}
    assert verdicts["failureLimit 0"] == [False, True, True]
    assert verdicts["failureLimit 3"] == [False, True, True]
    assert verdicts["hourly binomial"] == [False, True, True]
    assert verdicts["Mann-Whitney"] == [False, False, True]
    same = np.zeros((1, 336))
    assert verify_others.mann_whitney(same, np.zeros((1, 672))).tolist() == [False]


def test_canaries_are_asked_too() -> None:
    """Hit as often as their share says, and ten times as often."""
    taken_out = verify.canaries(50)["0.25"]
    assert taken_out["1x"] <= 0.1
    assert taken_out["10x"] >= 0.9
