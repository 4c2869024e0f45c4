"""The consumers that the sandbox's pods run, one small program per client library.

A program takes its settings from the environment, consumes one topic, and serves `/metrics` and `/readyz` on the pod's
own address, which is also where its connections to the broker come from. A function here makes sure that its
dependencies are installed, in the cache, and returns the command line for a pod.
"""

import dataclasses
import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox import cache, class_archives, commands, maven, network, prerequisites
from sandbox.errors import PrerequisiteMissingError
from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until

_KAFKAJS: Final = Path(__file__).parent / "kafkajs"
_KAFKAJS_FILES: Final = [_KAFKAJS / name for name in (".npmrc", "package.json", "package-lock.json", "consumer.js")]

_JAVA: Final = Path(__file__).parent / "java"
_STREAMS: Final = Path(__file__).parent / "streams"
_JAR: Final = "program.jar"
"""All that is ours: Java makes no archive of classes that lie in folders."""
_JMX_AGENT: Final = "jmx_prometheus_javaagent-1.0.1.jar"
_PYTHON: Final = Path(__file__).parent / "python" / "consumer.py"
_JDK_INTERNALS: Final = ("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED")  # what PodSockets is put before
_WITH_AGENT: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent")
"""Else Java archives no classes, or not those of the JMX agent."""
_SMALL_JVM: Final = ("-Xmx48m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_LARGER_JVM: Final = ("-Xmx192m", *_SMALL_JVM[1:])


def kafkajs_command() -> list[str]:
    """Return the command line of the KafkaJS consumer, installed at exactly the locked versions."""
    node = shutil.which("node")
    if node is None:
        raise PrerequisiteMissingError("The KafkaJS consumer needs the program node, which is not on the PATH.")

    def make(scratch: Path) -> None:
        for file in _KAFKAJS_FILES:
            shutil.copy(file, scratch)
        install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        commands.run("kafkajs", "installing the locked packages", install, cwd=scratch)

    home = cache.entry("kafkajs", cache.key(*_KAFKAJS_FILES), make)
    return [node, str(home / "consumer.js")]


def confluent_python_command() -> list[str]:
    """Return the command line of the confluent-kafka consumer, which is the very library that the operator uses.

    It exports what becomes of its membership where METRICS_PORT is set, and its connections come from the node's
    address. It knows classic groups, those of the consumer protocol, and share groups.
    """
    return [sys.executable, str(_PYTHON)]


def java_command(*, address: str = "$(POD_IP)", metrics_port: int | str = "$(METRICS_PORT)") -> list[str]:
    """Return the command line of the Java consumer, compiled and with exactly the pinned jars.

    It maps the archive of `java_class_archive`, where one was made.

    `/metrics` is the JMX agent's, which serves nothing else: `/readyz` is the program's, on PROBE_PORT.

    Args:
        address: where the agent listens; the default is for a pod, whose node fills it in.
        metrics_port: likewise.

    Raises:
        PrerequisiteMissingError: Java, its compiler or Maven is missing or too old.
    """
    home = _java_home(_CONSUMER)
    archive = class_archives.mapping(_CONSUMER.part, home)
    return _java_command(_CONSUMER, home, f"{address}:{metrics_port}", archive)


def streams_command(*, address: str = "$(POD_IP)", metrics_port: int | str = "$(METRICS_PORT)") -> list[str]:
    """Return the command line of the Kafka Streams application; its metrics are the JMX agent's, too.

    Args:
        address: where the agent listens; the default is for a pod, whose node fills it in.
        metrics_port: the same of its port.

    Raises:
        PrerequisiteMissingError: Java, its compiler or Maven is missing or too old.
    """
    return _java_command(_STREAMS_POD, _java_home(_STREAMS_POD), f"{address}:{metrics_port}", ())


def java_class_archive() -> Path:
    """Return the folder of the archive of the classes that a Java consumer loads; one that joins a group writes it.

    That takes ten seconds, once for a Java; each later start of a consumer takes 0.7 s of a core instead of 1.2 s.
    """
    home = _java_home(_CONSUMER)

    def run(scratch: Path) -> None:
        metrics_port, probe_port = network.free_ports(2)
        command = _java_command(_CONSUMER, home, f"{network.LOOPBACK}:{metrics_port}", class_archives.writing(scratch))
        with Kafka(scratch / "broker") as broker:
            broker.create_topic("archive")
            env = {
                "PATH": os.environ["PATH"],
                "KAFKA_BROKERS": broker.bootstrap,
                "KAFKA_GROUP_ID": "archive",
                "KAFKA_TOPIC": "archive",
                "POD_IP": network.LOOPBACK,
                "PROBE_PORT": str(probe_port),
            }
            consumer = Process("java-consumer", command, log=scratch / "broker" / "consumer.log", env=env)
            try:
                consumer.start()
                wait_until(
                    lambda: bool(network.page(probe_port, "/readyz")),
                    part="java-consumer",
                    what="its group",
                    process=consumer,
                )
                network.page(metrics_port, "/metrics")
            finally:
                consumer.stop(grace_s=class_archives.WRITTEN_WITHIN_S)
        shutil.rmtree(scratch / "broker")

    return class_archives.make("java-consumer", home, run)


@dataclasses.dataclass(frozen=True, slots=True)
class _JavaProgram:
    """A program in Java for pods, with the JMX agent.

    Attributes:
        part: its name in the cache and in messages.
        folder: of its source, its pinned jars and the agent's rules.
        main: the class that is run.
        jvm: options of its size.
    """

    part: str
    folder: Path
    main: str
    jvm: Sequence[str]


_CONSUMER: Final = _JavaProgram("java-consumer", _JAVA, "Consumer", _SMALL_JVM)
_STREAMS_POD: Final = _JavaProgram("streams-pod", _STREAMS, "StreamsPod", _LARGER_JVM)


def _java_home(program: _JavaProgram) -> Path:
    """Return the folder of a program's jars, made if it is not there."""
    pom, checksums = program.folder / "pom.xml", program.folder / "checksums.sha256"
    sources = [program.folder / f"{program.main}.java", _JAVA / "PodSockets.java"]
    logging = _JAVA / "simplelogger.properties"
    resources = [program.folder / "jmx.yaml", logging]

    def make(scratch: Path) -> None:
        prerequisites.require("java", "javac", "mvn")
        jars = scratch / "jars"
        jars.mkdir()
        doing = "downloading its jars and the JMX agent"
        maven.download_jars(program.part, doing, pom=pom, checksums=checksums, into=jars)
        javac = ["javac", "-Werror", "-XDignore.symbol.file", *_JDK_INTERNALS, "-cp", f"{jars}/*", "-d", str(scratch)]
        commands.run(program.part, "compiling it", [*javac, *sources])
        for file in resources:
            shutil.copy(file, scratch)
        with zipfile.ZipFile(scratch / _JAR, "w") as jar:
            for file in (*scratch.glob("*.class"), scratch / logging.name):
                jar.write(file, file.name)
                file.unlink()

    return cache.entry(program.part, cache.key(pom, checksums, *sources, *resources, _JAR), make)


def _java_command(program: _JavaProgram, home: Path, metrics: str, archive: Sequence[str]) -> list[str]:
    """Return the command line of a program with the options of an archive of classes.

    Args:
        program: to run.
        home: as `_java_home` returns it.
        metrics: where the JMX agent listens.
        archive: options of an archive of classes; empty for none.
    """
    agent = f"-javaagent:{home / 'jars' / _JMX_AGENT}={metrics}:{home / 'jmx.yaml'}"
    sockets = "-Djava.nio.channels.spi.SelectorProvider=PodSockets"
    jars = [home / _JAR, *sorted((home / "jars").glob("*.jar"))]
    options = [*(_WITH_AGENT if archive else ()), *archive, *program.jvm, *_JDK_INTERNALS, sockets, agent]
    return ["java", *options, "-cp", ":".join(map(str, jars)), program.main]
