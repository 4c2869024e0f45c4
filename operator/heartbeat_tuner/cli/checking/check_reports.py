"""What `check` says to other programs: SARIF, GitHub's workflow commands, JUnit."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any, Final

from heartbeat_tuner import __version__
from heartbeat_tuner.cli.checking.check_output import CheckVerdict, said
from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.lint.checked_settings import LintFinding
from heartbeat_tuner.lint.rule import LintSeverity

_SARIF_LEVELS: Final = {LintSeverity.ERROR: "error", LintSeverity.WARNING: "warning", LintSeverity.INFO: "note"}
_GITHUB_LEVELS: Final = {LintSeverity.ERROR: "error", LintSeverity.WARNING: "warning", LintSeverity.INFO: "notice"}


def as_sarif(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the findings as SARIF 2.1.0."""
    rules = [
        {
            "id": rule.code,
            "name": rule.id,
            "shortDescription": {"text": rule.when},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.fix},
            "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
        }
        for rule in rule_catalogue.RULES
    ]
    driver = {"name": "heartbeat-tuner", "version": __version__, "rules": rules}
    results = [_result(verdict, finding) for verdict, finding in _all(verdicts)]
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=2) + "\n"


def _result(verdict: CheckVerdict, finding: LintFinding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule.code,
        "ruleIndex": rule_catalogue.RULES.index(finding.rule),
        "level": _SARIF_LEVELS[finding.rule.severity],
        "message": {"text": f"{_where(verdict)}{said(finding, verdict)}"},
    }
    file = verdict.subject.consumer.file
    if file:
        region = {"region": {"startLine": finding.line}} if finding.line else {}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": file}, **region}}]
    return result


def as_github(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the findings as commands that GitHub's runner shows beside the lines."""
    lines = []
    for verdict, finding in _all(verdicts):
        place = {"file": verdict.subject.consumer.file, "line": finding.line or "", "title": _name(finding)}
        given = ",".join(f"{key}={_property(str(value))}" for key, value in place.items() if value)
        text = _data(f"{_where(verdict)}{said(finding, verdict)}")
        lines.append(f"::{_GITHUB_LEVELS[finding.rule.severity]} {given}::{text}")
    return "".join(f"{line}\n" for line in lines)


def as_junit(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the verdicts as a JUnit report: a test for each subject, a failure for each error and warning."""
    suite = ET.Element("testsuite", name="heartbeat-tuner check", tests=str(len(verdicts)))
    failures = 0
    for verdict in verdicts:
        name = verdict.subject.title or "flags"
        case = ET.SubElement(suite, "testcase", classname=verdict.subject.consumer.file or "flags", name=name)
        for finding in verdict.findings:
            if finding.rule.severity is not LintSeverity.INFO:
                failures += 1
                failure = ET.SubElement(case, "failure", type=finding.rule.severity.value, message=_name(finding))
                failure.text = said(finding, verdict)
    suite.set("failures", str(failures))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _all(verdicts: Sequence[CheckVerdict]) -> Iterator[tuple[CheckVerdict, LintFinding]]:
    for verdict in verdicts:
        for finding in verdict.findings:
            yield verdict, finding


def _where(verdict: CheckVerdict) -> str:
    title = verdict.subject.title
    return f"{title}: " if title and title != verdict.subject.consumer.file else ""


def _name(finding: LintFinding) -> str:
    return f"{finding.rule.code} {finding.rule.id}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
