"""What `check` says: as text for people, as JSON or YAML for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import click
import yaml

from heartbeat_tuner.cli.checking.settings_sources import CheckRequest, CheckSubject
from heartbeat_tuner.cli.wording import sentence, wrapped
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.lint.checked_settings import NAMES, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.lint.suggestions import Remedy

_INSTEAD: Final = {Origin.UNSEEN: "not seen", Origin.BROKER: "set at the broker", Origin.UNREADABLE: "not readable"}
_COLOURS: Final = {LintSeverity.ERROR: "red", LintSeverity.WARNING: "yellow", LintSeverity.INFO: "cyan"}


@dataclasses.dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What was found for one subject, and what would hold.

    Attributes:
        inspected: the settings as they were checked; None where there is no consumer.
        known: whether the library is known.
        findings: worst first.
        suppressed: how many findings somebody ruled out.
    """

    subject: CheckSubject
    inspected: Inspected | None
    known: bool
    findings: Sequence[LintFinding]
    remedy: Remedy | Infeasible | None
    suppressed: int = 0


def as_text(verdicts: Sequence[CheckVerdict], wanted: CheckRequest, more: Sequence[str]) -> str:
    """Return the verdicts as lines, a summary last.

    Args:
        verdicts: one for each subject.
        wanted: what was asked for.
        more: options that were not given, and would have shown more.
    """
    blocks = [_block(verdict, wanted) for verdict in verdicts]
    return "\n\n".join([*blocks, _summary(verdicts, more)]) + "\n"


def as_json(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the verdicts as one JSON object."""
    return json.dumps(document(verdicts), indent=2) + "\n"


def as_yaml(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the same as YAML."""
    return yaml.safe_dump(json.loads(as_json(verdicts)), sort_keys=False)


def document(verdicts: Sequence[CheckVerdict]) -> dict[str, Any]:
    """Return the verdicts as programs get them."""
    counts = _counts(verdicts)
    return {
        "checked": [_object(verdict) for verdict in verdicts],
        "counts": {severity.value: counts[severity] for severity in LintSeverity},
        "suppressed": sum(verdict.suppressed for verdict in verdicts),
    }


def said(finding: LintFinding, verdict: CheckVerdict) -> str:
    """Return a finding as a sentence."""
    if verdict.inspected is not None:
        return sentence(finding.message, verdict.inspected.client)
    text = finding.message
    return f"{text}{'' if text.endswith('.') else '.'}"


def _block(verdict: CheckVerdict, wanted: CheckRequest) -> str:
    lines = [wrapped(_heading(verdict), "", "  ")]
    for finding in verdict.findings:
        severity = click.style(finding.rule.severity.value, fg=_COLOURS[finding.rule.severity], bold=True)
        at = f" (line {finding.line})" if finding.line else ""
        lines += ["", f"{severity}: {finding.rule.code} {finding.rule.id}{at}", wrapped(said(finding, verdict), "  ")]
    if isinstance(verdict.remedy, Remedy) and verdict.inspected is not None:
        lines += ["", *_remedy(verdict, verdict.remedy, verdict.inspected, wanted)]
    return "\n".join(lines)


def _heading(verdict: CheckVerdict) -> str:
    inspected, title = verdict.inspected, verdict.subject.title
    if inspected is None:
        return title
    values = ", ".join(f"{NAMES[setting]} {_value(inspected, setting)}" for setting in inspected.client.settings)
    name = inspected.client.name
    if not verdict.known:
        name = "library not known"
        values = ", ".join(
            f"{NAMES[setting]} {durations.show(value)}" for setting, value in verdict.subject.consumer.given.items()
        )
    return ": ".join(part for part in (title, name, values) if part)


def _remedy(verdict: CheckVerdict, remedy: Remedy, inspected: Inspected, wanted: CheckRequest) -> list[str]:
    terms = [f"{NAMES[setting]} {durations.show(value)}" for setting, value in remedy.changes.items()]
    terms += [f"no {NAMES[setting]}" for setting in remedy.removals]
    lines = [wrapped(f"What would hold: {', '.join(terms)}.", "", "  ")]
    if verdict.subject.title:
        render = inspected.client.format.render
        places = verdict.subject.consumer.places
        names = dict(inspected.client.env_preset) | dict(wanted.env_names)
        names |= {setting: entry.key for setting, entry in places.items()}
        lines += [
            f"  {names[setting]}={render(value)}" for setting, value in remedy.changes.items() if setting in names
        ]
    return lines


def _value(inspected: Inspected, setting: Setting) -> str:
    origin = inspected.origins[setting]
    if origin in _INSTEAD:
        return _INSTEAD[origin]
    return f"{durations.show(inspected.values[setting])}{' (default)' if origin is Origin.DEFAULT else ''}"


def _summary(verdicts: Sequence[CheckVerdict], more: Sequence[str]) -> str:
    counts = _counts(verdicts)
    terms = [_counted(counts[LintSeverity.ERROR], "error"), _counted(counts[LintSeverity.WARNING], "warning")]
    notes = f"{counts[LintSeverity.INFO]} for information"
    consumers = sum(verdict.inspected is not None for verdict in verdicts)
    summary = f"{', '.join(terms)}, {notes}; {_counted(consumers, 'consumer')} checked"
    suppressed = sum(verdict.suppressed for verdict in verdicts)
    summary += f"; {_counted(suppressed, 'finding')} ignored" if suppressed else ""
    hint = wrapped(f"These would show more: {', '.join(more)}.", "", "  ")
    return f"{summary}\n{hint}" if more else summary


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _counts(verdicts: Sequence[CheckVerdict]) -> Counter[LintSeverity]:
    return Counter(finding.rule.severity for verdict in verdicts for finding in verdict.findings)


def _object(verdict: CheckVerdict) -> dict[str, Any]:
    remedy = verdict.remedy
    held = remedy if isinstance(remedy, Remedy) else None
    return {
        "subject": verdict.subject.title or None,
        "file": verdict.subject.consumer.file or None,
        "client": verdict.inspected.client.name if verdict.inspected is not None and verdict.known else None,
        "settings": _settings(verdict),
        "findings": [
            {
                "rule": finding.rule.id,
                "code": finding.rule.code,
                "severity": finding.rule.severity.value,
                "message": finding.message,
                "line": finding.line or None,
            }
            for finding in verdict.findings
        ],
        "wouldHold": None if held is None else {"set": _milliseconds(held.changes), "remove": list(held.removals)},
        "infeasible": remedy.message if isinstance(remedy, Infeasible) else None,
    }


def _settings(verdict: CheckVerdict) -> dict[str, Any]:
    inspected = verdict.inspected
    if inspected is None:
        return {}
    if not verdict.known:
        return {
            setting.value: {"milliseconds": durations.to_ms(value), "origin": Origin.GIVEN.value}
            for setting, value in verdict.subject.consumer.given.items()
        }
    return {
        setting.value: {
            "milliseconds": None if origin in _INSTEAD else durations.to_ms(inspected.values[setting]),
            "origin": origin.value,
        }
        for setting, origin in inspected.origins.items()
    }


def _milliseconds(values: Mapping[Setting, timedelta]) -> dict[str, int]:
    return {setting.value: durations.to_ms(value) for setting, value in values.items()}
