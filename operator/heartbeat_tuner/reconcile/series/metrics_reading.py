"""Reading the metrics of all policies, a cycle at a time: only what is new, and after a start backwards in slices.

What was read stays in memory, and with it which stretches of time it covers: a query that failed leaves a stretch that
the next cycle asks for again, never a hole that looks like silence. A group that is not covered up to now is unknown
for this cycle, with the reason; one that is not covered back to the window's beginning has a shorter record.

How much is asked for says `reading_share`, what failed `reading_troubles`. Queries go in turn. Once Prometheus has
answered, the next query is sent while the answer before it is read: it holds two answers at a time for us, never more.
One that is down or overloaded is not asked again in the same cycle. A query that would be too much is split, by
namespaces and then by time.
"""

import asyncio
import dataclasses
import math
from collections import Counter, deque
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.resolver import NO_OWN_IDS, ClientKey, GroupKey, Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.reconcile.series import reading_plan, reading_share
from heartbeat_tuner.reconcile.series.reading_plan import BASELINE_MARGIN, WINDOW_S, Ask, Missing, Size
from heartbeat_tuner.reconcile.series.reading_share import CycleShare, SplitQuery
from heartbeat_tuner.reconcile.series.reading_troubles import ReadingTroubles
from heartbeat_tuner.reconcile.series.series_store import KeptSeries
from heartbeat_tuner.reconcile.series.span_coverage import SpanCoverage

AHEAD: Final = 2
"""Queries that are under way, once Prometheus has answered in this cycle: while one is computed, another is read."""

PIECE: Final = 500
"""So many series are taken in before others have their turn: some hundredths of a second."""


BACKOFF_FACTOR: Final = 0.6
"""Of what was too much, and could be read in parts, so much is asked for at a time from then on."""

REGAIN_FACTOR: Final = 0.05
"""In the next cycle so much more again; without another refusal twice that in the one after, and so on: a limit that is
there is touched every few cycles, one that has gone is forgotten in ten."""

ENOUGH_S: Final = BASELINE_MARGIN.total_seconds() + 60.0
"""With less than this behind it, and a margin before, no record is made."""


class MetricsReader:
    """Reads what all policies need, and remembers it.

    Args:
        metrics: where it is read.
    """

    def __init__(self, metrics: MetricsSource) -> None:
        self._metrics = metrics
        self._kept = KeptSeries(known_conventions.READ)
        self._coverage = SpanCoverage()
        self._libraries: Collection[str] = ()
        self._sizes: dict[tuple[Quantity, str], Size] = {}
        self._most = float(reading_plan.REQUEST_WEIGHT)
        self._regained = REGAIN_FACTOR
        self._came_last: frozenset[str] = frozenset()
        self._troubles = ReadingTroubles()
        self._answering = False

    async def read(
        self, policies: Sequence[Policy], *, now: datetime, own_ids: Mapping[ClientKey, GroupKey] = NO_OWN_IDS
    ) -> None:
        """Read what is missing up to now, as far as this cycle's share goes; what failed is told by `of`.

        Args:
            policies: whose groups' metrics.
            now: the end of the window.
            own_ids: whose a `client.id` is that names no group.
        """
        self._begin(policies, own_ids, float(math.floor(now.timestamp())))
        self._kept.begin_reading()
        self._came_last, first = frozenset(self._troubles.flooding), self._troubles.left
        self._troubles, self._answering = ReadingTroubles(), False
        self._most = min(reading_plan.REQUEST_WEIGHT, self._most * (1 + self._regained))
        self._regained = min(1.0, 2 * self._regained)
        began_s = asyncio.get_running_loop().time()
        wanted = {name: stretches for name, stretches in self._missing().items() if name not in self._came_last}
        recent, older = reading_share.for_new(wanted, self._sizes, began_s), reading_share.for_older(began_s)
        for _ in range(reading_plan.SLICES):
            missing = self._missing()
            last = self._came_last | reading_share.over_their_share(missing, self._sizes)
            turns = [
                SplitQuery(ask, recent if self._is_new(ask) else older)
                for ask in reading_plan.asks(missing, self._sizes, most=self._most, first=first, last=last)
            ]
            await self._ask_in_turn(turns)
        self._kept.forget_until(self._coverage.until_s - WINDOW_S)

    async def read_early(self, policies: Collection[Policy]) -> None:
        """Read what groups that are new since the last reading lack, up to the moment of that; all else is there.

        What was too much then, or failed, is not asked for again, and nothing is forgotten.
        """
        groups = {_group(policy) for policy in policies}
        self._libraries = sorted({*self._libraries, *(policy.library for policy in policies)})
        self._kept.keep_also(groups)
        if not self._coverage.want_also(reading_plan.wanted(policies)):
            return  # an edit seldom names another group, or another library
        self._sizes = reading_plan.guessed(groups, self._sizes) | self._sizes
        share = reading_share.for_early(asyncio.get_running_loop().time())
        for _ in range(reading_plan.SLICES):
            asks = reading_plan.asks(
                self._missing(), self._sizes, most=self._most, first=(), last=self._troubles.flooding
            )
            await self._ask_in_turn([SplitQuery(ask, share) for ask in asks])

    def of(self, policy: Policy) -> Mapping[Convention, Observed] | Unknown:
        """Return the series of a policy's group, or why they are not known up to now."""
        group = _group(policy)
        for quantity in reading_plan.of_policy(policy):
            if not self._is_read(quantity, group):
                return self._troubles.why(quantity, group[0]).told_to(policy, quantity)
        return self._kept.of_group(group)

    def stands_still(self, policy: Policy) -> bool:
        """Whether a policy's group is known up to now, and nothing but heartbeats was counted since the last cycle."""
        group = _group(policy)
        return self._kept.stands_still(group) and all(
            self._is_read(quantity, group) for quantity in reading_plan.of_policy(policy)
        )

    def since(self, policy: Policy) -> datetime:
        """Return since when a record can tell: all its quantities were read from then on, and a margin before."""
        reaches = [self._coverage.reach_s(quantity, _group(policy)) for quantity in reading_plan.of_policy(policy)]
        since_s = max((reach_s for reach_s in reaches if reach_s is not None), default=self._coverage.until_s)
        return datetime.fromtimestamp(since_s, UTC) + BASELINE_MARGIN

    def _is_read(self, quantity: Quantity, group: GroupKey) -> bool:
        """Whether a group is covered up to now, for long enough to tell anything."""
        reach_s = self._coverage.reach_s(quantity, group)
        return reach_s is not None and reach_s <= self._coverage.until_s - ENOUGH_S

    @property
    def kept(self) -> tuple[int, int]:
        """How many series and samples are in memory."""
        return self._kept.sizes()

    def _begin(self, policies: Sequence[Policy], own_ids: Mapping[ClientKey, GroupKey], until_s: float) -> None:
        """Let the window end now; what was read of the future, before a clock went back, is forgotten."""
        if until_s < self._coverage.until_s:
            self._coverage = SpanCoverage()
            self._kept.forget_all()
        self._libraries = sorted({policy.library for policy in policies})
        self._coverage.move_to(until_s, reading_plan.wanted(policies))
        groups = {_group(policy) for policy in policies}
        for group in self._kept.keep_only(groups, own_ids):
            self._coverage.forget_until(until_s, group)
        namespaces = {namespace for namespace, _ in groups}
        known = {place: size for place, size in self._sizes.items() if place[1] in namespaces}
        self._sizes = reading_plan.guessed(groups, known) | known

    def _missing(self) -> Missing:
        """Return what is to be read, without what failed in this cycle already."""
        if self._troubles.outage is not None:
            return {}
        wanted = {
            namespace: {
                quantity: stretch
                for quantity, stretch in stretches.items()
                if not self._troubles.has(quantity, namespace)
            }
            for namespace, stretches in self._coverage.missing(self._kept.newest_s).items()
            if namespace not in self._troubles.left
        }
        return {namespace: stretches for namespace, stretches in wanted.items() if stretches}

    def _is_new(self, ask: Ask) -> bool:
        """Whether it has the share of what is new; a long stretch of a namespace that floods has not."""
        if ask.span.until_s != self._coverage.until_s:
            return False
        return ask.span.length_s < reading_plan.LONGEST_S or self._came_last.isdisjoint(ask.namespaces)

    async def _ask_in_turn(self, turns: Sequence[SplitQuery]) -> None:
        """Ask, in pieces as small as they have to be; a query is sent while the answer before it is read."""
        under_way: deque[tuple[SplitQuery, Ask, asyncio.Task[Sequence[Series]]]] = deque()
        try:
            while True:
                while len(under_way) < self._ahead(piece for _, piece, _ in under_way):
                    upcoming = self._next(turns)
                    if upcoming is None:
                        break
                    answer = asyncio.create_task(self._sent(upcoming[1]), name="metrics")
                    under_way.append((*upcoming, answer))
                if not under_way:
                    return
                turn, piece, answer = under_way.popleft()
                parts = await self._answered(piece, turn.share, answer)
                turn.refused += [piece] if parts else []
                turn.waiting = [*parts, *(turn.waiting or ())]
                if not turn.waiting and not any(other is turn for other, _, _ in under_way):
                    self._learn_from(turn.refused)
        finally:
            for _, _, answer in under_way:
                answer.cancel()

    def _ahead(self, under_way: Iterable[Ask]) -> int:
        """Return how many queries may be under way; another one about a namespace that floods would be in vain."""
        floods = any(not self._came_last.isdisjoint(piece.namespaces) for piece in under_way)
        return AHEAD if self._answering and not floods else 1

    def _next(self, turns: Sequence[SplitQuery]) -> tuple[SplitQuery, Ask] | None:
        """Return whose turn it is and the next piece of it; None if nothing more may be asked for."""
        for turn in turns:
            if turn.waiting is None:
                turn.waiting = reading_plan.pieces(turn.ask, self._sizes, most=self._most)
            while turn.waiting and self._troubles.outage is None:
                piece = turn.waiting.pop(0)
                names = tuple(name for name in piece.namespaces if name not in self._troubles.flooding)
                if names and turn.share.is_spent():
                    self._troubles.left.update(names)
                elif names:
                    turn.share.requests -= 1
                    return turn, dataclasses.replace(piece, namespaces=names)
        return None

    async def _sent(self, piece: Ask) -> Sequence[Series]:
        return await self._metrics.instant(self._query(piece), at=datetime.fromtimestamp(piece.span.until_s, UTC))

    async def _answered(self, ask: Ask, share: CycleShare, answer: Awaitable[Sequence[Series]]) -> Sequence[Ask]:
        """Keep what was answered; return smaller queries where it was too much."""
        try:
            series = await answer
        except MetricsUnavailableError as error:
            return self._failed(ask, error)
        self._answering = True
        share.weight -= await self._took(ask, series)
        return ()

    def _query(self, ask: Ask) -> str:
        return reading_plan.query(ask.quantity, self._libraries, ask.namespaces, window_s=ask.span.length_s)

    def _learn_from(self, refused: Sequence[Ask]) -> None:
        """Ask for less at a time if what was too much could be read in parts: then it was no flood."""
        for ask in refused:
            unread = self._troubles.flooding | self._troubles.left
            if self._troubles.outage is None and unread.isdisjoint(ask.namespaces):
                self._most = min(self._most, BACKOFF_FACTOR * reading_plan.weight(ask, self._sizes))
                self._regained = REGAIN_FACTOR

    async def _took(self, ask: Ask, answer: Sequence[Series]) -> float:
        """Keep what was found, and return what it weighs."""
        series, counts = Counter[str](), Counter[str]()
        late: set[GroupKey] = set()
        for first in range(0, len(answer), PIECE):
            piece = answer[first : first + PIECE]
            for read_series in piece:
                namespace = read_series.labels.get(queries.NAMESPACE_LABEL, "")
                series[namespace] += 1
                counts[namespace] += len(read_series.samples)
            late |= self._kept.take(piece, ask.span, keep_after_s=self._coverage.until_s - WINDOW_S)
            await asyncio.sleep(0)  # a large answer takes a second, and the lease has to be renewed meanwhile
        sizes = {name: Size(series[name], counts[name] / ask.span.length_s) for name in ask.namespaces}
        self._sizes |= {(ask.quantity, name): size for name, size in sizes.items()}
        again = [group for group in late if self._coverage.covers(ask.quantity, group, ask.span.after_s)]
        self._coverage.add(ask)
        for group in again:
            self._coverage.forget_until(ask.span.after_s, group)
        return sum(size.weight(ask.span.length_s) for size in sizes.values())

    def _failed(self, ask: Ask, error: MetricsUnavailableError) -> Sequence[Ask]:
        """Note what went wrong; return smaller queries where it was too much."""
        if error.cause is MetricsCause.TOO_MUCH:
            halves = ask.halves()
            if halves is None:
                (namespace,) = ask.namespaces
                self._troubles.flood(namespace, error.problem)
                self._sizes[ask.quantity, namespace] = Size(samples_per_s=reading_plan.REQUEST_WEIGHT)
            return halves or ()
        self._troubles.fail(ask, error)
        return ()


def _group(policy: Policy) -> GroupKey:
    return policy.key.namespace, policy.group_id
