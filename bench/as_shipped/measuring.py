"""Figures of fleets in the operator's hands: each is one piece of work for one process."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bench import fleets
from bench.as_shipped import adverse as worlds
from bench.as_shipped import judged_figures, judgement, kept_looks, worst_groups
from bench.as_shipped.held_group import HeldGroup
from bench.as_shipped.judgement import Standing, Yardstick
from bench.as_shipped.kept_looks import KeptLook
from bench.as_shipped.lives import Life
from bench.as_shipped.running import Plan, Running
from bench.fleets import HOURS, Kind
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import Profile
from sandbox import progress

DAYS: Final = (1, 14, 30)
"""After how many days a fleet is judged."""

LOOKED_AT: Final = (1, 2, 4, 7, 10, 14, 20, 25, 30)
"""After how many days what was known of the groups is kept."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What one process does.

    Attributes:
        name: of the fleet, or of the adverse world.
        groups: how many.
        plan: what is simulated.
        seed: of the fleet; None: its own.
        worst: of how many groups the story is told.
        client: the library whose groups are looked at, alone; empty for all.
        in_namespace: how many groups are in each namespace; 0 for all in one.
    """

    name: str
    groups: int
    plan: Plan
    seed: int | None = None
    worst: int = 0
    client: str = ""
    in_namespace: int = 0

    @property
    def file_name(self) -> str:
        """Of what is kept of the fleet."""
        only = f"-{self.client}" if self.client else ""
        apart = f"-by-{self.in_namespace}" if self.in_namespace else ""
        return f"{self.name.replace(' ', '-')}-{self.groups}-{self.seed or 'own'}{only}{apart}"


@dataclasses.dataclass(frozen=True)
class Measured:
    """What became of a fleet.

    Attributes:
        by_day: figures after so many days, by name, such as `14d`.
        lines: what each group came to in the end.
        stories: of the worst groups, by how they were chosen.
        plays: for the simulation: of each group its truth, whether it is deployed all the time, and its values: the
            defaults, those in force, and the oracle's.
    """

    by_day: dict[str, dict[str, Any]]
    lines: list[dict[str, Any]]
    stories: dict[str, list[str]]
    plays: Sequence[tuple[Profile, bool, tuple[LivenessSettings, ...]]]


def shipped(work: Work) -> Measured:
    """Return what becomes of one of the fleets of `bench.fleets`, and of the groups at the broker that go with it."""
    groups = [*fleets.fleet(work.name, work.groups, work.seed), *fleets.at_broker(work.name, work.groups, work.seed)]
    size = work.in_namespace or len(groups)
    lives = [Life(group, namespace=f"team-{number // size}") for number, group in enumerate(groups)]
    return of_lives(work, [life for life in lives if work.client in {"", life.group.truth.client}])


def adverse(work: Work) -> Measured:
    """Return what becomes of the groups of one of `adverse.WORLDS`."""
    return of_lives(work, worlds.lives(work.name, work.groups, work.seed))


def of_lives(work: Work, lives: Sequence[Life]) -> Measured:
    """Return what becomes of groups."""
    running = Running(lives, work.plan)
    days = sorted({day for day in DAYS if day <= work.plan.days} | {work.plan.days})
    by_day: dict[str, dict[str, Any]] = {}
    last: list[Standing] = []
    yardsticks: dict[tuple[str, int], Yardstick] = {}

    def against(life: Life, day: int) -> Yardstick:
        truth = life.truth(day)
        key = (life.name, id(truth) if life.sunday is None else 0)
        if key not in yardsticks:
            objective = next(held.policy.objective for held in running.groups if held.life is life)
            yardsticks[key] = judgement.yardstick((truth, objective))
        return yardsticks[key]

    def on_day(day: int) -> None:
        nonlocal last
        if day not in days and day not in LOOKED_AT:
            return
        there = [held for held in running.groups if held.life.is_there(day - 1) and not held.life.lies]
        judged = [judgement.standing(held, day, against(held.life, day - 1)) for held in there]
        kept_looks.keep(work.file_name, day, _looks(there, judged, day))
        if day not in days:
            return
        last = [standing for standing in judged if standing is not None]
        by_day[f"{day}d"] = figures = judged_figures.figures(last)
        progress.say("quality", f"{work.name} as shipped, {day} days: {summary(figures)}")

    running.run(on_day)
    by_day[f"{days[-1]}d"]["refused"] = len(running.refused)
    standing_of = {standing.name: standing for standing in last}
    pairs = [(held, standing_of[held.life.name]) for held in running.groups if held.life.name in standing_of]
    hours = work.plan.days * HOURS
    stories = {
        "by cost": [worst_groups.story(pair, hours) for pair in worst_groups.by_cost(pairs, work.worst)],
        "by word": [worst_groups.story(pair, hours) for pair in worst_groups.by_word(pairs, work.worst)],
    }
    plays = [
        (
            held.life.truth(work.plan.days - 1),
            held.life.group.kind is Kind.DEPLOYS,
            (standing.yardstick.default.settings, standing.values, standing.yardstick.oracle.settings),
        )
        for held, standing in pairs
    ]
    return Measured(by_day, [_line(standing) for standing in last], stories, plays)


def _looks(groups: Sequence[HeldGroup], judged: Sequence[Standing | None], day: int) -> list[KeptLook]:
    return [
        KeptLook(held.last_inputs, held.life.truth(day - 1), standing)
        for held, standing in zip(groups, judged, strict=True)
        if standing is not None and held.last_inputs is not None
    ]


def played(plays: Sequence[tuple[tuple[float, float], tuple[float, float], tuple[float, float]]]) -> dict[str, Any]:
    """Return figures of groups that were played out with their defaults, with what is in force, with the oracle's."""
    default, in_force, oracle = (np.array([play[place][0] for play in plays]) for place in range(3))
    evictions = np.array([play[1][1] for play in plays])
    possible = float((default - oracle).sum())
    return {
        "groups": len(plays),
        "captured_share": float((default - in_force).sum()) / possible if possible > 0 else None,
        "oracle_median": float(np.median(in_force / oracle)),
        "made_worse": float((in_force > 1.02 * default).mean()),
        "within_objective_share": float((evictions <= 1.0).mean()),
    }


def summary(figures: dict[str, Any]) -> str:
    """Return the main figures in one line."""
    if not figures["groups"]:
        return "no groups"
    names = (
        "captured_share",
        "captured_share_without_top5",
        "oracle_median",
        "oracle_p90",
        "vouched_falsely",
        "made_worse",
        "worst_ratio",
        "changes_per_group_p95",
        "flips",
        "infeasible_share",
        "false_infeasible",
        "unknown_share",
        "never_changed",
    )
    parts = [f"{name} {_short(figures[name])}" for name in names]
    clients = [f"{client} {_short(value)}" for client, value in figures["within_objective"].items()]
    saved = [f"{client} {_short(part['captured_share'])}" for client, part in figures["per_client"].items()]
    below = [
        f"{client} {_short(row['below'])} of {row['with_bound']}" for client, row in figures["calibration"].items()
    ]
    met = figures["collisions"]
    owed = [f"{_short(met['within_where_owed'])} of {met['within_where_owed_of']}"]
    parts.append(f"worse_than_needed {_short(met['worse_than_needed'])}")
    rows = {"within": clients, "within where owed": owed, "captured": saved, "not above the bound": below}
    return "; ".join([", ".join(parts), *(f"{name}: {', '.join(row)}" for name, row in rows.items())])


def _short(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def _line(standing: Standing) -> dict[str, Any]:
    against = standing.yardstick
    return {
        "group": standing.name,
        "client": standing.client,
        "kind": standing.kind,
        "verdict": standing.verdict.value,
        "reason": standing.reason,
        "hold": standing.hold,
        "values": worst_groups.show(standing.values),
        "target": None if standing.target is None else worst_groups.show(standing.target),
        "bound": standing.bound,
        "evictions_per_month": standing.outcome.evictions_per_month,
        "changes": standing.changes,
        "J": {
            "default": against.default.net_per_day,
            "in_force": standing.outcome.net_per_day,
            "oracle": against.oracle.net_per_day,
            "attainable": against.attainable.net_per_day,
        },
        "feasible": against.feasible,
        "attainable": against.is_attainable,
    }
