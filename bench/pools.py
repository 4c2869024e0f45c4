"""How true the bounds of a pool are, in worlds that our formulas did not make: `python -m bench.pools`.

Counts of absences are drawn from the truth of the Java groups of `bench.as_shipped.adverse` and of the hold-out, for
two weeks, day by day; when a node stops, all members on it are absent at once. All absences show. A pool
is made of the counts, and asked for each group. Printed are for sessions of 30, 45 and 60 s:

- `holds`: the share of groups whose true rate is not above the bound (95 %);
- `bound / truth`: in the median, the smaller the better;
- `known within`: of those groups that truly have at most one such absence a month, the share whose bound says so;
- `mean / truth`: sum over sum.

`one by one` is a pool that takes all absences for independent ones and its gamma law at its word; `clumps` knows how
many come at a time; `in force` also holds those that saw none to what most groups are like.
"""

import argparse
import math
from collections.abc import Sequence
from typing import Final
from unittest import mock

import numpy as np

from bench import fleets
from bench.as_shipped import adverse
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile
from heartbeat_tuner.tails import pool
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S
from heartbeat_tuner.tails.pool import EDGES, Pool
from heartbeat_tuner.tails.rates import DayScatter

_SESSIONS_S: Final = np.array([EDGES_S[int(np.searchsorted(EDGES_S, time_s))] for time_s in (30.0, 45.0, 60.0)])
_DAYS: Final = 14
_MONTH: Final = 30.0
_HOLDOUT: Final = "holdout"
_WAYS: Final = {"one by one": (False, math.inf), "clumps": (True, math.inf), "in force": (True, pool.ALIKE)}


def truths(world: str, groups: int) -> list[Profile]:
    """Return what happens to the Java groups of a world."""
    if world == _HOLDOUT:
        everybody = fleets.fleet(_HOLDOUT, groups)
    else:
        everybody = [life.group for life in adverse.lives(world, groups)]
    return [group.truth for group in everybody if group.truth.client in {"java", "java-kip848"}]


def per_day(process: FailureProcess, times_s: Array) -> Array:
    """Return how often a day something is longer than some times."""
    return np.asarray(process.per_day * process.law.sf(times_s))


def absences(profiles: Sequence[Profile], rng: np.random.Generator) -> Array:
    """Return the counts of each day, group and bucket."""
    counts = np.zeros((_DAYS, len(profiles), BUCKETS))
    for place, profile in enumerate(profiles):
        pauses, nodes = (
            np.maximum(-np.diff(per_day(process, EDGES_S)), 0.0) for process in (profile.pauses, profile.node_pauses)
        )
        counts[:, place] = rng.poisson(profile.members * pauses, (_DAYS, BUCKETS))
        counts[:, place] += profile.node_members * rng.poisson(nodes, (_DAYS, BUCKETS))
    return counts


def longer(counts: Array) -> Array:
    """Return how many are longer than the lower edge of each bucket."""
    return np.asarray(np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1])


def asked(world: str, groups: int, repeats: int) -> dict[str, tuple[Array, Array, Array]]:
    """Return by way the truths, means and bounds a month of each group and session."""
    profiles = truths(world, groups)
    members = np.array([profile.members for profile in profiles], dtype=np.float64)
    true = np.array(
        [
            per_day(profile.pauses, _SESSIONS_S)
            + per_day(profile.node_pauses, _SESSIONS_S) * profile.node_members / profile.members
            for profile in profiles
        ]
    )
    answers: dict[str, list[tuple[Array, Array, Array]]] = {way: [] for way in _WAYS}
    for repeat in range(repeats):
        days = absences(profiles, np.random.default_rng([repeat, 7]))
        whole, daily = days.sum(axis=0), longer(days)[..., EDGES]
        scatter = DayScatter.of(daily.sum(axis=0), (daily**2).sum(axis=0), np.full(members.size, _DAYS))
        seen = longer(whole)[:, np.searchsorted(EDGES_S, _SESSIONS_S)]
        for way, (clumps, alike) in _WAYS.items():
            with mock.patch.object(pool, "ALIKE", alike):  # a constant of the product, which nobody sets
                homes = np.zeros(members.size, dtype=np.int64)
                made = Pool.of_homes(whole, _DAYS * members, homes, scatter=scatter if clumps else None)[0]
                both = [made.posterior(_SESSIONS_S, *own) for own in zip(seen, _DAYS * members, strict=True)]
            mean, upper = np.array(both).transpose(1, 0, 2) * _MONTH * members[:, None]
            answers[way].append((true * _MONTH * members[:, None], mean, upper))
    found = {}
    for way, rounds in answers.items():
        true_rates, means, uppers = zip(*rounds, strict=True)
        found[way] = (np.concatenate(true_rates), np.concatenate(means), np.concatenate(uppers))
    return found


def line(world: str, way: str, true: Array, mean: Array, upper: Array) -> str:
    """Return the figures of a world as a line of a table in Markdown."""
    within = true <= 1.0
    known = (within & (upper <= 1.0)).sum(axis=0) / np.maximum(within.sum(axis=0), 1)
    figures = (
        (true <= upper).mean(axis=0),
        np.median(upper / true, axis=0),
        known,
        mean.sum(axis=0) / true.sum(axis=0),
    )
    cells = (", ".join(f"{value:.2f}" for value in figure) for figure in figures)
    return f"| {world} | {way} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How true the bounds of a pool are.")
    parser.add_argument("worlds", nargs="*", help="all of the hold-out, slow pod, nodes, pareto and bimodal by default")
    parser.add_argument("--groups", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=4)
    given = parser.parse_args()
    print("| world | way | holds at 30, 45, 60 s | bound / truth | known within | mean / truth |")
    print("|---|---|---|---|---|---|")
    for world in given.worlds or (_HOLDOUT, "slow pod", "nodes", "pareto", "bimodal"):
        for way, figures in asked(world, given.groups, given.repeats).items():
            print(line(world, way, *figures), flush=True)


if __name__ == "__main__":
    main()
