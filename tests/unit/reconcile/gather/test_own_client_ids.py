"""Client ids that name no group: whose they are, by the broker's word, for as long as their pod lives."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import pytest

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.metrics.raw.resolver import ClientKey, GroupKey
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.gather.own_client_ids import ClientIdObservation, Look
from tests.support import counters, fakes, stages, worlds
from tests.support.counters import Answers
from tests.support.fakes import FakePrometheus

ORDERS, BILLS = ("shop", "orders"), ("shop", "bills")
POD = worlds.pod(0)


def member(client_id: str, *, host: str = POD.ip) -> Member:
    """Return a member as the broker shows it."""
    return Member(f"{client_id}-1", host, client_id=client_id)


def observe(known: Mapping[ClientKey, GroupKey], looks: Iterable[Look]) -> dict[ClientKey, GroupKey]:
    """Return whose the client ids are after one more look at all groups."""
    observation = ClientIdObservation(known)
    for look in looks:
        observation.add(look)
    return observation.settled()


def test_a_client_id_belongs_to_the_group_in_which_the_broker_shows_it() -> None:
    """By the address of its pod; nobody else's pod has it."""
    pods = worlds.pods()
    found = observe({}, [(ORDERS, pods, [member("billing"), member("other", host="10.9.9.9")])])
    assert found == {("shop", "orders-0", "billing"): ORDERS}


@pytest.mark.parametrize("client_id", ["consumer-orders-1", "consumer-orders-orders-0", ""])
def test_what_names_its_group_needs_no_broker(client_id: str) -> None:
    """Nor does a member without an id."""
    assert observe({}, [(ORDERS, [POD], [member(client_id)])]) == {}


def test_what_was_seen_stays_true_while_the_pod_lives() -> None:
    """A member that was just removed is not shown, nor is one while broker or API server do not answer."""
    known = observe({}, [(ORDERS, [POD], [member("billing")])])
    assert observe(known, [(ORDERS, [POD], [])]) == known
    assert observe(known, [(ORDERS, None, [])]) == known
    assert observe(known, [(ORDERS, [worlds.pod(1)], [])]) == {}
    assert observe(known, []) == {}


def test_an_id_in_two_groups_is_nobodys() -> None:
    """Both consumers of one process export one series: it cannot be told apart."""
    looks = [(group, [POD], [member("billing")]) for group in (ORDERS, BILLS)]
    assert observe({}, looks) == {}


def test_pods_that_share_an_address_are_not_told_apart() -> None:
    """On the host's network a member could be any of them."""
    twins = [POD, dataclasses.replace(worlds.pod(1), ip=POD.ip)]
    assert observe({}, [(ORDERS, twins, [member("billing")])]) == {}


def java_values(client_id: str) -> Answers:
    """Return what healthy Java consumers export that are scraped every 90 s: a beat every 5 s, one join."""
    since, until = (worlds.NOW + sign * worlds.HOUR for sign in (-1, 1))
    times_s = [since.timestamp() + 90 * number for number in range(round((until - since).total_seconds() / 90) + 1)]

    def series_of(count: Callable[[float], float]) -> list[Series]:
        pairs = [(time_s, count(time_s - since.timestamp())) for time_s in times_s]
        return [counters.series(pairs, pod=pod.name, client_id=client_id) for pod in worlds.pods()]

    standing = {quantity: series_of(lambda _: 1.0) for quantity in counters.JMX.needed}
    return {**standing, Quantity.HEARTBEATS: series_of(lambda s: s // 5)}


def group_of(client_id: str) -> tuple[stages.Stage, Policy, Gatherer]:
    """Return a healthy Java group whose consumers have this client id, and what gathers for it."""
    stage, policy = stages.calm(), worlds.java_policy()
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.java_settings())
    # Another group of the namespace is known all the while, so that only what is new is asked for.
    answers = counters.together(java_values(client_id), java_values("consumer-payments-1"))
    metrics = FakePrometheus(answers, counters.JMX)
    gatherer = Gatherer(
        metrics=metrics,
        groups=fakes.looks_at(stage.groups, stage.clock),
        workloads=stage.workloads,
        models=stage.shelf,
        clock=stage.clock,
        sleep=fakes.no_sleep,
        grants=stage.grants,
    )
    return stage, policy, gatherer


async def gathered(gatherer: Gatherer, policy: Policy) -> DecisionInput:
    """Gather what must be there."""
    found = (await gatherer.gather([policy]))[policy.key]
    assert isinstance(found, DecisionInput)
    return found


async def test_a_group_with_client_ids_of_its_own_is_measured() -> None:
    """The commonest reason why nothing was known of a Java group."""
    stage, policy, gatherer = group_of("billing")
    stage.groups.groups["main"]["orders"] = worlds.group([member("billing", host=pod.ip) for pod in worlds.pods()])
    record = (await gathered(gatherer, policy)).record
    assert isinstance(record, Record)
    assert (record.unobserved_pods, record.beat_period) == ((), worlds.seconds(5))


async def test_what_was_read_before_the_broker_told_is_read_again() -> None:
    """Else the time before would look as if nothing had happened in it."""
    stage, policy, gatherer = group_of("billing")
    stage.groups.groups["main"]["orders"] = worlds.group([])
    payments = dataclasses.replace(policy, key=ObjectKey("shop", "payments"), group_id="payments")
    stage.groups.groups["main"]["payments"] = dataclasses.replace(worlds.group([]), group_id="payments")
    found = await gatherer.gather([policy, payments])
    records = [item.record for item in found.values() if isinstance(item, DecisionInput)]
    assert [isinstance(record, Record) for record in records] == [False, True]
    stage.groups.groups["main"]["orders"] = worlds.group([member("billing", host=pod.ip) for pod in worlds.pods()])
    for _ in range(4):
        stage.clock.advance(stages.MINUTE)
        situation = (await gatherer.gather([policy, payments]))[policy.key]
    assert isinstance(situation, DecisionInput)
    record = situation.record
    assert isinstance(record, Record)
    assert record.span == worlds.HOUR
    assert record.accepted_beats == 3 * record.span.total_seconds() / 5
