"""The laboratory's consumers: one for each library of the catalogue, how it is installed and started.

A program takes brokers, group, topic and client id from the environment, its settings from the variables of its card's
preset, and what to do with a message from HANDLER (`wait`, `block` for HANDLER_MS, `hang`). SIGTERM makes it close.
What a program needs is installed into the cache, at exactly the locked versions.
"""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import cache, commands, maven, prerequisites

_HERE: Final = Path(__file__).parent / "consumers"


@dataclass(frozen=True)
class Row:
    """One consumer.

    Attributes:
        client: its name in the catalogue.
        command: installs it and returns the command line.
        broker: the version of Kafka that it works with; None for the sandbox's own.
        quick: whether it is installed in seconds: CI runs only those.
    """

    client: str
    command: Callable[[], list[str]]
    quick: bool = True
    broker: str | None = None


def _node(name: str, *, native: bool = False) -> Callable[[], list[str]]:
    """Return what installs a consumer in JavaScript; native ones build a library."""

    def command() -> list[str]:
        prerequisites.require("node", "npm")
        folder = _HERE / name
        files = [*sorted(folder.iterdir()), _HERE / "settings.cjs"]
        program = next(file.name for file in files if file.stem == "consumer")

        def make(scratch: Path) -> None:
            for file in files:
                shutil.copy(file, scratch)
            options = ["--no-audit", "--no-fund", "--omit=optional", *([] if native else ["--ignore-scripts"])]
            commands.run(name, "installing the locked packages", ["npm", "ci", *options], cwd=scratch)

        home = cache.entry(f"lab-{name}", cache.key(*files), make)
        return [shutil.which("node") or "node", str(home / program)]

    return command


def _python(program: str) -> Callable[[], list[str]]:
    """Return what installs the consumers in Python."""

    def command() -> list[str]:
        lock = _HERE / "python" / "requirements.lock"

        def make(scratch: Path) -> None:
            commands.run("lab-python", "making a virtual environment", [sys.executable, "-m", "venv", scratch])
            install = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--require-hashes",
                "-r",
                str(lock),
            ]
            python = str(scratch / "bin" / "python")
            commands.run("lab-python", "installing the locked packages", [python, *install])

        # A virtual environment is found by the place of its interpreter, wherever it was made.
        home = cache.entry("lab-python", cache.key(lock, sys.version), make)
        return [str(home / "bin" / "python"), str(_HERE / "python" / f"{program}.py")]

    return command


def _go(program: str) -> Callable[[], list[str]]:
    """Return what builds the consumers in Go."""

    def command() -> list[str]:
        prerequisites.require("go")
        folder = _HERE / "go"
        files = sorted(file for file in folder.rglob("*") if file.is_file())

        def make(scratch: Path) -> None:
            build = ["go", "build", "-trimpath", "-o", f"{scratch}{os.sep}", "./..."]
            commands.run("lab-go", "building the consumers in Go", build, cwd=folder)

        home = cache.entry("lab-go", cache.key(*files), make)
        return [str(home / program)]

    return command


_SMALL_JVM: Final = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_LARGER_JVM: Final = ("-Xmx192m", *_SMALL_JVM[1:])


def _java(family: str, program: str, jvm: Sequence[str] = _SMALL_JVM) -> Callable[[], list[str]]:
    """Return what compiles a family of consumers in Java, and one of them."""

    def command() -> list[str]:
        prerequisites.require("java", "javac", "mvn")
        folder = _HERE / family
        sources = [*sorted(folder.glob("*.java")), _HERE / "Lab.java"]
        pom, checksums = folder / "pom.xml", folder / "checksums.sha256"

        def make(scratch: Path) -> None:
            jars = scratch / "jars"
            jars.mkdir()
            maven.download_jars(f"lab-{family}", "downloading its jars", pom=pom, checksums=checksums, into=jars)
            javac = ["javac", "-Werror", "-proc:none", "-cp", f"{jars}/*", "-d", str(scratch), *map(str, sources)]
            commands.run(f"lab-{family}", "compiling it", javac)

        home = cache.entry(f"lab-{family}", cache.key(pom, checksums, *sources), make)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return ["java", *jvm, quiet, "-cp", f"{home}:{home}/jars/*", program]

    return command


ROWS: Final = (
    Row("java", _java("java", "PlainConsumer")),
    Row("java-kip848", _java("java", "PlainConsumer"), quick=False),
    Row("spring", _java("java", "SpringConsumer"), quick=False),
    Row("streams", _java("streams-and-connect", "StreamsApp", _LARGER_JVM), quick=False),
    Row("connect", _java("streams-and-connect", "ConnectWorker", _LARGER_JVM), quick=False),
    Row("kafka-node", _node("kafka-node"), quick=False, broker="3.9.2"),
    Row("kafkajs", _node("kafkajs")),
    Row("platformatic", _node("platformatic")),
    Row("node-rdkafka", _node("node-rdkafka", native=True), quick=False),
    Row("confluent-kafka-javascript", _node("confluent-kafka-javascript", native=True), quick=False),
    Row("confluent-kafka-python", _python("confluent_consumer")),
    Row("kafka-python", _python("kafka_python_consumer")),
    Row("aiokafka", _python("aiokafka_consumer")),
    Row("sarama", _go("sarama"), quick=False),
    Row("franz-go", _go("franz"), quick=False),
    Row("kafka-go", _go("kafkago"), quick=False),
)
