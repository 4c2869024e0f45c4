"""The command `heartbeat-tuner check` as tests run it, and what they have it read."""

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from heartbeat_tuner.cli import cli

PASSWORD = "correct-horse"  # noqa: S105 - what must not be printed


def run(*arguments: object, stdin: str | bytes | None = None, color: bool = False) -> Result:
    """Run the command line in this process; whatever is not an exit status is a bug."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin, color=color)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments: object, stdin: str | bytes | None = None) -> str:
    """Return the sentence with which the command line or a file is refused: status 2, nothing else said."""
    result = run("check", *arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert PASSWORD not in result.stderr
    return result.stderr.removeprefix("Error: ")


READING = {"unreadable-file", "unreadable-value", "nothing-recognised", "named-variable-missing", "implausible-value"}


def unread(*arguments: object, stdin: str | bytes | None = None) -> str:
    """Return the sentences on what could not be read: status 1, and no password among them."""
    result = run("check", "--output=json", *arguments, stdin=stdin)
    assert result.exit_code == 1, result.output
    assert PASSWORD not in result.output
    findings = [finding for subject in json.loads(result.stdout)["checked"] for finding in subject["findings"]]
    assert {finding["rule"] for finding in findings} & READING
    return " | ".join(finding["message"] for finding in findings if finding["rule"] in READING)


def checked(*arguments: object, stdin: str | None = None) -> list[dict[str, Any]]:
    """Return the checked subjects of the JSON output."""
    result = run("check", "--output=json", *arguments, stdin=stdin)
    assert result.exit_code in {0, 1}, result.stderr
    assert PASSWORD not in result.stdout
    found: list[dict[str, Any]] = json.loads(result.stdout)["checked"]
    return found


def rules(subject: dict[str, Any]) -> list[str]:
    """Return the ids of what was found."""
    return [finding["rule"] for finding in subject["findings"]]


def workload(
    *containers: dict[str, Any], kind: str = "Deployment", name: str = "orders", namespace: str | None = None
) -> dict[str, Any]:
    """Return a workload; without containers one that is called app and sets nothing."""
    pod = {"containers": list(containers) or [{"name": "app"}]}
    spec = pod if kind == "Pod" else {"template": {"spec": pod}}
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"kind": kind, "metadata": metadata, "spec": spec}


def container(name: str = "app", env: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a container with literal entries."""
    return {"name": name, "env": [{"name": key, "value": value} for key, value in (env or {}).items()], **more}


def config_map(name: str = "settings", namespace: str | None = None, **data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def manifest(folder: Path, *objects: Any, name: str = "deploy.yaml") -> Path:
    """Return a file with the objects."""
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return path
