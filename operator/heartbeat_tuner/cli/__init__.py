"""The command line: one module per command, loaded when it is called; what commands share stands in rooms below.

What a user can get wrong ends as one sentence and exit status 2, never as a traceback. `check` has to answer at once
in somebody's CI, so no command pays for what only another one imports (the operator's clients take over a second).
A new command is a module here, and a name in `COMMANDS`.
"""

import importlib
from typing import Final

import click

from heartbeat_tuner import __version__

COMMANDS: Final = (
    "check",
    "clients",
    "crds",
    "doctor",
    "explain",
    "fit",
    "recommend",
    "report",
    "run",
    "simulate",
    "webhook",
)
"""Each is the module of that name, in which the command is called `command`."""


class _OnDemand(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        return command


@click.group(cls=_OnDemand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Tune the liveness settings of Kafka consumer groups from measured delays."""
