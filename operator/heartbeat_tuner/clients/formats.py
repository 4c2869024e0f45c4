"""How the value of an environment variable says a duration: whole milliseconds, or as Go writes it.

Most libraries count milliseconds. Applications in Go take `time.ParseDuration`, so that `30000` is refused there, and
`30s` is by all others.
"""

import enum
import re
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain import durations

LONGEST_MS: Final = 2_147_483_647
"""Kafka's protocol has 32 bits for a time."""

_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,15}")


class Format(enum.StrEnum):
    """One way to write a duration."""

    MILLISECONDS = "whole number of milliseconds"
    GO = "duration as Go writes it"

    def render(self, value: timedelta) -> str:
        """Return the text that says `value`, a whole number of milliseconds."""
        return str(durations.to_ms(value)) if self is Format.MILLISECONDS else durations.show(value)

    def parse(self, text: str) -> timedelta:
        """Return what `text` says; white space around it is none of it, since Java and Go refuse that, too.

        Raises:
            ValueError: it says no duration in this format, or none that Kafka's protocol can hold.
        """
        duration = self._parse(text)
        if not timedelta(0) < duration <= timedelta(milliseconds=LONGEST_MS):
            raise ValueError(f"{text!r} is not between {self.example(1)} and {self.example(LONGEST_MS)}")
        return duration

    def example(self, milliseconds: int) -> str:
        """Return how so many milliseconds are written."""
        return self.render(timedelta(milliseconds=milliseconds))

    def _parse(self, text: str) -> timedelta:
        if self is Format.GO:
            return durations.parse(text)
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is no whole number of milliseconds")
        return timedelta(milliseconds=int(text))
