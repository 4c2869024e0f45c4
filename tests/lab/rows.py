"""The laboratory's consumers: one for each library of the catalogue, how it is installed and started.

A program takes brokers, group, topic and client id from the environment, its settings from the variables of its card's
preset, and what to do with a message from HANDLER (`wait`, `block` for HANDLER_MS, `hang`). SIGTERM makes it close.
What a program needs is installed into the cache, at exactly the locked versions.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import cache, commands, kafka, maven, prerequisites
from sandbox.errors import PrerequisiteMissingError

_HERE: Final = Path(__file__).parent / "consumers"


@dataclass(frozen=True)
class Row:
    """One consumer.

    Attributes:
        client: its name in the catalogue.
        command: installs it and returns the command line.
        quick: whether it is installed in seconds: CI runs only those.
        broker: the version of Kafka that it is tried on.
    """

    client: str
    command: Callable[[], list[str]]
    quick: bool = True
    broker: str = kafka.VERSION


def _node(name: str, *, native: str | None = None) -> Callable[[], list[str]]:
    """Return what installs a consumer in JavaScript; `native` is the package of it that is built from its sources."""

    def command() -> list[str]:
        prerequisites.require("node", "npm", *(["make"] if native else []))
        if native:
            _require_compiler(native, "g++")
        node = Path(shutil.which("node") or "node")
        folder = _HERE / name
        files = [*sorted(folder.iterdir()), *sorted(_HERE.glob("*.cjs"))]
        program = next(file.name for file in files if file.stem == "consumer")

        def make(scratch: Path) -> None:
            for file in files:
                shutil.copy(file, scratch)
            install = ["npm", "ci", "--no-audit", "--no-fund", "--omit=optional"]
            if native is None:
                commands.run(name, "installing the locked packages", [*install, "--ignore-scripts"], cwd=scratch)
                return
            commands.run(name, "building the locked packages", ["env", *_native_build(node), *install], cwd=scratch)
            # Half a gigabyte of sources and objects of librdkafka, which is linked by now.
            shutil.rmtree(scratch / "node_modules" / native / "deps")

        home = cache.entry(f"lab-{name}", cache.key(*files, *([_version(node)] if native else [])), make)
        return [str(node), str(home / program)]

    return command


def _require_compiler(package: str, *programs: str) -> None:
    """Raise PrerequisiteMissingError unless what builds a package is on the PATH."""
    for program in programs:
        if shutil.which(program) is None:
            raise PrerequisiteMissingError(
                f"{package} is built from its sources, which needs {program}, and that is not on the PATH "
                f"(Debian: {program})."
            )


def _native_build(node: Path) -> list[str]:
    """Return the variables that make native packages build from what the registry and this machine have."""
    variables = [
        # Prebuilt binaries are neither locked nor in the registry.
        "npm_config_build_from_source=true",
        # Linked statically, librdkafka would download and build OpenSSL and others first. What is not here (curl, zstd,
        # SASL) is left out: the laboratory uses none of it.
        "CKJS_LINKING=dynamic",
    ]
    installed = node.resolve().parents[1]
    if (installed / "include" / "node" / "node.h").exists():
        variables.append(f"npm_config_nodedir={installed}")  # or the headers are downloaded
    return variables


def _version(node: Path) -> str:
    """Return Node's version: native packages are built for one."""
    asked = [str(node), "--version"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - what runs it


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
                "--no-deps",
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


def _go(program: str, module: str = "go") -> Callable[[], list[str]]:
    """Return what builds the consumers of a module in Go."""

    def command() -> list[str]:
        prerequisites.require("go")
        if module == "go-confluent":
            _require_compiler("confluent-kafka-go", "gcc")  # it links librdkafka, which its module brings
        folders = dict.fromkeys((_HERE / "go", _HERE / module))  # the others share its package lab
        files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())

        def make(scratch: Path) -> None:
            build = ["go", "build", "-trimpath", "-o", f"{scratch}{os.sep}", "./..."]
            commands.run(f"lab-{module}", "building the consumers in Go", build, cwd=_HERE / module)

        home = cache.entry(f"lab-{module}", cache.key(*files), make)
        return [str(home / program)]

    return command


def _rust() -> list[str]:
    """Build the consumer in Rust, with librdkafka from the sources in its crate; return its command line."""
    prerequisites.require("make")
    _require_compiler("rust-rdkafka", "cargo", "g++")
    folder = _HERE / "rust"
    files = sorted([*folder.glob("Cargo.*"), *folder.glob("src/*.rs")])

    def make(scratch: Path) -> None:
        target = scratch / "target"
        build = ["cargo", "build", "--release", "--locked", "--target-dir", str(target)]
        commands.run("lab-rust", "building the consumer in Rust", build, cwd=folder)
        shutil.copy(target / "release" / "rust-consumer", scratch)
        shutil.rmtree(target)  # what was compiled on the way there

    return [str(cache.entry("lab-rust", cache.key(*files), make) / "rust-consumer")]


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
    Row("streams-kip1071", _java("streams-and-connect", "StreamsApp", _LARGER_JVM), quick=False),
    Row("share", _java("java", "ShareMember"), quick=False),
    Row("connect", _java("streams-and-connect", "ConnectWorker", _LARGER_JVM), quick=False),
    Row("kafka-node", _node("kafka-node"), quick=False, broker=kafka.OLD_VERSION),
    Row("kafkajs", _node("kafkajs")),
    Row("platformatic", _node("platformatic")),
    Row("node-rdkafka", _node("node-rdkafka", native="node-rdkafka"), quick=False),
    Row(
        "confluent-kafka-javascript",
        _node("confluent-kafka-javascript", native="@confluentinc/kafka-javascript"),
        quick=False,
    ),
    Row("confluent-kafka-python", _python("confluent_consumer")),
    Row("confluent-kafka-python-kip848", _python("confluent_consumer"), quick=False),
    Row("kafka-python", _python("kafka_python_consumer")),
    Row("aiokafka", _python("aiokafka_consumer")),
    Row("sarama", _go("sarama"), quick=False),
    Row("franz-go", _go("franz"), quick=False),
    Row("kafka-go", _go("kafkago"), quick=False),
    Row("confluent-kafka-go", _go("lab-confluent", "go-confluent"), quick=False),
    Row("rust-rdkafka", _rust, quick=False),
)
