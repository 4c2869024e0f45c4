"""What `check` says: as text for people, as JSON for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.cli.sources import Subject, Wanted
from heartbeat_tuner.cli.wording import sentence, wrapped
from heartbeat_tuner.decision.lint_rules import Severity
from heartbeat_tuner.decision.linting import NAMES, Finding, Inspected, Origin
from heartbeat_tuner.decision.remedies import Remedy
from heartbeat_tuner.decision.rules import Infeasible
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting

_INSTEAD: Final = {Origin.UNSEEN: "not seen", Origin.BROKER: "set at the broker"}


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What was found for one subject, and what would hold."""

    subject: Subject
    findings: Sequence[Finding]
    remedy: Remedy | Infeasible | None


def as_text(verdicts: Sequence[Verdict], wanted: Wanted) -> str:
    """Return the verdicts as lines, a summary last."""
    blocks = [_block(verdict, wanted) for verdict in verdicts]
    return "\n\n".join([*blocks, _summary(verdicts)]) + "\n"


def as_json(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as one JSON object."""
    counts = _counts(verdicts)
    document = {
        "checked": [_object(verdict) for verdict in verdicts],
        "counts": {severity.value: counts[severity] for severity in Severity},
    }
    return json.dumps(document, indent=2) + "\n"


def _block(verdict: Verdict, wanted: Wanted) -> str:
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


def _remedy(verdict: Verdict, remedy: Remedy | Infeasible, wanted: Wanted) -> list[str]:
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


def _summary(verdicts: Sequence[Verdict]) -> str:
    counts = _counts(verdicts)
    terms = [_counted(counts[Severity.ERROR], "error"), _counted(counts[Severity.WARNING], "warning")]
    return f"{', '.join(terms)}, {counts[Severity.INFO]} for information; {_counted(len(verdicts), 'consumer')} checked"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _counts(verdicts: Sequence[Verdict]) -> Counter[Severity]:
    return Counter(finding.rule.severity for verdict in verdicts for finding in verdict.findings)


def _object(verdict: Verdict) -> dict[str, Any]:
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
            {"rule": one.rule.id, "severity": one.rule.severity.value, "message": one.message}
            for one in verdict.findings
        ],
        "wouldHold": None if held is None else {"set": _milliseconds(held.changes), "remove": list(held.removals)},
        "infeasible": remedy.message if isinstance(remedy, Infeasible) else None,
    }


def _milliseconds(values: Mapping[Setting, timedelta]) -> dict[str, int]:
    return {setting.value: durations.to_ms(value) for setting, value in values.items()}
