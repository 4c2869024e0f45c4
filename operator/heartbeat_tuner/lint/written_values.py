"""From the text of a value to what it says: durations in the form that its reader takes, lists, placeholders.

A text may be anybody's, a password too: of what is no duration sentences show only how long it is.
"""

import contextlib
import dataclasses
import enum
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.domain import durations

LONGEST_SHOWN: Final = 256

_DURATION_LIKE: Final = re.compile(r"-?[0-9.]{1,12} ?(ms|s|sec|seconds|m|min|h)?")
_REFERENCE: Final = re.compile(r"\$\([^()=\s]{1,253}\)")
_PLACEHOLDER: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_.-]*?)(?P<default>:-?[^{}]*|-[^{}]*)?\}")
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_ISO: Final = re.compile(
    r"PT(?:(?P<h>[0-9]{1,9})H)?(?:(?P<m>[0-9]{1,9})M)?(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,9})?)S)?", re.IGNORECASE
)


class DurationForm(enum.Enum):
    """How a duration may be written."""

    MILLISECONDS = "whole number of milliseconds"
    SECONDS = "whole number of seconds"
    GO = "duration as Go writes it"
    EITHER = "whole number of milliseconds, or duration with its unit"  # Spring Boot, and where nobody knows


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A text with its placeholders filled in.

    Attributes:
        text: with defaults and other variables in their places; None where one of them cannot be seen.
        random: whether it is another with each start.
    """

    text: str | None
    random: bool = False


def filled_in(text: str, variables: Mapping[str, str | None]) -> Text:
    """Return a text with what `$(NAME)`, `${NAME}` and `${NAME:default}` stand for.

    Args:
        text: as it is written.
        variables: that stand beside it; None for those whose value cannot be seen.
    """
    if "${random." in text or "$RANDOM" in text or "$(uuidgen)" in text:
        return Text(None, random=True)
    if "{{" in text:
        return Text(None)
    reference = re.fullmatch(r"\$\(([^()=\s]{1,253})\)", text)
    if reference is not None and reference[1] in variables:
        return Text(variables[reference[1]])
    unseen = False

    def value(match: re.Match[str]) -> str:
        nonlocal unseen
        known = variables.get(match["name"])
        if known is not None:
            return known
        if match["default"] is None:
            unseen = True
            return ""
        return re.sub(r"^(:-|:|-)", "", match["default"])

    result = _PLACEHOLDER.sub(value, text)
    return Text(None if unseen else result)


def duration(text: str, writing: DurationForm) -> timedelta:
    """Return the duration that a text says.

    Raises:
        ValueError: it says none in this writing, or none that Kafka's protocol can hold.
    """
    value = _duration(text, writing)
    if not timedelta(0) < value <= timedelta(milliseconds=LONGEST_MS):
        raise ValueError(f"{text!r} is no time that Kafka's protocol can hold")
    return value


def count(text: str) -> int | None:
    """Return the number that a text says; None where it says none that Kafka takes: nothing rests on it then."""
    number = int(text) if _WHOLE.fullmatch(text.strip()) else 0
    return number if 1 <= number <= LONGEST_MS else None


def _duration(text: str, writing: DurationForm) -> timedelta:
    if writing is DurationForm.GO:
        return durations.parse(text)
    if _WHOLE.fullmatch(text):
        return timedelta(milliseconds=int(text) * (1_000 if writing is DurationForm.SECONDS else 1))
    if writing is not DurationForm.EITHER:
        raise ValueError(f"{text!r} is no {writing.value}")
    iso = _ISO.fullmatch(text)
    if iso is not None and text.upper() != "PT":
        hours, minutes, seconds = (float(iso[part] or 0) for part in ("h", "m", "s"))
        return timedelta(milliseconds=round(((hours * 60 + minutes) * 60 + seconds) * 1_000))
    return durations.parse(text)


def example(writing: DurationForm, milliseconds: int) -> str:
    """Return how so many milliseconds are written."""
    if writing is DurationForm.SECONDS:
        return str(max(1, milliseconds // 1_000))
    form = Format.GO if writing is DurationForm.GO else Format.MILLISECONDS
    return form.example(milliseconds)


def meant(text: str, writing: DurationForm) -> str:
    """Return how to write what a text says that is in another writing; else, how to write 30 s."""
    if writing is DurationForm.GO and re.fullmatch(r"[0-9]{1,10}", text):
        readings = [f"{text}{unit} ({durations.show(durations.parse(f'{text}{unit}'))})" for unit in ("ms", "s")]
        return f"it has no unit: write {' or '.join(readings)}, whichever is meant"
    with contextlib.suppress(ValueError):
        value = duration(text, DurationForm.EITHER)
        return f"write {example(writing, durations.to_ms(value))}"
    return f"write 30 seconds as {example(writing, 30_000)}"


def shown(text: str) -> str:
    """Return what a sentence may show of a value: the name may be any variable's, a password's too."""
    if not text:
        return '""'
    if _REFERENCE.fullmatch(text):
        return "a reference to another variable, $(NAME)"
    core = text.strip()
    if not _DURATION_LIKE.fullmatch(core):
        return f"a text of {f'more than {LONGEST_SHOWN}' if len(text) > LONGEST_SHOWN else len(text)} characters"
    return repr(core) if core == text else f"{core!r} with white space around it"


def assignors(text: str) -> tuple[str, ...]:
    """Return the assignors of a list, without their Java packages."""
    names = re.split(r"[,\s\[\]\"']+", text)
    return tuple(name.rpartition(".")[2] for name in names if name)
