"""How well does a fit know how often slow handlers take too long? `python -m bench.slow_handlers [SEED ...]`.

Fleets of `bench.fleets` are watched for a fortnight with their defaults (`bench.observed`) and fitted. Printed is how
often gaps between polls of Java groups with slow handlers, and absences of KafkaJS groups, outlast some times: the rate
of the fitted law against the truth's. It is asked of groups in which that truly happens at least once in three months,
and whose law begins before the time. All groups of a fleet are in one namespace, or with `--alone` each in its own.
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import numpy as np

from bench import fleets, observed
from bench.as_shipped.hourly_laws import HourlyLaws
from bench.fleets import HOURS, Group, Kind
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import TailModel

_SEEDS: Final = (20262811, 20262812, 20262813)
_GROUPS: Final = 300
_DAYS: Final = 30.0
_LEAST_PER_MONTH: Final = 0.3
_MOST: Final = 10.0  # a month: the sums are not those of a few groups
_ASKED: Final = {POLL_GAP: (300.0, 600.0), ABSENCE: (22.0, 30.0, 45.0)}
"""Times in seconds: poll limits, and sessions."""


def quantity_of(group: Group) -> str | None:
    """Return in which quantity a group's slow handlers show; None where they do not, or it has none."""
    if group.kind is Kind.KAFKAJS:
        return ABSENCE
    return POLL_GAP if group.kind is Kind.SLOW else None


def true_per_month(group: Group, quantity: str) -> Array:
    """Return in how many blocks of all members a month something is longer than each of `EDGES_S`."""
    laws = HourlyLaws(group)
    exceeded = laws.handlers
    if quantity == ABSENCE:
        rate = group.usual.pauses.per_day / (observed.DAY_S / BLOCK_S)
        exceeded = 1.0 - (1.0 - exceeded) * np.exp(-rate * laws.pauses)
    blocks = observed.DAY_S / BLOCK_S / HOURS * group.usual.members
    return np.asarray(exceeded.sum(axis=0) * blocks * _DAYS)


def rates(seed: int, *, alone: bool = False) -> Iterator[tuple[str, float, float, float]]:
    """Yield the quantity, the time, the true rate a month, and the fitted one, of the groups of a fleet.

    Args:
        seed: of the fleet, and of what is seen of it.
        alone: whether each group is in a namespace of its own.
    """
    rng = np.random.default_rng(seed)
    groups = fleets.fleet("holdout", _GROUPS, seed)
    table = observed.table(
        (group, observed.seen(group, observed.settings_of(group.truth), "14d", rng)) for group in groups
    )
    if alone:
        place = table.schema.get_field_index("namespace")
        table = table.set_column(place, table.schema.field(place), table.column("group"))
    found = model_estimate.models(table, on=observed.LAST_DAY, fitted_at=datetime(2026, 2, 1, tzinfo=UTC), job="bench")
    models = {model.group: model for model in found}
    for group in groups:
        quantity = quantity_of(group)
        if quantity is None:
            continue
        tail, true = models[group.name].quantities[quantity].tail, true_per_month(group, quantity)
        for time_s in _ASKED[quantity]:
            edge = int(np.searchsorted(EDGES_S, time_s))
            if isinstance(tail, TailModel) and EDGES_S[edge] >= tail.threshold_s and true[edge] >= _LEAST_PER_MONTH:
                blocks = observed.DAY_S / BLOCK_S * group.usual.members * _DAYS
                yield quantity, time_s, float(true[edge]), float(tail.sf(EDGES_S[edge])[0]) * blocks


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How well a fit knows slow handlers.")
    parser.add_argument("seeds", nargs="*", type=int, default=_SEEDS, help="of fleets of 300 groups")
    parser.add_argument("--alone", action="store_true", help="put each group into a namespace of its own")
    asked = parser.parse_args()
    every = [row for seed in asked.seeds for row in rates(seed, alone=asked.alone)]
    print("| quantity | longer than | groups | fitted / true: 10 %, median, 90 % | RMSE of its logarithm | of sums |")
    print("|---|---:|---:|---:|---:|---:|")
    for quantity, times_s in _ASKED.items():
        for time_s in times_s:
            true, fitted = np.array([row[2:] for row in every if row[:2] == (quantity, time_s)]).T
            logs = np.log(np.maximum(fitted, 1e-3) / true)
            places = ", ".join(f"{value:.2f}" for value in np.exp(np.quantile(logs, (0.1, 0.5, 0.9))))
            sums = np.minimum(fitted, _MOST).sum() / np.minimum(true, _MOST).sum()
            rmse = float(np.sqrt((logs**2).mean()))
            print(f"| {quantity} | {time_s:g} s | {true.size} | {places} | {rmse:.2f} | {sums:.2f} |", flush=True)


if __name__ == "__main__":
    main()
