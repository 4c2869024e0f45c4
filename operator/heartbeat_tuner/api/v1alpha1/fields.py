"""What the models of all kinds share: their base, durations, and how rules and errors are told."""

import dataclasses
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.durations import GO_DURATION_PATTERN

GROUP: Final = "heartbeat-tuner.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

UNPRINTABLE: Final = r"[\x00-\x1f\x7f\x{FFFD}]"
"""In CEL: characters that Kafka's and Prometheus' clients trip over, for all groups of one request."""

MAX_MESSAGE: Final = 4096

SHOWN_VALUE: Final = 200
"""Characters of a value that a message repeats."""


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


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return CEL rules as a schema extension: pairs of rule and message."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in pairs]}


def open_word(description: str) -> WithJsonSchema:
    """Return the schema of a word that later versions may add to: an operator may be newer than the definition."""
    return WithJsonSchema({"type": "string", "maxLength": 64, "description": description})


def first_error(error: ValidationError, root: str) -> str:
    """Return the first thing that is wrong below `root`: field, rule and value."""
    first = error.errors()[0]
    where = ".".join([root, *(str(part) for part in first["loc"])])
    rule = first["msg"].removeprefix("Value error, ")
    value = repr(first["input"])
    shown = value if len(value) <= SHOWN_VALUE else f"{value[:SHOWN_VALUE]}…"
    return f"{where}: {rule} (value: {shown})"


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
    durations.parse(text)
    return text


def _positive(text: str) -> str:
    if durations.parse(text) <= timedelta(0):
        raise ValueError("must be greater than zero")
    return text


Duration = Annotated[
    str,
    AfterValidator(_duration),
    Field(
        max_length=32,
        json_schema_extra=rules(
            (
                f"self.matches(r'{GO_DURATION_PATTERN}')",
                "must be a duration such as 45s, 333ms or 1h30m (units ms, s, m, h; no days)",
            ),
            (
                r"!self.matches(r'[0-9]{10}') && !self.matches(r'[0-9]{7}(\.[0-9]+)?[mh]')",
                "must be a duration of at most 999999h: no clock holds longer ones",
            ),
        ),
    ),
]

PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
"""Of a value that a client could be given; the check is the tuner's, the schema that of every duration."""
