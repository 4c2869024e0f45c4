"""The consumers that the sandbox's pods run, one small program per client library.

A program takes its settings from the environment, consumes one topic, and serves `/metrics` and `/readyz` on the pod's
own address, which is also where its connections to the broker come from. A function here makes sure that its
dependencies are installed, in the cache, and returns the command line for a pod.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox import cache, commands, maven, prerequisites
from sandbox.errors import PrerequisiteMissingError

_KAFKAJS: Final = Path(__file__).parent / "kafkajs"
_KAFKAJS_FILES: Final = [_KAFKAJS / name for name in (".npmrc", "package.json", "package-lock.json", "consumer.js")]

_JAVA: Final = Path(__file__).parent / "java"
_STREAMS: Final = Path(__file__).parent / "streams"
_JMX_AGENT: Final = "jmx_prometheus_javaagent-1.0.1.jar"
_PYTHON: Final = Path(__file__).parent / "python" / "consumer.py"
_JDK_INTERNALS: Final = ("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED")  # what PodSockets is put before
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

    It exports no metrics, and its connections come from the node's address.
    """
    return [sys.executable, str(_PYTHON)]


def java_command(*, address: str = "$(POD_IP)", metrics_port: int | str = "$(METRICS_PORT)") -> list[str]:
    """Return the command line of the Java consumer, compiled and with exactly the pinned jars.

    `/metrics` is the JMX agent's, which serves nothing else: `/readyz` is the program's, on PROBE_PORT.

    Args:
        address: where the agent listens; the default is for a pod, whose node fills it in.
        metrics_port: likewise.

    Raises:
        PrerequisiteMissingError: Java, its compiler or Maven is missing or too old.
    """
    return _java(_JAVA, "java-consumer", "Consumer", f"{address}:{metrics_port}", _SMALL_JVM)


def streams_command() -> list[str]:
    """Return the command line of the Kafka Streams application for a pod; its metrics are the JMX agent's, too.

    Raises:
        PrerequisiteMissingError: Java, its compiler or Maven is missing or too old.
    """
    return _java(_STREAMS, "streams-pod", "StreamsPod", "$(POD_IP):$(METRICS_PORT)", _LARGER_JVM)


def _java(folder: Path, part: str, program: str, metrics: str, jvm: Sequence[str]) -> list[str]:
    """Return the command line of a program in Java, with the JMX agent at an address."""
    pom, checksums = folder / "pom.xml", folder / "checksums.sha256"
    sources = [folder / f"{program}.java", _JAVA / "PodSockets.java"]
    resources = [folder / "jmx.yaml", _JAVA / "simplelogger.properties"]

    def make(scratch: Path) -> None:
        prerequisites.require("java", "javac", "mvn")
        jars = scratch / "jars"
        jars.mkdir()
        maven.download_jars(part, "downloading its jars and the JMX agent", pom=pom, checksums=checksums, into=jars)
        javac = ["javac", "-Werror", "-XDignore.symbol.file", *_JDK_INTERNALS, "-cp", f"{jars}/*", "-d", str(scratch)]
        commands.run(part, "compiling it", [*javac, *sources])
        for file in resources:
            shutil.copy(file, scratch)

    home = cache.entry(part, cache.key(pom, checksums, *sources, *resources), make)
    agent = f"-javaagent:{home / 'jars' / _JMX_AGENT}={metrics}:{home / 'jmx.yaml'}"
    sockets = "-Djava.nio.channels.spi.SelectorProvider=PodSockets"
    return ["java", *jvm, *_JDK_INTERNALS, sockets, agent, "-cp", f"{home}:{home}/jars/*", program]
