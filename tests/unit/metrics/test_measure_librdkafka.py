"""From what consumers with librdkafka count of themselves to a record: of any protocol, and of share groups."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.evidence import Pod, Record, Unknown
from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import fencing_proof
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.conventions import custom, share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.counters import Answers
from tests.support.worlds import NOW

SINCE = NOW - timedelta(minutes=10)
PODS = worlds.pods(2)
OLD = NOW - worlds.HOUR


def counted(*pods: str, **moves: Callable[[float], float]) -> Answers:
    """Return what pods export that beat every 5 s and joined once, with other counts by the names of quantities.

    Args:
        pods: whose.
        moves: of a quantity, what its counter shows so many seconds after the scrapes begin.
    """
    never = dict.fromkeys(
        (Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS, Quantity.EVICTIONS_SEEN, Quantity.DOUBTFUL_EVICTIONS),
        lambda _: 0.0,
    )
    counts: dict[Quantity, Callable[[float], float]] = dict(never)
    counts |= {Quantity.HEARTBEATS: lambda age_s: age_s // 5, Quantity.REBALANCES: lambda _: 1.0}
    counts |= {Quantity[name.upper()]: count for name, count in moves.items()}
    return {
        quantity: [counters.counter(pod, OLD, NOW, count) for pod in PODS if pod.name in pods]
        for quantity, count in counts.items()
    }


def measured(
    answers: Answers,
    *,
    convention: Convention = COUNTERS,
    at_broker: bool = False,
    since: timedelta = timedelta(0),
    pods: Sequence[Pod] = PODS,
) -> Record | Unknown:
    """Return the record of ten minutes."""
    policy = dataclasses.replace(worlds.policy(), library="confluent-kafka-python")
    scope = RecordScope(policy, pods, timedelta(minutes=5), [], SINCE + since, NOW, consumer_protocol=at_broker)
    return records.measure(scope, answers, convention, query=lambda quantity: f"query of {quantity.camel}")


def recorded(
    answers: Answers, *, convention: Convention = COUNTERS, at_broker: bool = False, pods: Sequence[Pod] = PODS
) -> Record:
    """Return what must be measurable."""
    record = measured(answers, convention=convention, at_broker=at_broker, pods=pods)
    assert isinstance(record, Record)
    return record


def late(count: float, minutes: float = 5.0) -> Callable[[float], float]:
    """Return a counter that has a count since so many minutes ago, and none before."""
    return lambda age_s: count if age_s >= (60 - minutes) * 60 else 0.0


@pytest.mark.parametrize("at_broker", [False, True])
def test_what_was_lost_for_silence_is_an_eviction_and_what_was_lost_for_polls_is_not(*, at_broker: bool) -> None:
    """The client tells them apart; both kinds of group count the same."""
    both = counted("orders-0", "orders-1", lost_for_silence=late(2), lost_for_polls=late(3))
    record = recorded(both, at_broker=at_broker)
    assert (record.evictions, record.counted_evictions, record.poll_gap_evictions) == (4, 4, 6)
    assert (record.evicted_pods, record.poll_gap_pods) == (("orders-0", "orders-1"),) * 2
    assert record.beat_period == timedelta(seconds=5)


def test_what_was_lost_before_the_record_is_not_of_it() -> None:
    """Its counter stands there already."""
    assert recorded(counted("orders-0", "orders-1", lost_for_silence=late(2, minutes=20))).evictions == 0


def test_a_calm_group_of_the_consumer_protocol_is_known_to_be_calm() -> None:
    """Each fencing would have been counted, also while others rebalanced."""
    record = recorded(counted("orders-0", "orders-1", rebalances=late(4)), at_broker=True)
    assert (record.evictions, record.hidden) == (0, None)


def test_polls_show_how_long_handlers_take() -> None:
    """As of a Java consumer."""
    answers = counted("orders-0", "orders-1")
    answers[Quantity.POLL_GAP_MAX] = [counters.counter(PODS[0], OLD, NOW, late(42))]
    assert recorded(answers).longest_poll_gap == timedelta(seconds=42)
    assert recorded(counted("orders-0", "orders-1")).longest_poll_gap is None


def test_a_pod_that_does_not_count_what_it_loses_is_unobserved() -> None:
    """Nothing is known of it, and a group without any such counter is not known at all."""
    answers = counted("orders-0", "orders-1")
    answers[Quantity.LOST_FOR_SILENCE] = answers[Quantity.LOST_FOR_SILENCE][:1]
    assert recorded(answers).unobserved_pods == ("orders-1",)
    unknown = measured({**answers, Quantity.LOST_FOR_SILENCE: []})
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.NO_SERIES
    assert "librdkafka_group_lost_total" in unknown.message


def test_a_share_group_in_which_nobody_joined_again_had_no_fencing() -> None:
    """A member that is fenced joins again; what the broker showed counts beside it."""
    calm = recorded(counted("orders-0", "orders-1"), convention=share_groups.RECORDS[COUNTERS], at_broker=True)
    assert (calm.evictions, calm.hidden, calm.beat_period) == (0, None, timedelta(seconds=5))
    seen = recorded(
        counted("orders-0", "orders-1", evictions_seen=late(2)),
        convention=share_groups.RECORDS[COUNTERS],
        at_broker=True,
    )
    assert (seen.evictions, seen.poll_gap_evictions) == (4, 0)


def test_a_member_of_a_share_group_that_joined_again_may_have_been_fenced() -> None:
    """No callback and no counter tells, as long as its pod runs."""
    moved = recorded(
        counted("orders-0", "orders-1", rebalances=late(2)), convention=share_groups.RECORDS[COUNTERS], at_broker=True
    )
    assert moved.hidden is not None
    assert moved.hidden.lasts
    assert moved.hidden.message.startswith("pod orders-0 took part in a rebalance, and no client shows whether")


def test_a_pod_of_a_share_group_without_counters_proves_no_calm_and_hides_no_eviction() -> None:
    """An agent that runs in some pods only; what the operator counted of the others stands."""
    answers = counted("orders-0", "orders-1", evictions_seen=late(2))
    for own in (Quantity.HEARTBEATS, Quantity.REBALANCES):
        answers[own] = answers[own][:1]
    record = recorded(answers, convention=share_groups.RECORDS[COUNTERS], at_broker=True)
    assert (record.evictions, record.unobserved_pods) == (4, ("orders-1",))
    assert record.hidden is not None
    assert record.hidden.message == "pod orders-1 exports no counter of its joins, so its member may have been fenced"


def test_a_join_that_the_newest_scrape_shows_counts_at_once() -> None:
    """Its pod runs on, though nothing newer is there of it."""
    newest = counted("orders-0", "orders-1", rebalances=lambda age_s: 1.0 + (age_s >= 3_600.0))
    moved = recorded(newest, convention=share_groups.RECORDS[COUNTERS], at_broker=True)
    assert moved.hidden is not None


@pytest.mark.parametrize(("after_s", "is_hidden"), [(60.0, False), (120.0, True)])
def test_members_of_a_share_group_join_when_a_pod_begins(*, after_s: float, is_hidden: bool) -> None:
    """All have other partitions then: a rebalance soon after a start is its doing."""
    started = NOW - timedelta(minutes=8)
    pods = [PODS[0], dataclasses.replace(PODS[1], started=started)]
    moved_at_s = 52 * 60 + after_s
    joined = counted("orders-0", rebalances=lambda age_s: 1.0 + (age_s >= moved_at_s))
    hidden = fencing_proof.hidden_by(
        share_groups.RECORDS[COUNTERS],
        pods,
        joined,
        since_s=started.timestamp(),
        exporting={pod.name for pod in pods},
        ended_s=(),
        poll_limit=None,
    )
    assert (hidden is not None) is is_hidden


@pytest.mark.parametrize(("after_s", "is_hidden"), [(-60.0, True), (5.0, False), (65.0, False), (200.0, True)])
def test_members_of_a_share_group_get_what_a_pod_had_that_has_ended(*, after_s: float, is_hidden: bool) -> None:
    """Where the group scales in, or a pod fails for good: at once, or after a session."""
    moved_at_s = 53 * 60 + after_s
    answers = counted("orders-0", rebalances=lambda age_s: 1.0 + (age_s >= moved_at_s))
    gone = counters.counter(PODS[1], OLD, OLD + timedelta(minutes=53), lambda _: 1.0)
    answers[Quantity.REBALANCES] = [*answers[Quantity.REBALANCES], gone]
    record = recorded(answers, convention=share_groups.RECORDS[COUNTERS], at_broker=True, pods=PODS[:1])
    assert (record.hidden is not None) is is_hidden
    assert record.unobserved_pods == ()


def test_a_name_of_a_policy_s_own_makes_no_zero_of_what_is_not_there() -> None:
    """Java's consumers have no such counter: their lost ids count, as if nobody had named one."""
    (jmx, *_) = custom.of_policy(Naming(names={"lostForSilence": "my_typo_total"}), "java")
    assert Quantity.LOST_FOR_SILENCE in jmx.by_quantity
    counts: dict[Quantity, Callable[[float], float]] = dict.fromkeys(jmx.needed, lambda _: 1.0)
    counts |= {Quantity.JOIN_ANSWERS: lambda _: 1.0, Quantity.POLL_AGE: lambda _: 0.0}
    counts[Quantity.FAILED_REBALANCES] = lambda age_s: 1.0 + late(3)(age_s)
    seen = {each: [counters.counter(pod, OLD, NOW, count) for pod in PODS] for each, count in counts.items()}
    assert recorded(seen, convention=jmx).evictions == 6


def test_a_name_of_a_policy_s_own_proves_nothing_of_what_the_broker_shows() -> None:
    """Where the clients' counters are missing, who was back between two descriptions was not seen."""
    described = custom.of_policy(Naming(names={"lostForSilence": "my_typo_total"}), "confluent-kafka-python")[1]
    assert Quantity.EVICTIONS_SEEN in described.needed
    assert Quantity.LOST_FOR_SILENCE in described.by_quantity
    since_s = SINCE.timestamp()
    hidden = fencing_proof.hidden_by(described, PODS, {}, since_s=since_s, exporting=(), ended_s=(), poll_limit=None)
    assert hidden is not None
