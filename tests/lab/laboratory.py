"""How an experiment, or a trial of settings, is done: a consumer is started, something is done to it, one looks on."""

import dataclasses
import itertools
import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import Producer

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.removal import Event
from sandbox.errors import PartNotReadyError, SandboxError
from sandbox.processes import Process, wait_until
from sandbox.request_log import NONE, beats_by_error_code, evicted, heartbeats, rebalances
from tests.lab import experiments, verdicts
from tests.lab.bench import Bench
from tests.lab.experiments import CUT_S, Expected, Experiment, Handler, Wire
from tests.lab.rows import Row
from tests.lab.verdicts import Seen, Trial

JOIN_TIMEOUT_S: Final = 40.0
REFUSED_AFTER_S: Final = 25.0
"""Who is no member by then, with settings that are tried, never will be: the slowest joins in a third of it."""

SETTLE_S: Final = 2.0
ASK_EVERY_S: Final = 0.15
MESSAGE_EVERY_S: Final = 5.0
"""Between two messages of which each is to be alone."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one experiment.

    Attributes:
        median_s: between two beats, or until the removal; None if there was none.
        max_s: the longest time between two beats; the same as the median of a removal.
        beats: how many were accepted.
        rebalances: how many the group had, where that is looked at.
        note: what else was seen.
        failed: whether the experiment could not be done, for the reason in the note.
    """

    expected: Expected
    median_s: float | None
    max_s: float | None
    beats: int
    rebalances: int | None = None
    note: str = ""
    failed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the median is as the catalogue says."""
        return not self.failed and self.expected.holds(self.median_s)


class Laboratory:
    """Does experiments on one bench; they may be done beside each other, each in a group of its own."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def do(self, row: Row, experiment: Experiment) -> Outcome:
        """Do one experiment with one library; a consumer that ends, or does not join, is an outcome too."""
        expected = experiments.expect(experiment, experiment.card(row.client))
        try:
            return self._do(row, experiment, expected)
        except SandboxError as error:
            return Outcome(expected, None, None, 0, note=str(error), failed=True)

    def try_settings(self, row: Row, trial: Trial) -> Seen:
        """Start a consumer with these settings and look on; one that ends, or never joins, is what was looked for."""
        client = catalogue.client(row.client)
        group = self._bench.group(row)
        log, began, records = self._bench.log_from_here(), time.time(), []
        with self._bench.consumer(row, client, group, trial.settings, protocol=trial.protocol) as process:
            until = time.monotonic() + REFUSED_AFTER_S
            while time.monotonic() < until and process.alive():
                records += log()
                if verdicts.see(records, group, began, time.time()).joins:
                    time.sleep(trial.watched_s)
                    break
                time.sleep(ASK_EVERY_S)
            ended = time.time()
        return verdicts.see([*records, *log()], group, began, ended)

    def _do(self, row: Row, experiment: Experiment, expected: Expected) -> Outcome:
        client = experiment.card(row.client)
        group = self._bench.group(row, experiment.leaders)
        more = {
            "API": experiment.api,
            "HANDLER": experiment.handler.value,
            "HANDLER_MS": str(round(experiment.handler_time.total_seconds() * 1000)),
        }
        tapped = experiment.wire is not Wire.GOOD
        with self._bench.consumer(row, client, group, experiment.settings, tapped=tapped, more=more) as process:
            wait_until(
                lambda: self._bench.members(group) == 1 or not process.alive(),
                part=group,
                what="its member",
                timeout_s=JOIN_TIMEOUT_S,
                process=process,
                poll_s=ASK_EVERY_S,
            )
            time.sleep(SETTLE_S)
            with self._messages(group, experiment):
                if experiment.wire is Wire.CUT:
                    return self._cut(group, experiment, expected)
                if experiment.measures_removal:
                    return self._removal(process, group, experiment, expected)
                return self._beats(process, group, experiment, expected)

    def _beats(self, process: Process, group: str, experiment: Experiment, expected: Expected) -> Outcome:
        log = self._bench.log_from_here()
        began = time.time()
        time.sleep(experiment.watched_s)
        records = log()
        if not process.alive():
            raise PartNotReadyError(f"{group} ended in the middle.\n{process.log_tail()}")
        found = heartbeats(records, group, began, time.time())
        arrivals = sorted(item.arrival_s for item in found)
        gaps = [later - earlier for earlier, later in itertools.pairwise(arrivals)]
        answers = beats_by_error_code(found)
        refused = {code: count for code, count in answers.items() if code != NONE}
        return Outcome(
            expected,
            statistics.median(gaps) if gaps else None,
            max(gaps, default=None),
            answers[NONE],
            note=f"refused: {refused}" if refused else "",
        )

    def _removal(self, process: Process, group: str, experiment: Experiment, expected: Expected) -> Outcome:
        began = time.monotonic()
        if experiment.event is Event.KILLED:
            process.kill()
        elif experiment.event is Event.PAUSED:
            process.pause()
        elif experiment.event is Event.CLOSED:
            os.kill(process.pid, signal.SIGTERM)
        while time.monotonic() - began < experiment.watched_s:
            if self._bench.members(group) == 0:
                took_s = time.monotonic() - began
                return Outcome(expected, took_s, took_s, 0)
            time.sleep(ASK_EVERY_S)
        return Outcome(expected, None, None, 0, note=f"still a member after {experiment.watched_s:.0f} s")

    def _cut(self, group: str, experiment: Experiment, expected: Expected) -> Outcome:
        """Cut all connections behind the proxy, and see whether somebody is removed, or joins again, until the end."""
        tap = self._bench.tap
        assert tap is not None  # nobody enters by it otherwise
        log = self._bench.log_from_here()
        began = time.time()
        tap.cut()
        try:
            time.sleep(CUT_S)
        finally:
            tap.heal()
        time.sleep(experiment.watched_s - CUT_S)
        records, ended = log(), time.time()
        removed = sorted(
            heartbeat.arrival_s
            for heartbeat in heartbeats(records, group, began, ended)
            if heartbeat.member_id in evicted(records, group, began, ended) and heartbeat.error_code != NONE
        )
        beats = beats_by_error_code(heartbeats(records, group, began, ended))[NONE]
        again = rebalances(records, group, began, ended)
        if removed:
            return Outcome(expected, removed[0] - began, removed[0] - began, beats, again)
        if self._bench.members(group) != 1:
            return Outcome(expected, None, None, beats, again, note="no member any more", failed=True)
        return Outcome(expected, None, None, beats, again)

    @contextmanager
    def _messages(self, topic: str, experiment: Experiment) -> Iterator[None]:
        """Send the experiment's messages: all at once, or, if each is to be alone, again and again."""
        if experiment.handler is Handler.NONE:
            yield
            return
        # They arrive as one batch, so that they are handed out together.
        producer = Producer({"bootstrap.servers": self._bench.kafka.bootstrap, "log_level": 0, "linger.ms": 100})
        ended = threading.Event()

        def send() -> None:
            for _ in range(experiment.messages):
                producer.produce(topic, b"message")
            producer.flush(10)

        def trickle() -> None:
            while not ended.wait(MESSAGE_EVERY_S):
                send()

        send()
        if experiment.burns and not experiment.crowds:
            thread = threading.Thread(target=trickle, name=f"messages of {topic}")
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if experiment.burns and not experiment.crowds:
                thread.join()
