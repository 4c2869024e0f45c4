"""From days of histograms to models: all groups of one quantity at once, in NumPy, without Spark.

The table is turned into numbers once; then each quantity is a matrix of counts, a line for each group, its days
weighted by their age (`tails.history`), and goes through `tails.estimate` as one fleet. Groups of one client library
on one cluster are alike. The same rows give the same models to the last bit, in whatever order they come.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heartbeat_tuner.fitting import contract, events
from heartbeat_tuner.fitting.lines import Lines, Whole, day_number, day_of, sums
from heartbeat_tuner.metrics.blocks import BLOCK_S
from heartbeat_tuner.metrics.quantities import ABSENCE, OF_THE_GROUP, OUTAGE
from heartbeat_tuner.tails import estimate, history
from heartbeat_tuner.tails.estimate import Fleet
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails.histogram import EDGES_S, SCHEMA, dense_of_table, medians_s
from heartbeat_tuner.tails.history import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.pool import Pool

_BLOCK_DAYS: Final = BLOCK_S / 86_400.0

_POOLED: Final = frozenset({ABSENCE, OUTAGE})
"""What comes upon groups of one kind alike; how long their handlers take is each one's own."""


def models(
    table: pa.Table, *, on: date, fitted_at: datetime, job: str, half_life_days: float = history.HALF_LIFE_DAYS
) -> Sequence[GroupModel]:
    """Return the model of every group, sorted by cluster, namespace and group.

    A group whose client library changed rests on the newest one's days alone.

    Args:
        table: rows of the contract; the columns of text may be dictionaries.
        on: the newest day; it has weight 1.
        fitted_at: now.
        job: which run this is.
        half_life_days: after so many days a value is worth half.

    Raises:
        ContractError: rows that are not of the contract.
        ValueError: a day after `on`.
    """
    contract.check(table)
    lines = Lines.of(table).of_newest_clients()
    late = lines.days > day_number(on)
    if late.any():
        raise ValueError(f"day {day_of(lines.days[late].max())}: lies after {on}, the newest day of the fit")
    spans = lines.spans()
    quantities: dict[int, dict[str, QuantityModel]] = {group: {} for group in spans}
    for number, name in enumerate(lines.quantity_names):
        for group, model in _of_quantity(name, lines.where(lines.quantities == number), on, half_life_days):
            quantities[group][name] = model
    found = []
    for group, span in spans.items():
        cluster, namespace, group_id = lines.places[group]
        found.append(
            GroupModel(
                namespace=namespace,
                group=group_id,
                client=span.client,
                cluster=cluster,
                schema=SCHEMA,
                since=span.first,
                until=span.last,
                days=span.days,
                fitted_at=fitted_at,
                job=job,
                quantities=quantities[group],
            )
        )
    return found


def _of_quantity(name: str, lines: Lines, on: date, half_life_days: float) -> Iterator[tuple[int, QuantityModel]]:
    """Yield what one quantity is like in every group that has lines of it."""
    groups, rows = np.unique(lines.groups, return_inverse=True)
    height = groups.size
    seen = lines.where(lines.buckets >= 0)
    seen_rows = rows[lines.buckets >= 0]
    weighed = history.weighted(
        seen_rows,
        day_number(on) - seen.days,
        seen.buckets,
        seen.counts,
        height=height,
        half_life_days=half_life_days,
    )
    strata = _strata(lines, groups, rows)
    tails = estimate.models(Fleet.of(weighed.counts, strata=strata, weight=weighed.weight))
    values = sums(seen_rows, seen.counts, height)
    member_days, group_days = (
        sums(rows[lines.buckets == kind], lines.counts[lines.buckets == kind], height) * _BLOCK_DAYS
        for kind in (MEMBER_BLOCKS, GROUP_BLOCKS)
    )
    medians = medians_s(weighed.counts)
    rates = events.rates_of(name, values, member_days, group_days)
    durations = events.durations_of(name, weighed.counts)
    pools: Sequence[Pool | None] = [None] * height
    if name in _POOLED:
        days = group_days if name in OF_THE_GROUP else member_days
        pools = _pools(seen, seen_rows, strata, days.astype(np.float64))
    largest = np.full(height, -1)
    np.maximum.at(largest, seen_rows[seen.counts > 0], seen.buckets[seen.counts > 0])
    for row, (group, tail) in enumerate(zip(groups.tolist(), tails, strict=True)):
        yield (
            group,
            QuantityModel(
                values=int(values[row]),
                member_days=float(member_days[row]),
                group_days=float(group_days[row]),
                largest_s=float(EDGES_S[largest[row] + 1]) if largest[row] >= 0 else None,
                tail=tail,
                median_s=medians[row],
                rate=rates[row],
                duration=durations[row],
                pool=pools[row],
            ),
        )


def _pools(seen: Lines, rows: Whole, strata: Whole, days: Array) -> Sequence[Pool | None]:
    """Return for each group what all of its stratum saw together; values of a time that nobody watched do not count."""
    watched = days[rows] > 0
    counts = dense_of_table(
        strata[rows[watched]], seen.buckets[watched], seen.counts[watched], height=int(strata.max()) + 1
    )
    pools = [Pool.of(one, days[strata == stratum]) for stratum, one in enumerate(counts)]
    return [pools[stratum] for stratum in strata.tolist()]


def _strata(lines: Lines, groups: Whole, rows: Whole) -> npt.NDArray[np.int64]:
    """Return a number for each group, the same for those of one client library on one cluster."""
    client = np.zeros(groups.size, dtype=np.int64)
    client[rows] = lines.clients
    kinds = [(lines.places[group][0], one) for group, one in zip(groups.tolist(), client.tolist(), strict=True)]
    numbers = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    return np.array([numbers[kind] for kind in kinds], dtype=np.int64)
