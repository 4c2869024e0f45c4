"""What came of a backtest, for people and for programs."""

from collections.abc import Sequence
from typing import Any, Final

from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.fitting.models.backtest_scores import Backtest, FleetScore, Scored, ShareForecast

WORST: Final = 5
"""How many groups are named whose bound did not hold."""


def as_text(backtest: Backtest) -> str:
    """Return a table for the fleet, a verdict for each quantity, and the groups that surprised the most."""
    head = (
        f"backtest: models of {backtest.fitted_since} to {backtest.fitted_until}, asked of {backtest.scored_since} to "
        f"{backtest.scored_until}"
    )
    rows = [("quantity", "longer than", "groups", "predicted", "seen", "bound held for")]
    for fleet in backtest.fleet:
        for level in fleet.levels:
            rare = f"1 in {1 / level.exceeded:,.0f}"
            counts = (f"{level.groups:,}", f"{level.predicted:,.1f}", f"{level.seen:,}", f"{level.kept:.0%}")
            rows.append((fleet.quantity, rare, *counts))
    blocks = [wrapped(head, ""), "\n".join(table(rows, ""))]
    blocks += [
        wrapped(f"{score.quantity}: {score.verdict.value}: {score.because}.", "", "  ") for score in backtest.fleet
    ]
    worst = surprising(backtest.groups)
    if worst:
        blocks.append("\n".join(["bounds that did not hold:", *(_told(*pair) for pair in worst[:WORST])]))
    if backtest.rejected:
        left = "; ".join(f"{count:,} for {reason}" for reason, count in sorted(backtest.rejected.items()))
        blocks.append(wrapped(f"without a model: {left}", "", "  "))
    return "\n\n".join(blocks) + "\n"


def document(backtest: Backtest) -> dict[str, Any]:
    """Return the same as plain values, with every group."""
    return {
        "fitted": {"since": backtest.fitted_since.isoformat(), "until": backtest.fitted_until.isoformat()},
        "scored": {"since": backtest.scored_since.isoformat(), "until": backtest.scored_until.isoformat()},
        "fleet": [_fleet(score) for score in backtest.fleet],
        "groups": [_group(group) for group in backtest.groups],
        "rejected": dict(backtest.rejected),
    }


def surprising(groups: Sequence[Scored]) -> list[tuple[Scored, ShareForecast]]:
    """Return the groups whose bound did not hold at some share, with the worst such share, the worst first."""
    worst_shares = []
    for group in groups:
        broken = [share_forecast for share_forecast in group.asked if not share_forecast.kept]
        if broken:
            worst_shares.append((group, max(broken, key=_over)))
    return sorted(worst_shares, key=lambda pair: (-_over(pair[1]), pair[0].subject.namespace, pair[0].subject.group))


def _over(asked: ShareForecast) -> float:
    return asked.upper_seen / max(asked.upper_predicted, 1e-9)


def _told(group: Scored, asked: ShareForecast) -> str:
    who = f"{shown(group.subject.group)} ({shown(group.subject.namespace)}), {group.subject.quantity}"
    return wrapped(
        f"{who}: {asked.upper_seen} of {group.values:,} over {asked.upper_time_s:.3g} s, at most "
        f"{asked.upper_predicted:.1f} were to be expected",
        "  ",
        "    ",
    )


def _fleet(score: FleetScore) -> dict[str, Any]:
    return {
        "quantity": score.quantity,
        "verdict": score.verdict.name,
        "because": score.because,
        "levels": [
            {
                "exceeded": level.exceeded,
                "groups": level.groups,
                "predicted": round(level.predicted, 3),
                "seen": level.seen,
                "withinChance": round(level.within, 4),
                "boundHeld": round(level.kept, 4),
            }
            for level in score.levels
        ],
        "drifted": {verdict.name: count for verdict, count in score.drifted.items()},
    }


def _group(scored: Scored) -> dict[str, Any]:
    subject = scored.subject
    return {
        "cluster": subject.cluster,
        "namespace": subject.namespace,
        "group": subject.group,
        "quantity": subject.quantity,
        "values": scored.values,
        "drift": scored.drift.verdict.name,
        "asked": [
            {
                "exceeded": asked.exceeded,
                "seconds": asked.time_s,
                "predicted": round(asked.predicted, 3),
                "seen": asked.seen,
                "boundSeconds": asked.upper_time_s,
                "boundPredicted": round(asked.upper_predicted, 3),
                "boundSeen": asked.upper_seen,
            }
            for asked in scored.asked
        ],
    }
