"""How good the engine's values are by themselves, on the fleets of `bench.fleets`: no gates, no operator, no days.

Of each fleet and window what metrics would have shown is drawn and fitted, and each group is answered once. `quality`
says what the figures are.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from bench import fleets, observed, plots, policies, spreading
from bench.fleets import Group
from bench.observed import Seen
from bench.quality_figures import Case, Outcome, Reference, figures
from bench.rare_events import rare_per_day
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.simulation.play import simulate
from sandbox import progress

_SIMULATED: Final = 20
"""Groups of each fleet, each with two settings."""

_EVENTS: Final = 1500
"""Of a simulated group: so many restarts, crashes and rare absences make its J certain to some per cent."""

_MOST_EVENTS: Final = 100_000
"""Short pauses among them: what a simulation takes time for."""
_FITTED_AT: Final = datetime(2026, 2, 1, tzinfo=UTC)


def _reference(group: Group) -> Reference:
    default = policies.outcome(group.truth, observed.settings_of(group.truth))
    best = policies.oracle(group.truth)
    return Reference(default, default if best is None else best, best is not None)


def _case(asked: tuple[Group, GroupModel, Seen, Reference]) -> Case:
    group, model, seen, reference = asked
    answer = policies.tuned(group.truth, model, seen)
    settings = observed.settings_of(group.truth) if answer.target is None else answer.target
    changed = settings != observed.settings_of(group.truth)
    return Case(
        client=group.truth.client,
        kind=group.kind,
        reference=reference,
        rule=policies.outcome(group.truth, policies.rule_of_thumb(group.truth, seen)),
        tuned=policies.outcome(group.truth, settings),
        vouched=changed or (answer.verdict is Verdict.HEALTHY and answer.objective_met is True),
        evictions=seen.evictions,
        verdict=answer.verdict,
        reason=answer.reason,
    )


def _simulated(asked: tuple[Group, Outcome]) -> dict[str, Any]:
    """Return how the formula's J of one group compares with that of a simulation of some years."""
    group, outcome = asked
    truth = group.truth
    rare = rare_per_day(truth)
    every = rare + truth.members * truth.pauses.per_day
    days = min(_EVENTS / rare, _MOST_EVENTS / every)
    played = simulate(truth, outcome.settings, days=days, seed=1, rollouts=truth.restarts_in_turn)
    return {
        "group": group.name,
        "kind": group.kind,
        "days": days,
        "session_s": outcome.settings.session_timeout.total_seconds(),
        "simulated": played.gross_per_day,
        "formula": outcome.gross_per_day,
        "ratio": played.gross_per_day / outcome.gross_per_day,
        "evictions_per_month": played.false_evictions_per_day * 30,
        "evictions_formula": outcome.evictions_per_month,
    }


def measure(name: str, pool: ProcessPoolExecutor, size: int) -> dict[str, Any]:
    """Return the figures of one fleet of so many groups."""
    groups = fleets.fleet(name, size)
    references = spreading.each(pool, f"{name}: oracle", _reference, groups)
    found: dict[str, Any] = {}
    last: Sequence[Case] = ()
    for number, window in enumerate(observed.WINDOWS):
        seen = [
            observed.seen(group, observed.settings_of(group.truth), window, np.random.default_rng([number, place]))
            for place, group in enumerate(groups)
        ]
        rows = observed.table(zip(groups, seen, strict=True))
        progress.say("quality", f"{name}, {window}: {rows.num_rows} rows of the contract")
        models = {
            model.group: model
            for model in model_estimate.models(rows, on=observed.LAST_DAY, fitted_at=_FITTED_AT, job="bench")
        }
        asked = [
            (group, models[group.name], item, reference)
            for group, item, reference in zip(groups, seen, references, strict=True)
        ]
        last = spreading.each(pool, f"{name}, {window}: answers", _case, asked)
        found[window] = figures(last)
        found[window]["groups"] = [_line(group, case) for group, case in zip(groups, last, strict=True)]
        progress.say("quality", _summary(name, window, found[window]))
    chosen = np.linspace(0, len(groups) - 1, _SIMULATED).astype(int).tolist()
    plays = [(groups[place], item) for place in chosen for item in (last[place].reference.default, last[place].tuned)]
    found["simulated"] = spreading.each(pool, f"{name}: simulation", _simulated, plays)
    return found


def _line(group: Group, case: Case) -> dict[str, Any]:
    """Return what one group came to, for who asks where a figure comes from."""
    truth, reference = group.truth, case.reference

    def row(outcome: Outcome) -> list[float]:
        values = outcome.settings
        limit = values.max_poll_interval
        return [
            values.session_timeout.total_seconds(),
            values.heartbeat_interval.total_seconds(),
            0.0 if limit is None else limit.total_seconds(),
            round(outcome.net_per_day, 3),
            round(outcome.evictions_per_month, 4),
        ]

    return {
        "group": group.name,
        "kind": group.kind,
        "client": case.client,
        "family": group.family,
        "rebalancing": truth.rebalancing,
        "verdict": case.verdict,
        "reason": case.reason,
        "vouched": case.vouched,
        "feasible": reference.feasible,
        "evictions": case.evictions,
        "default": row(reference.default),
        "rule": row(case.rule),
        "tuned": row(case.tuned),
        "oracle": row(reference.oracle),
    }


_SHOWN: Final = (
    "captured_share",
    "oracle_median",
    "oracle_p90",
    "oracle_total",
    "rule_geomean",
    "rule_evictions_ratio",
    "within_objective",
    "made_worse",
)


def _summary(name: str, window: str, found: Mapping[str, Any]) -> str:
    parts = [f"{what} {found[what]:.3g}" for what in _SHOWN]
    kinds = [f"{kind} {share:.2f}" for kind, share in found["per_kind"].items()]
    return f"{name}, {window}: " + ", ".join(parts) + "; captured: " + ", ".join(kinds)


def plot(fleet: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Return J over that of the oracle, over all groups in order."""
    lines = []
    for name in ("default", "rule", "tuned"):
        ratios = sorted(max(group[name][3] / group["oracle"][3], 0.1) for group in groups)
        lines.append(plots.Line(name, [((place + 1) / len(ratios) * 100, ratio) for place, ratio in enumerate(ratios)]))
    return plots.logarithmic(
        f"{fleet}: cost over the oracle's after 14 days", "groups, %", "J / J of the oracle", lines
    )
