"""A key of a file, taken apart: `KAFKA_SESSION_TIMEOUT_MS`, `consumer.session.timeout.ms`, `maxWaitTimeInMs`."""

import dataclasses
import re
from typing import Final, Self

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

UNITS: Final = {
    "ms": 1,
    "inms": 1,
    "millis": 1,
    "inmillis": 1,
    "milliseconds": 1,
    "inmilliseconds": 1,
    "s": 1_000,
    "sec": 1_000,
    "secs": 1_000,
    "seconds": 1_000,
    "insec": 1_000,
    "inseconds": 1_000,
}
"""Milliseconds, by the words at the end of a name that say its unit."""


@dataclasses.dataclass(frozen=True, slots=True)
class KeyWords:
    """The words of a key, in lower case.

    Attributes:
        key: as it is written.
        words: without separators; a change from small to capital letters separates, too.
        unit_ms: the milliseconds of the unit that the name ends with; None where it names none.
    """

    key: str
    words: tuple[str, ...]
    unit_ms: int | None

    @classmethod
    def of(cls, key: str) -> Self:
        """Take a key apart."""
        words = tuple(word.lower() for word in _WORDS.findall(key))
        for count in (2, 1):
            unit = UNITS.get("".join(words[-count:])) if len(words) > count else None
            if unit is not None:
                return cls(key, words[:-count], unit)
        for ending in ("inms", "ms"):
            if words and words[-1].endswith(("timeout" + ending, "interval" + ending, "wait" + ending)):
                return cls(key, (*words[:-1], words[-1].removesuffix(ending)), 1)
        return cls(key, words, None)

    def prefix(self, ending: str) -> tuple[str, ...] | None:
        """Return the words before an ending that is written without separators; None if the key ends otherwise."""
        rest = ending
        for index in range(len(self.words) - 1, -1, -1):
            word = self.words[index]
            if not rest.endswith(word):
                return None
            rest = rest[: len(rest) - len(word)]
            if not rest:
                return self.words[:index]
        return None
