"""`heartbeat-tuner doctor`: what a Prometheus has of consumer groups, what is missing, and how to get it.

Four queries, whatever its size; `metrics.diagnosis` says what the answers mean. What labels and names say is somebody
else's text: it is shown escaped and cut.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import click
import yaml

from heartbeat_tuner.cli import asking
from heartbeat_tuner.cli.asking import Asked
from heartbeat_tuner.cli.cards import LETTERS
from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics import diagnosis
from heartbeat_tuner.metrics.conventions import catalogue
from heartbeat_tuner.metrics.coverage import Covered
from heartbeat_tuner.metrics.findings import Finding, Severity
from heartbeat_tuner.metrics.fixes import Fix
from heartbeat_tuner.metrics.inventory import Diagnosis, FoundGroup
from heartbeat_tuner.metrics.uses import USES

SUBJECTS: Final = 5
"""How many groups one finding names."""

NAMED: Final = 2
"""How many missing quantities a group's line names."""

SHOWN_MESSAGE: Final = 2_000

REASONS: Final = 1
"""How many reasons a line gives: the commonest."""

SHOWN_REASONS: Final = 300

_OF_JOBS: Final = frozenset({"group-not-told", "labels-unknown", "namespace-not-told", "names-unknown", "pod-not-told"})

FORMATS: Final = ("text", "json", "yaml")


@click.command("doctor", short_help="Say what a Prometheus has of consumer groups, and what is missing.")
@asking.options
@click.option("--group", help="Say it of this group only.")
@click.option("--output", "-o", type=click.Choice(FORMATS), default="text", show_default=True)
def command(*, group: str | None, output: str, **given: Any) -> None:
    """Say which consumer groups a Prometheus shows, by which exporter, and what is missing to measure them.

    Each finding comes with the shortest fix, ready to paste.

    Exit status: 0 if all groups can be measured in full, 1 if something is missing, 2 if Prometheus could not be asked.
    """
    asked = asking.asked(**given)
    inventory = asking.run(asked, lambda source: asking.inventory(source, asked, around=True))
    found = diagnosis.diagnose(inventory, catalogue.OF_GROUPS)
    if group is not None:
        found = found.only(group)
    click.echo(as_text(found, asked) if output == "text" else as_document(document(found), output), nl=False)
    if not found.is_whole:
        raise click.exceptions.Exit(1)


def as_text(found: Diagnosis, asked: Asked) -> str:
    """Return a table of the groups, what is read of them, and the findings, the worst first."""
    blocks = []
    if found.groups:
        blocks += ["\n".join(_groups(found.groups)), "\n".join(_uses(found.groups))]
    if covered := [one.covered for one in found.groups if one.covered is not None]:
        blocks.append("\n".join(_covered(covered)))
    pasted = len(found.groups) == 1
    blocks += ["\n".join(finding_text(several, pasted=pasted)) for several in _alike(found.findings)]
    return "\n\n".join([*blocks, _summary(found, asked)]) + "\n"


class _Document(yaml.SafeDumper):
    """Writes sentences, which carry their facts, as the texts that they are."""


_Document.add_multi_representer(str, yaml.SafeDumper.represent_str)


def as_document(content: dict[str, Any], output: str) -> str:
    """Return the same for programs, as JSON or YAML; foreign words are escaped where they are not plain."""
    if output == "json":
        return json.dumps(content, indent=2) + "\n"
    return yaml.dump(content, Dumper=_Document, sort_keys=False, allow_unicode=False, width=120)


def document(found: Diagnosis) -> dict[str, Any]:
    """Return what was found, as plain values."""
    return {
        "groups": [
            {
                "namespace": one.namespace,
                "group": one.group,
                "convention": one.convention.name,
                "pods": list(one.pods),
                "members": one.members,
                "scrapeIntervalSeconds": _seconds(one.interval),
                "newestSampleAgeSeconds": _seconds(one.age),
                "measurable": one.measurable,
                "quantities": {quantity.camel: quantity in one.there for quantity in (*one.there, *one.missing)},
                "covered": None if one.covered is None else _covered_document(one.covered),
            }
            for one in found.groups
        ],
        "findings": [
            {
                "id": one.id,
                "severity": one.severity.value,
                "subject": list(one.subject),
                "message": one.message,
                "fix": fix_object(one.fix),
            }
            for one in found.findings
        ],
    }


def _covered_document(covered: Covered) -> dict[str, Any]:
    return {
        "quantities": {
            one.name: {"measurable": one.measurable, "because": one.because or None, "fix": fix_object(one.fix)}
            for one in covered.quantities
        },
        "absencesShownBy": {one.name.lower().replace("_", "-"): count for one, count in covered.shown_by.items()},
    }


def fix_object(fix: Fix | None) -> dict[str, str] | None:
    """Return a fix as plain values."""
    return None if fix is None else {"do": fix.sentence, "language": fix.language, "snippet": fix.snippet}


def finding_text(several: Sequence[Finding], *, pasted: bool = True) -> list[str]:
    """Return findings that differ in their subjects only as lines.

    Args:
        several: not none.
        pasted: whether to show what to paste even where nothing has to be done: it would hide what has to.
    """
    first = several[0]
    subjects = [_subject(one) for one in several[:SUBJECTS]]
    more = [f"and {len(several) - SUBJECTS} more"] if len(several) > SUBJECTS else []
    about = ", ".join([*subjects, *more])
    message = f"{about}: {first.message}" if about.strip() else first.message
    lines = [f"{first.severity}: {first.id}", wrapped(f"{shown(message, SHOWN_MESSAGE)}.", "  ")]
    if first.fix is not None and first.severity is Severity.INFO and not pasted:
        lines.append(wrapped(f"Fix: {first.fix.sentence} (--group shows what to paste).", "  "))
    elif first.fix is not None:
        lines.append(wrapped(f"Fix: {first.fix.sentence}{':' if first.fix.snippet else '.'}", "  "))
        lines += ["", *(f"    {line}".rstrip() for line in first.fix.snippet.splitlines())] if first.fix.snippet else []
    return lines


def _groups(groups: Sequence[FoundGroup]) -> list[str]:
    head = ("group", "namespace", "exported by", "members", "pods", "scraped", "newest", "lacks")
    rows = [
        (
            shown(one.group),
            shown(one.namespace),
            one.convention.name,
            str(one.members) if one.members else "-",
            str(len(one.pods)) if one.pods else "-",
            "-" if one.interval is None else f"every {durations.about(one.interval)}",
            "-" if one.age is None else f"{durations.about(one.age)} ago",
            _lacks(one),
        )
        for one in groups
    ]
    return table([head, *rows], "")


def _lacks(group: FoundGroup) -> str:
    if len(group.missing) > NAMED:
        return f"{len(group.missing)}/{len(group.missing) + len(group.there)}"  # one word: it is not wrapped
    return ", ".join(quantity.camel for quantity in group.missing) or "nothing"


def _uses(groups: Sequence[FoundGroup]) -> list[str]:
    """Return what is read, for which settings and what for, and of how many groups it is there."""
    rows = []
    for quantity, use in USES.items():
        there = sum(quantity in one.there for one in groups)
        wanted = there + sum(quantity in one.missing for one in groups)
        if wanted:
            letters = " ".join(LETTERS[setting] for setting in use.settings)
            rows.append((quantity.camel, f"{there} of {wanted}", letters, use.tells))
    return table([("what is read", "groups", "for", "it tells"), *rows], "") if rows else []


def _covered(several: Sequence[Covered]) -> list[str]:
    """Return what can be measured, of how many groups, and why not of the others."""
    rows = []
    for of_all in zip(*(one.quantities for one in several), strict=True):
        there = sum(one.measurable for one in of_all)
        because = Counter(one.because for one in of_all if one.because)
        told = "; ".join(f"{why} ({count})" if len(several) > 1 else why for why, count in because.most_common(REASONS))
        rows.append((of_all[0].name, f"{there} of {len(of_all)}", shown(told, SHOWN_REASONS)))
    witnesses = Counter(witness for one in several for witness in one.shown_by)
    by = ", ".join(f"{one.value} ({count})" if len(several) > 1 else one.value for one, count in witnesses.items())
    rows[0] = (*rows[0][:2], f"shown by {by}" if by else rows[0][2])
    return [line.rstrip() for line in table([("what can be measured", "groups", "what of it"), *rows], "")]


def _alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings that say the same of different subjects together."""
    found: dict[tuple[str, str, Fix | None], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.id, one.message, one.fix), []).append(one)
    return list(found.values())


def _subject(finding: Finding) -> str:
    """Return what a finding is about: a group and its namespace, or a job, its namespace and examples."""
    first, *rest = [shown(one) for one in finding.subject] or [""]
    title = f"job {first or '(none)'}" if finding.id in _OF_JOBS else first
    told = [one for one in rest if one]
    return f"{title} ({', '.join(told)})" if told else title


def _summary(found: Diagnosis, asked: Asked) -> str:
    counts = {severity: sum(one.severity is severity for one in found.findings) for severity in Severity}
    whole = sum(one.measurable for one in found.groups)
    where = f" of {', '.join(map(shown, asked.namespaces))}" if asked.namespaces else ""
    return (
        f"{_counted(counts[Severity.ERROR], 'error')}, {_counted(counts[Severity.WARNING], 'warning')}, "
        f"{counts[Severity.INFO]} for information; {whole} of {_counted(len(found.groups), 'group')}{where} measurable"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else round(time.total_seconds(), 3)
