"""`check --target-protocol consumer`: each case of the reference is run as it stands there."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from heartbeat_tuner.cli.check import command
from heartbeat_tuner.clients import catalogue, consumer_protocol
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.lint.rules import migration_rules
from tests.support import documents

CASES: Final[list[dict[str, Any]]] = yaml.safe_load(
    (documents.CHECKOUT / "docs" / "reference" / "migration-examples.yaml").read_text()
)
OURS: Final = {rule.id for rule in rule_catalogue.RULES if rule.code.startswith("HT6")}


def findings(folder: Path, case: dict[str, Any], *options: str) -> list[dict[str, Any]]:
    """Return what is found of a case."""
    flags = [f"--client={case['client']}", "--select=HT6", "--output=json", "--fail-on=never", *options]
    flags += [f"--{name}={value}" for name, value in case.get("with", {}).items()]
    if "lines" in case:
        file = folder / "consumer.properties"
        file.write_text("\n".join(case["lines"]) + "\n")
        flags.append(str(file))
    result = CliRunner().invoke(command, flags)
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["checked"][0]["findings"]
    return found


def name(case: dict[str, Any]) -> str:
    """Return a test's name."""
    return " ".join([case["client"], *case.get("lines", ()), *case.get("with", {}).values()])


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_migration_is_judged_as_documented(tmp_path: Path, case: dict[str, Any]) -> None:
    """And nothing is said of one that nobody asks about."""
    asked = findings(tmp_path, case, "--target-protocol=consumer")
    assert [finding["rule"] for finding in asked] == case["findings"]
    assert findings(tmp_path, case) == []


def test_there_are_cases_of_every_rule_and_every_library() -> None:
    """The issue asks for forty."""
    assert len(CASES) >= 40
    assert {rule for case in CASES for rule in case["findings"]} == OURS
    assert {case["client"] for case in CASES} == set(catalogue.CLIENTS)


def test_a_library_speaks_the_protocol_on_the_card_and_here() -> None:
    """A new library has to say which."""
    for client in catalogue.CLIENTS.values():
        if Protocol.CLASSIC not in client.protocols:
            continue
        assert (client.name in consumer_protocol.SUPPORT) is (Protocol.CONSUMER in client.protocols)
        assert (client.name in consumer_protocol.INSTEAD) is (Protocol.CONSUMER not in client.protocols)


@pytest.mark.parametrize(
    ("assignor", "counterpart"),
    [
        ("RangeAssignor", "range"),
        ("range", "range"),
        ("RoundRobinAssignor", "uniform"),
        ("StickyAssignor", "uniform"),
        ("CooperativeStickyAssignor", "uniform"),
        ("cooperative-sticky", "uniform"),
        ("ByTenantAssignor", ""),
    ],
)
def test_assignors_are_mapped_by_either_name(assignor: str, counterpart: str) -> None:
    """Java's class or librdkafka's word."""
    assert consumer_protocol.counterpart(assignor) == counterpart


@pytest.mark.parametrize(
    ("client", "options", "rule", "words"),
    [
        ("java", ["--session-timeout=90s"], migration_rules.SESSION_MOVES, "the session is 1m30s now"),
        ("aiokafka", [], migration_rules.NO_PROTOCOL, "move to confluent-kafka-python"),
        ("java", ["--session-timeout=10s"], migration_rules.DETECTION, "is removed after 45s, and after 10s today"),
        ("spring", [], migration_rules.PATH, "group.version has to be 1"),
        ("java", ["--max-detection-time=44s"], migration_rules.SESSION_MOVES, "no session below 45s"),
    ],
)
def test_findings_say_what_changes(tmp_path: Path, client: str, options: list[str], rule: Any, words: str) -> None:
    """With the numbers of the case."""
    found = findings(tmp_path, {"client": client}, "--target-protocol=consumer", *options)
    (message,) = [finding["message"] for finding in found if finding["rule"] == rule.id]
    assert words in message


@pytest.mark.parametrize("wanted", ["45s", "60s"])
def test_a_detection_time_that_brokers_allow_is_no_hindrance(tmp_path: Path, wanted: str) -> None:
    """The bound itself is allowed."""
    found = findings(tmp_path, {"client": "java"}, "--target-protocol=consumer", f"--max-detection-time={wanted}")
    assert migration_rules.SESSION_MOVES.id not in [finding["rule"] for finding in found]


def test_of_a_session_that_is_not_seen_no_detection_time_is_said(tmp_path: Path) -> None:
    """A placeholder is given, so that the client refuses to start all the same."""
    case = {"client": "java", "lines": ["session.timeout.ms=${SESSION}"]}
    found = [finding["rule"] for finding in findings(tmp_path, case, "--target-protocol=consumer")]
    assert migration_rules.DETECTION.id not in found
    assert migration_rules.THROWS.id in found
