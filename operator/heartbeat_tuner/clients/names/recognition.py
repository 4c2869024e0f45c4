"""What does a key mean, where no framework says it?

A key counts where its words are Kafka's alone (`heartbeat interval`), where a word before them names Kafka, or where
a strong one stands beside it. What resembles a setting and is none is a misspelling; what may be one is doubtful.
"""

import dataclasses
import enum
from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients.names import key_vocabulary
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.key_words import KeyWords

_MOST_EDITS: Final = 2
LEAST_LETTERS: Final = 10
"""Shorter words are too near to others."""

_LONG: Final = tuple(
    (known, meaning)
    for known, meaning in (*key_vocabulary.STRONG.items(), *key_vocabulary.WEAK.items())
    if len(known) >= LEAST_LETTERS
)
_ALONE: Final = {"heartbeat": Meaning.HEARTBEAT_INTERVAL, "session": Meaning.SESSION_TIMEOUT}
"""Words that may stand for a setting by themselves."""


class KeyStanding(enum.Enum):
    """How a key stands to the settings."""

    KNOWN = "known"
    MISSPELT = "misspelt"
    DOUBTFUL = "doubtful"
    IGNORED = "ignored"


@dataclasses.dataclass(frozen=True, slots=True)
class Recognised:
    """What a key is taken for.

    Attributes:
        meaning: what it holds, or seems to.
        standing: whether it does.
        scope: which of several consumers of one file it is for; empty for the only one.
        library: the one that reads it, by its card's name; empty where nobody can say.
        instead: the name that would be read; empty where there is none.
        unit_ms: the milliseconds of the unit in its name; None where the library's own form holds.
        why: why the library does not read it, as part of a sentence; empty where it does.
    """

    meaning: Meaning
    standing: KeyStanding = KeyStanding.KNOWN
    scope: str = ""
    library: str = ""
    instead: str = ""
    unit_ms: int | None = None
    why: str = ""


def plain(key: str, *, in_kafka: bool) -> Recognised | None:
    """Return what a key means by its words; None if it has nothing to do with a consumer.

    Args:
        key: as the file has it, with the keys that lead to it.
        in_kafka: whether Kafka is known to be configured in this place.
    """
    words = KeyWords.of(key)
    meant = _meant(words)
    if meant is None:
        return _resembling(words, in_kafka=in_kafka)
    meaning, prefix, strong = meant
    if (key_vocabulary.FOREIGN | key_vocabulary.BOUNDS).intersection(prefix):
        return None
    named = bool(key_vocabulary.KAFKA_WORDS.intersection(prefix)) or key.lower() in key_vocabulary.PROPERTIES
    scope = ".".join(word for word in prefix if word not in key_vocabulary.FILLERS)
    if named or (strong and in_kafka) or (in_kafka and _dotted(key)):
        return Recognised(meaning, scope=scope, unit_ms=words.unit_ms)
    if meaning.setting is not None and (in_kafka or strong):
        return Recognised(meaning, KeyStanding.DOUBTFUL, scope=scope)
    return None


def names_kafka(key: str) -> bool:
    """Whether a key says that a consumer is configured beside it."""
    words = KeyWords.of(key)
    joined = "".join(words.words)
    if key_vocabulary.FOREIGN.intersection(words.words) - {"broker", "brokers", "server"}:
        return False
    return joined.endswith(tuple(key_vocabulary.CONTEXT)) or key.lower() in key_vocabulary.PROPERTIES


def _dotted(key: str) -> bool:
    return key.lower().endswith(tuple(f".{name}" for name in key_vocabulary.PROPERTIES))


def _meant(words: KeyWords) -> tuple[Meaning, tuple[str, ...], bool] | None:
    """Return what the words mean, those before them, and whether they are Kafka's alone."""
    for table, strong in ((key_vocabulary.STRONG, True), (key_vocabulary.WEAK, False)):
        for ending, meaning in table.items():
            prefix = words.prefix(ending)
            if prefix is not None:
                return meaning, prefix, strong
    return None


def _resembling(words: KeyWords, *, in_kafka: bool) -> Recognised | None:
    """Return the setting that a name nearly is."""
    if key_vocabulary.FOREIGN.intersection(words.words):
        return None
    if not in_kafka and not key_vocabulary.KAFKA_WORDS.intersection(words.words):
        return None
    endings = list(_endings(words))
    if key_vocabulary.OTHER_PROPERTIES.intersection(endings):
        return None
    near = next((meaning for ending in endings for known, meaning in _LONG if _nearly(ending, known)), None)
    shuffled = sorted("".join(frozenset(words.words) - key_vocabulary.FILLERS))
    meaning = near or next((meaning for known, meaning in _LONG if shuffled == sorted(known)), None)
    if meaning is not None:
        return Recognised(meaning, KeyStanding.MISSPELT)
    last = words.words[-1] if words.words else ""
    return Recognised(_ALONE[last], KeyStanding.DOUBTFUL) if last in _ALONE else None


def _endings(words: KeyWords) -> Iterator[str]:
    """Yield the last words of a name, joined."""
    for count in range(1, min(5, len(words.words)) + 1):
        yield "".join(words.words[-count:])


def _nearly(text: str, known: str) -> bool:
    """Whether a text is one or two edits from a known word, or letters of it stand in another order."""
    if text == known or abs(len(text) - len(known)) > _MOST_EDITS:
        return False
    return _distance(text, known) <= _MOST_EDITS


def _distance(left: str, right: str) -> int:
    """Return the edits between two words: letters that are missing, added, changed or swapped with the next."""
    rows = [list(range(len(right) + 1))]
    for i, letter in enumerate(left, start=1):
        row = [i]
        for j, other in enumerate(right, start=1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
