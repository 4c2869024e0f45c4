"""Which groups are asked for in which order, and for how long: one reading of a cluster's groups.

Each group has a request of its own, so that one whose coordinator is silent costs no other its answer. A few hundred
are under way at a time: a broker that is slow is not buried, and what it has answered when the time is over is not
lost. Where none of those under way is answered for a moment, they wait for coordinators that are silent, and others
take their places. Groups that were not read in time are asked for first at the next reading. Groups that did not
answer come last, so that those that answer are read whatever the silent ones cost.
"""

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any, Final, Generic, Protocol, TypeVar

UNDER_WAY: Final = 200
"""Requests at a time. On loopback ten are as quick as hundreds, which hold the interpreter up for longer; brokers that
are milliseconds away need more than ten."""

STALLED_S: Final = 0.25
"""So long without any answer, though others came before: who is under way is silent."""

FIRST_ANSWER: Final = 4
"""Into so many parts a request's time is cut before anything has answered; each lets more groups be asked for."""

MOST_CACHED: Final = 100_000
"""Groups that have a place of their own in the order: policies come and go."""

_LISTEN_S: Final = 0.05


_Answer = TypeVar("_Answer")


class NoAnswerError(Exception):
    """What came for a group is not its coordinator's answer."""


class Asking(Protocol):
    """A cluster that is asked for groups; who has an unanswered request is not asked for again."""

    @property
    def waiting(self) -> Mapping[str, float]:
        """When each group was asked for that has no answer yet, by the monotonic clock."""
        ...

    def ask(self, group_id: str) -> None:
        """Send a request for a group."""
        ...

    def answer(self, timeout_s: float) -> tuple[str, Future[Any]] | None:
        """Return a group and its answer, good or bad; None if none comes in time."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class GroupReading(Generic[_Answer]):
    """What became of the groups of one reading.

    Attributes:
        answered: what their coordinators answered.
        silent: who was asked for, and not answered for a request's time.
        late: who was not asked for, or not long enough, when the time was over.
    """

    answered: Mapping[str, _Answer]
    silent: frozenset[str]
    late: tuple[str, ...]


class ReadingOrder:
    """The order in which a cluster's groups are asked for, from reading to reading."""

    def __init__(self) -> None:
        self._late: dict[str, None] = {}  # who has waited longest is first, here
        self._silent: dict[str, None] = {}  # and here

    def in_turn(self, group_ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return who is asked for first, those that were late in front, and who was silent and comes last."""
        wanted = frozenset(group_ids)
        late = [group_id for group_id in self._late if group_id in wanted]
        first = [group_id for group_id in group_ids if group_id not in self._late and group_id not in self._silent]
        last = [group_id for group_id in self._silent if group_id in wanted and group_id not in self._late]
        return late + first, last

    def note(self, read: Iterable[str], *, late: Sequence[str], silent: Collection[str]) -> None:
        """Remember how a reading ended; groups that are not named keep their places.

        Args:
            read: who has been answered.
            late: who is asked for first now, after those that were late before.
            silent: who was asked for in vain, and is behind all others now.
        """
        over = frozenset(read).union(silent)
        self._late = {group_id: None for group_id in self._late if group_id not in over} | dict.fromkeys(late)
        self._silent = {group_id: None for group_id in self._silent if group_id not in over} | dict.fromkeys(silent)
        if len(self._late) + len(self._silent) > MOST_CACHED:
            self._late, self._silent = {}, {}


class Reader:
    """Reads one cluster's groups, and remembers who is to be asked for first.

    Args:
        timeout_s: for one request.
        ended: set by another thread when nobody waits for answers any more.
        monotonic: a clock in seconds that nobody sets; that of `Asking.waiting`.
    """

    def __init__(
        self,
        *,
        timeout_s: float,
        ended: Event,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout_s = timeout_s
        self._ended = ended
        self._monotonic = monotonic
        self._turns = ReadingOrder()

    def read(
        self,
        cluster: Asking,
        group_ids: Sequence[str],
        understood: Callable[[str, Future[Any]], _Answer],
        *,
        within_s: float,
    ) -> GroupReading[_Answer]:
        """Ask for groups until all have answered or were silent, or the time is over.

        Args:
            cluster: that is asked.
            group_ids: each of them once.
            understood: makes a group's answer of what came for it; raises `NoAnswerError` if that is none.
            within_s: for all requests of this reading.
        """
        first, last = self._turns.in_turn(group_ids)
        run = _Run(cluster, understood, first, last, timeout_s=self._timeout_s, monotonic=self._monotonic)
        # Where nothing answers at all, more time makes nothing better.
        first_answer_s = min(self._timeout_s, within_s)
        while not self._ended.is_set() and run.age_s < (within_s if run.answered else first_answer_s):
            if not run.go_on():
                break
        answered, known = run.answered, frozenset(last)
        silent = frozenset((run.silent | known).difference(answered))
        unread = [group_id for group_id in group_ids if group_id not in answered and group_id not in run.silent]
        late = tuple(group_id for group_id in unread if group_id not in known)
        # Who was silent and had no turn, since the others took all the time, has one next time.
        had_turn = not known.isdisjoint(run.silent.union(answered))
        tried = [group_id for group_id in group_ids if group_id in run.silent and group_id not in answered]
        self._turns.note(answered, late=late if had_turn else unread, silent=tried)
        return GroupReading(answered, silent, late)

    def put_first(self, group_ids: Sequence[str]) -> None:
        """Ask for these groups first when they are read again."""
        self._turns.note((), late=group_ids, silent=())


class _Run(Generic[_Answer]):
    """The requests of one reading."""

    def __init__(
        self,
        cluster: Asking,
        understood: Callable[[str, Future[Any]], _Answer],
        first: list[str],
        last: list[str],
        *,
        timeout_s: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._monotonic = monotonic
        self._understood = understood
        self._wanted = frozenset(first).union(last)
        # Asked for by an earlier reading, and not again: an answer that comes now is as good as any.
        self._before = set(self._wanted & cluster.waiting.keys())
        self._first = deque(group_id for group_id in first if group_id not in self._before)
        self._last = deque(group_id for group_id in last if group_id not in self._before)
        self._known_silent = frozenset(last)
        self._timeout_s = timeout_s
        self._under_way: dict[str, float] = {}  # with the time of asking, oldest first
        self._placed: set[str] = set()  # of those under way, who takes a place
        self._began = self._progress = self._heard = self._monotonic()
        self._reached = 0.0  # when the newest of those that are answered was asked for
        self.answered: dict[str, _Answer] = {}
        # A short reading leaves requests behind that have not had their time.
        overdue = self._began - timeout_s
        self.silent = {group_id for group_id in self._before if cluster.waiting[group_id] <= overdue}

    @property
    def age_s(self) -> float:
        """For how long it has lasted."""
        return self._monotonic() - self._began

    def go_on(self) -> bool:
        """Ask for more, and listen for a moment; return whether there is anything left to wait for."""
        self._give_up()
        stalled = self._stalled()
        self._ask()
        if not self._under_way and (stalled or not self._before):
            return False
        self._listen()
        return True

    def _give_up(self) -> None:
        """Wait no longer for who was asked for a request's time ago, unless a slow broker has only not come to it yet.

        Then nobody who was asked for later is answered either, and still answers come.
        """
        now = self._monotonic()
        while self._under_way:
            group_id, asked = next(iter(self._under_way.items()))
            if now - asked < self._timeout_s or (asked > self._reached and now - self._heard < self._timeout_s):
                return
            del self._under_way[group_id]
            self._placed.discard(group_id)
            self.silent.add(group_id)
            if group_id in self._known_silent:
                self._last.clear()  # as silent as ever

    def _stalled(self) -> bool:
        """Whether nothing was answered for a while; then those under way, if not known for it, make place for others.

        Before the first answer that takes longer, lest a cluster that is away gets a request for each group.
        """
        patience_s = STALLED_S if self.answered else self._timeout_s / FIRST_ANSWER
        if self._monotonic() - self._progress < patience_s:
            return False
        self._placed &= self._known_silent
        self._progress = self._monotonic()
        return True

    def _ask(self) -> None:
        while len(self._placed) < UNDER_WAY and (self._first or self._last):
            group_id = (self._first or self._last).popleft()
            self._cluster.ask(group_id)
            self._under_way[group_id] = self._monotonic()
            self._placed.add(group_id)

    def _listen(self) -> None:
        """Take what has been answered, until so many places are free that asking is worth while."""
        response = self._cluster.answer(_LISTEN_S)
        while response is not None:
            group_id, answer = response
            if group_id in self._wanted:
                self._take(group_id, answer)
            response = self._cluster.answer(0) if len(self._placed) > UNDER_WAY // 2 else None

    def _take(self, group_id: str, answer: Future[Any]) -> None:
        self._reached = max(self._reached, self._under_way.pop(group_id, 0.0))
        self._placed.discard(group_id)
        self._before.discard(group_id)
        try:
            self.answered[group_id] = self._understood(group_id, answer)
        except NoAnswerError:
            self.silent.add(group_id)
        else:
            self._progress = self._heard = self._monotonic()
