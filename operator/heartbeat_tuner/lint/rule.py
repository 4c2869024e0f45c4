"""A rule of `check`: its names, how bad it is, and what its page says.

The code and the id are API: people filter by them. A rule stands beside the check that raises it, in a module of
`rules`; its page in the reference is made from it.
"""

import dataclasses
import enum


class LintSeverity(enum.StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # it does not work, or live members are removed
    WARNING = "warning"  # it works until something ordinary happens, or rests on an assumption
    INFO = "info"  # worth knowing


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `check`.

    Attributes:
        code: its number, as `HT101`.
        id: its name in words.
        severity: of each of its findings.
        when: what it finds, for the list of rules.
        why: what goes wrong, as sentences.
        example: settings that it finds, as lines of a properties or env file, or of a command.
        fix: what to do, as sentences.
        cured_by_values: whether other values of the five settings end the finding.
    """

    code: str
    id: str
    severity: LintSeverity
    when: str
    why: str
    example: str
    fix: str
    cured_by_values: bool = True

    def matches(self, selector: str) -> bool:
        """Whether a selector of the command line means this rule: its id, its code, or the beginning of the code."""
        return selector == self.id or (selector.startswith("HT") and self.code.startswith(selector))
