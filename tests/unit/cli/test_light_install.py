"""What `pip install heartbeat-tuner` alone can do, and what commands say whose packages are missing.

The commands run in processes of their own that can import only the packages which the core's dependencies bring.
"""

import dataclasses
import functools
import importlib.metadata
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from heartbeat_tuner import cli
from tests.support import scripted_server
from tests.support.scripted_server import ScriptedServer
from tests.unit.cli.group.test_group_options import GROUP, fresh, written

CHECKOUT: Final = Path(__file__).parents[3]

PROJECT: Final = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

PROGRAM: Final = textwrap.dedent("""
    import contextlib, io, json, sys, traceback
    from importlib.machinery import PathFinder

    hidden, commands = json.loads(sys.stdin.read())

    class Installed(PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            return None if name in hidden else super().find_spec(name, path, target)

    sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
    sys.argv[0] = "heartbeat-tuner"
    from heartbeat_tuner.cli import cli

    def done(command):
        out, err, status = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli(command)
            except SystemExit as ended:
                status = ended.code
            except Exception:
                status = 1
                traceback.print_exc()
        return [status, out.getvalue(), err.getvalue()]

    print(json.dumps([done(command) for command in commands]))
""")


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


def brought_by(requirements: list[str]) -> set[str]:
    """Return the names of the installed distributions that these requirements bring, in lower case."""
    brought: set[str] = set()
    left = [Requirement(text) for text in requirements]
    while left:
        requirement = left.pop()
        name = normal(requirement.name)
        if name in brought or not (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            continue
        brought.add(name)
        left += [Requirement(text) for text in importlib.metadata.requires(name) or ()]
    return brought


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def absent() -> frozenset[str]:
    """Return the modules of this environment that the core's dependencies do not bring."""
    core = brought_by(PROJECT["dependencies"]) | {"heartbeat-tuner"}
    owners = importlib.metadata.packages_distributions()
    return frozenset(module for module, names in owners.items() if not {normal(name) for name in names} & core)


def run(commands: Sequence[Sequence[str]], without: Iterable[str] | None = None) -> list[Ended]:
    """Run commands in one process that cannot import some modules: by default those that the core does not bring."""
    given = json.dumps([sorted(absent() if without is None else without), commands])
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", PROGRAM], input=given, capture_output=True, text=True, check=True
    )
    return [Ended(*ended) for ended in json.loads(done.stdout)]


@pytest.fixture
def empty_prometheus() -> Iterator[ScriptedServer]:
    """A Prometheus without any consumer."""
    with scripted_server.serving() as server:
        server.script = scripted_server.nothing
        yield server


def test_the_core_brings_no_client_of_the_operator() -> None:
    """The process below would be none without the core otherwise."""
    hidden = set(absent())
    assert {"aiohttp", "confluent_kafka", "cryptography", "kopf", "kubernetes", "prometheus_client"} <= hidden
    assert not {"click", "numpy", "prometheus_api_client", "pydantic", "requests", "yaml"} & hidden


def test_each_command_of_the_core_answers(empty_prometheus: ScriptedServer, tmp_path: Path) -> None:
    """It imports nothing else, when it starts or later; from no source, from models, or from a Prometheus."""
    models = ("--models", str(written(tmp_path, [fresh()])))
    asking = ("--prometheus", empty_prometheus.url)
    commands = [
        ("check", "--client=kafkajs"),
        ("clients", "java"),
        ("crds",),
        ("recommend", *GROUP, *models),
        ("explain", *GROUP, *models),
        ("simulate", *GROUP, *models, "--days", "1"),
        ("report", *models, "-o", "-"),
        ("doctor", *asking),
        ("recommend", *GROUP, *asking),
    ]
    *alone, doctor, recommend = run(commands)
    for command, ended in zip(commands, alone, strict=False):
        assert (ended.status, ended.stderr) == (0, ""), command
        assert ended.stdout
    assert empty_prometheus.requests
    for ended in (doctor, recommend):
        assert ended.status in {1, 2}
        assert "Traceback" not in ended.stderr


def test_a_command_without_its_extra_says_what_installs_it() -> None:
    """One sentence and status 2, with whatever options; the list of commands says it, too."""
    source = ("--prometheus", "http://127.0.0.1:1", "--history", "h", "--models", "m")
    extras = {"run": "operator", "webhook": "operator", "fit": "fit"}
    *refused, listed = run([("run", "--config", "c.yaml"), ("webhook", "--help"), ("fit", *source), ("--help",)])
    for (command, extra), ended in zip(extras.items(), refused, strict=True):
        assert (ended.status, ended.stdout) == (2, "")
        needed = (
            rf"Error: heartbeat-tuner {command} needs pip install 'heartbeat-tuner\[{extra}\]': \w+ is not installed\n"
        )
        assert re.fullmatch(needed, ended.stderr), ended.stderr
    lines = {line.split()[0]: line for line in listed.stdout.splitlines() if line.startswith("  ")}
    assert set(cli.COMMANDS) <= set(lines)
    assert "Needs pip install 'heartbeat-tuner[operator]'." in lines["run"]


def test_a_module_of_our_own_that_is_missing_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip in the product must not send people to pip."""
    monkeypatch.setitem(sys.modules, "heartbeat_tuner.webhook", None)
    monkeypatch.delitem(sys.modules, "heartbeat_tuner.cli.webhook", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"heartbeat_tuner\.webhook"):
        CliRunner().invoke(cli.cli, ["webhook", "--config=c.yaml"], catch_exceptions=False)
