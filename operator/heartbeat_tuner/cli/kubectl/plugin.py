"""`kubectl heartbeat-tuner`: its commands, each imported when it is called."""

import io
import sys
from typing import Any, Final

import click

from heartbeat_tuner import __version__
from heartbeat_tuner.cli import OnDemandGroup
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.domain.errors import TunerError

MODULES: Final = {
    "status": "policy_status",
    "explain": "policy_explanation",
    "report": "cluster_report",
    "pause": "pausing",
    "resume": "resuming",
    "revert": "reverting",
    "resume-fleet": "resuming_fleet",
}
"""The module of each command."""


class _Plugin(OnDemandGroup):
    """A group whose commands end with one sentence where the cluster cannot be used."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command.

        Raises:
            UsageProblem: kubectl failed, or the command is not possible.
        """
        try:
            return super().invoke(context)
        except TunerError as error:
            raise UsageProblem(shown(" ".join(str(error).split()), LONGEST)) from error


@click.group(
    cls=_Plugin,
    modules={name: f"{__package__}.{module}" for name, module in MODULES.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
def plugin() -> None:
    """Show and steer the policies of heartbeat-tuner in a cluster.

    Each command runs kubectl with your kubeconfig and your rights.

    Exit status: 0 if it was done, 1 if there is no answer, 2 if the command line or the cluster cannot be used.
    """


def main() -> None:
    """Run the plugin, which kubectl calls by the name of its program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that a terminal lacks must not end a command half-way
    plugin(prog_name="kubectl heartbeat-tuner")
