"""From the text of an option to a value, with an error that names the option."""

import difflib
from datetime import timedelta

import click

from heartbeat_tuner.cli.options import duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import TUNED, Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.lint.checked_settings import NAMES


def option(setting: Setting) -> str:
    """Return the option that says what is set."""
    return f"--{flag(setting)}"


def flag(setting: Setting) -> str:
    """Return how the command line writes a setting."""
    return NAMES[setting].replace(" ", "-")


def assignment(client: Client, text: str, where: str) -> tuple[Setting, str]:
    """Return the setting and the value of `SETTING=VALUE`.

    Raises:
        UsageProblem: it is no such thing, or the library has no such setting.
    """
    name, equals, value = text.partition("=")
    known = {flag(setting): setting for setting in client.settings if setting in TUNED}
    if not equals or name not in known:
        example = "session-timeout=10s..30s" if where == "--bound" else "session-timeout=20s"
        near = difflib.get_close_matches(name, known, n=1) if equals else []
        fix = f"did you mean {near[0]}={value}?" if near else f"write it like {example};"
        raise UsageProblem(f"{where} {text!r}: {fix} {client.title} has {listed(sorted(known), 'and')}")
    return known[name], value


def time(text: str, where: str) -> timedelta:
    """Return a duration.

    Raises:
        UsageProblem: it is none.
    """
    try:
        return duration(text)
    except click.BadParameter as error:
        raise UsageProblem(f"{where}: {error.message}") from None


def bounds_of(client: Client, given: tuple[str, ...]) -> dict[Setting, Range]:
    """Return between what values must lie, by the texts of `--bound`.

    Raises:
        UsageProblem: one of them cannot be used.
    """
    bounds = {}
    for text in given:
        setting, value = assignment(client, text, "--bound")
        low, dots, high = value.partition("..")
        if not dots or not (low or high):
            raise UsageProblem(
                f"--bound {text!r}: write the least and the greatest value, like {flag(setting)}=10s..30s"
            )
        where = f"--bound {flag(setting)}"
        least, most = (time(limit, where) if limit else None for limit in (low, high))
        if least is not None and most is not None and least > most:
            raise UsageProblem(
                f"{where}: the least value ({durations.show(least)}) is above the greatest ({durations.show(most)}); "
                f"swap them"
            )
        bounds[setting] = Range(least, most)
    return bounds
