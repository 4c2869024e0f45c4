"""Asking Prometheus for the samples of one slice, whole or not at all: in pieces where it is too much, and patiently.

The adapter asks again what may go better within seconds. A job that reads weeks can wait longer, and cannot have less:
an answer that is partial, cut off or no answer fails its slice, and nothing of a slice is kept but all of it.
"""

import asyncio
import dataclasses
from array import array
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, Protocol

from heartbeat_tuner.doctor import discovery
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.fitting.prometheus import counting, sessions_in_force, slices
from heartbeat_tuner.fitting.prometheus.slices import Slice
from heartbeat_tuner.metrics.conventions import known_conventions, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.samples import Samples, Series
from heartbeat_tuner.metrics.vocabulary import Quantity

PAUSES_S: Final = (1.0, 3.0, 9.0, 27.0)
"""How long to wait before the same is asked for the second to the fifth time."""

PATIENCE_S: Final = 120.0
"""How much time failures of one slice may take, with the waiting between them."""

SHORTEST: Final = timedelta(minutes=10)
"""A piece of time that is not halved any more."""

PODS: Final = 500
"""How many pods one query names: 25 KB of them."""

HALVED: Final = frozenset({MetricsCause.TOO_MUCH, MetricsCause.TIMEOUT})
"""Causes for which half of it may go well."""

PASSING: Final = frozenset(
    {MetricsCause.OVERLOADED, MetricsCause.UNREACHABLE, MetricsCause.FAILED, MetricsCause.MALFORMED}
)
"""Causes for which the same may go well later: an answer that was cut off looks like one that is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """Of which namespaces and time one request asks: after `since`, up to `until`."""

    namespaces: tuple[str, ...]
    since: datetime
    until: datetime

    def halves(self) -> tuple["Part", "Part"] | None:
        """Return two requests in place of one: half the namespaces each, or of one namespace half the time."""
        if len(self.namespaces) > 1:
            middle = len(self.namespaces) // 2
            return (
                dataclasses.replace(self, namespaces=self.namespaces[:middle]),
                dataclasses.replace(self, namespaces=self.namespaces[middle:]),
            )
        length_s = (self.until - self.since).total_seconds()
        if length_s < 2 * SHORTEST.total_seconds():
            return None
        at = self.since + timedelta(seconds=length_s // 2)
        return dataclasses.replace(self, until=at), dataclasses.replace(self, since=at)


@dataclasses.dataclass(frozen=True, slots=True)
class Answered:
    """All that there is of a slice: the series of consumers, those around their pods, and those of policies."""

    found: Sequence[Series]
    around: Sequence[Series]
    policies: Sequence[Series] = ()

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return sum(len(series.samples) for series in (*self.found, *self.around, *self.policies))


class AggregatingSource(Protocol):
    """A metrics source that answers aggregations, too."""

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the raw samples that a range selector selects at a time."""
        ...

    async def vector(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the elements of an instant vector at a time."""
        ...


class _Ask(Protocol):
    async def __call__(self, query: str, *, at: datetime) -> Sequence[Series]: ...


class Asker:
    """Asks for one slice after another.

    Args:
        source: the metrics.
        pause: waits so many seconds.
    """

    def __init__(self, source: AggregatingSource, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._source = source
        self._pause = pause
        self._left_s = PATIENCE_S

    async def members(self, day: date, namespaces: Collection[str]) -> Mapping[str, int]:
        """Return how many consumers there were in each namespace on a day, those that ended among them.

        Args:
            day: which.
            namespaces: which to look at; all if empty.

        Raises:
            MetricsUnavailableError: it cannot be known.
        """
        self._left_s = PATIENCE_S
        windows = slices.windows_of(day)
        members: dict[str, int] = {}
        waiting = [Part(tuple(namespaces), windows[0].read_since, windows[-1].read_until)]
        while waiting:
            part = waiting.pop(0)
            query = discovery.members_of_namespaces(
                counting.CONVENTIONS, part.namespaces, lookback=part.until - part.since
            )
            try:
                counted = await self._patiently(self._source.vector, query, part.until)
            except MetricsUnavailableError as error:
                halves = part.halves() if error.cause in HALVED and self._left_s > 0 else None
                if halves is None:
                    raise
                waiting = [*halves, *waiting]
                continue
            for series in counted:
                name = series.labels.get(queries.NAMESPACE_LABEL, "")
                if name and series.samples:
                    members[name] = max(members.get(name, 0), round(series.samples[0].value))
        return members

    async def slice(self, time_slice: Slice) -> Answered:
        """Return the samples of a slice and its margins.

        Raises:
            MetricsUnavailableError: they cannot be had, or not all of them.
        """
        self._left_s = PATIENCE_S
        window = time_slice.window
        parts = [Part(time_slice.namespaces, window.read_since, window.read_until)]
        series: list[Series] = []
        for quantity in (*counting.OF_MEMBERS, *counting.OF_GROUP_WATCHER):
            parts = await self._asked(series, *_names(quantity, counting.CONVENTIONS), parts)
        pods = counting.pods_in(series)
        around: list[Series] = []
        parts = [part for part in parts if any(namespace in part.namespaces for namespace, _ in pods)]
        for quantity in counting.AROUND if pods else ():
            parts = await self._asked(around, *_names(quantity, platform.CONVENTIONS), parts, pods)
        policies: list[Series] = []
        if pods:
            await self._asked(policies, sessions_in_force.NAMES, (), parts)
        return Answered(joined(series), joined(around), joined(policies))

    async def _asked(
        self,
        series: list[Series],
        names: Collection[str],
        matchers: Iterable[tuple[str, str]],
        parts: Iterable[Part],
        pods: Collection[resolver.PodKey] = (),
    ) -> list[Part]:
        """Add the series of these names to `series`; return the parts in which they could be had, for the next ones."""
        matchers = tuple(matchers)
        fitting, waiting = [], list(parts)
        while waiting:
            part = waiting.pop(0)
            taken: list[Series] = []  # of a part that turns out to be too much half may be here already
            mine = sorted({pod for namespace, pod in pods if namespace in part.namespaces})
            try:
                for some in [mine[first : first + PODS] for first in range(0, len(mine), PODS)] or [[]]:
                    query = queries.raw(
                        names,
                        namespaces=part.namespaces,
                        window=part.until - part.since,
                        matchers=matchers,
                        pods=some,
                    )
                    answer = await self._patiently(self._source.instant, query, part.until)
                    taken += [_within(entry, part) for entry in answer]
            except MetricsUnavailableError as error:
                halves = part.halves() if error.cause in HALVED and self._left_s > 0 else None
                if halves is None:
                    raise
                waiting = [*halves, *waiting]
            else:
                fitting.append(part)
                series += taken
        return fitting

    async def _patiently(self, ask: _Ask, query: str, at: datetime) -> Sequence[Series]:
        """Ask, and wait and ask again, while there is patience."""
        loop, pauses = asyncio.get_running_loop(), iter(PAUSES_S)
        while True:
            began_s = loop.time()
            try:
                return await ask(query, at=at)
            except MetricsUnavailableError as error:
                self._left_s -= loop.time() - began_s
                pause_s = next(pauses, None)
                if error.cause not in PASSING or pause_s is None or pause_s > self._left_s:
                    raise
            self._left_s -= pause_s
            await self._pause(pause_s)


def _names(quantity: Quantity, conventions: Sequence[Convention]) -> tuple[Collection[str], Iterable[tuple[str, str]]]:
    """Return what a quantity is called, and the labels that select it."""
    return known_conventions.names(conventions, quantity), known_conventions.matchers(conventions, quantity)


def joined(pieces: Iterable[Series]) -> list[Series]:
    """Return series whose samples came in pieces, each once, in one order, however they came."""
    by_labels: dict[tuple[tuple[str, str], ...], list[Series]] = {}
    for piece in pieces:
        if piece.samples:
            by_labels.setdefault(tuple(sorted(piece.labels.items())), []).append(piece)
    return [_whole(several) for _, several in sorted(by_labels.items())]


def _whole(several: list[Series]) -> Series:
    if len(several) == 1:
        return several[0]
    times_s, values = array("d"), array("d")
    for series in sorted(several, key=lambda piece: piece.samples.times_s[0]):
        times_s += series.samples.times_s
        values += series.samples.values
    return Series(several[0].labels, Samples(times_s, values))


def _within(series: Series, part: Part) -> Series:
    """Return a series without what the query did not ask for: servers differ in whether a range holds its beginning."""
    return Series(series.labels, series.samples.between(part.since.timestamp(), part.until.timestamp()))
