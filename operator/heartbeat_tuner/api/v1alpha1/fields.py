"""What the models of all kinds share: their base, durations, and how rules and errors are told."""

import dataclasses
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel

from heartbeat_tuner.api.v1alpha1 import validation_words
from heartbeat_tuner.domain import durations

GROUP: Final = "heartbeat-tuner.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

DURATION: Final = r"^([0-9]{1,4}d|([0-9]{1,4}d)?([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$"
"""What a policy accepts: Go's notation, which whole days may precede."""

_NOT_A_DURATION: Final = "must be a duration such as 45s, 333ms, 1h30m or 14d (units ms, s, m, h; whole days first)"

UNPRINTABLE: Final = r"[\x00-\x1f\x7f\x{FFFD}]"
"""In CEL: characters that Kafka's and Prometheus' clients trip over, for all groups of one request."""

MAX_MESSAGE: Final = 4096


@dataclasses.dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`.

    Attributes:
        name: its heading.
        type: of its values, as OpenAPI names it.
        path: JSON path of its value.
        is_wide: whether only `--output wide` has it.
    """

    name: str
    type: str
    path: str
    is_wide: bool = False

    def manifest(self) -> dict[str, Any]:
        """Return it as a definition has it."""
        column: dict[str, Any] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return {**column, "priority": 1} if self.is_wide else column


class Model(BaseModel):
    """Base of all models: camelCase outside, unknown fields refused by the schema, values frozen."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


def stored(model: BaseModel) -> dict[str, Any]:
    """Return a model as the API server stores it: without what is None, and each fraction as a text.

    A fraction that is a JSON number is read otherwise by each language and tool; Kubernetes' types have none.
    """
    document: dict[str, Any] = _as_texts(model.model_dump(mode="json", by_alias=True, exclude_none=True))
    return document


def _as_texts(value: Any) -> Any:
    match value:
        case dict():
            return {name: _as_texts(child) for name, child in value.items()}
        case list():
            return [_as_texts(child) for child in value]
        case float():
            return repr(value).removesuffix(".0")
        case _:
            return value


class Computed(str):
    """A CEL expression that gives a rule's message, for a message that repeats a part of the value."""

    __slots__ = ()


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return CEL rules as a schema extension: pairs of rule and message, which may be `Computed`."""
    return {
        "x-kubernetes-validations": [
            {"rule": rule, "messageExpression" if isinstance(message, Computed) else "message": str(message)}
            for rule, message in pairs
        ]
    }


def earlier_name(earlier: str, newer: str, *pairs: tuple[str, str]) -> Callable[[dict[str, Any]], None]:
    """Return a schema extension: the name that a time had before version 0.1.0, and CEL rules.

    The API server drops what a definition does not name, of stored objects too; so the earlier name stays in it.

    Args:
        earlier: the name, which is read and never written.
        newer: the name of today.
        pairs: of rule and message.
    """

    def extend(schema: dict[str, Any]) -> None:
        words = f"Earlier name of {newer}, in objects of versions before 0.1.0. It is read, and not written."
        schema["properties"][earlier] = {"type": "string", "format": "date-time", "maxLength": 40, "description": words}
        schema.update(rules(*pairs) if pairs else {})

    return extend


def as_ms(path: str) -> str:
    """Return the CEL expression of a duration field in milliseconds; CEL's own durations know no days.

    Numbers rather than texts: the API server bounds what a rule may cost, and calls a text that is put together
    boundless.
    """
    days = f"int({path}.substring(0, {path}.indexOf('d'))) * {round(durations.DAY_S) * 1_000}"
    rest = f"duration({path}.substring({path}.indexOf('d') + 1)).getMilliseconds()"
    with_days = f"{path}.endsWith('d') ? {days} : {days} + {rest}"
    return f"(!{path}.contains('d') ? duration({path}).getMilliseconds() : {with_days})"


def on_durations(rule: str, *paths: str) -> str:
    """Return a CEL rule that compares durations, and leaves those that cannot be read to the rule of the field itself.

    Else the API server would add that this rule could not be evaluated, in words that name no field.

    Args:
        rule: what to compare.
        paths: of the fields in it.
    """
    unreadable = " || ".join(f"!({_is_duration(path)})" for path in paths)
    return f"{unreadable} || ({rule})"


@dataclasses.dataclass(frozen=True, slots=True)
class LengthRange:
    """How long the field `duration` of an object may be."""

    shortest: timedelta
    longest: timedelta

    def checked(self, text: str) -> str:
        """Return a duration.

        Raises:
            ValueError: it is too short or too long.
        """
        if not self.shortest <= durations.parse_days(text) <= self.longest:
            raise ValueError(self._message)
        return text

    @property
    def schema(self) -> dict[str, Any]:
        """The same as a rule in CEL."""
        length, shortest, longest = as_ms("self.duration"), *map(durations.to_ms, (self.shortest, self.longest))
        rule = on_durations(f"{length} >= {shortest} && {length} <= {longest}", "self.duration")
        return rules((rule, self._message))

    @property
    def _message(self) -> str:
        return f"duration must be {durations.show(self.shortest)} to {durations.show(self.longest)}"


def _is_duration(path: str) -> str:
    """Return the CEL expression that holds where a field is a duration that can be read."""
    return f"{path}.matches(r'{DURATION}') && {_not_too_long(path)}"


def _not_too_long(path: str) -> str:
    return rf"!{path}.matches(r'[0-9]{{10}}') && !{path}.matches(r'[0-9]{{7}}(\.[0-9]+)?[mh]')"


def open_word(description: str) -> WithJsonSchema:
    """Return the schema of a word that later versions may add to: an operator may be newer than the definition."""
    return WithJsonSchema({"type": "string", "maxLength": 64, "description": description})


def first_error(error: ValidationError, model: type[BaseModel], root: str) -> str:
    """Return the first thing that is wrong with a document: field, value, rule and fix.

    Args:
        error: as pydantic raised it.
        model: of the document.
        root: what a person calls the document.
    """
    first = error.errors()[0]
    where = ".".join([root, *(str(part) for part in first["loc"])])
    value = f" (value: {validation_words.shown_value(first['input'])})" if validation_words.is_own(first) else ""
    return f"{where}: {validation_words.sentence(first, model)}{value}"


def moment(text: str) -> str:
    """Return a time as it was written.

    Raises:
        ValueError: it is none, or has no time zone.
    """
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("must have a time zone")
    return text


def moment_or_none(text: str | None) -> str | None:
    """Return a time as it was written, or nothing; errors as of `moment`."""
    return None if text is None else moment(text)


def printable(text: str) -> str:
    """Return a text as it is.

    Raises:
        ValueError: it holds what trips Kafka's and Prometheus' clients over.
    """
    if any(ord(character) < ord(" ") or character in "\x7f\ufffd" for character in text):
        raise ValueError("must not hold control or replacement characters")
    return text


GroupId = Annotated[str, AfterValidator(printable), Field(min_length=1, max_length=255)]
"""A `group.id`; its rules are in `group_id_rules`, since a field's own schema takes the place of the type's."""


def group_id_rules(instead: str) -> dict[str, Any]:
    """Return the CEL rules of `groupId`: who wants another one is told what to do instead."""
    return rules(
        ("self == oldSelf", f"groupId cannot be changed; {instead}"),
        (f"!self.matches(r'{UNPRINTABLE}')", "groupId must not hold control or replacement characters"),
    )


def _duration(text: str) -> str:
    if not re.fullmatch(DURATION, text):
        raise ValueError(f"{text!r} is not a duration; write it like 45s, 333ms, 1h30m or 14d")
    durations.parse_days(text)
    return text


def _positive(text: str) -> str:
    if durations.parse_days(text) <= timedelta(0):
        raise ValueError("must be greater than zero")
    return text


Duration = Annotated[
    str,
    AfterValidator(_duration),
    Field(
        max_length=32,
        json_schema_extra=rules(
            (
                f"self.matches(r'{DURATION}')",
                _NOT_A_DURATION,
            ),
            (
                _not_too_long("self"),
                "must be a duration of at most 999999h: no clock holds longer ones",
            ),
        ),
    ),
]

PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
"""Of a value that a client could be given; the check is the tuner's, the schema that of every duration."""
