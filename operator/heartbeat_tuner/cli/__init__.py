"""The command line: one module per command, loaded when it is called; what commands share stands in rooms below.

What a user can get wrong ends as one sentence and exit status 2, never as a traceback. `check` has to answer at once
in somebody's CI, so no command pays for what only another one imports (the operator's clients take over a second).
A new command is a module here, and a name in `COMMANDS`; one that needs more than the core's packages stands in
`EXTRAS`, too.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any, Final

import click

from heartbeat_tuner import __version__
from heartbeat_tuner.cli.problems import ExtraMissing

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

EXTRAS: Final = {"run": "operator", "webhook": "operator"}
"""The commands whose module cannot be imported without an extra, and which extra brings it.

`fit` is not among them: its options can be read without Spark.
"""


class OnDemandGroup(click.Group):
    """A group whose commands are imported when they are asked for.

    Args:
        modules: the full name of each command's module, in which it is called `command`.
        rest: what click takes.
    """

    def __init__(self, *, modules: Mapping[str, str], **rest: Any) -> None:
        super().__init__(**rest)
        self._modules = modules

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for.

        Raises:
            click.UsageError: there is none of that name; it has the nearest one.
        """
        name = args[0]
        near = difflib.get_close_matches(name, self._modules, n=1)
        if name not in self._modules and near and not name.startswith("-"):
            context.fail(f"No such command '{name}'. Did you mean '{near[0]}'?")
        return super().resolve_command(context, args)

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._modules)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Return a command; None if there is none of that name."""
        if name not in self._modules:
            return None
        try:
            command: click.Command = importlib.import_module(self._modules[name]).command
        except ModuleNotFoundError as error:
            if name not in EXTRAS or error.name is None or error.name.startswith("heartbeat_tuner"):
                raise
            return _Unavailable(name, ExtraMissing(name, EXTRAS[name], error.name))
        return command


class _Unavailable(click.Command):
    """A command whose packages are not installed: it is listed, and says what installs them."""

    def __init__(self, name: str, problem: ExtraMissing) -> None:
        super().__init__(name, short_help=f"Needs {problem.remedy}.", add_help_option=False)
        self._problem = problem

    def parse_args(self, _context: click.Context, _args: list[str]) -> list[str]:
        """Refuse whatever options are given, `--help` too: they stand in the module that cannot be imported.

        Raises:
            ExtraMissing: always.
        """
        raise self._problem


@click.group(
    cls=OnDemandGroup,
    modules={name: f"{__name__}.{name}" for name in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
def cli() -> None:
    """Tune the liveness settings of Kafka consumer groups from measured delays."""
