"""From days of histograms to models: all groups of one quantity at once, in NumPy, without Spark.

The table is turned into numbers once; then each quantity is a matrix of counts, a line for each group, its days
weighted by their age (`tails.history`), and goes through `tails.estimate` as one fleet. Groups of one client library
on one cluster are alike. The same rows give the same models to the last bit, in whatever order they come.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.metrics.blocks import BLOCK_S
from heartbeat_tuner.tails import estimate, history
from heartbeat_tuner.tails.estimate import Fleet
from heartbeat_tuner.tails.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, SCHEMA
from heartbeat_tuner.tails.history import GROUP_BLOCKS, MEMBER_BLOCKS

Whole = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_EPOCH: Final = date(1970, 1, 1)
_DAY_S: Final = 86_400.0


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
    lines = _newest_client(_Lines.of(table))
    late = lines.days > (on - _EPOCH).days
    if late.any():
        raise ValueError(f"day {_date(lines.days[late].max())}: lies after {on}, the newest day of the fit")
    found: dict[int, dict[str, QuantityModel]] = {group: {} for group in np.unique(lines.groups).tolist()}
    for number, name in enumerate(lines.quantities):
        of_this = lines.where(lines.of_quantity == number)
        if len(of_this.days):
            for group, model in _of_quantity(of_this, on, half_life_days):
                found[group][name] = model
    spans = _spans(lines)
    return [
        GroupModel(
            namespace=lines.places[group][1],
            group=lines.places[group][2],
            client=lines.client_names[spans[group].client],
            cluster=lines.places[group][0],
            schema=SCHEMA,
            since=_date(spans[group].first),
            until=_date(spans[group].last),
            days=spans[group].days,
            fitted_at=fitted_at,
            job=job,
            quantities=found[group],
        )
        for group in found
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Lines:
    """The table in numbers; arrays are of one length.

    Attributes:
        days: since 1970.
        groups: index into `places`.
        clients: index into `client_names`.
        of_quantity: index into `quantities`.
        buckets: of the histogram, or what was watched.
        counts: how many.
        places: cluster, namespace and group, ascending.
        client_names: ascending.
        quantities: ascending.
    """

    days: Whole
    groups: Whole
    clients: Whole
    of_quantity: Whole
    buckets: npt.NDArray[np.int16]
    counts: Whole
    places: tuple[tuple[str, str, str], ...]
    client_names: tuple[str, ...]
    quantities: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table) -> "_Lines":
        """Return a table of the contract's rows in numbers."""
        clusters, cluster_names = _coded(table["cluster"])
        namespaces, namespace_names = _coded(table["namespace"])
        ids, id_names = _coded(table["group"])
        clients, client_names = _coded(table["client"])
        quantities, quantity_names = _coded(table["quantity"])
        keys = (clusters * len(namespace_names) + namespaces) * len(id_names) + ids
        held, groups = np.unique(keys, return_inverse=True)
        rest, of_id = np.divmod(held, max(len(id_names), 1))
        of_cluster, of_namespace = np.divmod(rest, max(len(namespace_names), 1))
        return cls(
            days=table["day"].cast(pa.int32()).to_numpy().astype(np.int64),
            groups=groups,
            clients=clients,
            of_quantity=quantities,
            buckets=table["bucket"].to_numpy(),
            counts=table["n"].to_numpy(),
            places=tuple(
                (cluster_names[cluster], namespace_names[namespace], id_names[group])
                for cluster, namespace, group in zip(
                    of_cluster.tolist(), of_namespace.tolist(), of_id.tolist(), strict=True
                )
            ),
            client_names=client_names,
            quantities=quantity_names,
        )

    def where(self, kept: Marks) -> "_Lines":
        """Return some of the lines."""
        return dataclasses.replace(
            self,
            days=self.days[kept],
            groups=self.groups[kept],
            clients=self.clients[kept],
            of_quantity=self.of_quantity[kept],
            buckets=self.buckets[kept],
            counts=self.counts[kept],
        )


def _coded(column: pa.ChunkedArray) -> tuple[Whole, tuple[str, ...]]:
    """Return each text's place among those that there are, and them, ascending."""
    whole = column.combine_chunks() if not pa.types.is_dictionary(column.type) else _one_dictionary(column)
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    names = coded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(max(len(names), 1), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return rank[coded.indices.to_numpy(zero_copy_only=False)], tuple(names[place] for place in order)


def _one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    return column.unify_dictionaries().combine_chunks()


def _newest_client(lines: _Lines) -> _Lines:
    """Return the lines of each group's newest client library.

    While one replaces another, a day has both; the one that came later is the newest. Where several came and stayed
    together, it is the one with the most values.
    """
    width = len(lines.client_names)
    if width < 2 or not len(lines.days):  # noqa: PLR2004 - one client cannot have changed
        return lines
    pairs, of_pair = np.unique(lines.groups * width + lines.clients, return_inverse=True)
    last = np.full(len(pairs), np.iinfo(np.int64).min)
    first = np.full(len(pairs), np.iinfo(np.int64).max)
    np.maximum.at(last, of_pair, lines.days)
    np.minimum.at(first, of_pair, lines.days)
    values = _sums(of_pair, np.where(lines.buckets >= 0, lines.counts, 0), len(pairs))
    order = np.lexsort((pairs, values, first, last, pairs // width))
    newest = np.append(np.diff(pairs[order] // width) > 0, True)
    chosen = np.zeros(len(pairs), dtype=np.bool_)
    chosen[order[newest]] = True
    return lines.where(chosen[of_pair])


def _of_quantity(lines: _Lines, on: date, half_life_days: float) -> list[tuple[int, QuantityModel]]:
    """Return what one quantity of every group that has it is like."""
    groups, rows = np.unique(lines.groups, return_inverse=True)
    height = len(groups)
    client = np.zeros(height, dtype=np.int64)
    client[rows] = lines.clients
    strata = _strata(
        [(lines.places[group][0], one) for group, one in zip(groups.tolist(), client.tolist(), strict=True)]
    )
    seen = lines.buckets >= 0
    weighed = history.weighted(
        rows[seen],
        (on - _EPOCH).days - lines.days[seen],
        lines.buckets[seen],
        lines.counts[seen],
        height=height,
        half_life_days=half_life_days,
    )
    tails = estimate.models(Fleet.of(weighed.counts, strata=strata, weight=weighed.weight))
    values = _sums(rows[seen], lines.counts[seen], height)
    watched = {
        kind: _sums(rows[lines.buckets == kind], lines.counts[lines.buckets == kind], height) * (BLOCK_S / _DAY_S)
        for kind in (MEMBER_BLOCKS, GROUP_BLOCKS)
    }
    some = seen & (lines.counts > 0)
    largest = np.full(height, -1)
    np.maximum.at(largest, rows[some], lines.buckets[some])
    return [
        (
            int(group),
            QuantityModel(
                values=int(values[row]),
                member_days=float(watched[MEMBER_BLOCKS][row]),
                group_days=float(watched[GROUP_BLOCKS][row]),
                largest_s=float(EDGES_S[largest[row] + 1]) if largest[row] >= 0 else None,
                tail=tail,
            ),
        )
        for row, (group, tail) in enumerate(zip(groups, tails, strict=True))
    ]


def _strata(kinds: Sequence[tuple[str, int]]) -> Whole:
    """Return a number for each kind, the same for the same; from 0."""
    numbers = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    return np.array([numbers[kind] for kind in kinds], dtype=np.int64)


def _sums(rows: Whole, counts: Whole, height: int) -> Whole:
    """Return the sum of the counts of each row, in whole numbers."""
    sums = np.zeros(height, dtype=np.int64)
    np.add.at(sums, rows, counts)
    return sums


@dataclasses.dataclass(frozen=True, slots=True)
class _Span:
    """Which days a group's lines are of: the first, the last and how many, and its client."""

    first: int
    last: int
    days: int
    client: int


def _spans(lines: _Lines) -> dict[int, _Span]:
    """Return what the lines of each group are of, now that each has one client."""
    if not len(lines.days):
        return {}
    start, width = int(lines.days.min()), int(lines.days.max() - lines.days.min()) + 1
    pairs, where = np.unique(lines.groups * width + (lines.days - start), return_index=True)
    groups, begins, counts = np.unique(pairs // width, return_index=True, return_counts=True)
    days = pairs % width + start
    return {
        int(group): _Span(int(days[begin]), int(days[begin + count - 1]), int(count), int(lines.clients[where[begin]]))
        for group, begin, count in zip(groups, begins, counts, strict=True)
    }


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=int(day))
