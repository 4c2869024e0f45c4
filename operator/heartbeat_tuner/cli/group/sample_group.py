"""The sample that ships with the command line (`--sample`): a model of a synthetic group, to try commands with.

A fit of the bench made it (`bench.sample_model`). A model counts for a week, so the sample's days are moved: it says
what a fit of last night would have said.
"""

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.models.group_model import Fitted

_Command = TypeVar("_Command", bound=Callable[..., Any])

FOLDER: Final = Path(__file__).with_name("sample")
SAMPLE: Final = FOLDER / "shop" / "orders.json"

STATED: Final[dict[str, Any]] = {
    "models": str(FOLDER),
    "group": "orders",
    "members": 5,
    "partitions": 5,
    "protocol": "eager",
    "membership": "dynamic",
}
"""What else is to be said of the group, by the names of the options."""


def option(command: _Command) -> _Command:
    """Give a command the option `--sample`, which says of the sample what other options say of a group."""
    return click.option(
        "--sample",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_stated,
        help="Use the model that ships with heartbeat-tuner: group orders, 5 Java consumers; synthetic.",
    )(command)


def recent(now: datetime) -> list[Fitted]:
    """Return the sample as last night's fit would have written it."""
    fitted = [each for each in ModelFiles(FOLDER).read() if isinstance(each, Fitted)]
    return [_moved(each, now) for each in fitted]


def _moved(fitted: Fitted, now: datetime) -> Fitted:
    later = timedelta(days=(now.date() - timedelta(days=1) - fitted.model.until).days)
    model = dataclasses.replace(
        fitted.model,
        since=fitted.model.since + later,
        until=fitted.model.until + later,
        fitted_at=now,
    )
    return dataclasses.replace(fitted, model=model)


def _stated(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        context.default_map = {**(context.default_map or {}), **STATED}
