"""`heartbeat-tuner check`: a linter for Kafka consumers, for people's own CI; it needs no metrics and no cluster.

`settings_sources` gathers, `judging` asks the rules of `lint`, `check_output` and `check_reports` write. Nothing here
may import the operator's clients: the answer has to come at once (import-linter holds that).
"""

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.cli.checking import (
    check_config,
    check_output,
    completion,
    judging,
    request_of_options,
)
from heartbeat_tuner.cli.checking.check_output import CheckVerdict
from heartbeat_tuner.cli.checking.request_of_options import Asked
from heartbeat_tuner.cli.checking.settings_sources import CheckRequest
from heartbeat_tuner.cli.options import duration
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint.rule import LintSeverity

_FAILING: Final = {
    "error": {LintSeverity.ERROR},
    "warning": {LintSeverity.ERROR, LintSeverity.WARNING},
    "info": set(LintSeverity),
    "never": set[LintSeverity](),
}
_OUTPUTS: Final = ("text", "json", "yaml", "sarif", "github", "junit")


def _option_of(setting: Setting, more: str) -> Callable[[Any], Any]:
    return click.option(request_of_options.option(setting), type=duration, help=more)


@click.command("check", short_help="Check liveness settings in files; needs no cluster.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--client",
    "name",
    shell_complete=completion.client_names,
    help="Client library, if the files do not name it. `heartbeat-tuner clients` lists them.",
)
@click.option("--client-version", default="", help="Version of the client library, like 2.8. Default: a recent one.")
@click.option(
    "--kafka-version", default="", help="Version of the brokers, like 3.9. Enables rules on what that version lacks."
)
@_option_of(Setting.SESSION_TIMEOUT, "Session timeout, if the files do not set it. Default: the library's.")
@_option_of(Setting.HEARTBEAT_INTERVAL, "Heartbeat interval, if the files do not set it. Default: the library's.")
@_option_of(Setting.FETCH_WAIT, "Fetch wait (maxWaitTimeInMs, fetch.max.wait.ms), if the files do not set it.")
@_option_of(Setting.MAX_POLL_INTERVAL, "Max poll interval, if the files do not set it and the client has one.")
@_option_of(Setting.REBALANCE_TIMEOUT, "Rebalance timeout, if the files do not set it. Default: the library's.")
@click.option(
    "--group-protocol",
    type=click.Choice([protocol.value for protocol in Protocol]),
    help="Rebalance protocol (group.protocol), if the files do not set it.",
)
@click.option(
    "--target-protocol",
    type=click.Choice([Protocol.CONSUMER.value]),
    help="Check a migration to this protocol: what hinders it, what changes, the way there and back.",
)
@click.option("--env-file", type=click.Path(path_type=Path), help="Read this file as NAME=value lines.")
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File or folder, as with kubectl. Same as PATHS; - is the standard input.",
)
@click.option("--container", help="Check only this container of manifests.")
@click.option("--preset", help="Read only the variables of this preset. `clients NAME` lists presets.")
@click.option(
    "--env",
    "overrides",
    multiple=True,
    metavar="SETTING=NAME",
    help="Variable that holds a setting, like sessionTimeout=MY_TIMEOUT_MS. Repeatable.",
)
@click.option(
    "--handler-time", type=duration, help="Longest time a handler takes for one message, or for one poll's messages."
)
@click.option(
    "--blocking-messages",
    type=click.IntRange(0, 1_000_000),
    default=0,
    show_default=True,
    help="Messages that handlers compute on before the event loop runs. 0: handlers only wait.",
)
@click.option(
    "--longest-pause", type=duration, help="Longest pause of the process, by garbage collection or CPU throttling."
)
@click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of brokers.")
@click.option("--broker-min-session", type=duration, help="The broker's group.min.session.timeout.ms. Default: 6s.")
@click.option("--broker-max-session", type=duration, help="The broker's group.max.session.timeout.ms. Default: 30m.")
@click.option(
    "--max-detection-time", type=duration, help="Longest time to notice a crashed member.  [default: 60s; KafkaJS: 5m]"
)
@click.option(
    "--select",
    multiple=True,
    shell_complete=completion.rule_names,
    help="Check only these rules: a code, a prefix or an id, like HT101, HT1. Repeatable.",
)
@click.option("--ignore", multiple=True, shell_complete=completion.rule_names, help="Skip these rules. Repeatable.")
@click.option("--fix", is_flag=True, help="Write safe values into the files, and print the diff.")
@click.option("--diff", is_flag=True, help="Print the diff of --fix, and write nothing.")
@click.option("--output", "-o", type=click.Choice(_OUTPUTS), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="Lowest severity that gives exit status 1.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    is_eager=True,
    callback=check_config.configure,
    expose_value=False,
    help="Configuration file. Default: .heartbeat-tuner.toml or pyproject.toml, here or in a parent folder.",
)
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Check the liveness settings of Kafka consumers, and print values that work.

    PATHS are files or folders: env files, properties, YAML, JSON, TOML, Compose, Kubernetes manifests and rendered
    charts; - is the standard input. Without PATHS, settings come from options. A setting that is given nowhere has the
    library's default.

    Exit status: 0 if there are no findings of the severity in --fail-on, 1 if there are some, 2 if the command line or
    a file cannot be used.
    """
    asked = Asked(options, context.obj or {})
    request = asked.request()
    gathered = asked.gathered(request)
    verdicts = judging.verdicts(gathered, asked.expectations(), asked.selection())
    _write(verdicts, request, asked)
    if options["fix"] or options["diff"]:
        fixing = _on_demand("fixing")
        files = fixing.fixed(verdicts, gathered)
        click.echo("".join(file.diff for file in files), nl=False, err=options["output"] != "text")
        if options["fix"]:
            fixing.write(files)
    failing = _FAILING[options["fail_on"]]
    if any(finding.rule.severity in failing for verdict in verdicts for finding in verdict.findings):
        raise click.exceptions.Exit(1)


def _on_demand(name: str) -> Any:
    """Return a module of `checking` that most calls do without."""
    return importlib.import_module(f"heartbeat_tuner.cli.checking.{name}")


def _write(verdicts: Sequence[CheckVerdict], request: CheckRequest, asked: Asked) -> None:
    match asked.options["output"]:
        case "text":
            text = check_output.as_text(verdicts, request, asked.more())
        case "json":
            text = check_output.as_json(verdicts)
        case "yaml":
            text = check_output.as_yaml(verdicts)
        case output:
            text = getattr(_on_demand("check_reports"), f"as_{output}")(verdicts)
    click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)
