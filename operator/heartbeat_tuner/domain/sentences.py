"""What is said to people, with the facts that it is made of: nobody ever reads a sentence back.

Who finds something out says it with `say`: a phrase, and typed facts in their places. The result is the text that
statuses, Events and the terminal show, and it has the facts with their names, as the log shows them (`facts`). Whether
two sentences say the same is asked of their facts, as rounded as they are shown (`identity`). A *reading* is a
figure that moves by itself while nothing happens, such as a count over a record that grows: it is shown, and makes no
sentence another.

A plain text is a sentence too: one whose only fact is its wording.
"""

import functools
import math
import string
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from heartbeat_tuner.domain import durations

Value = object
"""Of a fact: a number, a duration, a name; whatever can be written."""

Identity = tuple[str | tuple[str, str], ...]
"""What makes a sentence the one that it is: its phrase, with its facts as shown; of readings only the names."""

_ABOUT: Final = "about"
_FIGURE: Final = "figure"
_TEMPLATES: Final = 512

_MANY: Final = 100
"""From here on two significant digits would be written with an exponent."""


class Reading(NamedTuple):
    """A figure that moves by itself while nothing happens."""

    value: Value


class Fact(NamedTuple):  # made by the dozen for each decision, and three times as fast as a frozen dataclass
    """A fact in its place.

    Attributes:
        name: of it, as programs see it.
        value: as it was found out.
        spec: how people see it, as `str.format` has it.
        varies: whether it moves by itself, while nothing happens.
    """

    name: str
    value: Value
    spec: str
    varies: bool

    @property
    def text(self) -> str:
        """The fact as people see it."""
        if isinstance(self.value, timedelta):
            return durations.about(self.value) if self.spec == _ABOUT else durations.show(self.value)
        if self.spec == _FIGURE and isinstance(self.value, int | float):
            return _figure(self.value)
        return format(self.value, self.spec)


class Sentence(str):
    """A text with the facts that it is made of."""

    __slots__ = ("parts",)

    parts: tuple[str | Fact, ...]

    @classmethod
    def of(cls, parts: Iterable[str | Fact]) -> "Sentence":
        """Return the sentence that has these parts."""
        parts = tuple(parts)
        sentence = cls("".join(part if isinstance(part, str) else part.text for part in parts))
        sentence.parts = parts
        return sentence


def say(phrase: str, **values: Value) -> Sentence:
    """Return a phrase with facts in the places that name them, as `str.format` has it.

    A duration is written in Go's notation, with `{name:about}` in seconds of two digits. `{name:figure}` writes a
    number with two significant digits and without an exponent: `0.63`, `9,900`. A sentence as a value keeps its own
    facts.

    Args:
        phrase: with `{name}` for each fact.
        values: of the facts; `Reading(value)` for one that moves by itself.
    """
    parts: list[str | Fact] = []
    for literal, name, spec in _parsed(phrase):
        if literal:
            parts.append(literal)
        if name is None:
            continue
        value = values[name]
        if isinstance(value, Sentence):
            parts += value.parts
        elif isinstance(value, Reading):
            parts.append(Fact(name, value.value, spec, varies=True))
        else:
            parts.append(Fact(name, value, spec, varies=False))
    return Sentence.of(parts)


def join(separator: str, sentences: Iterable[str]) -> Sentence:
    """Return sentences as one, with their facts; those that are empty are left out."""
    parts: list[str | Fact] = []
    for sentence in sentences:
        if sentence:
            parts += [separator, *_parts(sentence)] if parts else _parts(sentence)
    return Sentence.of(parts)


def facts(sentence: str) -> Mapping[str, float | str]:
    """Return what a sentence is made of, as the log shows it: numbers whole, all else as people see it.

    Of several facts with the same name the first counts; what is empty is left out.
    """
    facts: dict[str, float | str] = {}
    for part in _parts(sentence):
        if isinstance(part, Fact) and part.value != "":
            facts.setdefault(part.name, part.value if isinstance(part.value, int | float) else part.text)
    return facts


def identity(sentence: str) -> Identity:
    """Return what makes a sentence the one that it is."""
    return tuple(part if isinstance(part, str) else _identity(part) for part in _parts(sentence))


def has_readings(sentence: str) -> bool:
    """Whether a sentence shows figures that move by themselves."""
    return any(isinstance(part, Fact) and part.varies for part in _parts(sentence))


def _figure(number: float) -> str:
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if _MANY <= abs(rounded) < math.inf else f"{rounded:.2g}"


def _identity(fact: Fact) -> tuple[str, str]:
    return (fact.name, "" if fact.varies else fact.text)


def _parts(sentence: str) -> tuple[str | Fact, ...]:
    return sentence.parts if isinstance(sentence, Sentence) else (sentence,)


@functools.lru_cache(maxsize=_TEMPLATES)
def _parsed(phrase: str) -> tuple[tuple[str, str | None, str], ...]:
    return tuple((literal, name, spec or "") for literal, name, spec, _ in string.Formatter().parse(phrase))
