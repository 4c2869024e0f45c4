"""Where an experiment is done: a consumer against the real broker, and what the coordinator saw of it.

The beat is measured in the broker's request log, never from the client's word; whether a member is there is asked of
the coordinator, several times a second.
"""

import dataclasses
import itertools
import os
import signal
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.clients.removal import Event
from heartbeat_tuner.decision.linting import AT_THE_BROKER
from heartbeat_tuner.domain.liveness import Setting
from sandbox.errors import PartNotReadyError
from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until
from sandbox.request_log import NONE, Record, RequestLog, beats_by_error_code, heartbeats
from tests.lab import experiments
from tests.lab.experiments import Expected, Experiment, Handler
from tests.lab.rows import Row

JOIN_TIMEOUT_S: Final = 40.0
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
        note: what else was seen.
        failed: whether the experiment could not be done, for the reason in the note.
    """

    expected: Expected
    median_s: float | None
    max_s: float | None
    beats: int
    note: str = ""
    failed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the median is as the catalogue says."""
        return not self.failed and self.expected.holds(self.median_s)


class Laboratory:
    """One broker; experiments may be done beside each other, each in a group of its own."""

    def __init__(self, kafka: Kafka, run_dir: Path) -> None:
        self._kafka = kafka
        self._run_dir = run_dir
        self._numbers = itertools.count(1)
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        self._asking = threading.Lock()

    def do(self, row: Row, experiment: Experiment) -> Outcome:
        """Do one experiment with one library; a consumer that ends, or does not join, is an outcome too."""
        client = experiment.card(row.client)
        group = f"{row.client}-{next(self._numbers)}"
        expected = experiments.expect(experiment, client)
        try:
            return self._do(row, client, group, experiment, expected)
        except PartNotReadyError as error:
            return Outcome(expected, None, None, 0, str(error), failed=True)

    def _do(self, row: Row, client: Client, group: str, experiment: Experiment, expected: Expected) -> Outcome:
        self._kafka.create_topic(group)
        prescribed = {
            name.partition(" ")[0]: client.format.render(experiment.settings[setting])
            for setting, name in client.names.items()
            if _is_at_the_broker(client, setting) and setting in experiment.settings
        }
        if prescribed:
            self._kafka.configure_group(group, prescribed)
        with self._consumer(row, client, group, experiment) as process:
            wait_until(
                lambda: self._members(group) == 1 or not process.alive(),
                part=group,
                what="its member",
                timeout_s=JOIN_TIMEOUT_S,
                process=process,
                poll_s=ASK_EVERY_S,
            )
            time.sleep(SETTLE_S)
            with self._messages(group, experiment):
                if experiment.measures_removal:
                    return self._removal(process, group, experiment, expected)
                return self._beats(process, group, experiment, expected)

    def _beats(self, process: Process, group: str, experiment: Experiment, expected: Expected) -> Outcome:
        log = self._log_from_here()
        began = time.time()
        time.sleep(experiment.watched_s)
        records = log()
        if not process.alive():
            raise PartNotReadyError(f"{group} ended in the middle.\n{process.log_tail()}")
        found = heartbeats(records, group, began, time.time())
        arrivals = sorted(one.arrival_s for one in found)
        gaps = [later - earlier for earlier, later in itertools.pairwise(arrivals)]
        answers = beats_by_error_code(found)
        refused = {code: count for code, count in answers.items() if code != NONE}
        return Outcome(
            expected,
            statistics.median(gaps) if gaps else None,
            max(gaps, default=None),
            answers[NONE],
            f"refused: {refused}" if refused else "",
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
            if self._members(group) == 0:
                took_s = time.monotonic() - began
                return Outcome(expected, took_s, took_s, 0)
            time.sleep(ASK_EVERY_S)
        return Outcome(expected, None, None, 0, f"still a member after {experiment.watched_s:.0f} s")

    @contextmanager
    def _consumer(self, row: Row, client: Client, group: str, experiment: Experiment) -> Iterator[Process]:
        """Run the library's consumer with the experiment's settings."""
        state = self._run_dir / group
        state.mkdir()
        given = {
            client.env_preset[setting]: client.format.render(value)
            for setting, value in experiment.settings.items()
            if setting in client.env_preset and not _is_at_the_broker(client, setting)
        }
        if client.protocols[0] is Protocol.CONSUMER:
            given["KAFKA_GROUP_PROTOCOL"] = Protocol.CONSUMER.value
        environment = {
            **os.environ,
            "KAFKA_BROKERS": self._kafka.bootstrap,
            "KAFKA_GROUP_ID": group,
            "KAFKA_TOPIC": group,
            "KAFKA_CLIENT_ID": group,
            "STATE_DIR": str(state),
            "API": experiment.api,
            "HANDLER": experiment.handler.value,
            "HANDLER_MS": str(round(experiment.handler_time.total_seconds() * 1000)),
            **given,
        }
        process = Process(
            group, row.command(), log=self._run_dir / f"{group}.log", env=environment, death_signal=signal.SIGKILL
        )
        process.start()
        try:
            yield process
        finally:
            process.stop(grace_s=2.0)

    @contextmanager
    def _messages(self, topic: str, experiment: Experiment) -> Iterator[None]:
        """Send the experiment's messages: all at once, or, if each is to be alone, again and again."""
        if experiment.handler is Handler.NONE:
            yield
            return
        # They arrive as one batch, so that they are handed out together.
        producer = Producer({"bootstrap.servers": self._kafka.bootstrap, "log_level": 0, "linger.ms": 100})
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

    def _members(self, group: str) -> int | None:
        """Return how many members the coordinator knows; None if it does not say."""
        with self._asking:
            try:
                found = self._admin.describe_consumer_groups([group], request_timeout=5)[group].result(6)
            except KafkaException as error:
                if error.args[0].code() == KafkaError._INVALID_ARG:
                    return self._workers(group)
                return 0  # a group that was never there, or is no more
            except TimeoutError:
                return 0
            return sum(1 for member in found.members if member.assignment is not None)

    def _workers(self, group: str) -> int:
        """Return how many members the coordinator knows in a group of Connect workers."""
        with warnings.catch_warnings():
            # Deprecated for calls that refuse every group that is none of consumers.
            warnings.simplefilter("ignore", DeprecationWarning)
            return sum(len(found.members) for found in self._admin.list_groups(group, timeout=5))

    def _log_from_here(self) -> Callable[[], list[Record]]:
        """Return what reads the records of the request log from now on."""
        log = RequestLog(self._kafka.request_log)
        log.read_new()
        return log.read_new


def _is_at_the_broker(client: Client, setting: Setting) -> bool:
    """Whether the broker prescribes the setting to the library's groups."""
    return client.protocols[0] is Protocol.CONSUMER and setting in AT_THE_BROKER
