"""What an application with confluent-kafka for Python needs to export what `librdkafka_metrics.COUNTERS` reads.

The sandbox's consumer is counted by the same lines (`sandbox/consumers/python/membership.py`); a test
holds the two equal.
"""

from typing import Final

PYTHON: Final = '''\
"""Counts what becomes of a consumer's membership, for Prometheus: by librdkafka's statistics and callbacks."""

import json
import time
import weakref
from collections.abc import Callable
from math import nan
from typing import Any, ClassVar

from confluent_kafka import Consumer, Message, TopicPartition
from prometheus_client.core import REGISTRY, CounterMetricFamily, GaugeMetricFamily, Metric

WINDOW_S = 30.0

OnPartitions = Callable[[Consumer, list[TopicPartition]], None]


class Longest:
    """The longest time that something took, shown for 60 to 90 s."""

    def __init__(self) -> None:
        self.windows: dict[float, float] = {}

    def add(self, now_s: float, took_s: float) -> None:
        """Note that something took so long until now."""
        window = now_s // WINDOW_S
        self.windows = {each: longest_s for each, longest_s in self.windows.items() if each >= window - 2}
        self.windows[window] = max(self.windows.get(window, 0.0), took_s)

    def shown_s(self, now_s: float = 0.0) -> float:
        """Return it; not a number where nothing was noted in that time."""
        return max(
            (longest_s for each, longest_s in self.windows.items() if each >= now_s // WINDOW_S - 2), default=nan
        )


class Membership:
    """Of one consumer; the class exports all of the process."""

    exported: ClassVar[weakref.WeakSet["Membership"]] = weakref.WeakSet()

    def __init__(self, group_id: str, *, calls_back: bool = True) -> None:
        self.group_id, self.calls_back = group_id, calls_back
        self.client_id, self.counted_at = "", 0.0
        self.heartbeats = self.rebalances = self.assigned = 0
        self.lost = {"silence": 0, "poll": 0}
        self.was_late = False
        self.polled_s, self.gaps, self.answers = 0.0, Longest(), Longest()
        self.exported.add(self)

    def polls(self) -> None:
        """Note the time since the last poll."""
        now_s = time.monotonic()
        if self.polled_s:
            self.gaps.add(now_s, now_s - self.polled_s)
        self.polled_s = now_s

    def count(self, text: str) -> None:
        """Take statistics over. poll() brings them, however late: so each sample has the time of its count."""
        statistics = json.loads(text)
        now_s = statistics["ts"] / 1e6
        coordinator = statistics["brokers"].get("GroupCoordinator", {"tx": 0, "req": {}, "rtt": {"max": 0}})
        # Heartbeats of KIP-848 have no name in the statistics: they are all requests that have none.
        others = sum(number for name, number in coordinator["req"].items() if "Heartbeat" not in name)
        self.heartbeats = max(self.heartbeats, coordinator["tx"] - others)
        self.rebalances = self.assigned if self.calls_back else statistics["cgrp"]["rebalance_cnt"]
        self.answers.add(now_s, coordinator["rtt"]["max"] / 1e6)
        self.client_id = statistics["name"]
        self.counted_at = time.time() - (time.monotonic() - now_s)

    @classmethod
    def collect(cls) -> list[Metric]:
        """Return what is exported."""
        labels = ["group_id", "client_id"]
        heartbeats = CounterMetricFamily("librdkafka_group_heartbeats", "Heartbeats sent", labels=labels)
        rebalances = CounterMetricFamily("librdkafka_group_rebalances", "Assignments received", labels=labels)
        lost = CounterMetricFamily("librdkafka_group_lost", "Assignments lost", labels=[*labels, "reason"])
        ages = GaugeMetricFamily("librdkafka_group_poll_age_seconds", "Time since the last poll", labels=labels)
        gaps = GaugeMetricFamily("librdkafka_group_poll_gap_max_seconds", "Longest time between polls", labels=labels)
        answers = GaugeMetricFamily("librdkafka_group_answer_max_seconds", "Slowest answer", labels=labels)
        for member in list(cls.exported):
            if member.counted_at:
                mine, at = [member.group_id, member.client_id], member.counted_at
                heartbeats.add_metric(mine, member.heartbeats, timestamp=at)
                rebalances.add_metric(mine, member.rebalances, timestamp=at)
                for reason, number in member.lost.items() if member.calls_back else ():
                    lost.add_metric([*mine, reason], number, timestamp=at)
                answers.add_metric(mine, member.answers.shown_s(), timestamp=at)
                if member.polled_s:
                    ages.add_metric(mine, time.monotonic() - member.polled_s)
                    gaps.add_metric(mine, member.gaps.shown_s(time.monotonic()))
        return [heartbeats, rebalances, lost, answers, ages, gaps]


class CountedConsumer(Consumer):
    """A Consumer that is counted."""

    def __init__(self, config: dict[str, Any], **options: Any) -> None:
        self._membership = Membership(config["group.id"])
        counted = {"statistics.interval.ms": 1000, **config, "stats_cb": self._membership.count}
        super().__init__(counted, **options)

    def subscribe(
        self,
        topics: list[str],
        on_assign: OnPartitions | None = None,
        on_revoke: OnPartitions | None = None,
        on_lost: OnPartitions | None = None,
    ) -> None:
        """Subscribe, and count what is assigned and lost before the application hears of it."""
        mine, lost_too = self._membership, on_lost or on_revoke

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            mine.assigned, mine.was_late = mine.assigned + 1, False
            if on_assign:
                on_assign(consumer, partitions)

        def lost(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            mine.lost["poll" if mine.was_late else "silence"] += 1
            if lost_too:
                lost_too(consumer, partitions)

        revoked = {"on_revoke": on_revoke} if on_revoke else {}
        super().subscribe(topics, on_assign=assigned, on_lost=lost, **revoked)

    def poll(self, *timeout: float, **options: Any) -> Message | None:
        """Poll, and note when, and whether the library says that the last poll was too long ago."""
        self._membership.polls()
        message = super().poll(*timeout, **options)
        self._note([message] if isinstance(message, Message) else [])
        return message

    def consume(self, *limits: float, **options: Any) -> list[Message]:
        """Poll for several messages, and note the same."""
        self._membership.polls()
        messages: list[Message] = super().consume(*limits, **options)
        self._note(messages)
        return messages

    def _note(self, messages: list[Message]) -> None:
        errors = [error for message in messages if (error := message.error()) is not None]
        self._membership.was_late |= any(error.name() == "_MAX_POLL_EXCEEDED" for error in errors)


REGISTRY.register(Membership)
'''
