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
from math import inf, nan
from typing import Any, ClassVar

from confluent_kafka import Consumer, Message, TopicPartition
from prometheus_client.core import REGISTRY, CounterMetricFamily, GaugeMetricFamily, Metric

WINDOW_S = 30.0
LATE_FOR_S = 30.0

OnPartitions = Callable[[Consumer, list[TopicPartition]], None]


class Longest:
    """The longest time that something took, shown for 60 to 90 s."""

    def __init__(self) -> None:
        self.windows: dict[float, float] = {}

    def add(self, took_s: float) -> None:
        """Note that something took so long until now."""
        window = time.monotonic() // WINDOW_S
        recent = {each: longest_s for each, longest_s in self.windows.items() if each >= window - 2}
        # Bound when it is whole: another thread may read it.
        self.windows = {**recent, window: max(recent.get(window, 0.0), took_s)}

    def shown_s(self) -> float:
        """Return it; not a number where nothing was noted in that time."""
        since = time.monotonic() // WINDOW_S - 2
        return max((longest_s for each, longest_s in self.windows.items() if each >= since), default=nan)


class Membership:
    """Of one consumer, and of those that take its place in the process; the class exports all of them."""

    exported: ClassVar[list["Membership"]] = []

    def __init__(self, config: dict[str, Any], *, calls_back: bool = True) -> None:
        self.group_id, self.calls_back = config["group.id"], calls_back
        self.limit_s = int(config.get("max.poll.interval.ms", 300_000)) / 1000
        number = sum(member.group_id == self.group_id for member in self.exported)
        self.client_id = f"{config.get('client.id', 'rdkafka')}-{number}"
        self.owner: Callable[[], object | None] = lambda: None
        self.beats_before = self.beats = self.joins = self.rebalances = 0
        self.lost = {"silence": 0, "poll": 0}
        self.counted = (0, 0.0)  # heartbeats, and when they were counted
        self.is_polling, self.polled_s, self.late_s = True, 0.0, -inf
        self.gaps, self.answers = Longest(), Longest()
        self.exported.append(self)

    @classmethod
    def taken_by(cls, consumer: Consumer, config: dict[str, Any]) -> "Membership":
        """Return the membership of a new consumer: one whose consumer is gone goes on, so that nothing is forgotten."""
        left = (member for member in cls.exported if member.group_id == config["group.id"] and not member.owner())
        mine = next((member for member in left if member.calls_back), None) or cls(config)
        mine.owner = weakref.ref(consumer)
        mine.beats_before, mine.beats = mine.beats_before + mine.beats, 0
        mine.is_polling, mine.polled_s = True, 0.0
        return mine

    def count(self, text: str) -> None:
        """Take statistics over. poll() brings them, however late: so heartbeats have the time of their count."""
        statistics = json.loads(text)
        group, coordinator = statistics.get("cgrp", {}), statistics["brokers"].get("GroupCoordinator")
        if not coordinator:
            return
        # Heartbeats of KIP-848 have no name in the statistics: they are all requests that have none.
        others = sum(number for name, number in coordinator["req"].items() if "Heartbeat" not in name)
        self.beats = max(self.beats, coordinator["tx"] - others)
        joins, self.joins = self.joins, group.get("rebalance_cnt", 0)
        if joins == self.joins and group.get("join_state") == "steady":  # who joins waits for others
            self.answers.add(coordinator["rtt"]["max"] / 1e6)
        if not self.calls_back:
            self.rebalances = self.joins
        counted_at = time.time() - (time.monotonic() - statistics["ts"] / 1e6)
        self.counted = (self.beats_before + self.beats, counted_at)

    def begins_poll(self) -> None:
        """Note for how long nobody polled; what is lost soon after too long a time is lost for that."""
        now_s = time.monotonic()
        if self.polled_s:
            self.gaps.add(now_s - self.polled_s)
            self.late_s = now_s if now_s - self.polled_s >= self.limit_s else self.late_s
        self.is_polling = True

    def ends_poll(self) -> None:
        """Note when the application has the messages."""
        self.polled_s, self.is_polling = time.monotonic(), False

    def loses(self) -> None:
        """Count an assignment that is lost."""
        self.lost["poll" if time.monotonic() - self.late_s < LATE_FOR_S else "silence"] += 1

    @classmethod
    def collect(cls) -> list[Metric]:
        """Return what is exported."""
        labels = ["group_id", "client_id"]
        heartbeats = CounterMetricFamily("librdkafka_group_heartbeats", "Heartbeats sent", labels=labels)
        rebalances = CounterMetricFamily("librdkafka_group_rebalances", "Assignments received", labels=labels)
        lost = CounterMetricFamily("librdkafka_group_lost", "Assignments lost", labels=[*labels, "reason"])
        answers = GaugeMetricFamily("librdkafka_group_answer_max_seconds", "Slowest answer", labels=labels)
        ages = GaugeMetricFamily("librdkafka_group_poll_age_seconds", "Time since the last poll", labels=labels)
        gaps = GaugeMetricFamily("librdkafka_group_poll_gap_max_seconds", "Longest time between polls", labels=labels)
        for member in list(cls.exported):
            mine, (beats, at) = [member.group_id, member.client_id], member.counted
            if at:
                heartbeats.add_metric(mine, beats, timestamp=at)
                answers.add_metric(mine, member.answers.shown_s(), timestamp=at)
                rebalances.add_metric(mine, member.rebalances)
            for reason, number in member.lost.items() if at and member.calls_back else ():
                lost.add_metric([*mine, reason], number)
            if at and member.owner() is not None:
                age_s = 0.0 if member.is_polling else time.monotonic() - member.polled_s
                ages.add_metric(mine, age_s)
                gaps.add_metric(mine, member.gaps.shown_s())
        return [heartbeats, rebalances, lost, answers, ages, gaps]


class CountedConsumer(Consumer):
    """A Consumer that is counted."""

    def __init__(self, config: dict[str, Any], **options: Any) -> None:
        self._membership = mine = Membership.taken_by(self, config)
        own = config.get("stats_cb")

        def count(text: str) -> None:
            mine.count(text)
            if own:
                own(text)

        every_ms = config.get("statistics.interval.ms") or 1000
        super().__init__({**config, "statistics.interval.ms": every_ms, "stats_cb": count}, **options)

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
            mine.rebalances += 1
            if on_assign:
                on_assign(consumer, partitions)

        def lost(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            mine.loses()
            if lost_too:
                lost_too(consumer, partitions)

        revoked = {"on_revoke": on_revoke} if on_revoke else {}
        super().subscribe(topics, on_assign=assigned, on_lost=lost, **revoked)

    def poll(self, *timeout: float, **options: Any) -> Message | None:
        """Poll, and note when."""
        self._membership.begins_poll()
        try:
            return super().poll(*timeout, **options)
        finally:
            self._membership.ends_poll()

    def consume(self, *limits: float, **options: Any) -> list[Message]:
        """Poll for several messages, and note when."""
        self._membership.begins_poll()
        try:
            messages: list[Message] = super().consume(*limits, **options)
        finally:
            self._membership.ends_poll()
        return messages

    def close(self) -> None:
        """Leave the group; the next consumer of it in this process goes on counting."""
        super().close()
        self._membership.owner = lambda: None


REGISTRY.register(Membership)
'''
