"""`heartbeat-tuner doctor`: what a Prometheus has of consumer groups, what is missing, and how to get it.

Four queries, whatever its size; `doctor.diagnosis` says what the answers mean. What labels and names say is somebody
else's text: it is shown escaped and cut.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import click
import yaml

from heartbeat_tuner.cli.checking.cards import LETTERS
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.doctor import diagnosis, discovery
from heartbeat_tuner.doctor.findings import DoctorFinding, DoctorSeverity
from heartbeat_tuner.doctor.fixes import Fix
from heartbeat_tuner.doctor.inventory import Diagnosis, FoundGroup
from heartbeat_tuner.doctor.metric_coverage import Covered
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics.conventions import known_conventions

SUBJECTS: Final = 5
"""How many groups one finding names."""

NOTABLE_REJOINS: Final = 1.0
"""Per member and `discovery.RECENT`: in a quiet group there are none, in a rollout there are some."""

NAMED: Final = 2
"""How many missing quantities a group's line names."""

SHOWN_MESSAGE: Final = 2_000

REASONS: Final = 1
"""How many reasons a line gives: the commonest."""

SHOWN_REASONS: Final = 300

_OF_JOBS: Final = frozenset({"group-not-told", "labels-unknown", "namespace-not-told", "names-unknown", "pod-not-told"})

FORMATS: Final = ("text", "json", "yaml")


@click.command("doctor", short_help="List the consumer groups in a Prometheus, and missing metrics.")
@prometheus_options.options
@click.option("--group", help="Show only this consumer group.")
@click.option("--output", "-o", type=click.Choice(FORMATS), default="text", show_default=True)
def command(*, group: str | None, output: str, **given: Any) -> None:
    """List the consumer groups in a Prometheus, their exporters, and the metrics that are missing.

    Each finding comes with a fix to paste.

    Exit status: 0 if all groups can be measured in full, 1 if something is missing, 2 if the query failed.
    """
    asked = prometheus_options.asked(**given)
    inventory = prometheus_options.run(asked, lambda source: prometheus_options.inventory(source, asked, around=True))
    report = diagnosis.diagnose(inventory, known_conventions.OF_GROUPS)
    if group is not None:
        report = report.only(group)
    click.echo(as_text(report, asked) if output == "text" else as_document(document(report), output), nl=False)
    if not report.is_whole:
        raise click.exceptions.Exit(1)


def as_text(report: Diagnosis, asked: PrometheusTarget) -> str:
    """Return a table of the groups, what is read of them, and the findings, the worst first."""
    blocks = []
    if risky := [group for group in report.groups if (group.rejoins or 0.0) >= NOTABLE_REJOINS]:
        blocks.append(wrapped(_risk(risky), "", "  "))
    if report.groups:
        blocks += ["\n".join(_groups(report.groups)), "\n".join(_uses(report.groups))]
    if covered := [group.covered for group in report.groups if group.covered is not None]:
        blocks.append("\n".join(_covered(covered)))
    pasted = len(report.groups) == 1
    blocks += ["\n".join(finding_text(several, pasted=pasted)) for several in _alike(report.findings)]
    return "\n\n".join([*blocks, _summary(report, asked)]) + "\n"


class _Document(yaml.SafeDumper):
    """Writes sentences, which carry their facts, as the texts that they are."""


_Document.add_multi_representer(str, yaml.SafeDumper.represent_str)


def as_document(content: dict[str, Any], output: str) -> str:
    """Return the same for programs, as JSON or YAML; foreign words are escaped where they are not plain."""
    if output == "json":
        return json.dumps(content, indent=2) + "\n"
    return yaml.dump(content, Dumper=_Document, sort_keys=False, allow_unicode=False, width=120)


def document(report: Diagnosis) -> dict[str, Any]:
    """Return what was found, as plain values."""
    return {
        "groups": [
            {
                "namespace": group.namespace,
                "group": group.group,
                "convention": group.convention.name,
                "pods": list(group.pods),
                "members": group.members,
                "rejoinsPerMember": group.rejoins,
                "scrapeIntervalSeconds": _seconds(group.interval),
                "newestSampleAgeSeconds": _seconds(group.age),
                "measurable": group.measurable,
                "quantities": {quantity.camel: quantity in group.there for quantity in (*group.there, *group.missing)},
                "covered": None if group.covered is None else _covered_document(group.covered),
            }
            for group in report.groups
        ],
        "findings": [
            {
                "id": finding.id,
                "severity": finding.severity.value,
                "subject": list(finding.subject),
                "message": finding.message,
                "fix": fix_object(finding.fix),
            }
            for finding in report.findings
        ],
    }


def _covered_document(covered: Covered) -> dict[str, Any]:
    return {
        "quantities": {
            quantity.name: {
                "measurable": quantity.measurable,
                "because": quantity.because or None,
                "fix": fix_object(quantity.fix),
            }
            for quantity in covered.quantities
        },
        "absencesShownBy": {
            absence_signal.name.lower().replace("_", "-"): count for absence_signal, count in covered.shown_by.items()
        },
    }


def fix_object(fix: Fix | None) -> dict[str, str] | None:
    """Return a fix as plain values."""
    return None if fix is None else {"do": fix.sentence, "language": fix.language, "snippet": fix.snippet}


def finding_text(several: Sequence[DoctorFinding], *, pasted: bool = True) -> list[str]:
    """Return findings that differ in their subjects only as lines.

    Args:
        several: not none.
        pasted: whether to show what to paste even where nothing has to be done: it would hide what has to.
    """
    first = several[0]
    subjects = [_subject(doctor_finding) for doctor_finding in several[:SUBJECTS]]
    more = [f"and {len(several) - SUBJECTS} more"] if len(several) > SUBJECTS else []
    about = ", ".join([*subjects, *more])
    message = f"{about}: {first.message}" if about.strip() else first.message
    lines = [f"{first.severity}: {first.id}", wrapped(f"{shown(message, SHOWN_MESSAGE)}.", "  ")]
    if first.fix is not None and first.severity is DoctorSeverity.INFO and not pasted:
        lines.append(wrapped(f"Fix: {first.fix.sentence} (--group shows what to paste).", "  "))
    elif first.fix is not None:
        lines.append(wrapped(f"Fix: {first.fix.sentence}{':' if first.fix.snippet else '.'}", "  "))
        lines += ["", *(f"    {line}".rstrip() for line in first.fix.snippet.splitlines())] if first.fix.snippet else []
    return lines


def _groups(groups: Sequence[FoundGroup]) -> list[str]:
    head = ("group", "namespace", "exported by", "members", "pods", "rejoins", "scraped", "newest", "lacks")
    rows = [
        (
            shown(group.group),
            shown(group.namespace),
            group.convention.name,
            str(group.members) if group.members else "-",
            str(len(group.pods)) if group.pods else "-",
            "-" if group.rejoins is None else f"{group.rejoins:.3g}",
            "-" if group.interval is None else f"every {durations.about(group.interval)}",
            "-" if group.age is None else f"{durations.about(group.age)} ago",
            _lacks(group),
        )
        for group in groups
    ]
    return table([head, *rows], "")


def _risk(risky: Sequence[FoundGroup]) -> str:
    """Return which groups rejoined most lately, as sentences: a rollout looks like a storm's beginning."""
    places = [f"{shown(group.group)} ({shown(group.namespace)}) {group.rejoins:.3g}" for group in risky[:SUBJECTS]]
    more = f" and {len(risky) - SUBJECTS} more" if len(risky) > SUBJECTS else ""
    return (
        f"Rejoins of a member in the last {durations.show(discovery.RECENT)}, on average: {', '.join(places)}{more}. "
        f"A rollout causes a few; `recommend --group` says whether the settings are the cause."
    )


def _lacks(group: FoundGroup) -> str:
    if len(group.missing) > NAMED:
        return f"{len(group.missing)}/{len(group.missing) + len(group.there)}"  # one word: it is not wrapped
    return ", ".join(quantity.camel for quantity in group.missing) or "nothing"


def _uses(groups: Sequence[FoundGroup]) -> list[str]:
    """Return what is read, for which settings and what for, and of how many groups it is there."""
    rows = []
    for quantity, use in USES.items():
        there = sum(quantity in group.there for group in groups)
        wanted = there + sum(quantity in group.missing for group in groups)
        if wanted:
            letters = " ".join(LETTERS[setting] for setting in use.settings)
            rows.append((quantity.camel, f"{there} of {wanted}", letters, use.tells))
    return table([("what is read", "groups", "for", "it tells"), *rows], "") if rows else []


def _covered(several: Sequence[Covered]) -> list[str]:
    """Return what can be measured, of how many groups, and why not of the others."""
    rows = []
    for of_all in zip(*(covered.quantities for covered in several), strict=True):
        there = sum(quantity.measurable for quantity in of_all)
        because = Counter(quantity.because for quantity in of_all if quantity.because)
        sentence = "; ".join(
            f"{why} ({count})" if len(several) > 1 else why for why, count in because.most_common(REASONS)
        )
        rows.append((of_all[0].name, f"{there} of {len(of_all)}", shown(sentence, SHOWN_REASONS)))
    witnesses = Counter(signal for covered in several for signal in covered.shown_by)
    by = ", ".join(
        f"{absence_signal.value} ({count})" if len(several) > 1 else absence_signal.value
        for absence_signal, count in witnesses.items()
    )
    rows[0] = (*rows[0][:2], f"shown by {by}" if by else rows[0][2])
    return [line.rstrip() for line in table([("what can be measured", "groups", "what of it"), *rows], "")]


def _alike(findings: Sequence[DoctorFinding]) -> list[list[DoctorFinding]]:
    """Return findings that say the same of different subjects together."""
    alike: dict[tuple[str, str, Fix | None], list[DoctorFinding]] = {}
    for finding in findings:
        alike.setdefault((finding.id, finding.message, finding.fix), []).append(finding)
    return list(alike.values())


def _subject(finding: DoctorFinding) -> str:
    """Return what a finding is about: a group and its namespace, or a job, its namespace and examples."""
    first, *rest = [shown(part) for part in finding.subject] or [""]
    title = f"job {first or '(none)'}" if finding.id in _OF_JOBS else first
    details = [part for part in rest if part]
    return f"{title} ({', '.join(details)})" if details else title


def _summary(report: Diagnosis, asked: PrometheusTarget) -> str:
    counts = {severity: sum(finding.severity is severity for finding in report.findings) for severity in DoctorSeverity}
    whole = sum(group.measurable for group in report.groups)
    where = f" of {', '.join(map(shown, asked.namespaces))}" if asked.namespaces else ""
    return (
        f"{_counted(counts[DoctorSeverity.ERROR], 'error')}, {_counted(counts[DoctorSeverity.WARNING], 'warning')}, "
        f"{counts[DoctorSeverity.INFO]} for information; "
        f"{whole} of {_counted(len(report.groups), 'group')}{where} measurable"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else round(time.total_seconds(), 3)
