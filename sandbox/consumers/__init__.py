"""The consumers that the sandbox's pods run, one small program per client library.

A program takes its settings from the environment, consumes one topic, and serves `/metrics` and `/readyz` on the pod's
own address, which is also where its connections to the broker come from. A function here makes sure that its
dependencies are installed, in the cache, and returns the command line for a pod.
"""

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
_JAVA_POM: Final = _JAVA / "pom.xml"
_JAVA_CHECKSUMS: Final = _JAVA / "checksums.sha256"
_JAVA_SOURCES: Final = [_JAVA / name for name in ("Consumer.java", "PodSockets.java")]
_JAVA_LOGGING: Final = _JAVA / "simplelogger.properties"
_JAVA_RESOURCES: Final = [_JAVA / "jmx.yaml", _JAVA_LOGGING]
_JAVA_JAR: Final = "consumer.jar"
"""All that is ours: Java makes no archive of classes that lie in folders."""
_JMX_AGENT: Final = "jmx_prometheus_javaagent-1.0.1.jar"
_PYTHON: Final = Path(__file__).parent / "python" / "consumer.py"
_JDK_INTERNALS: Final = ("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED")  # what PodSockets is put before
_WITH_AGENT: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent")
"""Else Java archives no classes, or not those of the JMX agent."""
_SMALL_JVM: Final = ("-Xmx48m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


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

    It exports no metrics, and its connections come from the node's address.
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
    home = _java_home()
    return _java_command(home, address, metrics_port, class_archives.mapping("java-consumer", home))


def java_class_archive() -> Path:
    """Return the folder of the archive of the classes that a Java consumer loads; one that joins a group writes it.

    That takes ten seconds, once for a Java; each later start of a consumer takes 0.7 s of a core instead of 1.2 s.
    """
    home = _java_home()

    def run(scratch: Path) -> None:
        metrics_port, probe_port = network.free_ports(2)
        command = _java_command(home, network.LOOPBACK, metrics_port, class_archives.writing(scratch))
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


def _java_home() -> Path:
    """Return the folder of the Java consumer's jars, made if it is not there."""

    def make(scratch: Path) -> None:
        prerequisites.require("java", "javac", "mvn")
        jars = scratch / "jars"
        jars.mkdir()
        doing = "downloading kafka-clients and the JMX agent"
        maven.download_jars("java-consumer", doing, pom=_JAVA_POM, checksums=_JAVA_CHECKSUMS, into=jars)
        javac = ["javac", "-Werror", "-XDignore.symbol.file", *_JDK_INTERNALS, "-cp", f"{jars}/*", "-d", str(scratch)]
        commands.run("java-consumer", "compiling it", [*javac, *_JAVA_SOURCES])
        for file in _JAVA_RESOURCES:
            shutil.copy(file, scratch)
        with zipfile.ZipFile(scratch / _JAVA_JAR, "w") as jar:
            for file in (*scratch.glob("*.class"), scratch / _JAVA_LOGGING.name):
                jar.write(file, file.name)
                file.unlink()

    made_from = (_JAVA_POM, _JAVA_CHECKSUMS, *_JAVA_SOURCES, *_JAVA_RESOURCES)
    return cache.entry("java-consumer", cache.key(*made_from, _JAVA_JAR), make)


def _java_command(home: Path, address: str, metrics_port: int | str, archive: Sequence[str]) -> list[str]:
    """Return the command line of the consumer with the options of an archive of classes."""
    agent = f"-javaagent:{home / 'jars' / _JMX_AGENT}={address}:{metrics_port}:{home / 'jmx.yaml'}"
    sockets = "-Djava.nio.channels.spi.SelectorProvider=PodSockets"
    jars = [home / _JAVA_JAR, *sorted((home / "jars").glob("*.jar"))]
    java = ["java", *_WITH_AGENT, *archive, *_SMALL_JVM, *_JDK_INTERNALS, sockets, agent]
    return [*java, "-cp", ":".join(map(str, jars)), "Consumer"]
