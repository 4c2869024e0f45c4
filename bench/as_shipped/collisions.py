"""Where a group's goals collide: few evictions, a soon noticed crash, and little standing still.

A policy allows so many evictions a month, and a crash may be noticed so late: both are limits that a person set. What
meets them may cost more than the evictions that it prevents. Knowing the truth, each group is one of four:

- `free`: the library's defaults meet the objective, or what meets it costs no more than they do;
- `owed`: it can be met for up to a tenth more, which the operator may pay (`economics.SAFETY_PRICE`);
- `dear`: it can be met, for more than that;
- `out_of_reach`: no session that is noticed in time meets it.

Of the latter two the operator says that they are above their objective, and what meeting it would cost.
"""

import enum
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from bench.as_shipped.judgement import Standing
from heartbeat_tuner.decision.optimize import economics

WORSE: Final = 1.02
"""So many times the J of the defaults is no worse than they are."""

_PRICES: Final = (0.0, 0.02, 0.05, 0.10, 0.25, 0.5, 1.0, float("inf"))


class Goals(enum.StrEnum):
    """How the goals of a group go together."""

    FREE = "free"
    OWED = "owed"
    DEAR = "dear"
    OUT_OF_REACH = "out_of_reach"


def goals(standing: Standing) -> Goals:
    """Return how the goals of a group go together, by the truth."""
    against = standing.yardstick
    if against.default.evictions_per_month <= standing.objective:
        return Goals.FREE
    if not against.is_attainable:
        return Goals.OUT_OF_REACH
    price = against.attainable.net_per_day / against.default.net_per_day - 1.0
    if price <= 0.0:
        return Goals.FREE
    return Goals.OWED if price <= economics.SAFETY_PRICE else Goals.DEAR


def can_be_asked(standing: Standing) -> bool:
    """Whether the objective can be met in time, at a price that the operator may pay."""
    return goals(standing) in {Goals.FREE, Goals.OWED}


def is_worse_than_needed(standing: Standing) -> bool:
    """Whether a group is worse than with the defaults, and pays more than what meets its objective costs."""
    against = standing.yardstick
    needed = against.default.net_per_day
    if goals(standing) in {Goals.OWED, Goals.DEAR}:
        needed = max(needed, against.attainable.net_per_day)
    return standing.outcome.net_per_day > WORSE * needed


def frontier(standings: Sequence[Standing]) -> list[dict[str, Any]]:
    """Return what it costs to meet objectives, by how much more each group may cost than with the defaults.

    By the truth, each group gets the cheapest values that meet the whole objective, or where none do the safest in
    time, if the price allows them, and else keeps the defaults. The last line is what is in force.
    """
    lines = []
    for price in _PRICES:
        chosen = []
        for standing in standings:
            against = standing.yardstick
            most = (1.0 + price) * against.default.net_per_day
            is_paid = against.attainable.net_per_day <= most
            chosen.append((standing, against.attainable if is_paid else against.default))
        lines.append(_line(f"{price:.0%}" if price < float("inf") else "any", chosen))
    return [*lines, _line("in force", [(standing, standing.outcome) for standing in standings])]


def _line(price: str, chosen: Sequence[tuple[Standing, Any]]) -> dict[str, Any]:
    return {
        "price": price,
        "within": sum(outcome.evictions_per_month <= standing.objective for standing, outcome in chosen),
        "made_worse": sum(
            outcome.net_per_day > WORSE * standing.yardstick.default.net_per_day for standing, outcome in chosen
        ),
        "stalled": sum(outcome.net_per_day for _, outcome in chosen),
        "evictions": sum(outcome.evictions_per_month for _, outcome in chosen),
    }


def figures(standings: Sequence[Standing], vouched: Sequence[Standing]) -> dict[str, Any]:
    """Return the figures of a fleet.

    Args:
        standings: of its groups.
        vouched: those of which `within_objective` is told.
    """
    asked = [standing for standing in vouched if can_be_asked(standing)]
    worse = [standing for standing in standings if _is_worse(standing)]
    return {
        "goals": dict(Counter(goals(standing).value for standing in standings)),
        "within_where_owed": sum(standing.is_within for standing in asked) / len(asked) if asked else None,
        "within_where_owed_of": len(asked),
        "worse_than_needed": sum(is_worse_than_needed(standing) for standing in standings) / len(standings),
        "above": [_told(standing) for standing in vouched if not standing.is_within],
        "worse": [_told(standing) for standing in worse],
        "frontier": frontier(standings),
    }


def _is_worse(standing: Standing) -> bool:
    return standing.outcome.net_per_day > WORSE * standing.yardstick.default.net_per_day


def _told(standing: Standing) -> str:
    against = standing.yardstick
    times = standing.outcome.net_per_day / against.default.net_per_day
    needs = against.attainable.net_per_day / against.default.net_per_day
    met = f"meeting it costs x{needs:.2f}" if against.is_attainable else "nothing in time meets it"
    return (
        f"{standing.name} ({standing.client}, {standing.kind}): x{times:.2f}, "
        f"{against.default.evictions_per_month:.3g} to {standing.outcome.evictions_per_month:.3g} a month, "
        f"{goals(standing).value}: {met}"
    )


def table(found: dict[str, Any]) -> str:
    """Return the frontier as a table of Markdown, with the groups that fall short before it."""
    lines = [f"above its objective: {line}" for line in found["above"]]
    lines += [f"made worse: {line}" for line in found["worse"]]
    lines += [
        "| price at most | groups within | worse by over 2 % | stalled, partition-s a day | evictions a month |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {at['price']} | {at['within']} | {at['made_worse']} | {at['stalled']:.0f} | {at['evictions']:.1f} |"
        for at in found["frontier"]
    ]
    return "\n".join(lines)
