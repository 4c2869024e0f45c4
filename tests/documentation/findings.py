"""What the checks of the documentation say: one line for each finding, with the fix in it."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A place that breaks a rule.

    Attributes:
        path: of the file, or of the command or the field whose text it is.
        line: in it, from 1; 0 where the text has no file of its own.
        problem: the rule, what breaks it, and what to write instead.
    """

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        """Return it as linters print it."""
        return f"{self.path}:{self.line}: {self.problem}" if self.line else f"{self.path}: {self.problem}"
