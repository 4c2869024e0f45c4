"""What several commands take: a duration, a number, the name of a client library, and its version."""

import math
import re
from datetime import timedelta
from typing import Any, Final

import click

from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.clients.formats import LONGEST_MS
from heartbeat_tuner.domain import durations

_LONGEST: Final = timedelta(milliseconds=LONGEST_MS)
_BARE_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def duration(text: str) -> timedelta:
    """Return a duration that Kafka's protocol can hold, in Go's notation or with days; click calls its kind so.

    Raises:
        click.BadParameter: it is none.
    """
    if _BARE_NUMBER.fullmatch(text):
        raise click.BadParameter(f"add a unit, like {text}ms, {text}s or {text}m: {text!r} has none")
    try:
        parsed = durations.parse_days(text)
    except ValueError as error:
        if re.fullmatch(durations.GO_DURATION_PATTERN, text):
            raise click.BadParameter(str(error)) from error
        raise click.BadParameter(f"write a duration like 45s, 333ms, 1h30m or 14d: {text!r} is not one") from error
    if not timedelta(0) < parsed <= _LONGEST:
        raise click.BadParameter(f"choose a time between 1ms and {durations.show(_LONGEST)}; {text!r} is outside")
    return parsed


class FiniteNumber(click.FloatRange):
    """A number within a range; what is none, and still a float, is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it, or refuse it as click does."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


def client_of(name: str, version: str | None) -> Client:
    """Return the card of a client library.

    Raises:
        UsageProblem: the name or the version is unknown; it names the nearest that is known.
    """
    try:
        client = catalogue.client(name)
        return client if version is None else catalogue.at_version(client, version)
    except ValueError as error:
        raise UsageProblem(str(error)) from error


class NeededText(click.types.StringParamType):
    """Text that has to be given: who leaves it out is told what to write.

    Args:
        fix: what to write, as a sentence.
    """

    def __init__(self, fix: str) -> None:
        self._fix = fix

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return what to write, after click's words."""
        del param, ctx  # the same fix, wherever the option stands
        return self._fix
