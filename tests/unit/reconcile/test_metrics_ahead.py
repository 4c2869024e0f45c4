"""How many queries are under way at a time: the next is sent while an answer is read, once Prometheus answers."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.errors import MetricsCause
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.reconcile.series.metrics_reading import AHEAD, MetricsReader
from tests.support import counters, worlds
from tests.support.counters import KAFKAJS
from tests.support.told_prometheus import ToldPrometheus, raising
from tests.support.worlds import NOW

TEAMS: Final = ("team0", "team1", "team2")


class SlowPrometheus:
    """Answers each query after some turns of the event loop, and counts how many are under way.

    Attributes:
        under_way: the namespaces of the queries that wait for their answers.
        most: how many waited at the same time at most.
        full: set when as many waited as may be sent ahead.
    """

    def __init__(self, answers: ToldPrometheus) -> None:
        self.answers = answers
        self.under_way: list[frozenset[str]] = []
        self.most = 0
        self.full = asyncio.Event()

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the query selects, in a while."""
        namespaces = counters.asked(query).namespaces
        self.under_way.append(namespaces)
        self.most = max(self.most, len(self.under_way))
        if self.most == AHEAD:
            self.full.set()
        try:
            for _ in range(50):
                await asyncio.sleep(0)
            return await self.answers.instant(query, at=at)
        finally:
            self.under_way.remove(namespaces)


def of_teams() -> tuple[SlowPrometheus, list[Policy]]:
    """Return a Prometheus with a group in each of three namespaces, and their policies."""
    series = [
        Series.from_raw(
            {**counters.labels("orders-0", namespace=team), "__name__": metric.names[0], **dict(metric.matchers)},
            [(NOW.timestamp() - 15.0 * number, 1.0) for number in range(500, -40, -1)],
        )
        for team in TEAMS
        for metric in KAFKAJS.metrics
    ]
    policies = [worlds.policy(key=ObjectKey(team, "orders"), group_id="orders") for team in TEAMS]
    return SlowPrometheus(ToldPrometheus(series)), policies


async def test_the_next_query_is_sent_while_an_answer_is_read() -> None:
    """Prometheus computes while the operator reads, and never holds more than two answers."""
    prometheus, policies = of_teams()
    await MetricsReader(prometheus).read(policies, now=NOW)
    assert prometheus.most == AHEAD


async def test_a_prometheus_that_is_down_gets_one_query() -> None:
    """Nothing is sent ahead before it has answered in this cycle, however well it answered in the one before."""
    prometheus, policies = of_teams()
    reader = MetricsReader(prometheus)
    await reader.read(policies, now=NOW)
    prometheus.answers.fault = raising(MetricsCause.UNREACHABLE)
    prometheus.answers.requests.clear()
    await reader.read(policies, now=NOW + timedelta(minutes=1))
    assert len(prometheus.answers.requests) == 1


async def test_a_read_that_is_cancelled_leaves_no_query_behind() -> None:
    """A lost leadership ends what was sent ahead, too."""
    prometheus, policies = of_teams()
    reading = asyncio.create_task(MetricsReader(prometheus).read(policies, now=NOW))
    await prometheus.full.wait()
    reading.cancel()
    await asyncio.wait([reading])
    await asyncio.sleep(0)
    assert not prometheus.under_way
