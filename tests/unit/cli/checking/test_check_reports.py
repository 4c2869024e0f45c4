"""What `check` says to other programs."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from heartbeat_tuner.lint import rule_catalogue
from tests.support.checks import run

TEXT = "KAFKA_BROKERS=b\nKAFKA_SESSION_TIMEOUT_MS=10000\nKAFKA_HEARTBEAT_INTERVAL_MS=10000\n"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an env file with one error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.env").write_text(TEXT)
    return "a,b.env"


def test_sarif_names_rule_file_and_line(broken: str) -> None:
    """Code scanning shows a finding where it stands."""
    (scan,) = json.loads(run("check", broken, "--client=java", "-osarif").stdout)["runs"]
    assert len(scan["tool"]["driver"]["rules"]) == len(rule_catalogue.RULES)
    (result,) = scan["results"]
    assert (result["ruleId"], result["level"]) == ("HT101", "error")
    assert scan["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "HT101"
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": broken}, "region": {"startLine": 2}}


def test_sarif_of_flags_has_no_place() -> None:
    """There is no file that a finding could stand in."""
    (scan,) = json.loads(run("check", "--client=java", "-osarif").stdout)["runs"]
    assert [("locations" in result, result["level"]) for result in scan["results"]] == [(False, "note")]


def test_github_gets_commands_that_nothing_breaks_out_of(broken: str) -> None:
    """A comma or a line's end in a name ends no property."""
    text = run("check", broken, "--client=java", "-ogithub").stdout
    assert text.startswith("::error file=a%2Cb.env,line=2,title=HT101 refused-by-client::The Java consumer refuses")
    assert text.count("\n") == 1


def test_junit_has_a_failure_for_each_error_and_warning(broken: str) -> None:
    """Notes fail no test."""
    suite = ET.fromstring(run("check", broken, "--client=java", "-ojunit").stdout)  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert [failure.get("message") for failure in suite.iter("failure")] == ["HT101 refused-by-client"]
    quiet = ET.fromstring(run("check", "--client=java", "-ojunit").stdout)  # noqa: S314 - our own
    assert [case.get("name") for case in quiet.iter("testcase")] == ["flags"]


def test_yaml_says_what_json_says(broken: str) -> None:
    """Two notations of one document."""
    arguments = ("check", broken, "--client=java")
    assert yaml.safe_load(run(*arguments, "-oyaml").stdout) == json.loads(run(*arguments, "-ojson").stdout)


def test_a_place_of_a_file_is_named(tmp_path: Path) -> None:
    """A manifest has several containers."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "app", "env": [{"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "1"}]}]},
    }
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(manifest))
    assert (
        "::Pod p, container app: The session timeout reads as 1ms"
        in run("check", path, "--client=java", "-ogithub").stdout
    )


def test_colour_is_for_terminals_alone(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets none, nor does anybody who asks for none."""
    assert "\x1b[" not in run("check", broken, "--client=java").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("check", broken, "--client=java", color=True).stdout
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[31m\x1b[1merror\x1b[0m: HT101" in run("check", broken, "--client=java", color=True).stdout
