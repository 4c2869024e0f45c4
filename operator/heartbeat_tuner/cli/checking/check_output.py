"""What `check` says: as text for people, as JSON for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.cli.checking.settings_sources import CheckRequest, CheckSubject
from heartbeat_tuner.cli.wording import sentence, wrapped
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.lint.checked_settings import NAMES, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule_catalogue import LintSeverity
from heartbeat_tuner.lint.suggestions import Remedy

_INSTEAD: Final = {Origin.UNSEEN: "not seen", Origin.BROKER: "set at the broker"}


@dataclasses.dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What was found for one subject, and what would hold."""

    subject: CheckSubject
    findings: Sequence[LintFinding]
    remedy: Remedy | Infeasible | None


def as_text(verdicts: Sequence[CheckVerdict], wanted: CheckRequest) -> str:
    """Return the verdicts as lines, a summary last."""
    blocks = [_block(verdict, wanted) for verdict in verdicts]
    return "\n\n".join([*blocks, _summary(verdicts)]) + "\n"


def as_json(verdicts: Sequence[CheckVerdict]) -> str:
    """Return the verdicts as one JSON object."""
    counts = _counts(verdicts)
    document = {
        "checked": [_object(verdict) for verdict in verdicts],
        "counts": {severity.value: counts[severity] for severity in LintSeverity},
    }
    return json.dumps(document, indent=2) + "\n"


def _block(verdict: CheckVerdict, wanted: CheckRequest) -> str:
    inspected = verdict.subject.inspected
    title = f"{verdict.subject.title}: " if verdict.subject.title else ""
    values = ", ".join(f"{NAMES[setting]} {_value(inspected, setting)}" for setting in inspected.client.settings)
    lines = [wrapped(f"{title}{inspected.client.name}: {values}", "", "  ")]
    for finding in verdict.findings:
        message = sentence(finding.message, inspected.client)
        lines += ["", f"{finding.rule.severity}: {finding.rule.id}", wrapped(message, "  ")]
    if verdict.remedy is not None:
        lines += ["", *_remedy(verdict, verdict.remedy, wanted)]
    return "\n".join(lines)


def _remedy(verdict: CheckVerdict, remedy: Remedy | Infeasible, wanted: CheckRequest) -> list[str]:
    if isinstance(remedy, Infeasible):
        return [wrapped(sentence(remedy.message, wanted.client), "", "  ")]
    terms = [f"{NAMES[setting]} {durations.show(value)}" for setting, value in remedy.changes.items()]
    terms += [f"no {NAMES[setting]}" for setting in remedy.removals]
    lines = [wrapped(f"What would hold: {', '.join(terms)}.", "", "  ")]
    if verdict.subject.title:
        render = wanted.client.format.render
        lines += [f"  {wanted.env_names[setting]}={render(value)}" for setting, value in remedy.changes.items()]
    return lines


def _value(inspected: Inspected, setting: Setting) -> str:
    origin = inspected.origins[setting]
    if origin in _INSTEAD:
        return _INSTEAD[origin]
    return f"{durations.show(inspected.values[setting])}{' (default)' if origin is Origin.DEFAULT else ''}"


def _summary(verdicts: Sequence[CheckVerdict]) -> str:
    counts = _counts(verdicts)
    terms = [_counted(counts[LintSeverity.ERROR], "error"), _counted(counts[LintSeverity.WARNING], "warning")]
    notes = f"{counts[LintSeverity.INFO]} for information"
    return f"{', '.join(terms)}, {notes}; {_counted(len(verdicts), 'consumer')} checked"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _counts(verdicts: Sequence[CheckVerdict]) -> Counter[LintSeverity]:
    return Counter(finding.rule.severity for verdict in verdicts for finding in verdict.findings)


def _object(verdict: CheckVerdict) -> dict[str, Any]:
    inspected, remedy = verdict.subject.inspected, verdict.remedy
    held = remedy if isinstance(remedy, Remedy) else None
    return {
        "subject": verdict.subject.title or None,
        "client": inspected.client.name,
        "settings": {
            setting.value: {
                "milliseconds": None if origin in _INSTEAD else durations.to_ms(inspected.values[setting]),
                "origin": origin.value,
            }
            for setting, origin in inspected.origins.items()
        },
        "findings": [
            {"rule": finding.rule.id, "severity": finding.rule.severity.value, "message": finding.message}
            for finding in verdict.findings
        ],
        "wouldHold": None if held is None else {"set": _milliseconds(held.changes), "remove": list(held.removals)},
        "infeasible": remedy.message if isinstance(remedy, Infeasible) else None,
    }


def _milliseconds(values: Mapping[Setting, timedelta]) -> dict[str, int]:
    return {setting.value: durations.to_ms(value) for setting, value in values.items()}
