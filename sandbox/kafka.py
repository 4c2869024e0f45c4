"""One Apache Kafka broker, in KRaft mode, on loopback, or where containers reach it.

The jars come from Maven into the cache and are checked against `kafka_files/checksums.sha256`; an older release, for
clients that Kafka 4 refuses, has a folder of its own there. Two ways lead in: the plain listener, and TAP, whose
advertised address is the port of a fault proxy (`sandbox.proxy`), so that a client that enters through the proxy stays
behind it; locked ones (`sandbox.kafka_security`) come on top where a test wants them. Every finished request that has
to do with groups is written to `request_log`, which `sandbox.request_log` reads: what the coordinator saw is the truth
about heartbeats.

`class_archive` keeps the classes that a broker loads for later brokers (`sandbox.class_archives`).
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from sandbox import cache, class_archives, commands, maven, network
from sandbox.errors import SandboxError
from sandbox.kafka_security import Listener
from sandbox.processes import Process, wait_until

VERSION: Final = "4.4.0"
OLD_VERSION: Final = "3.9.2"

_FILES: Final = Path(__file__).parent / "kafka_files"
_PINNED: Final = MappingProxyType({VERSION: _FILES, OLD_VERSION: _FILES / OLD_VERSION})
"""The folders of each version's `pom.xml` and `checksums.sha256`."""
_LOG4J: Final = _FILES / "log4j2.xml"
_CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
_STOP_GRACE_S: Final = 10.0
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Kafka:
    """A broker; use as a context manager, or call `start` and `stop`.

    Ports are chosen and the data directory is made once per instance, so a broker that is stopped and started again
    is the same broker to its clients.

    Args:
        run_dir: gets the data, the configuration and the logs.
        properties: broker properties on top of `kafka_files/server.properties`.
        tap_port: port of 127.0.0.1 that the fault proxy before `tap_target` listens on; None when there is no proxy.
        version: `VERSION` or `OLD_VERSION`.
        listeners: more ways in; `address` says where they are.
        java_options: of the broker's JVM, as for an agent.
        plugins: folders of classes that the broker's properties name.
        address: of the plain listener; all others are on loopback.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        properties: Mapping[str, str] = _NOTHING,
        tap_port: int | None = None,
        version: str = VERSION,
        listeners: Sequence[Listener] = (),
        java_options: Sequence[str] = (),
        plugins: Sequence[Path] = (),
        address: str = network.LOOPBACK,
    ) -> None:
        port, tap_target_port, self._controller_port, *more_ports = network.free_ports(3 + len(listeners))
        self._address = address
        self.bootstrap = f"{address}:{port}"
        self.tap_target = (network.LOOPBACK, tap_target_port)
        self.controller = f"{network.LOOPBACK}:{self._controller_port}"
        self.request_log = run_dir / "kafka-requests.log"
        self._port = port
        self.tap_port = tap_target_port if tap_port is None else tap_port
        self._run_dir = run_dir
        self._properties = dict(properties)
        self._version = version
        self._listeners = tuple(zip(listeners, more_ports, strict=True))
        self._java_options = tuple(java_options)
        self._plugins = tuple(plugins)
        self._process: Process | None = None
        self._configuration = run_dir / "not-started.properties"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the broker and wait until it answers and can coordinate groups."""
        if self._process is None:
            self._process = self._prepare()
        self._process.start()
        try:
            self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self, *, grace_s: float = _STOP_GRACE_S) -> None:
        """Stop the broker in an orderly way; `start` brings it back with its data and its port.

        Args:
            grace_s: seconds after which it is killed.
        """
        if self._process is not None:
            self._process.stop(grace_s=grace_s)

    def reconfigure(self, properties: Mapping[str, str]) -> None:
        """Set properties of a stopped broker that was started before; `start` brings it back with its data."""
        with self._configuration.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in properties.items())

    def address(self, listener: str) -> str:
        """Return where one of the additional listeners is, by its name."""
        return next(f"{network.LOOPBACK}:{port}" for item, port in self._listeners if item.name == listener)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic and wait until the broker leads all its partitions."""
        admin = self._admin()
        try:
            admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        except KafkaException as error:
            raise SandboxError(f"topic {name} could not be created: {error.args[0].str()}") from error

        def led() -> bool:
            topic = admin.list_topics(name, timeout=10).topics[name]
            return len(topic.partitions) == partitions and all(
                partition.leader >= 0 for partition in topic.partitions.values()
            )

        wait_until(led, part="kafka", what=f"topic {name}", timeout_s=30, process=self._process)

    def configure_group(self, group_id: str, values: Mapping[str, str]) -> None:
        """Set what the broker prescribes to a group of the consumer protocol; the group need not exist yet."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in values.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=entries)
        admin = self._admin()  # its requests end with it
        try:
            admin.incremental_alter_configs([resource])[resource].result(30)
        except KafkaException as error:
            raise SandboxError(f"group {group_id} could not be configured: {error.args[0].str()}") from error

    def _prepare(self) -> Process:
        """Write the configuration, fill a fresh data directory and return the broker that is to be started."""
        classpath = f"{jars(self._version)}/*"
        self._run_dir.mkdir(parents=True, exist_ok=True)
        data = Path(tempfile.mkdtemp(prefix="kafka-data-", dir=self._run_dir))
        self._configuration = configuration = data.with_suffix(".properties")
        configuration.write_text(self._server_properties(data))
        log = self._run_dir / "kafka.log"
        java = [
            "java",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            *mapped_classes(self._version),
            f"-Dlog4j2.configurationFile={_LOG4J}",
        ]
        self._format(data, [*java, "-Xmx96m", "-cp", classpath])
        requests = f"-Dsandbox.request.log={self.request_log}"
        memory = ["-Xms256m", "-Xmx256m"]
        broker = ["-cp", ":".join([classpath, *map(str, self._plugins)]), "kafka.Kafka", str(configuration)]
        command = [*java, *memory, requests, *self._java_options, *broker]
        return Process("kafka", command, log=log)

    def _format(self, data: Path, java: Sequence[str]) -> None:
        """Fill a data directory with what Kafka's tool makes of an empty one, once for each node of a cluster.

        The tool takes 0.7 s of a core. What it leaves says whose directory it is, and neither where nor when.
        """
        node = [f"{name}={self._properties.get(name, '')}" for name in ("node.id", "process.roles")]
        key = cache.key(str(jars(self._version)), _CLUSTER_ID, _FILES / "server.properties", *node)

        def make(scratch: Path) -> None:
            tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._configuration)]
            commands.run("kafka", "formatting its storage", [*java, *tool])
            shutil.copytree(data, scratch, dirs_exist_ok=True)

        shutil.copytree(cache.entry("kafka-storage", key, make), data, dirs_exist_ok=True)

    def _server_properties(self, data: Path) -> str:
        template = Template((_FILES / "server.properties").read_text())
        base = template.substitute(
            address=self._address,
            port=self._port,
            tap_port=self.tap_target[1],
            proxy_port=self.tap_port,
            controller_port=self._controller_port,
            data=data,
            more_listeners="".join(f",{item.name}://127.0.0.1:{port}" for item, port in self._listeners),
            more_protocols="".join(f",{item.name}:{item.protocol}" for item, _ in self._listeners),
        )
        theirs = {
            f"listener.name.{item.name.lower()}.{name}": value
            for item, _ in self._listeners
            for name, value in item.properties.items()
        }
        return base + "".join(f"{name}={value}\n" for name, value in (theirs | self._properties).items())

    def _await_ready(self, process: Process) -> None:
        port = self._port
        wait_until(lambda: network.answers(port, self._address), part="kafka", what=f"port {port}", process=process)
        admin = self._admin()
        wait_until(lambda: _coordinates(admin), part="kafka", what="its group coordinator", process=process)

    def _admin(self) -> AdminClient:
        # log_level 0: connections that fail while the broker starts are no news.
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})


def _coordinates(admin: AdminClient) -> bool:
    """Whether the broker answers for a group; asking also makes the offsets topic, so the first group finds it."""
    group = "sandbox-readiness"
    try:
        # Not list_consumer_group_offsets: an answer "the coordinator is loading" makes librdkafka 2.16 crash there.
        admin.describe_consumer_groups([group], request_timeout=5)[group].result(10)
    except KafkaException:
        return False
    return True


def jars(version: str = VERSION) -> Path:
    """Return the folder of the broker's jars, from the cache or from Maven."""
    pom, checksums = _PINNED[version] / "pom.xml", _PINNED[version] / "checksums.sha256"

    def make(scratch: Path) -> None:
        maven.download_jars("kafka", f"downloading Apache Kafka {version}", pom=pom, checksums=checksums, into=scratch)

    return cache.entry("kafka", cache.key(pom, checksums), make)


def class_archive(version: str = VERSION) -> Path:
    """Return the folder of the archive of the classes that a broker loads; a broker that is started for it writes it.

    That takes ten seconds, once for a Java and a release; each later start of a broker takes 1.7 s of a core less.
    """

    def run(scratch: Path) -> None:
        broker = Kafka(scratch / "broker", version=version, java_options=class_archives.writing(scratch))
        try:
            broker.start()
        finally:
            broker.stop(grace_s=class_archives.WRITTEN_WITHIN_S)
        shutil.rmtree(scratch / "broker")

    return class_archives.make("kafka", jars(version), run)


def mapped_classes(version: str) -> list[str]:
    """Return what makes a Java map the archive of classes, where one was made."""
    return class_archives.mapping("kafka", jars(version))
