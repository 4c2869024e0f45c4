"""Do the closed formulas of what settings cost agree with a group that is played out? `python -m bench.agreement`.

Two independent ways to one number: `decision.cost` reckons, `simulation` plays. Both are asked for the groups of
`known_groups` and for 50 made by chance from a seed (`drawn`), all with beats at any phase, as the formulas have it;
then for what a rollout costs, with beats in step. Ratios are formula to simulation: of the standstill gross and net of
what no setting changes, of evictions by mistake and of rebalances. The sampling error of a play comes from its parts.
What is off by more than a tenth, and by more than two of those errors, is listed with its reason; an exception without
one fails. Writes build/bench/agreement.json.
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
from heartbeat_tuner.decision.cost import Costs, costs, rollout_cost
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.simulation.play import Played, simulate
from heartbeat_tuner.tails.law import Law
from heartbeat_tuner.tails.profile import Delivery, Happening, Profile, Rebalancing

SEED: Final = 20_260_726
DRAWN: Final = 50

_WITHIN: Final = 0.10
_PARTS: Final = 8
_DAYS_OF_PART: Final = 20.0
_ROLLOUTS_PER_DAY: Final = 10.0
_UNSTABLE: Final = 0.05  # of the day: beyond, the formulas are not meant to hold
_RARE: Final = 60  # events in a play: fewer make no ratio
_MANY: Final = 4  # partitions of a member: with fewer, whole numbers are not what they are on average
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

    def maybe(per_day: float, law: Law, likely: float) -> Happening:
        return Happening(per_day if numbers.random() < likely else 0.0, law)

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


def played(case: Case, *, in_step: bool = False, rollouts: bool = False) -> list[Played]:
    """Return the parts of a play, each with a seed of its own."""
    return [
        simulate(case.profile, case.settings, days=_DAYS_OF_PART, seed=SEED + part, in_step=in_step, rollouts=rollouts)
        for part in range(_PARTS)
    ]


def compared(formula: float, parts: list[Played], what: Callable[[Played], float]) -> Ratio:
    """Return one number both ways."""
    values = np.array([what(part) for part in parts])
    mean = float(values.mean())
    error = float(values.std(ddof=1) / math.sqrt(values.size) / mean) if mean else math.nan
    return Ratio(formula, mean, error)


def ratios(case: Case) -> tuple[dict[str, Ratio], bool]:
    """Return what is compared of a group, and whether it is one that the formulas are meant for."""
    told, parts = reckoned(case), played(case)
    days = _PARTS * _DAYS_OF_PART
    found = {
        "gross": compared(float(told.gross_per_day[0]), parts, lambda part: part.gross_per_day),
        "net": compared(float(told.net_per_day[0]), parts, lambda part: part.net_per_day),
        "evictions": compared(
            float(told.evictions_per_month[0]) / 30, parts, lambda part: part.false_evictions_per_day
        ),
        "rebalances": compared(float(told.rebalances_per_day[0]), parts, lambda part: part.rebalances_per_day),
    }
    kept = {name: one for name, one in found.items() if name in ("gross", "net") or one.played * days > _RARE}
    share = max(float(told.rebalancing_share[0]), float(np.mean([part.rebalancing_share for part in parts])))
    return kept, share <= _UNSTABLE


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
        restarts=Happening(_ROLLOUTS_PER_DAY, case.profile.restarts.law),
    )
    parts = played(dataclasses.replace(case, profile=only), in_step=True, rollouts=True)
    formula = rollout_cost(
        case.profile,
        interval_s=case.settings.heartbeat_interval.total_seconds(),
        wait_s=case.settings.fetch_wait.total_seconds(),
        session_s=case.settings.session_timeout.total_seconds(),
    )
    return compared(formula, parts, lambda part: part.gross_per_day * part.days / max(part.rollouts, 1))


def reason(case: Case, name: str) -> str | None:
    """Return why a number of a group may be apart; None if nothing is known of it."""
    profile = case.profile
    consumer, outages = profile.rebalancing is Rebalancing.CONSUMER, bool(profile.outages.per_day)
    together = outages or bool(profile.node_pauses.per_day)
    reasons = (
        (profile.client == "kafkajs", "the wait for a beat of a loop has a longer tail than half a period tells"),
        (
            outages and profile.delivery is not Delivery.LATE,
            "after lost beats members come back one by one, and make rebalances of their own",
        ),
        (
            together and name == "rebalances",
            "who was away together is evicted, and back, one by one; the formula counts one out and one in",
        ),
        (
            (consumer or profile.surge) and profile.share < _MANY,
            "what moves is a whole number of partitions: to one more of N members n/(N+1), rounded down",
        ),
        (
            profile.members < _MANY and name == "rollout",
            "the first pod's join is in step with the rebalance that its leaving made",
        ),
    )
    return next((why for holds, why in reasons if holds), None)


def main() -> int:
    """Compare and report; 1 if something is apart for a reason that nobody knows."""
    rows, unexplained = [], 0
    for case in [*(Case(known.name, known.profile, known.settings) for known in KNOWN if not known.rollouts), *drawn()]:
        found, stable = ratios(case)
        if case.profile.restarts.per_day:
            found["rollout"] = rollout_ratio(case)
        off = [name for name, one in found.items() if one.apart] if stable else []
        reasons = {name: reason(case, name) for name in off}
        unexplained += sum(one is None for one in reasons.values())
        rows.append(_row(case, found, stable=stable, reasons=reasons))
        print(
            f"{case.name:46s}",
            " ".join(f"{name} {one.ratio:.2f}" for name, one in found.items()),
            "" if stable else "(rebalancing too much for the formulas)",
            *(f"\n    apart: {name}: {why or 'NOT EXPLAINED'}" for name, why in reasons.items()),
            flush=True,
        )
    summary = _summary(rows)
    print(json.dumps(summary, indent=2))
    _REPORT.parent.mkdir(parents=True, exist_ok=True)
    _REPORT.write_text(json.dumps({"seed": SEED, "summary": summary, "groups": rows}, indent=2) + "\n")
    return 1 if unexplained else 0


def _row(case: Case, found: dict[str, Ratio], *, stable: bool, reasons: dict[str, str | None]) -> dict[str, object]:
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
        "apart": reasons,
        **{name: {**dataclasses.asdict(one), "ratio": one.ratio} for name, one in found.items()},
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
        }
    summary["unstable"] = sum(not row["stable"] for row in rows)
    return summary


if __name__ == "__main__":
    sys.exit(main())
