"""A table of the contract's rows in numbers, for NumPy: whose lines they are, and of which days.

A text becomes its place among those that there are, in order, so that nothing depends on the order of the rows. Tens of
millions of lines are no rarity, so each column is as narrow as it may be.
"""

import dataclasses
import hashlib
from datetime import date, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS

Whole = npt.NDArray[np.integer]
Marks = npt.NDArray[np.bool_]

_EPOCH: Final = date(1970, 1, 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Lines:
    """A table's columns; arrays are of one length.

    Attributes:
        days: `day_number` of each line.
        groups: index into `places`.
        clients: index into `client_names`.
        quantities: index into `quantity_names`.
        buckets: of the histogram, or what was watched.
        counts: how many.
        places: cluster, namespace and group, ascending.
        client_names: ascending.
        quantity_names: ascending.
    """

    days: Whole
    groups: Whole
    clients: Whole
    quantities: Whole
    buckets: Whole
    counts: Whole
    places: tuple[tuple[str, str, str], ...]
    client_names: tuple[str, ...]
    quantity_names: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table) -> "Lines":
        """Return a table of the contract's rows in numbers; the columns of text may be dictionaries."""
        texts = {name: coded(table[name]) for name in ("cluster", "namespace", "group")}
        keys = np.zeros(table.num_rows, dtype=np.int64)
        for codes, names in texts.values():
            keys = keys * max(len(names), 1) + codes
        held, groups = np.unique(keys, return_inverse=True)
        parts = []
        for _, names in reversed(texts.values()):
            held, place = np.divmod(held, max(len(names), 1))
            parts.append([names[one] for one in place.tolist()])
        clients, client_names = coded(table["client"])
        quantities, quantity_names = coded(table["quantity"])
        return cls(
            days=table["day"].cast(pa.int32()).to_numpy(),
            groups=groups.astype(np.int32),
            clients=clients,
            quantities=quantities,
            buckets=table["bucket"].to_numpy(),
            counts=table["n"].to_numpy(),
            places=tuple(zip(*reversed(parts), strict=True)),
            client_names=client_names,
            quantity_names=quantity_names,
        )

    def where(self, kept: Marks) -> "Lines":
        """Return some of the lines."""
        return dataclasses.replace(
            self,
            days=self.days[kept],
            groups=self.groups[kept],
            clients=self.clients[kept],
            quantities=self.quantities[kept],
            buckets=self.buckets[kept],
            counts=self.counts[kept],
        )

    def of_newest_clients(self) -> "Lines":
        """Return the lines of each group's newest client library.

        While one replaces another, a day has both; the one that came later is the newest. Where several came and
        stayed together, it is the one with the most values.
        """
        width = len(self.client_names)
        if width < 2 or not self.days.size:  # noqa: PLR2004 - one client cannot have changed
            return self
        pairs, of_pair = np.unique(self.groups.astype(np.int64) * width + self.clients, return_inverse=True)
        last = np.full(pairs.size, np.iinfo(np.int32).min)
        first = np.full(pairs.size, np.iinfo(np.int32).max)
        np.maximum.at(last, of_pair, self.days)
        np.minimum.at(first, of_pair, self.days)
        values = sums(of_pair, np.where(self.buckets >= 0, self.counts, 0), pairs.size)
        group = pairs // width
        order = np.lexsort((pairs, values, first, last, group))
        newest = np.append(np.diff(group[order]) > 0, True)
        chosen = np.zeros(pairs.size, dtype=np.bool_)
        chosen[order[newest]] = True
        return self.where(chosen[of_pair])

    def spans(self) -> "dict[int, Span]":
        """Return what the lines of each group are of; each must have one client."""
        if not self.days.size:
            return {}
        start = int(self.days.min())
        width = int(self.days.max()) - start + 1
        pairs, where = np.unique(self.groups.astype(np.int64) * width + (self.days - start), return_index=True)
        groups, begins, lengths = np.unique(pairs // width, return_index=True, return_counts=True)
        days = pairs % width + start
        return {
            int(group): Span(
                first=day_of(days[begin]),
                last=day_of(days[begin + length - 1]),
                days=int(length),
                client=self.client_names[self.clients[where[begin]]],
            )
            for group, begin, length in zip(groups, begins, lengths, strict=True)
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """What a group's lines are of.

    Attributes:
        first: day.
        last: day.
        days: how many there are between the two that have lines.
        client: the library.
    """

    first: date
    last: date
    days: int
    client: str


def digest(table: pa.Table) -> str:
    """Return what tells a table of the contract's rows, in their order, from any other; the day is not looked at."""
    found = hashlib.blake2b(digest_size=16)
    for name in contract.NAMES:
        codes, names = coded(table[name])
        found.update("\n".join(names).encode())
        found.update(codes.tobytes())
    for name in ("bucket", "n"):
        found.update(table[name].to_numpy().tobytes())
    return found.hexdigest()


class Counts:
    """The values of every histogram in a table, all days together, by whose it is."""

    def __init__(self, lines: Lines) -> None:
        """Sort the lines, so that each histogram is a slice."""
        seen = lines.where(lines.buckets >= 0)
        kinds, clients = len(seen.quantity_names), len(seen.client_names)
        keys = (seen.groups.astype(np.int64) * clients + seen.clients) * kinds + seen.quantities
        order = np.argsort(keys, kind="stable")
        self._buckets, self._counts = seen.buckets[order], seen.counts[order]
        held, begins = np.unique(keys[order], return_index=True)
        ends = np.append(begins[1:], keys.size)
        self._slices = {
            (*seen.places[key // kinds // clients], seen.client_names[key // kinds % clients], name): slice(begin, end)
            for key, begin, end in zip(held.tolist(), begins.tolist(), ends.tolist(), strict=True)
            if (name := seen.quantity_names[key % kinds])
        }

    def of(self, cluster: str, namespace: str, group: str, client: str, quantity: str) -> Array | None:
        """Return how many values lie in each bucket; None if there are none."""
        found = self._slices.get((cluster, namespace, group, client, quantity))
        if found is None:
            return None
        return np.bincount(self._buckets[found], weights=self._counts[found], minlength=BUCKETS).astype(np.float64)


def sums(rows: Whole, counts: Whole, height: int) -> Whole:
    """Return the sum of the counts of each of `height` rows, in whole numbers."""
    added = np.zeros(height, dtype=np.int64)
    np.add.at(added, rows, counts)
    return added


def day_number(day: date) -> int:
    """Return how many days a day lies after the first of 1970."""
    return (day - _EPOCH).days


def day_of(number: int) -> date:
    """Return the day that lies so many days after the first of 1970."""
    return _EPOCH + timedelta(days=int(number))


def coded(column: pa.ChunkedArray) -> tuple[Whole, tuple[str, ...]]:
    """Return each text's place among those that there are, and them, ascending.

    Args:
        column: of text, as it is or as dictionaries.
    """
    single = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = single.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # of no chunk at all
        return np.zeros(0, dtype=np.int32), ()
    names = whole.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names))
    return rank[whole.indices.to_numpy(zero_copy_only=False)], tuple(names[place] for place in order)
