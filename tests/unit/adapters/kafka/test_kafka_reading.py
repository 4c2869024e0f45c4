"""Which groups of a cluster are read, in which order, and for how long, whoever of them is silent."""

import threading
from collections import deque
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Future
from typing import Any

import pytest

from heartbeat_tuner.adapters.kafka import kafka_reading
from heartbeat_tuner.adapters.kafka.kafka_reading import GroupReading, NoAnswerError, Reader

GROUPS = [f"g{number:03d}" for number in range(400)]
TIMEOUT_S = 0.3
WITHIN_S = 1.0
PLACES = 40
ASK_S = ANSWER_S = 0.000_1
"""To send a request, and to take an answer."""


class Time:
    """Passes while somebody waits, and by a moment with each request and answer."""

    def __init__(self) -> None:
        self.now_s = 1_000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Pass time by hand: no machine is too slow for these tests."""
    found = Time()
    monkeypatch.setattr(Coordinators, "clock", found)
    return found


class Coordinators:
    """Answer for their groups at once, or one after the other, each in its time; others are silent."""

    clock = Time()

    def __init__(self, answering: Container[str], *, each_s: float = 0.0) -> None:
        self.answering = answering
        self.asked: list[str] = []
        self.waiting: dict[str, float] = {}
        self._each_s = each_s
        self._answers: deque[tuple[float, str]] = deque()

    def ask(self, group_id: str) -> None:
        """Note a request."""
        assert group_id not in self.waiting
        self.asked.append(group_id)
        self.clock.now_s += ASK_S
        self.waiting[group_id] = self.clock.now_s
        if group_id in self.answering:
            free = self._answers[-1][0] if self._answers else 0.0
            self._answers.append((max(free, self.clock.now_s) + self._each_s, group_id))

    def answer(self, timeout_s: float) -> tuple[str, Future[Any]] | None:
        """Give the next answer."""
        until = self.clock.now_s + timeout_s
        if not self._answers or self._answers[0][0] > until:
            self.clock.now_s += timeout_s
            return None
        ready, group_id = self._answers.popleft()
        self.clock.now_s = max(ready, self.clock.now_s + ANSWER_S)
        return self._given(group_id)

    def come_back(self, group_ids: Iterable[str]) -> None:
        """Answer what was asked for long ago."""
        self._answers.extend((0.0, item) for item in group_ids)

    def _given(self, group_id: str) -> tuple[str, Future[Any]]:
        del self.waiting[group_id]
        future: Future[Any] = Future()
        future.set_result(f"about {group_id}")
        return group_id, future


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_reading, "UNDER_WAY", PLACES)
    monkeypatch.setattr(kafka_reading, "STALLED_S", 0.06)
    monkeypatch.setattr(kafka_reading, "_LISTEN_S", 0.005)


class Limited:
    """A reader whose readings all have the same time, and which remembers nothing yet."""

    def __init__(self, within_s: float, ended: threading.Event) -> None:
        self.within_s = within_s
        self._reader = Reader(timeout_s=TIMEOUT_S, ended=ended, monotonic=lambda: Coordinators.clock.now_s)

    def read(
        self, cluster: Coordinators, group_ids: list[str], understood: Callable[[str, Future[Any]], Any]
    ) -> GroupReading[Any]:
        """Read once."""
        return self._reader.read(cluster, group_ids, understood, within_s=self.within_s)


def reader(*, within_s: float = WITHIN_S, ended: threading.Event | None = None) -> Limited:
    """Return one for readings of so many seconds."""
    return Limited(within_s, ended or threading.Event())


def read(limited: Limited, cluster: Coordinators, group_ids: list[str] = GROUPS) -> GroupReading[Any]:
    """Read once; each group is in one of the three parts of what comes out."""
    found = limited.read(cluster, group_ids, lambda _, answer: answer.result())
    assert sorted([*found.answered, *found.silent, *found.late]) == sorted(group_ids)
    return found


def took_s(limited: Limited, cluster: Coordinators) -> tuple[GroupReading[Any], float]:
    """Read once, with how long that took."""
    began = Coordinators.clock.now_s
    found = read(limited, cluster)
    return found, Coordinators.clock.now_s - began


def test_all_that_answer_are_read_in_their_order() -> None:
    """And no longer waited than for the last of them."""
    cluster = Coordinators(GROUPS)
    found, seconds = took_s(reader(), cluster)
    assert found.answered == {group: f"about {group}" for group in GROUPS}
    assert cluster.asked == GROUPS
    assert seconds < TIMEOUT_S


def test_no_more_are_under_way_than_there_are_places() -> None:
    """A slow broker is not buried under requests."""
    cluster = Coordinators(GROUPS, each_s=0.002)
    most = 0

    def understood(_: str, __: Future[Any]) -> None:
        nonlocal most
        most = max(most, len(cluster.waiting))

    reader().read(cluster, GROUPS, understood)
    assert PLACES // 2 < most <= PLACES


def test_one_group_in_ten_answers() -> None:
    """All of these are read at the first try, in time; at the next they do not wait for the silent ones."""
    cluster, groups = Coordinators(GROUPS[::10]), reader()
    found, seconds = took_s(groups, cluster)
    assert set(found.answered) == set(GROUPS[::10])
    assert seconds < WITHIN_S + 0.2
    renewed = Coordinators(GROUPS[::10])
    found, seconds = took_s(groups, renewed)
    assert set(found.answered) == set(GROUPS[::10])
    assert seconds < WITHIN_S + 0.2
    assert set(renewed.asked[: len(GROUPS) // 10]) == set(GROUPS[::10])


def test_known_silence_takes_one_round_of_places() -> None:
    """Requests that may never be answered are not heaped up by the hundred."""
    groups = reader(within_s=4.0)
    assert len(read(groups, Coordinators(GROUPS[:10])).silent) == len(GROUPS) - 10
    renewed = Coordinators(GROUPS[:10])
    assert len(read(groups, renewed).silent) == len(GROUPS) - 10
    assert len(renewed.asked) == 10 + PLACES


def test_who_was_not_read_in_time_comes_first_next_time() -> None:
    """A broker that never gets through in one reading is read in several, nobody twice before all were read once."""
    groups, seen = reader(within_s=0.2), set[str]()
    for _ in range(20):
        cluster = Coordinators(GROUPS, each_s=0.002)
        found = read(groups, cluster)
        unseen = [group for group in GROUPS if group not in seen]
        assert unseen[: len(found.answered)] == list(found.answered)[: len(unseen)]
        seen |= found.answered.keys()
        if not found.late:
            break
        assert not found.silent
        if seen == set(GROUPS):
            return
    pytest.fail("not all were read")


def test_the_silent_have_their_turn_when_others_take_all_the_time() -> None:
    """Or nobody would notice that their coordinator is back."""
    groups, few = reader(), GROUPS[:100]
    read(groups, Coordinators(few[:50]), few)
    answered = [read(groups, Coordinators(few, each_s=0.03), few).answered.keys() for _ in range(3)]
    assert not answered[0] & set(few[50:])
    assert answered[2] & set(few[50:])


def test_a_cluster_without_any_answer_is_left_alone_after_one_timeout() -> None:
    """With a few rounds of places asked for, since some coordinators may be away and others not."""
    cluster = Coordinators(())
    found, seconds = took_s(reader(within_s=10.0), cluster)
    assert not found.answered
    assert seconds < 2 * TIMEOUT_S
    assert len(cluster.asked) <= (kafka_reading.FIRST_ANSWER + 1) * PLACES


def test_nobody_is_asked_for_twice_before_an_answer() -> None:
    """A late answer counts for the reading in which it comes."""
    cluster, groups = Coordinators(GROUPS[10:]), reader()
    assert read(groups, cluster).silent == frozenset(GROUPS[:10])
    cluster.asked.clear()
    cluster.come_back(GROUPS[:5])
    found = read(groups, cluster)
    assert set(found.answered) == {*GROUPS[:5], *GROUPS[10:]}
    assert found.silent == frozenset(GROUPS[5:10])
    assert cluster.asked == GROUPS[10:]


def test_nor_where_the_time_was_too_short_to_call_it_silent() -> None:
    """It is late then, in as many short readings as fit into a request's time, and not asked for again."""
    cluster, groups = Coordinators(GROUPS[10:]), reader(within_s=TIMEOUT_S / 3)
    began = Coordinators.clock.now_s
    found = read(groups, cluster)
    while not found.silent:
        assert (found.late, Coordinators.clock.now_s - began < 2 * TIMEOUT_S) == (tuple(GROUPS[:10]), True)
        cluster.asked.clear()
        found = read(groups, cluster)
        assert cluster.asked == GROUPS[10:]
    assert found.silent == frozenset(GROUPS[:10])
    assert Coordinators.clock.now_s - began >= TIMEOUT_S


def test_a_slow_broker_is_not_silent() -> None:
    """Whoever it has not come to yet is late, however long the request has waited in its queue."""
    found = read(reader(), Coordinators(GROUPS, each_s=0.03))
    assert len(found.answered) > PLACES / 2
    assert not found.silent


def test_the_silent_are_asked_for_in_turn() -> None:
    """Where there are more of them than places, each of them is looked at again in some reading."""
    groups, asked = reader(within_s=4.0), set[str]()
    read(groups, Coordinators(GROUPS[:10]))
    for _ in range(10):
        cluster = Coordinators(GROUPS[:10])
        read(groups, cluster)
        asked.update(cluster.asked)
    assert asked == set(GROUPS)


def test_a_look_at_few_groups_changes_no_other_s_turn() -> None:
    """Groups are looked at again by the dozen, between two readings of all."""
    groups = reader(within_s=0.2)
    late = read(groups, Coordinators(GROUPS, each_s=0.002)).late
    assert len(late) > PLACES
    read(groups, Coordinators(GROUPS), GROUPS[:5])
    cluster = Coordinators(GROUPS)
    read(groups, cluster)
    assert tuple(cluster.asked[: len(late)]) == late


def test_what_is_no_answer_is_silence() -> None:
    """A request that broke off says nothing of its group."""

    def understood(group_id: str, _: Future[Any]) -> str:
        if group_id == GROUPS[3]:
            raise NoAnswerError
        return group_id

    found = reader().read(Coordinators(GROUPS), GROUPS, understood)
    assert found.silent == {GROUPS[3]}
    assert len(found.answered) == len(GROUPS) - 1


def test_it_ends_when_nobody_waits() -> None:
    """At once, whatever is under way."""
    ended = threading.Event()
    ended.set()
    cluster = Coordinators(())
    found, seconds = took_s(reader(ended=ended), cluster)
    assert (found.late, cluster.asked) == (tuple(GROUPS), [])
    assert seconds < TIMEOUT_S
