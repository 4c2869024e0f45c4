"""Figures of a fleet in the operator's hands at the end of a day; `bench.quality` has their definitions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from bench.as_shipped import collisions
from bench.as_shipped.judgement import Standing
from bench.quality_figures import Outcome
from heartbeat_tuner.domain.verdicts import Verdict

_WORTH_TUNING: Final = 0.10
_TOP: Final = 0.05
_WELL_ABOVE: Final = 1.10


def figures(standings: Sequence[Standing], most_changes: int = 4) -> dict[str, Any]:
    """Return the figures of one fleet; of none, nothing.

    Args:
        standings: of its groups.
        most_changes: of one group that are not yet too many.
    """
    if not standings:
        return {"groups": 0}
    ratios = [ratio(standing.outcome, standing.yardstick.oracle) for standing in standings]
    to_default = [ratio(standing.outcome, standing.yardstick.default) for standing in standings]
    changes = [standing.changes for standing in standings]
    infeasible = [standing for standing in standings if standing.verdict is Verdict.INFEASIBLE]
    with_word = [standing for standing in standings if standing.bound is not None or standing.is_called_well]
    return {
        "groups": len(standings),
        "captured_share": captured(standings),
        "captured_share_without_top5": captured(without_top(standings)),
        "captured_share_attainable": captured(standings, oracle=lambda standing: standing.yardstick.attainable),
        "captured_share_recommended": captured(standings, chosen=lambda standing: standing.target_outcome),
        "oracle_median": float(np.median(ratios)),
        "oracle_p90": float(np.quantile(ratios, 0.9)),
        "within_objective": {
            "all": within(standings),
            **{client: within(some) for client, some in parts(standings, "client").items()},
        },
        "within_of": {
            "all": len(vouched(standings)),
            **{client: len(vouched(some)) for client, some in parts(standings, "client").items()},
        },
        "vouched_falsely": share(with_word, lambda standing: standing.is_vouched_falsely),
        "called_well_and_is_not": share(with_word, lambda standing: standing.is_called_well and not standing.is_within),
        "made_worse": sum(times > collisions.WORSE for times in to_default) / len(standings),
        "well_above_default": sum(times > _WELL_ABOVE for times in to_default),
        "worst_ratio": max(to_default),
        "changes_per_group_p95": float(np.quantile(changes, 0.95)),
        "changes_max": max(changes),
        "changed_too_often": share(standings, lambda standing: standing.changes > most_changes),
        "never_changed": sum(not standing.changes for standing in standings),
        "reverts": sum(standing.reverts for standing in standings),
        "flips": sum(standing.flips for standing in standings),
        "infeasible_share": len(infeasible) / len(standings),
        "false_infeasible": share(infeasible, lambda standing: standing.yardstick.is_attainable),
        "unknown_share": share(standings, lambda standing: standing.verdict is Verdict.UNKNOWN),
        "unproven_share": share(standings, lambda standing: standing.verdict is Verdict.UNPROVEN),
        "called_well_share": share(standings, lambda standing: standing.is_called_well),
        "per_client": per_part(standings, "client"),
        "per_kind": per_part(standings, "kind"),
        "calibration": calibration(standings),
        "collisions": collisions.figures(standings, vouched(standings)),
        "evictions_per_month": {
            "default": sum(standing.yardstick.default.evictions_per_month for standing in standings),
            "in_force": sum(standing.outcome.evictions_per_month for standing in standings),
            "oracle": sum(standing.yardstick.oracle.evictions_per_month for standing in standings),
        },
        "verdicts": dict(Counter(f"{standing.verdict.value}: {standing.reason}" for standing in standings)),
        "holds": dict(Counter(standing.hold for standing in standings if standing.hold)),
    }


def captured(
    standings: Iterable[Standing],
    *,
    chosen: Callable[[Standing], Outcome] = lambda standing: standing.outcome,
    oracle: Callable[[Standing], Outcome] = lambda standing: standing.yardstick.oracle,
) -> float | None:
    """Return which part of what an oracle saves was saved; None where it saves nothing."""
    saved = possible = 0.0
    for standing in standings:
        saved += standing.yardstick.default.net_per_day - chosen(standing).net_per_day
        possible += standing.yardstick.default.net_per_day - oracle(standing).net_per_day
    return saved / possible if possible > 0 else None


def without_top(standings: Sequence[Standing]) -> Sequence[Standing]:
    """Return the groups without those 5 % in which most can be saved."""
    ordered = sorted(
        standings, key=lambda standing: standing.yardstick.default.net_per_day - standing.yardstick.oracle.net_per_day
    )
    return ordered[: len(ordered) - max(1, round(_TOP * len(ordered)))]


def vouched(standings: Iterable[Standing]) -> list[Standing]:
    """Return the groups that can meet the objective of evictions, and were changed, or left with a good word."""
    return [
        standing
        for standing in standings
        if standing.yardstick.feasible and (standing.is_changed or standing.is_called_well)
    ]


def within(standings: Iterable[Standing]) -> float | None:
    """Return the share of those that truly meet it; None where there are none."""
    return share(vouched(standings), lambda standing: standing.is_within)


def share(some: Sequence[Standing], what: Callable[[Standing], bool]) -> float | None:
    """Return the share of which something is true; None of none."""
    return sum(what(standing) for standing in some) / len(some) if some else None


def parts(standings: Sequence[Standing], by: str) -> Mapping[str, Sequence[Standing]]:
    """Return the groups by an attribute."""
    names = sorted({getattr(standing, by) for standing in standings})
    return {name: [standing for standing in standings if getattr(standing, by) == name] for name in names}


def per_part(standings: Sequence[Standing], by: str) -> dict[str, dict[str, float | int | None]]:
    """Return of each part the captured share, and what the oracle saves of the defaults' J."""
    by_name: dict[str, dict[str, float | int | None]] = {}
    for name, some in parts(standings, by).items():
        default = sum(standing.yardstick.default.net_per_day for standing in some)
        saves = 1.0 - sum(standing.yardstick.oracle.net_per_day for standing in some) / default
        by_name[name] = {
            "groups": len(some),
            "oracle_saves": saves,
            "captured_share": captured(some) if saves >= _WORTH_TUNING else None,
            "captured_share_attainable": captured(some, oracle=lambda standing: standing.yardstick.attainable)
            if saves >= _WORTH_TUNING
            else None,
            "captured_share_recommended": captured(some, chosen=lambda standing: standing.target_outcome)
            if saves >= _WORTH_TUNING
            else None,
            "within_objective": within(some),
            "vouched_falsely": share(
                [standing for standing in some if standing.bound is not None or standing.is_called_well],
                lambda standing: standing.is_vouched_falsely,
            ),
        }
    return by_name


def calibration(standings: Sequence[Standing]) -> dict[str, dict[str, float | int | None]]:
    """Return by client how true promises are.

    Of the groups that have a bound of at most so many evictions a month the share truly below, and of those that were
    called well (Healthy, or ObjectiveMet) the share that truly meets the objective.
    """
    by_name = {}
    for name, some in {"all": standings, **parts(standings, "client")}.items():
        with_word = [standing for standing in some if standing.bound is not None]
        over = [
            standing.outcome.evictions_per_month / max(standing.bound or 0.0, 0.001)
            for standing in with_word
            if standing.outcome.evictions_per_month > max(standing.bound or 0.0, 0.001)
        ]
        called_well = [standing for standing in some if standing.is_called_well]
        by_name[name] = {
            "called_well": len(called_well),
            "well": share(called_well, lambda standing: standing.is_within),
            "with_bound": len(with_word),
            "below": (len(with_word) - len(over)) / len(with_word) if with_word else None,
            "median_excess": float(np.median(over)) if over else None,
        }
    return by_name


def calibration_table(by_day: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the calibration of a fleet as a table of Markdown: a line for each client and span.

    Args:
        by_day: its figures after some days, by name, such as `14d`.
    """
    lines = ["| client | span | with a bound | below it | called well | truly well |", "|---|---|---:|---:|---:|---:|"]
    clients = sorted({client for figures in by_day.values() for client in figures.get("calibration", ())})
    for client in clients:
        for day, figures in by_day.items():
            row = figures.get("calibration", {}).get(client)
            if row is not None:
                below, well = ("-" if row[name] is None else f"{row[name]:.2f}" for name in ("below", "well"))
                lines.append(f"| {client} | {day} | {row['with_bound']} | {below} | {row['called_well']} | {well} |")
    return "\n".join(lines)


def ratio(outcome: Outcome, other: Outcome) -> float:
    """Return J over another J."""
    return outcome.net_per_day / other.net_per_day if other.net_per_day > 0 else 1.0
