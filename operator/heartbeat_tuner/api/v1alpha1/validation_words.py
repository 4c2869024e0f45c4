"""What is wrong with a field of a document, in our words: the value, the rule and the fix. Pure.

Pydantic finds what does not fit, and its words are a library's: nobody who writes a configuration knows what an input
is. Values that may be secrets are never shown: messages go to logs and to Events.
"""

import difflib
import re
import typing
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

SHOWN_VALUE: Final = 200
"""Characters of a value that a message repeats."""

_MOST_NAMES: Final = 12
"""Fields that a message lists."""

_LIKE_A_SECRET: Final = re.compile(r"key|token|secret|passw|auth|cred|session_?id|signature|headers", re.IGNORECASE)
"""In the name of a field: its value may be one."""

_OWN_WORDS: Final = "Value error, "
"""What pydantic puts before the message of a validator of ours."""

_PATTERNS: Final = MappingProxyType(
    {
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": "a name of lower-case letters, digits and inner hyphens",
        r"^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$": "a host name of letters, digits, hyphens and dots",
        r"^[A-Za-z0-9]([-.:A-Za-z0-9]*[A-Za-z0-9])?$": "a host name or an address",
    }
)
"""What the patterns of names mean."""

_RULES: Final = MappingProxyType(
    {
        "missing": "this field is required; add it",
        "greater_than_equal": "{value} is below the lowest value, {ge}; raise it",
        "greater_than": "{value} is too low; write a number above {gt}",
        "less_than_equal": "{value} is above the highest value, {le}; lower it",
        "less_than": "{value} is too high; write a number below {lt}",
        "literal_error": "{value} is not one of the values; write {expected}",
        "enum": "{value} is not one of the values; write {expected}",
        "string_too_short": "{value} is shorter than the minimum length, {min_length}; write more",
        "string_too_long": "{value} is longer than the maximum length, {max_length}; shorten it",
        "too_short": "there are fewer entries than the minimum, {min_length}; add some",
        "too_long": "there are more entries than the maximum, {max_length}; take some out",
        "bool": "{value} is not a boolean; write true or false, without quotes",
        "int": "{value} is not a whole number; write digits alone, without quotes",
        "float": "{value} is not a number; write digits, without quotes",
        "finite_number": "{value} is not a finite number; write one that is",
        "string": "{value} is not text; put it in quotes",
        "path": "{value} is not a path; write it as text",
        "model": "{value} is not a set of fields; write each as name: value",
        "dict": "{value} is not a set of fields; write each as name: value",
        "list": "{value} is not a list; write it like [a, b]",
        "tuple": "{value} is not a list; write it like [a, b]",
    }
)
"""What is said, by pydantic's name for what is wrong, or by its first part."""


def sentence(fault: ErrorDetails, model: type[BaseModel]) -> str:
    """Return what is wrong with a field, without its name.

    Args:
        fault: as pydantic found it.
        model: of the whole document.
    """
    kind, context = fault["type"], fault.get("ctx", {})
    if is_own(fault):
        return fault["msg"].removeprefix(_OWN_WORDS)
    if kind == "extra_forbidden":
        return f"there is no such field; {_instead(fault['loc'], model)}"
    if kind == "string_pattern_mismatch":
        pattern = str(context["pattern"])
        return f"{_shown(fault)} does not fit; write {_PATTERNS.get(pattern, f'text that matches {pattern}')}"
    rule = _RULES.get(kind) or _RULES.get(kind.rpartition("_")[0]) or _RULES.get(kind.partition("_")[0])
    if rule is None:
        return f"{_shown(fault)} does not fit; the reference of this field says what does"
    limits = {name: _number(limit) for name, limit in context.items()}
    return rule.format(**limits, value=_shown(fault))


def _number(limit: object) -> str:
    """Return a limit, or a list of words, as a person writes it."""
    return f"{limit:g}" if isinstance(limit, float) else str(limit).replace("'", "")


def is_own(fault: ErrorDetails) -> bool:
    """Whether a validator of ours said what is wrong, which may not repeat the value."""
    return fault["msg"].startswith(_OWN_WORDS)


def shown_value(value: object) -> str:
    """Return a value as a message repeats it: not all of a long one."""
    text = repr(value)
    return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}…"


def _shown(fault: ErrorDetails) -> str:
    """Return the value of a field, unless it may be a secret."""
    if any(_LIKE_A_SECRET.search(str(part)) for part in fault["loc"]):
        return "the value"
    return shown_value(fault["input"])


def _instead(place: Sequence[int | str], model: type[BaseModel]) -> str:
    """Return what to do about a field that nobody knows."""
    known = _names(place[:-1], model)
    near = difflib.get_close_matches(str(place[-1]), known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    if not known or len(known) > _MOST_NAMES:
        return "take it out"
    return f"take it out; the fields here are {', '.join(known)}"


def _names(place: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """Return the names of the fields that there are at a place of a document; none where that cannot be said."""
    section: object = model
    for part in place:
        section = _below(_plain(section), part)
    kind = _plain(section)
    if not isinstance(kind, type) or not issubclass(kind, BaseModel):
        return []
    return [field.alias or name for name, field in kind.model_fields.items()]


def _below(section: object, part: int | str) -> object:
    """Return the type of what is called `part` in a value of some type; None where that cannot be said."""
    if isinstance(section, type) and issubclass(section, BaseModel):
        types = {field.alias or name: field.annotation for name, field in section.model_fields.items()}
        return types.get(str(part))
    arguments = typing.get_args(section)
    if typing.get_origin(section) in {dict, Mapping}:
        return arguments[1]
    return arguments[0] if arguments else None


def _plain(annotation: object) -> Any:
    """Return a type without what is annotated, and without None."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    arguments = typing.get_args(annotation)
    if type(None) in arguments:
        return _plain(next(argument for argument in arguments if argument is not type(None)))
    return annotation
