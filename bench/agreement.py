"""Do the closed formulas of what settings cost agree with a group that is played out? `python -m bench.agreement`.

Two independent ways to one number: `decision.cost.cost_model` computes, `simulation` plays. Both are asked for the
groups of `known_groups` and for 50 made by chance from a seed (`drawn`); then for what a rollout costs. Ratios are
formula to
simulation: of the standstill gross and net of what no setting changes, of evictions by mistake and of rebalances. A
play goes on, part by part, until the standard error of each ratio, from the parts, is a fiftieth or less, or the days
are over; what is then not known to a twentieth, for it is too rare, is not compared. What is off by more than a tenth,
and by more than two of those errors beyond it, fails. Writes build/bench/agreement.json; with names of groups
(`"drawn 7"`) only those are compared, and nothing is written.
"""

import dataclasses
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.known_groups import KNOWN, group, settings
from heartbeat_tuner.decision.cost.cost_model import Costs, costs, rollout_cost
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.simulation.play import Played, simulate
from heartbeat_tuner.tails.law import Law

SEED: Final = 20_260_726
DRAWN: Final = 50

_WITHIN: Final = 0.10
_FEWEST_PARTS: Final = 8
_MOST_PARTS: Final = 96
_DAYS_OF_PART: Final = 20.0
_ENOUGH: Final = 0.02  # relative standard error
_ROLLOUTS_PER_DAY: Final = 10.0
_UNSTABLE: Final = 0.05  # of the day: beyond, the formulas are not meant to hold
_RARE: Final = 0.05  # relative standard error of a ratio that tells nothing of a tenth
_REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "agreement.json"


@dataclasses.dataclass(frozen=True)
class Case:
    """One group under some settings."""

    name: str
    profile: Profile
    settings: LivenessSettings


@dataclasses.dataclass(frozen=True)
class Ratio:
    """One number both ways.

    Attributes:
        formula: what the formula says.
        played: what was played, the mean of the parts.
        error: standard error of that mean, relative.
    """

    formula: float
    played: float
    error: float

    @property
    def ratio(self) -> float:
        """Formula to simulation."""
        return self.formula / self.played if self.played else math.nan

    @property
    def apart(self) -> bool:
        """Whether they differ by more than a tenth, beyond what chance does."""
        return abs(self.ratio - 1.0) > _WITHIN + 2.0 * self.error


def drawn(seed: int = SEED, count: int = DRAWN) -> list[Case]:
    """Return groups made by chance, always the same: each happening with its own rate and law, all settings."""
    numbers = np.random.default_rng(seed)
    return [_drawn(numbers, f"drawn {place}") for place in range(count)]


def _drawn(numbers: np.random.Generator, name: str) -> Case:
    def between(least: float, most: float) -> float:
        return float(np.exp(numbers.uniform(math.log(least), math.log(most))))

    def maybe(per_day: float, law: Law, likely: float) -> FailureProcess:
        return FailureProcess(per_day if numbers.random() < likely else 0.0, law)

    client, rebalancing = [
        ("java", Rebalancing.EAGER),
        ("java", Rebalancing.COOPERATIVE),
        ("confluent-kafka-python", Rebalancing.EAGER),
        ("confluent-kafka-python", Rebalancing.COOPERATIVE),
        ("kafkajs", Rebalancing.EAGER),
        ("java-kip848", Rebalancing.CONSUMER),
    ][numbers.choice(6, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.15])]
    loop, consumer = client == "kafkajs", rebalancing is Rebalancing.CONSUMER
    members = int(between(2, 24))
    each = 1.0 / members
    static = not loop and not consumer and bool(numbers.choice(2, p=[0.8, 0.2]))
    away = Law.lognormal(between(12, 40), between(0.3, 0.6))
    profile = group(
        client=client,
        rebalancing=rebalancing,
        members=members,
        partitions=members * int(numbers.choice([1, 2, 3, 4, 8])),
        static=static,
        pauses=maybe(each * between(20, 100), Law.lognormal(between(1, 9), between(0.3, 0.8)), 0.8),
        node_pauses=maybe(between(5, 20), Law.lognormal(between(4, 12), between(0.3, 0.8)), 0.3),
        node_members=min(int(numbers.integers(2, 4)), members),
        outages=maybe(between(2, 8), Law.lognormal(between(4, 12), 0.5), 0.3),
        delivery=Delivery.ONE_IN_FLIGHT if client.startswith("confluent") else Delivery.LATE,
        crashes=maybe(each * between(5, 30), away, 0.7),
        restarts=maybe(each * between(5, 60), away, 0.8),
        surge=not static and bool(numbers.choice(2)),
        hangs=maybe(each * between(0.5, 3), Law.constant(between(200, 600)), 0.3),
        handlers=Law.lognormal(between(0.2, 4), between(0.3, 0.8)),
        settle_s=between(0.3, 1.5),
    )
    interval_s = round(between(5, 10) if consumer else between(1, 5), 1)
    session_s = round(between(max(3.2 * interval_s, 8.0 if not loop else 25.0), 50))
    limit_s = None if loop else round(between(max(60, session_s + 1), 300))
    join_s = 60.0 if loop else None
    return Case(name, profile, settings(session_s=session_s, interval_s=interval_s, limit_s=limit_s, join_s=join_s))


def reckoned(case: Case) -> Costs:
    """Return what the formulas say."""
    limit = case.settings.max_poll_interval
    return costs(
        case.profile,
        interval_s=case.settings.heartbeat_interval.total_seconds(),
        wait_s=case.settings.fetch_wait.total_seconds(),
        poll_limit_s=None if limit is None else limit.total_seconds(),
        sessions_s=np.array([case.settings.session_timeout.total_seconds()]),
    )


def part(case: Case, place: int, *, rollouts: bool = False) -> Played:
    """Return one part of a play, with a seed of its own."""
    return simulate(case.profile, case.settings, days=_DAYS_OF_PART, seed=SEED + place, rollouts=rollouts)


def compared(formula: float, parts: list[Played], what: Callable[[Played], float]) -> Ratio:
    """Return one number both ways."""
    values = np.array([what(part) for part in parts])
    mean = float(values.mean())
    error = float(values.std(ddof=1) / math.sqrt(values.size) / mean) if mean else math.nan
    return Ratio(formula, mean, error)


def ratios(case: Case) -> tuple[dict[str, Ratio], bool]:
    """Return what is compared of a group, and whether it is one that the formulas are meant for."""
    report = reckoned(case)
    parts = [part(case, place) for place in range(_FEWEST_PARTS)]
    found = _ratios(report, parts)
    while len(parts) < _MOST_PARTS and max(item.error for item in found.values() if item.played) > _ENOUGH:
        parts += [part(case, place) for place in range(len(parts), len(parts) + _FEWEST_PARTS)]
        found = _ratios(report, parts)
    stored = {name: item for name, item in found.items() if item.error <= _RARE}
    share = max(float(report.rebalancing_share[0]), float(np.mean([part.rebalancing_share for part in parts])))
    return stored, share <= _UNSTABLE


def _ratios(costs: Costs, parts: list[Played]) -> dict[str, Ratio]:
    return {
        "gross": compared(float(costs.gross_per_day[0]), parts, lambda play: play.gross_per_day),
        "net": compared(float(costs.net_per_day[0]), parts, lambda play: play.net_per_day),
        "evictions": compared(
            float(costs.evictions_per_month[0]) / 30, parts, lambda play: play.false_evictions_per_day
        ),
        "rebalances": compared(float(costs.rebalances_per_day[0]), parts, lambda play: play.rebalances_per_day),
    }


def rollout_ratio(case: Case) -> Ratio:
    """Return what replacing every pod once costs, both ways."""
    never = group().pauses
    only = dataclasses.replace(
        case.profile,
        pauses=never,
        node_pauses=never,
        outages=never,
        crashes=never,
        hangs=never,
        slow_handlers=never,
        restarts=FailureProcess(_ROLLOUTS_PER_DAY, case.profile.restarts.law),
    )
    deploys = dataclasses.replace(case, profile=only)
    parts = [part(deploys, place, rollouts=True) for place in range(_FEWEST_PARTS)]
    formula = rollout_cost(
        case.profile,
        interval_s=case.settings.heartbeat_interval.total_seconds(),
        wait_s=case.settings.fetch_wait.total_seconds(),
        session_s=case.settings.session_timeout.total_seconds(),
    )
    return compared(formula, parts, lambda play: play.gross_per_day * play.days / max(play.rollouts, 1))


def main(*names: str) -> int:
    """Compare and report; 1 if something is apart."""
    cases = [*(Case(known.name, known.profile, known.settings) for known in KNOWN if not known.rollouts), *drawn()]
    rows: list[dict[str, Any]] = []
    for case in (item for item in cases if not names or item.name in names):
        found, stable = ratios(case)
        if case.profile.restarts.per_day:
            found["rollout"] = rollout_ratio(case)
        off = [name for name, item in found.items() if item.apart] if stable else []
        rows.append(_row(case, found, stable=stable, off=off))
        print(
            f"{case.name:46s}",
            " ".join(f"{name} {item.ratio:.2f} +-{item.error:.2f}" for name, item in found.items()),
            "" if stable else "(rebalancing too much for the formulas)",
            *(f"\n    APART: {name}" for name in off),
            flush=True,
        )
    if not names:
        summary = _summary(rows)
        print(json.dumps(summary, indent=2))
        _REPORT.parent.mkdir(parents=True, exist_ok=True)
        _REPORT.write_text(json.dumps({"seed": SEED, "summary": summary, "groups": rows}, indent=2) + "\n")
    return 1 if any(row["apart"] for row in rows) else 0


def _row(case: Case, found: dict[str, Ratio], *, stable: bool, off: list[str]) -> dict[str, object]:
    profile = case.profile
    return {
        "name": case.name,
        "client": profile.client,
        "rebalancing": profile.rebalancing.value,
        "members": profile.members,
        "partitions": profile.partitions,
        "static": profile.static,
        "settings_s": {name.value: value.total_seconds() for name, value in case.settings.by_setting.items()},
        "stable": stable,
        "apart": off,
        **{name: {**dataclasses.asdict(item), "ratio": item.ratio} for name, item in found.items()},
    }


def _summary(rows: list[dict[str, Any]]) -> dict[str, object]:
    summary: dict[str, object] = {}
    for name in ("gross", "net", "evictions", "rebalances", "rollout"):
        some = [row for row in rows if row["stable"] and isinstance(row.get(name), dict)]
        values = np.array([row[name]["ratio"] for row in some])
        summary[name] = {
            "groups": len(some),
            "median": float(np.median(values)),
            "p10": float(np.quantile(values, 0.1)),
            "p90": float(np.quantile(values, 0.9)),
            "within a tenth": float((np.abs(values - 1) <= _WITHIN).mean()),
            "apart": sum(name in row["apart"] for row in some),
        }
    summary["unstable"] = sum(not row["stable"] for row in rows)
    return summary


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
