"""Policies that name metrics themselves: read apart, in their own namespace, and to no other policy's harm or gain."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.policies import Naming, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import mapped
from tests.support import counters, stages, worlds
from tests.support.worlds import HOUR, NOW

OWN_NAMES = {item.camel: f"site_{item.name.lower()}" for item in counters.KAFKAJS.by_quantity}
MAPS = Naming(names=OWN_NAMES)
SITE = Convention(
    name="site",
    title="the site's rules",
    libraries=("kafkajs",),
    metrics=tuple(Metric(item, (OWN_NAMES[item.camel],)) for item in counters.KAFKAJS.by_quantity),
    group_label="group_id",
)


class SitePrometheus:
    """A Prometheus with series of a site's own names; in the namespaces of `errors` it fails."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.series = series
        self.queries: list[str] = []
        self.errors: dict[str, MetricsUnavailableError] = {}

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what a query selects."""
        self.queries.append(query)
        asked = counters.asked(query)
        for namespace in asked.namespaces & set(self.errors):
            raise self.errors[namespace]
        return asked.of(self.series, at)


def stormy(namespace: str = "shop") -> list[Series]:
    """Return a storm under the site's names."""
    answers = counters.stormy(worlds.pods(), NOW - HOUR - timedelta(minutes=5), NOW, namespace=namespace)
    return counters.exported(answers, SITE)


def policy(namespace: str = "shop", naming: Naming = MAPS, **changes: object) -> Policy:
    """Return a policy for group orders of a namespace."""
    return worlds.policy(key=ObjectKey(namespace, "orders"), naming=naming, **changes)


async def read(source: SitePrometheus, *policies: Policy, at: datetime = NOW) -> dict[ObjectKey, mapped.Read]:
    """Read for these policies."""
    return await mapped.read(source, policies, at=at)


def quantities(found: mapped.Read) -> set[Quantity]:
    """Return what was read."""
    assert not isinstance(found, Unknown)
    return {quantity for observed in found.values() for quantity in observed}


async def test_a_policys_names_make_a_record() -> None:
    """The whole way: its storm is seen under names that no exporter has."""
    stage = stages.storm()
    source = SitePrometheus(stormy())
    gatherer = stage.gatherer(source)
    mine = policy()
    found = (await gatherer.gather([mine]))[mine.key]
    assert isinstance(found, DecisionInput)
    assert isinstance(found.record, Record)
    assert found.record.evictions > 1000
    assert len(source.queries) == 1  # it is not read with all the others, too


async def test_names_are_read_in_the_own_namespace_only_and_for_the_policy_alone() -> None:
    """Another tenant has series of these very names: they are neither read for the one, nor known to the other."""
    source = SitePrometheus([*stormy("shop"), *stormy("bank")])
    plain = policy("bank", Naming())
    found = await read(source, policy("shop"), plain)
    assert set(found) == {ObjectKey("shop", "orders")}
    assert [sorted(counters.asked(query).namespaces) for query in source.queries] == [["shop"]]

    stage = stages.storm()
    gatherer = stage.gatherer(source)
    stage.workloads.stored[ObjectKey("bank", "orders-consumer")] = worlds.workload(worlds.STORM)
    plain = dataclasses.replace(
        plain, workload=dataclasses.replace(plain.workload, key=ObjectKey("bank", "orders-consumer"))
    )
    alone = await gatherer.gather([plain])
    beside = await gatherer.gather([plain, policy("shop")])
    for gathered in (alone[plain.key], beside[plain.key]):
        assert isinstance(gathered, DecisionInput)
        assert isinstance(gathered.record, Unknown)
        assert gathered.record.reason is Reason.NO_SERIES
        assert "site_" not in gathered.record.message
    asked_for_all = [query for query in source.queries if "bank" in counters.asked(query).namespaces]
    assert asked_for_all
    assert not any("site_" in query for query in asked_for_all)


async def test_policies_of_one_namespace_share_a_query_but_not_their_names() -> None:
    """What one of them names is no metric of the other."""
    source = SitePrometheus(stormy())
    other = dataclasses.replace(policy(naming=Naming(names={"heartbeats": "elsewhere"})), key=ObjectKey("shop", "b"))
    found = await read(source, policy(), other)
    assert len(source.queries) == 1
    assert quantities(found[ObjectKey("shop", "orders")]) == {
        Quantity.HEARTBEAT_REQUESTS,
        Quantity.REBALANCE_NOTICES,
        Quantity.REBALANCES,
        Quantity.REBALANCE_TIME,
    }
    assert quantities(found[other.key]) == set()


async def test_another_label_of_the_namespace_is_another_query() -> None:
    """One selector cannot mean both."""
    source = SitePrometheus(stormy())
    renamed = dataclasses.replace(policy(naming=Naming(labels={"namespace": "ns"})), key=ObjectKey("shop", "b"))
    await read(source, policy(), renamed)
    assert len(source.queries) == 2


async def test_a_failure_costs_only_its_namespace_and_names_only_its_own_query() -> None:
    """Too much of one tenant's names is that tenant's."""
    source = SitePrometheus([*stormy("shop"), *stormy("bank")])
    source.errors["bank"] = MetricsUnavailableError("too much", tried="{everybody}", cause=MetricsCause.TOO_MUCH)
    found = await read(source, policy("bank"), policy("shop"))
    lost = found[ObjectKey("bank", "orders")]
    assert isinstance(lost, Unknown)
    assert lost.message == f"too much; tried {mapped.query([policy('bank')])}"
    assert quantities(found[ObjectKey("shop", "orders")])


@pytest.mark.parametrize(
    ("cause", "reason", "asked"),
    [
        (MetricsCause.UNREACHABLE, Reason.PROMETHEUS_UNREACHABLE, 1),
        (MetricsCause.PARTIAL, Reason.PARTIAL_DATA, 3),
    ],
)
async def test_a_prometheus_that_is_down_is_not_asked_for_each(cause: MetricsCause, reason: Reason, asked: int) -> None:
    """A hundred namespaces would else wait for a hundred timeouts."""
    names = ("a", "b", "c")
    source = SitePrometheus([])
    source.errors = {name: MetricsUnavailableError("failed", tried="it", cause=cause) for name in names}
    found = await read(source, *map(policy, names))
    assert len(source.queries) == asked
    assert [item.reason for item in found.values() if isinstance(item, Unknown)] == [reason] * 3


async def test_requests_are_bounded_and_everybody_has_a_turn() -> None:
    """However many tenants map names, a cycle asks so often and no more; who was left out comes first soon."""
    policies = [policy(f"n-{number:02}") for number in range(mapped.REQUESTS + 5)]
    served: set[ObjectKey] = set()
    for minute in range(len(policies)):
        source = SitePrometheus([])
        found = await read(source, *policies, at=NOW + timedelta(minutes=minute))
        assert len(source.queries) == mapped.REQUESTS
        left = [item for item in found.values() if isinstance(item, Unknown)]
        assert [item.reason for item in left] == [Reason.NOT_READ_YET] * 5
        served |= {key for key, item in found.items() if not isinstance(item, Unknown)}
    assert served == {policy.key for policy in policies}


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(1, 60), min_size=1), st.integers(0, 10_000))
def test_each_namespace_is_read_before_any_is_read_twice(counts: dict[str, int], turn: int) -> None:
    """However many labels one of them names: it takes nobody's turn."""
    places = [(namespace, f"label_{number}") for namespace, count in counts.items() for number in range(count)]
    found = mapped.in_turn(places, turn)
    assert sorted(found) == sorted(places)
    seen = Counter[str]()
    for namespace, _ in found:
        assert all(seen[namespace] <= seen[other] or seen[other] == counts[other] for other in counts)
        seen[namespace] += 1


def test_with_time_each_of_many_is_first() -> None:
    """Namespaces, and what one of them names."""
    places = [(namespace, label) for namespace in "abc" for label in ("", "x")]
    assert {mapped.in_turn(places, turn)[0] for turn in range(6)} == set(places)
