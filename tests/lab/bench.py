"""Where a consumer is tried: a broker, or three, a group and a topic for each trial, and what the coordinator saw.

The truth about heartbeats is the broker's request log, never the client's word; whether a member is there is asked of
the coordinator. Consumers of several trials may run beside each other.
"""

import itertools
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint.checked_settings import AT_THE_BROKER
from sandbox.group_states import group_states
from sandbox.kafka import Kafka
from sandbox.kafka_cluster import KafkaCluster
from sandbox.processes import Process
from sandbox.proxy import FaultProxy
from sandbox.request_log import Record, RequestLog
from tests.lab.rows import Row


class Bench:
    """Consumers and what the coordinator knows of them.

    Args:
        kafka: one broker, or three.
        run_dir: gets what the consumers write.
        tap: the proxy before the broker's other listener; consumers that shall have a bad wire enter through it.
    """

    def __init__(self, kafka: Kafka | KafkaCluster, run_dir: Path, tap: FaultProxy | None = None) -> None:
        self.kafka = kafka
        self.tap = tap
        self._run_dir = run_dir
        self._numbers = itertools.count(1)
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        self._asking = threading.Lock()

    def group(self, row: Row, leaders: Sequence[int] = ()) -> str:
        """Return the name of a new group, whose topic has the same; `leaders` says which broker leads which partition.

        The name is unique on the machine, too: consumers of several benches may run beside each other.
        """
        name = f"{row.client}-{next(self._numbers)}"
        if isinstance(self.kafka, KafkaCluster):
            self.kafka.create_topic(name, leaders)
        else:
            self.kafka.create_topic(name)
        return name

    @contextmanager
    def consumer(
        self,
        row: Row,
        client: Client,
        group: str,
        settings: Mapping[Setting, timedelta],
        *,
        protocol: Protocol | None = None,
        tapped: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> Iterator[Process]:
        """Run a row's consumer with these settings; those that the broker has in a group of the library, are set there.

        Args:
            row: how it is started.
            client: its card.
            group: from `group`.
            settings: what is set; the rest is the library's default.
            protocol: of the group; None: the library's own.
            tapped: whether it enters through the proxy.
            more: other variables of its environment.
        """
        prescribed = client.protocols[0].is_at_broker
        at_broker = {
            name.partition(" ")[0]: client.format.render(settings[setting])
            for setting, name in client.names.items()
            if prescribed and setting in AT_THE_BROKER and setting in settings
        }
        if at_broker and isinstance(self.kafka, Kafka):
            self.kafka.configure_group(group, at_broker)
        given = {
            client.env_preset[setting]: client.format.render(value)
            for setting, value in settings.items()
            if setting in client.env_preset and not (prescribed and setting in AT_THE_BROKER)
        }
        of_group = client.protocols[0] if prescribed else protocol
        if of_group is not None:
            given["KAFKA_GROUP_PROTOCOL"] = of_group.value
        state = self._run_dir / group
        state.mkdir()
        entrance = f"127.0.0.1:{self.tap.port}" if tapped and self.tap is not None else self.kafka.bootstrap
        environment = {
            **os.environ,
            "KAFKA_BROKERS": entrance,
            "KAFKA_GROUP_ID": group,
            "KAFKA_TOPIC": group,
            "KAFKA_CLIENT_ID": group,
            "STATE_DIR": str(state),
            **given,
            **(more or {}),
        }
        log = self._run_dir / f"{group}.log"
        process = Process(group, row.command(), log=log, env=environment, death_signal=signal.SIGKILL)
        process.start()
        try:
            yield process
        finally:
            process.stop(grace_s=2.0)

    def members(self, group: str) -> int:
        """Return how many members of the group have an assignment; 0 too of a group that is not there."""
        with self._asking:
            try:
                found = self._admin.describe_consumer_groups([group], request_timeout=5)[group].result(6)
            except KafkaException as error:
                return self._workers(group) if error.args[0].code() == KafkaError._INVALID_ARG else 0
            except TimeoutError:
                return 0
            if found.state is ConsumerGroupState.DEAD:
                return self._member_of_other_kind(group)
            return sum(1 for member in found.members if member.assignment is not None)

    def _member_of_other_kind(self, group: str) -> int:
        """Return whether a Streams or share group has its member: librdkafka describes none of these."""
        return int(group_states(self.kafka.bootstrap.partition(",")[0]).get(group) == "Stable")

    def _workers(self, group: str) -> int:
        """Return how many members the coordinator knows in a group of Connect workers."""
        with warnings.catch_warnings():
            # Deprecated for calls that refuse every group that is none of consumers.
            warnings.simplefilter("ignore", DeprecationWarning)
            return sum(len(found.members) for found in self._admin.list_groups(group, timeout=5))

    def log_from_here(self) -> Callable[[], list[Record]]:
        """Return what reads the records that the coordinator's request log has got since the last reading."""
        log = RequestLog(self.kafka.request_log)
        log.skip()
        return log.read_new
