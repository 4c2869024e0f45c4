"""`spec.rollout` of a `ConsumerGroupPolicy` v1alpha1: when and how changes reach the pods.

A window's schedule is a cron line as a CronJob has it. Where crons disagree about what a line means, it is refused: a
rollout at the wrong hour is worse than a policy that has to be corrected.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, ConfigDict, Field

from heartbeat_tuner.api.v1alpha1.canary_v1alpha1 import CanarySpec
from heartbeat_tuner.api.v1alpha1.fields import Computed, Duration, LengthRange, Model, PositiveDuration, rules

_SOME_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a schedule ever comes does not depend on when it is asked."""

MAX_WINDOWS: Final = 10
LENGTH: Final = LengthRange(timedelta(minutes=1), timedelta(days=7))


def _field(value: str) -> str:
    """Return the pattern of one field: a star, or a list of values and ranges, each perhaps with a step."""
    step = "(/0*[1-9][0-9]?)?"
    return rf"([*?]{step}|{value}(-{value})?{step}(,{value}(-{value})?{step})*)"


_MONTH_NAMES: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAY_NAMES: Final = "sun|mon|tue|wed|thu|fri|sat"

FIVE_FIELDS: Final = r"^[^ ]+( +[^ ]+){4}$"
"""Regular expressions of this module mean the same in Python and in CEL."""

_FIELD: Final = "[^ ]+"

FIELDS: Final = (
    ("minute", _field("[0-5]?[0-9]"), "0 to 59"),
    ("hour", _field("([01]?[0-9]|2[0-3])"), "0 to 23"),
    ("day", _field("(0?[1-9]|[12][0-9]|3[01])"), "1 to 31"),
    ("month", _field(f"(0?[1-9]|1[0-2]|{_MONTH_NAMES})"), "1 to 12 or jan to dec"),
    ("weekday", _field(f"([0-7]|{_DAY_NAMES})"), "0 to 7 or sun to sat"),
)
"""The fields of a cron line in their order: name, pattern of what it may hold, and that in words."""

_FORMS: Final = "or *, a range such as 1-5, a list such as 1,3, or a step such as */2"

DISPUTED: Final = r"^\S+ +\S+ +([*?]/\S+ +\S+ +([^*?]|[*?]/)|[^*?]\S* +\S+ +[*?]/)"
"""A step over all days beside other days: some crons want both to hold, others either."""

ZONE: Final = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$"

_NOT_A_SCHEDULE: Final = (
    "must be five fields, minute hour day month weekday, such as 0 2 * * 1-5; no seconds, no @daily, no zone"
)
_IS_DISPUTED: Final = (
    "crons differ on a step over all days (*/2) beside other days; write the days out, such as 1-31/2, or leave one *"
)
_NOT_A_ZONE: Final = "must be an IANA time zone, such as Europe/Berlin"


def plain(schedule: str) -> str:
    """Return a schedule as every cron reads it: `?` is a CronJob's other way to write a star."""
    return schedule.replace("?", "*")


def _field_rule(place: int) -> tuple[str, Computed]:
    """Return the CEL rule of the field at this place; its message names field, value and range."""
    name, pattern, allowed = FIELDS[place]
    value = f"self.findAll(r'{_FIELD}')[{place}]"
    return (
        f"!self.matches(r'{FIVE_FIELDS}') || {value}.matches(r'(?i)^{pattern}$')",
        Computed(f"'{name} ' + {value} + ' is out of range: write {allowed}, {_FORMS}'"),
    )


def _schedule(text: str) -> str:
    """Return a schedule as it is written.

    Raises:
        ValueError: it is none, its meaning is disputed, or it never comes.
    """
    if not re.fullmatch(FIVE_FIELDS, text):
        raise ValueError(_NOT_A_SCHEDULE)
    for (name, pattern, allowed), value in zip(FIELDS, re.findall(_FIELD, text), strict=True):
        if not re.fullmatch(f"(?i){pattern}", value):
            raise ValueError(f"{name} {value} is out of range: write {allowed}, {_FORMS}")
    if re.match(DISPUTED, text):
        raise ValueError(_IS_DISPUTED)
    try:
        CronSim(plain(text), _SOME_MOMENT)
    except CronSimError as error:
        raise ValueError(
            f"never comes ({error}): a range must not run backwards, and a month named must have the day; correct it"
        ) from None
    return text


def _zone(name: str) -> str:
    """Return a time zone's name as it is written.

    Raises:
        ValueError: no zone has that name.
    """
    if not re.fullmatch(ZONE, name):
        raise ValueError(_NOT_A_ZONE)
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not there, a bad file, a folder of zones
        raise ValueError(f"names no time zone of the IANA database; {_NOT_A_ZONE}") from None
    return name


class WindowSpec(Model):
    """A time in which the operator may begin a rollout."""

    model_config = ConfigDict(json_schema_extra=LENGTH.schema)

    schedule: Annotated[
        str,
        AfterValidator(_schedule),
        Field(
            max_length=100,
            description="Start of the window: five cron fields as in a CronJob, such as 0 2 * * 1-5.",
            json_schema_extra=rules(
                (f"self.matches(r'{FIVE_FIELDS}')", _NOT_A_SCHEDULE),
                *(_field_rule(place) for place in range(len(FIELDS))),
                (f"!self.matches(r'{DISPUTED}')", _IS_DISPUTED),
            ),
        ),
    ]
    duration: Annotated[
        Duration, AfterValidator(LENGTH.checked), Field(description="Length of the window, such as 4h.")
    ]
    time_zone: Annotated[
        str,
        AfterValidator(_zone),
        Field(
            max_length=64,
            description="IANA time zone of the schedule, such as Europe/Berlin.",
            json_schema_extra=rules((f"self.matches(r'{ZONE}')", _NOT_A_ZONE)),
        ),
    ] = "UTC"


class VerificationSpec(Model):
    """Reaction to a change that did harm or whose pods fail."""

    revert: Annotated[
        bool,
        Field(description="Whether to write the earlier values again. If false, the condition Verified reports harm."),
    ] = True


class RolloutSpec(Model):
    """When and how changes reach the pods."""

    cooldown: Annotated[Duration, Field(description="Shortest time between two changes of this group.")] = "24h"
    horizon: Annotated[
        PositiveDuration,
        Field(description="A change that only reduces cost must save more than its restarts cost within this time."),
    ] = "336h"
    windows: Annotated[
        Annotated[list[WindowSpec], Field(max_length=MAX_WINDOWS)] | None,
        Field(description="Times in which a rollout may begin. Empty: any time."),
    ] = None
    verification: VerificationSpec = VerificationSpec()
    canary: CanarySpec = CanarySpec()
