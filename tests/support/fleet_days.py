"""Days of a fleet as rows of the contract: its histograms, made for tests."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.histogram import Histogram

TODAY = date(2026, 11, 21)
BLOCKS_A_DAY = 960


def ago(days: int) -> date:
    """Return a day before today."""
    return TODAY - timedelta(days=days)


def table(*rows: Sequence[object]) -> pa.Table:
    """Return rows of day, cluster, namespace, group, client, quantity, bucket and n as a table."""
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in contract.ROWS]
    return pa.table(columns, schema=contract.ROWS)


def of_day(day: date, counts: Mapping[str, Mapping[int, int]], *, client: str = "java", cluster: str = "") -> pa.Table:
    """Return the absences of some groups on a day."""
    return table(
        *(
            (day, cluster, "shop", group, client, "absence", bucket, count)
            for group, held in counts.items()
            for bucket, count in held.items()
        )
    )


def fleet(days: int, *, groups: int, seed: int = 1, longer: float = 1.0, newest: date = TODAY) -> pa.Table:
    """Return days of a fleet of three members each whose delays are lognormal, the newest last.

    Args:
        days: how many.
        groups: `orders-0` and on; each with delays of its own.
        seed: of the values, not of the groups.
        longer: by how much all delays are longer.
        newest: the last day.
    """
    rng = np.random.default_rng(seed)
    medians = np.exp(np.random.default_rng(0).normal(np.log(0.2), 0.5, groups))
    made = []
    for age in reversed(range(days)):
        counts = {}
        for number, median in enumerate(medians):
            values = longer * median * np.exp(0.5 * rng.standard_normal(3 * BLOCKS_A_DAY))
            counts[f"orders-{number}"] = Histogram.of(values).to_counts() | {
                MEMBER_BLOCKS: 3 * BLOCKS_A_DAY,
                GROUP_BLOCKS: BLOCKS_A_DAY,
            }
        made.append(of_day(newest - timedelta(days=age), counts))
    return pa.concat_tables(made)
