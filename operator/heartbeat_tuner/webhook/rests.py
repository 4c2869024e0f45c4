"""Which namespaces rest: after the rules took some time over a namespace's objects, others have their turn first."""

import time
from typing import Final

REST: Final = 4.0
"""After the rules took some time over a namespace's objects it rests for so many times as long: a fifth of one thread
is the most that it takes, however often its objects change."""

SHORT_S: Final = 0.02
"""After less than that nobody rests."""


class Rests:
    """The time that is spent on each namespace, and until when it rests."""

    def __init__(self) -> None:
        self._spent_s: dict[str, float] = {}
        self._until_s: dict[str, float] = {}

    def begin(self, namespace: str) -> None:
        """Count what is spent on a namespace from now on."""
        self._spent_s[namespace] = 0.0

    def spend(self, namespace: str, spent_s: float) -> None:
        """Add what a rule took of a core."""
        self._spent_s[namespace] += spent_s

    def end(self, namespace: str) -> None:
        """Let a namespace rest by what was spent on it."""
        spent_s = self._spent_s.pop(namespace)
        if spent_s > SHORT_S:
            self._until_s[namespace] = time.monotonic() + REST * spent_s

    def resting(self) -> set[str]:
        """Return the namespaces that rest now."""
        now_s = time.monotonic()
        self._until_s = {namespace: until_s for namespace, until_s in self._until_s.items() if until_s > now_s}
        return set(self._until_s)
