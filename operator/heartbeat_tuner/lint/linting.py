"""Which settings cannot work, or work otherwise than they look? Rules that need no metrics and no cluster.

What is known here is what somebody wrote down: values, and perhaps how long a handler takes. Each rule follows from
the client's own physics (`clients`) or from what a broker does by default; nothing is guessed from experience. A value
that cannot be seen is unknown, and the rules that need it are left out. `suggestions` says which values would hold.
"""

from collections.abc import Iterable, Sequence

from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding
from heartbeat_tuner.lint.rules import beat_rules, value_rules


def lint(inspected: Inspected, expectations: Expectations) -> tuple[LintFinding, ...]:
    """Return what the rules find, worst first; of values that were read in a wrong unit nothing but that."""
    misread = tuple(value_rules.in_another_unit(inspected))
    if misread:
        return misread
    return worst_first(finding for check in rule_catalogue.CHECKS for finding in check(inspected, expectations))


def worst_first(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
    """Return findings in the order of the rules."""
    return tuple(sorted(findings, key=lambda finding: rule_catalogue.RULES.index(finding.rule)))


def common(by_library: Sequence[Sequence[LintFinding]]) -> tuple[LintFinding, ...]:
    """Return what is found with each of several libraries, as the last of them is told it.

    That the session is too short for the beat is one thing, however bad it is with each: the mildest step is told.
    """
    *others, last = sorted(by_library, key=_step, reverse=True)
    rules = [{_kind(finding) for finding in each} for each in others]
    return tuple(finding for finding in last if all(_kind(finding) in each for each in rules))


def _kind(finding: LintFinding) -> str:
    return "beat" if finding.rule in beat_rules.BEAT_RULES else finding.rule.id


def _step(findings: Sequence[LintFinding]) -> int:
    """Return how bad the worst step of the ladder is: higher is worse."""
    steps = [rule_catalogue.RULES.index(finding.rule) for finding in findings if finding.rule in beat_rules.BEAT_RULES]
    return len(rule_catalogue.RULES) - min(steps, default=len(rule_catalogue.RULES))
