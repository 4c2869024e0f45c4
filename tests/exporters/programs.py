"""Where the programs of `other.py` come from: each is installed into the cache, at exactly the locked versions."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from sandbox import cache, commands, consumers, prerequisites
from tests.lab import rows

_HERE: Final = Path(__file__).parent
_CHECKOUT: Final = _HERE.parents[1]

KLAG_EXPORTER_VERSION: Final = "0.1.29"
_QUICKER_BUILD: Final = {
    # As released it is optimised as one unit, which takes long; it does the same without.
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
}


def kafkajs(*, of_the_sandbox: bool = False) -> list[str]:
    """Return the command line of a KafkaJS consumer; the packages are the sandbox's in both cases.

    Args:
        of_the_sandbox: the sandbox's own program, whose handler a module put before it makes do what a story asks.
    """
    node, program = consumers.kafkajs_command()
    if of_the_sandbox:
        return _node(node, Path(program), Path(program).parent, before=_HERE / "node" / "story-messages.cjs")
    return _node(node, _HERE / "node" / "kafkajs.cjs", Path(program).parent)


def node_rdkafka() -> list[str]:
    """Return the command line of the node-rdkafka consumer: the laboratory's build of it, and the exporter."""
    (lab,) = [row for row in rows.ROWS if row.client == "node-rdkafka"]
    node, program = lab.command()
    files = [_HERE / "node" / name for name in (".npmrc", "package.json", "package-lock.json")]

    def make(scratch: Path) -> None:
        for file in files:
            shutil.copy(file, scratch)
        install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        commands.run("node-rdkafka-prometheus", "installing the locked packages", install, cwd=scratch)

    exporter = cache.entry("node-rdkafka-prometheus", cache.key(*files), make)
    return _node(node, _HERE / "node" / "node-rdkafka.cjs", Path(program).parent, exporter)


def _node(node: str, program: Path, *homes: Path, before: Path | None = None) -> list[str]:
    """Return the command line of a program in JavaScript that finds its packages in these folders."""
    found = os.pathsep.join(str(home / "node_modules") for home in homes)
    preload = [] if before is None else ["--require", str(before)]
    return ["env", f"NODE_PATH={found}", node, *preload, str(program)]


def statistics_consumer() -> list[str]:
    """Return the command line of the confluent-kafka consumer, which runs on what the checkout itself needs."""
    return _python("statistics_consumer")


def statistics_managed() -> list[str]:
    """Return the command line of the confluent-kafka consumer with prometheus-kafka-metrics."""
    lock = _HERE / "python" / "requirements.lock"

    def make(scratch: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        locked = ["--require-hashes", "--no-deps", "--target", str(scratch), "-r", str(lock)]
        commands.run("prometheus-kafka-metrics", "installing the locked package", [*pip, *locked])

    home = cache.entry("prometheus-kafka-metrics", cache.key(lock, sys.version), make)
    return _python("statistics_managed", home)


def group_stand_in() -> list[str]:
    """Return the command line of the stand-in for exporters beside a group."""
    return _python("group_names")


def _python(module: str, *homes: Path) -> list[str]:
    """Return the command line of one of our programs in Python, which finds packages in these folders, too."""
    found = os.pathsep.join(map(str, (_CHECKOUT, *homes)))
    return ["env", f"PYTHONPATH={found}", sys.executable, "-m", f"tests.exporters.python.{module}"]


def go(program: str) -> list[str]:
    """Return the command line of a program in Go."""
    prerequisites.require("go")
    folder = _HERE / "go"
    files = sorted(file for file in folder.rglob("*") if file.is_file())

    def make(scratch: Path) -> None:
        build = ["go", "build", "-trimpath", "-o", f"{scratch}{os.sep}", "./..."]
        commands.run("exporters-go", "building the exporters in Go", build, cwd=folder)

    return [str(cache.entry("exporters-go", cache.key(*files), make) / program)]


def klag_exporter(configuration: Path) -> list[str]:
    """Return the command line of klag-exporter, built from its crate and the versions that the crate locks.

    It needs cargo, cmake, a C++ compiler, and Debian's libssl-dev, libsasl2-dev and libcurl4-openssl-dev.
    """
    version = f"klag-exporter@{KLAG_EXPORTER_VERSION}"

    def make(scratch: Path) -> None:
        variables = [f"{name}={value}" for name, value in _QUICKER_BUILD.items()]
        build = ["cargo", "install", "--quiet", "--locked", "--no-track", "--root", str(scratch), version]
        # In a folder of its own, which goes: the objects take 2 GB.
        target = f"CARGO_TARGET_DIR={scratch / 'objects'}"
        commands.run("klag-exporter", f"building {version}", ["env", target, *variables, *build])
        shutil.rmtree(scratch / "objects")

    home = cache.entry("klag-exporter", cache.key(version, *_QUICKER_BUILD.values()), make)
    return [str(home / "bin" / "klag-exporter"), "--config", str(configuration)]
