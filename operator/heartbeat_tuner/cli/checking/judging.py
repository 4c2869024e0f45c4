"""From what was read to verdicts: the rules, what somebody ruled out, and what would hold."""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from heartbeat_tuner.cli.checking.check_output import CheckVerdict
from heartbeat_tuner.cli.checking.settings_sources import CheckInput, CheckSubject
from heartbeat_tuner.cli.wording import listed
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.lint import linting, suggestions
from heartbeat_tuner.lint.checked_settings import Expectations, LintFinding
from heartbeat_tuner.lint.found_consumers import FoundConsumer
from heartbeat_tuner.lint.rule import Rule
from heartbeat_tuner.lint.rules import reading_rules

_COMMENT: Final = re.compile(
    r"(?:#|//)\s*heartbeat-tuner:\s*ignore(?P<file>-file)?(?:\[(?P<rules>[A-Za-z0-9, \-]+)\])?"
)

_ABOUT: Final = (
    ("HT106", (Setting.FETCH_WAIT, Setting.HEARTBEAT_INTERVAL)),
    ("HT107", (Setting.HEARTBEAT_INTERVAL,)),
    ("HT11", (Setting.SESSION_TIMEOUT,)),
    ("HT2", (Setting.MAX_POLL_INTERVAL, Setting.REBALANCE_TIMEOUT)),
    ("HT3", (Setting.REBALANCE_TIMEOUT, Setting.MAX_POLL_INTERVAL)),
)
"""The settings that rules are about, by the beginning of their codes."""

_MOST_NAMED: Final = 4
"""Libraries that a sentence lists."""


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """Which rules are asked for.

    Attributes:
        rules: those that may speak.
    """

    rules: frozenset[Rule]

    def keeps(self, finding: LintFinding, comments: Mapping[int, Sequence[str] | None]) -> bool:
        """Whether a finding is to be told.

        Args:
            finding: of a file.
            comments: what comments of the file rule out, by line (0 for the whole file): selectors, or None for all.
        """
        if finding.rule not in self.rules:
            return False
        for line in {0, finding.line, finding.line - 1} if finding.line else {0}:
            if line in comments:
                selectors = comments[line]
                if selectors is None or any(finding.rule.matches(selector) for selector in selectors):
                    return False
        return True


def verdicts(gathered: CheckInput, expectations: Expectations, selection: Selection) -> list[CheckVerdict]:
    """Return a verdict for each subject."""
    comments = {name: ignored(text) for name, text in gathered.texts.items()}
    return [
        _chosen(_verdict(subject, expectations), selection, comments.get(subject.consumer.file, {}))
        for subject in gathered.subjects
    ]


def ignored(text: str) -> dict[int, Sequence[str] | None]:
    """Return what the comments of a file rule out, by line; 0 is the whole file, None all rules."""
    comments: dict[int, Sequence[str] | None] = {}
    if "heartbeat-tuner:" not in text:
        return comments
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _COMMENT.finditer(line):
            rules = match["rules"]
            selectors = None if rules is None else [rule.strip() for rule in rules.split(",")]
            comments[0 if match["file"] else number] = selectors
    return comments


def _verdict(subject: CheckSubject, expectations: Expectations) -> CheckVerdict:
    consumer = subject.consumer
    if not consumer.clients:
        return CheckVerdict(subject, None, known=False, findings=consumer.findings, remedy=None)
    if len(consumer.clients) > 1:
        return _unknown(subject, expectations)
    inspected = consumer.inspected(consumer.clients[0])
    raised = linting.lint(inspected, expectations)
    remedy = suggestions.suggest(inspected, expectations, raised)
    findings = [*consumer.findings, *(_placed(finding, consumer) for finding in raised)]
    if isinstance(remedy, Infeasible):
        findings.append(LintFinding(reading_rules.NO_VALUES_FIT, say("{why}", why=remedy.message)))
    return CheckVerdict(subject, inspected, known=True, findings=linting.worst_first(findings), remedy=remedy)


def _unknown(subject: CheckSubject, expectations: Expectations) -> CheckVerdict:
    """Return the verdict on a consumer whose library is not known: what holds of all that may be."""
    consumer = subject.consumer
    every = [consumer.inspected(client) for client in consumer.clients]
    common = linting.common([linting.lint(inspected, expectations) for inspected in every])
    common = tuple(finding for finding in common if finding.rule is not reading_rules.NOTHING_SET)
    findings = [*consumer.findings, *(_placed(finding, consumer) for finding in common)]
    if consumer.given or consumer.unseen or consumer.others.static_id is not None:
        names = [client.name for client in consumer.clients]
        may_be = listed(names, "or") if len(names) <= _MOST_NAMED else "any library"
        phrase = "these settings may be of {may_be}: only what holds of all was checked; say with --client which it is"
        finding = LintFinding(reading_rules.CLIENT_UNKNOWN, say(phrase, may_be=may_be), consumer.line)
        findings.append(finding)
    elif not consumer.unreadable:
        phrase = "no setting is given, and the library is not known: nothing was checked; say with --client which it is"
        findings.append(LintFinding(reading_rules.NOTHING_SET, say(phrase)))
    return CheckVerdict(subject, every[0], known=False, findings=linting.worst_first(findings), remedy=None)


def _placed(finding: LintFinding, consumer: FoundConsumer) -> LintFinding:
    """Return a finding with the line of the setting that it is about, else with the consumer's first."""
    if finding.line or not consumer.line:
        return finding
    about = next((settings for code, settings in _ABOUT if finding.rule.code.startswith(code)), ())
    lines = [consumer.places[setting].line for setting in about if setting in consumer.places]
    return dataclasses.replace(finding, line=next((line for line in lines if line), consumer.line))


def _chosen(verdict: CheckVerdict, selection: Selection, comments: Mapping[int, Sequence[str] | None]) -> CheckVerdict:
    findings = [finding for finding in verdict.findings if selection.keeps(finding, comments)]
    return dataclasses.replace(verdict, findings=findings, suppressed=len(verdict.findings) - len(findings))


def selection(select: Iterable[Rule], ignore: Iterable[Rule]) -> Selection:
    """Return which rules may speak."""
    return Selection(frozenset(select) - frozenset(ignore))
