"""A record says when each of its evictions happened, however it counts them."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import MemberChange, Record
from heartbeat_tuner.domain.verifications import EvictionHistory
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.verification import episodes, eviction_history
from tests.support import counters, worlds
from tests.support.counters import JMX, KAFKAJS, Answers
from tests.support.worlds import NOW

SCRAPE_S = 30.0
SCRAPES = 24
SINCE = NOW - timedelta(minutes=10)
"""The record is the last 20 of 24 scrapes."""

PODS = worlds.pods()
LIMIT = timedelta(seconds=60)

GROWTHS = st.lists(st.integers(0, 2), min_size=SCRAPES, max_size=SCRAPES)
SPARSE = st.builds(
    lambda scrapes, by: moved(scrapes, by=by), st.sets(st.integers(0, SCRAPES - 1), max_size=4), st.integers(1, 3)
)
CHANGES = st.lists(
    st.builds(
        lambda ago_s, pod: MemberChange(NOW - timedelta(seconds=ago_s), pod.name),
        st.integers(-60, 900),
        st.sampled_from(PODS),
    ),
    max_size=6,
)


def counter(growths: Sequence[float], *, pod: str = "orders-0", apart_s: float = SCRAPE_S) -> Series:
    """Return a counter that grew by so much before each scrape; the last is now."""
    total, pairs = 0.0, []
    for number, growth in enumerate(growths):
        total += growth
        pairs.append((NOW.timestamp() - (len(growths) - 1 - number) * apart_s, total))
    return counters.series(pairs, pod=pod, client_id="consumer-orders-1")


def grown(scrape: int, *, by: float = 1.0, first: float = 0.0) -> list[float]:
    """Return the growth of a counter that moves once, before the scrape of this number."""
    return [first if number == 0 else by * (number == scrape) for number in range(SCRAPES)]


def at(scrape: int) -> float:
    """Return when a scrape was, in Unix seconds."""
    return NOW.timestamp() - (SCRAPES - 1 - scrape) * SCRAPE_S


def moved(scrapes: Collection[int], *, by: float = 1.0) -> list[float]:
    """Return the growth of a counter that moves before the scrapes of these numbers."""
    return [by * (number in scrapes) for number in range(SCRAPES)]


def kafkajs(
    joins: Sequence[float], notices: Sequence[float], requests: Sequence[float], apart_s: float = SCRAPE_S
) -> Answers:
    """Return what a KafkaJS member exports; none of its beats is accepted."""
    return {
        Quantity.REBALANCES: [counter(joins, apart_s=apart_s)],
        Quantity.REBALANCE_NOTICES: [counter(notices, apart_s=apart_s)],
        Quantity.HEARTBEAT_REQUESTS: [counter(requests, apart_s=apart_s)],
        Quantity.REBALANCE_TIME: [counter([0.0] * SCRAPES, apart_s=apart_s)],
    }


def since(
    since_s: float,
    joins: Sequence[float],
    requests: Sequence[float],
    notices: Sequence[float] = (0.0,) * SCRAPES,
    accepted: Sequence[float] = (0.0,) * SCRAPES,
) -> list[float]:
    """Return when an old KafkaJS member was evicted after a time, in Unix seconds."""
    shown = kafkajs(joins, notices, requests) | {Quantity.HEARTBEATS: [counter(accepted)]}
    return [change.at.timestamp() for change in evictions.unannounced(PODS[0], shown, since_s=since_s)]


def java(
    failed: Sequence[float], answers: Sequence[float], joins: Sequence[float], gaps: Sequence[float] = ()
) -> Answers:
    """Return what three Java members export: the first has such counters, the others none of lost ids."""
    still, gaps = [0.0] * SCRAPES, gaps or [0.0] * SCRAPES
    polls = [counters.series(zip(map(at, range(SCRAPES)), gaps, strict=True), client_id="consumer-orders-1")]
    return {
        Quantity.FAILED_REBALANCES: [counter(failed)],
        Quantity.JOIN_ANSWERS: [counter(answers)],
        Quantity.POLL_GAP_MAX: polls,
        Quantity.POLL_AGE: [counter(still, pod=pod.name) for pod in PODS],
        Quantity.REBALANCES: [counter(joins), *(counter(still, pod=pod.name) for pod in PODS[1:])],
        Quantity.HEARTBEATS: [counter([1.0] * SCRAPES, pod=pod.name) for pod in PODS],
        Quantity.REBALANCE_TIME: [counter(still, pod=pod.name) for pod in PODS],
    }


def recorded(
    answers: Answers,
    convention: Convention,
    changes: Sequence[MemberChange] = (),
    *,
    limit: timedelta | None = LIMIT,
) -> Record:
    """Measure ten minutes of a group whose pods are older."""
    policy = worlds.policy() if convention is KAFKAJS else worlds.java_policy()
    watched = RecordScope(policy, PODS, limit, changes, SINCE, NOW)
    by_group = resolver.by_group(counters.exported(answers, convention), [convention], {("shop", "orders")})
    observed = by_group[("shop", "orders")][convention]
    record = records.measure(watched, observed, convention, query=lambda quantity: quantity.camel)
    assert isinstance(record, Record)
    return record


def assert_each_has_its_time(record: Record) -> None:
    """As many times as evictions, in order, and all after the record begins."""
    assert len(record.evicted_at_s) == record.evictions
    assert list(record.evicted_at_s) == sorted(record.evicted_at_s)
    assert all(SINCE.timestamp() < time_s for time_s in record.evicted_at_s)


@given(GROWTHS, GROWTHS, GROWTHS)
def test_each_unannounced_rejoin_has_its_time(joins: list[float], notices: list[float], requests: list[float]) -> None:
    """Whatever the refusals confirm of them."""
    assert_each_has_its_time(recorded(kafkajs(joins, notices, requests), KAFKAJS))


@given(GROWTHS, GROWTHS, GROWTHS, st.lists(st.sampled_from([1.0, 70.0]), min_size=24, max_size=24), CHANGES)
def test_each_lost_id_has_its_time(
    failed: list[float], answers: list[float], joins: list[float], gaps: list[float], changes: list[MemberChange]
) -> None:
    """What counters show, and what the broker shows of pods without them; with and without a limit of polls."""
    answered = java(failed, answers, joins, gaps)
    assert_each_has_its_time(recorded(answered, JMX, changes))
    assert_each_has_its_time(recorded(answered, JMX, changes, limit=None))


def test_an_unannounced_rejoin_was_at_its_scrape() -> None:
    """The scrape that showed it."""
    record = recorded(kafkajs(grown(9, first=1.0), [0.0] * SCRAPES, grown(8)), KAFKAJS)
    assert record.evicted_at_s == (at(9),)


def test_a_rejoin_that_was_refused_before_the_record_is_not_in_it() -> None:
    """The refusal of the first was before the record began: only those of the others are in it."""
    record = recorded(kafkajs(moved({0, 4, 12, 20}), [0.0] * SCRAPES, moved({3, 11, 19})), KAFKAJS)
    assert record.evicted_at_s == (at(12), at(20))


def test_an_eviction_confirms_no_restart_that_comes_later() -> None:
    """Of three rejoins the first alone was refused a beat; a record that begins after it has none."""
    joins, refused = moved({0, 4, 12, 20}), moved({4})
    assert since(at(2), joins, refused) == [at(4)]
    assert since(at(5), joins, refused) == since(at(13), joins, refused) == []


def test_further_refusals_of_an_eviction_confirm_no_restart_that_comes_later() -> None:
    """A member with three partitions is refused three beats."""
    assert since(at(2), moved({0, 4, 12}), moved({4}, by=3.0)) == [at(4)]


def test_refusals_of_an_announced_rebalance_confirm_no_restart_that_comes_later() -> None:
    """A member with three partitions is told so three times, and announces one rebalance."""
    joins, refused, notices = moved({0, 6, 14}), moved({4}, by=3.0), moved({4})
    assert since(at(2), joins, refused, notices) == []


@pytest.mark.parametrize(("scrape", "confirmed"), [(12, [8, 11]), (17, [8])])
def test_refusals_are_there_for_the_next_rejoin_a_few_scrapes_long(scrape: int, confirmed: list[int]) -> None:
    """In a storm a beat may be refused again in the scrape that shows the rejoin before."""
    joins, refused = moved({0, 8, scrape - 1}), moved({8}, by=2.0)
    assert since(at(2), joins, refused) == [at(number) for number in confirmed]


def test_a_rejoin_that_takes_long_is_confirmed() -> None:
    """The broker is slow, or other members come late: no other rejoin was before it."""
    assert since(at(2), moved({0, 20}), moved({4})) == [at(20)]


def test_beats_that_are_counted_a_scrape_later_confirm_no_restart() -> None:
    """Requests run ahead for a scrape, and what was accepted catches up."""
    joins, requests, accepted = moved({0, 20}), moved({4}), moved({5})
    assert since(at(2), joins, requests, accepted=accepted) == []


@given(st.data(), st.integers(0, SCRAPES), st.sampled_from([30.0, 60.0, 300.0]))
def test_sliding_windows_show_no_eviction_that_one_pass_does_not(
    data: st.DataObject, started: int, apart_s: float
) -> None:
    """Otherwise what is gathered from look to look would grow by episodes that never were."""
    joins, notices, requests, accepted = (data.draw(GROWTHS | SPARSE) for _ in range(4))
    pod = worlds.pod(0, started=NOW - timedelta(seconds=started * apart_s + 7))
    shown = kafkajs(joins, notices, requests, apart_s) | {Quantity.HEARTBEATS: [counter(accepted, apart_s=apart_s)]}
    numbers = st.integers(0, SCRAPES)
    windows = data.draw(st.lists(st.tuples(numbers, numbers).map(sorted), min_size=1, max_size=8))
    earliest_s = NOW.timestamp() - SCRAPES * apart_s
    whole = evictions.unannounced(pod, shown, since_s=earliest_s)
    history = EvictionHistory(datetime.fromtimestamp(earliest_s, UTC), worlds.settings())
    for first, last in windows:
        seen = {name: [item.until(earliest_s + last * apart_s) for item in group] for name, group in shown.items()}
        evicted = evictions.unannounced(pod, seen, since_s=earliest_s + first * apart_s)
        assert Counter(evicted) <= Counter(whole)
        history = eviction_history.with_evictions(history, [change.at.timestamp() for change in evicted])
    assert len(history.episodes_s) <= len(episodes.starts([change.at.timestamp() for change in whole]))


@pytest.mark.parametrize("limit", [LIMIT, None])
def test_a_lost_id_was_at_its_scrape_and_a_changed_id_when_it_was_seen(limit: timedelta | None) -> None:
    """The first member's counters show it, the second the broker alone; the third's change is before the record."""
    changes = [MemberChange(NOW - timedelta(seconds=400), "orders-1"), MemberChange(SINCE, "orders-2")]
    lost = grown(20, first=1.0)
    record = recorded(java(lost, lost, lost), JMX, changes, limit=limit)
    assert record.evicted_at_s == (NOW.timestamp() - 400, at(20))


def test_a_member_that_left_for_want_of_a_poll_has_no_time() -> None:
    """Its session did not run out: of two lost ids, the second comes with a poll gap."""
    lost = [a + b for a, b in zip(grown(8, first=1.0), grown(20), strict=True)]
    gaps = [70.0 if number in {20, 21} else 1.0 for number in range(SCRAPES)]
    record = recorded(java(lost, lost, lost, gaps), JMX)
    assert (record.evicted_at_s, record.poll_gap_evictions) == ((at(8),), 1)


def test_a_counter_that_jumps_by_billions_takes_no_memory() -> None:
    """A tenant exports what it likes; the record is of a storm, and the operator lives."""
    jump = [1.0 if number == 0 else 1e12 * (number in {9, 20}) for number in range(SCRAPES)]
    assert recorded(kafkajs(jump, [0.0] * SCRAPES, jump), KAFKAJS).evictions == evictions.MOST_OF_A_POD
    assert recorded(java(jump, [0.0] * SCRAPES, [0.0] * SCRAPES), JMX).evictions == evictions.MOST_OF_A_POD


def test_ids_that_were_lost_before_the_first_scrape_are_lost_at_no_later_time() -> None:
    """Where metrics begin after the time that is asked about, in a process that is older."""
    pod = PODS[0]
    shown = java(failed=grown(5, first=3.0), answers=grown(5, first=1.0, by=0.0), joins=grown(5, first=1.0, by=0.0))
    since_s = at(0) - SCRAPE_S
    assert pod.started.timestamp() < since_s
    assert [change.at.timestamp() for change in evictions.lost_ids(pod, shown, since_s=since_s)] == [at(5)]
