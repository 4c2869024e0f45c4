"""From days of histograms to models: all groups of one quantity at once, in NumPy, without Spark.

The table is turned into numbers once; then each quantity is a matrix of counts, a line for each group, its days
weighted by their age (`tails.day_weights`), and goes through `tails.fit.tail_estimate` as one fleet. Groups of one
client library on one cluster are alike; what those of several namespaces tell each other is bounded
(`tails.neighbours`). The same rows give the same models to the last bit, in whatever order they come.
"""

import dataclasses
import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heartbeat_tuner.clients.catalogue import CLIENTS
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.calendar_days import day_number, day_of
from heartbeat_tuner.fitting.models import day_counts, event_rates, unseen_evictions
from heartbeat_tuner.fitting.models.day_counts import Age, DayCounts
from heartbeat_tuner.fitting.models.day_series import DaySeries, LineSpan, Place
from heartbeat_tuner.metrics.absence.stalls import HANDLERS_FROM_S
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, OF_THE_GROUP, OUTAGE, POLL_GAP, UNSEEN_REJOIN
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails import day_weights
from heartbeat_tuner.tails.fit import tail_estimate
from heartbeat_tuner.tails.fit.tail_estimate import Fleet
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, SCHEMA, medians_s
from heartbeat_tuner.tails.pool import LEAST_ALIKE, Pool
from heartbeat_tuner.tails.rates import Rate

_Kind = TypeVar("_Kind", str, tuple[str, str])

_LONG_S: Final = 1.0
_MOST: Final = 0.95

_WITH_REGIMES: Final = frozenset({ABSENCE, POLL_GAP})
"""What values rest on, and whose days before it became worse do not count."""

_POOLED: Final = frozenset({ABSENCE, OUTAGE})
"""What comes upon groups of one kind alike; how long their handlers take is each one's own."""

_BEHIND_HANDLERS: Final = frozenset(name for name, client in CLIENTS.items() if client.handler_delays_beat)
"""Libraries whose absences are handlers, nearly all of them."""


def models(
    table: pa.Table, *, on: date, fitted_at: datetime, job: str, half_life_days: float = day_weights.HALF_LIFE_DAYS
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
    series = DaySeries.of(table)
    if series.days and series.days[-1].number > day_number(on):
        raise ValueError(f"day {day_of(series.days[-1].number)}: lies after {on}, the newest day of the fit")
    spans = series.spans()
    quantities = _quantities(series, spans, Age(series, on, half_life_days))
    return [
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
            quantities=quantities[cluster, namespace, group_id],
        )
        for (cluster, namespace, group_id), span in spans.items()
    ]


def _quantities(series: DaySeries, spans: Mapping[Place, LineSpan], aged: Age) -> dict[Place, dict[str, QuantityModel]]:
    """Return what every group is like, quantity by quantity; lines of another library than its newest do not count."""
    models: dict[Place, dict[str, QuantityModel]] = {group: {} for group in spans}
    numbers: dict[str, dict[Place, int]] = {}
    for number, (cluster, namespace, group_id, client, quantity) in enumerate(series.keys):
        group = (cluster, namespace, group_id)
        if spans[group].client == client:
            numbers.setdefault(quantity, {})[group] = number
    witnessed = _witnessed(numbers.get(POLL_GAP, {}), aged)
    for name in sorted(numbers.keys() - {UNSEEN_REJOIN}):
        clients = [spans[group].client for group in numbers[name]]
        for group, model in _of_quantity(name, numbers, witnessed, clients, aged):
            models[group][name] = model
    return models


def _of_quantity(
    name: str,
    numbers: Mapping[str, Mapping[Place, int]],
    witnessed: Collection[Place],
    clients: Sequence[str],
    aged: Age,
) -> Iterator[tuple[Place, QuantityModel]]:
    """Yield what one quantity is like in every group that has lines of it.

    Args:
        name: of the quantity.
        numbers: of the series of each quantity, by group.
        witnessed: groups whose absences show whatever became of the member.
        clients: the library of each group.
        aged: what days are worth.
    """
    groups, unended = numbers[name], numbers.get(EVICTION, {}) if name == ABSENCE else {}
    seen = day_counts.counted(groups, unended, aged, has_regimes=name in _WITH_REGIMES)
    whole, weighed = seen.whole, seen.weighed
    strata = _numbers([(cluster, client) for (cluster, _, _), client in zip(groups, clients, strict=True)])
    homes = _numbers([namespace for _, namespace, _ in groups])
    fleet = Fleet.of(weighed.counts, strata=strata, homes=homes, weight=weighed.weight, unended=seen.unended)
    own = _own_handlers(name, clients)
    tails = tail_estimate.models(fleet, few_values=own)
    values, member_days, group_days = whole.sum(axis=1).astype(np.int64), seen.member_days, seen.group_days
    rates = _rates(name, numbers, seen, aged, homes)
    durations = event_rates.durations_of(name, weighed.counts, homes=homes)
    pools: Sequence[Pool | None] = [None] * len(groups)
    if name in _POOLED:
        shows = np.array([name != ABSENCE or place in witnessed for place in groups]) | seen.counts_unended
        days = group_days if name in OF_THE_GROUP else member_days
        pools = _pools(seen, strata, homes, days, ~shows)
    alone, largest = own & seen.counts_unended, _largest_s(whole)
    for row, (group, tail, median_s) in enumerate(zip(groups, tails, medians_s(weighed.counts), strict=True)):
        yield (
            group,
            QuantityModel(
                values=int(values[row]),
                member_days=float(member_days[row]),
                group_days=float(group_days[row]),
                largest_s=largest[row],
                tail=tail,
                median_s=median_s,
                rate=rates[row],
                duration=durations[row],
                pool=None if alone[row] else pools[row],
                regime_since=seen.regimes[row],
            ),
        )


def _rates(
    name: str,
    numbers: Mapping[str, Mapping[Place, int]],
    seen: DayCounts,
    aged: Age,
    homes: npt.NDArray[np.int64],
) -> Sequence[Rate | None]:
    """Return how often the events of a quantity come in every group that has lines of it."""
    events, member_days = seen.whole.sum(axis=1), seen.member_days
    if name == EVICTION:
        unseen = numbers.get(UNSEEN_REJOIN, {})
        events, member_days = unseen_evictions.exposed(numbers[name], seen, unseen, aged)
    return event_rates.rates_of(name, events, member_days, seen.group_days, homes=homes)


def _witnessed(gaps: Mapping[Place, int], aged: Age) -> Collection[Place]:
    """Return the groups whose gaps between polls show absences as they were, for handlers are usually sooner back."""
    seen = day_counts.counted(gaps, {}, aged, has_regimes=False)
    medians = medians_s(seen.weighed.counts)
    return {
        place
        for place, median_s in zip(gaps, medians, strict=True)
        if median_s is not None and median_s < HANDLERS_FROM_S
    }


def _largest_s(whole: Array) -> list[float | None]:
    """Return the upper edge of each group's largest value; None where it has none."""
    some = whole > 0
    largest = np.where(some.any(axis=1), BUCKETS - 1 - some[:, ::-1].argmax(axis=1), -1)
    return [float(EDGES_S[bucket + 1]) if bucket >= 0 else None for bucket in largest.tolist()]


def _pools(
    seen: DayCounts,
    strata: npt.NDArray[np.int64],
    homes: npt.NDArray[np.int64],
    days: Array,
    hides: npt.NDArray[np.bool_],
) -> Sequence[Pool | None]:
    """Return for each group what those of its stratum saw together whose usual values are as long as its own.

    Where that is too little, what all of its stratum saw. Values of a time that nobody watched do not count. Groups
    that `hides` names show nothing of what outlasts a session.
    """
    whole, unended, scatter = seen.whole, seen.whole_unended, seen.scatter
    group_pools: list[Pool | None] = [None] * len(strata)
    habits = _habits(whole)
    for stratum in range(int(strata.max()) + 1):
        mine = strata == stratum
        together = Pool.of_homes(
            whole[mine],
            days[mine],
            homes[mine],
            hidden=hides[mine],
            unended=unended[mine],
            scatter=scatter.some(mine),
        )
        for alike in (mine & (habits == habit) for habit in _Habit):
            pools = together | Pool.of_homes(
                whole[alike],
                days[alike],
                homes[alike],
                hidden=hides[alike],
                unended=unended[alike],
                scatter=scatter.some(alike),
                least_groups=LEAST_ALIKE,
            )
            for group in np.flatnonzero(alike).tolist():
                pool = pools.get(int(homes[group]))
                # Who shows all has seen what it has not seen.
                group_pools[group] = (
                    pool if pool is None or hides[group] else dataclasses.replace(pool, hides_from_s=None)
                )
    return group_pools


def _own_handlers(name: str, clients: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return of which groups a quantity is their own handlers, of which others tell nothing.

    Where evictions are not counted, absences end at the group's session, and others have to tell what lies beyond.
    """
    return np.array([name == POLL_GAP or (name == ABSENCE and client in _BEHIND_HANDLERS) for client in clients])


class _Habit(enum.IntEnum):
    """What is usual of the values of a group."""

    SHORT = 0
    LONG = 1
    NOT_SHOWN = 2


def _habits(counts: Array) -> npt.NDArray[np.int64]:
    """Return how long values of each group usually are; `counts` has a line for each.

    Where one in twenty is a second or longer, heaps are full or processors short, and such processes freeze for longer,
    too. Where nothing below a second shows, as where heartbeats alone show absences, the habit is not known. Such
    groups are a kind of their own, the calm ones among them as well: to call those short whose members were never seen
    absent would make a pool of groups by what the pool is asked for.
    """
    below = counts[:, : int(np.searchsorted(EDGES_S, _LONG_S))].sum(axis=1)
    habits = np.where(below < _MOST * counts.sum(axis=1), _Habit.LONG, _Habit.SHORT)
    return np.where(below > 0, habits, _Habit.NOT_SHOWN).astype(np.int64)


def _numbers(kinds: Sequence[_Kind]) -> npt.NDArray[np.int64]:
    """Return a number for each group, the same for those of one kind; kinds are numbered as they order."""
    numbers = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    return np.array([numbers[kind] for kind in kinds], dtype=np.int64)
