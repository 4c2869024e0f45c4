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
    judging,
    request_of_options,
)
from heartbeat_tuner.cli.checking.check_output import CheckVerdict
from heartbeat_tuner.cli.checking.request_of_options import Asked
from heartbeat_tuner.cli.checking.settings_sources import CheckRequest
from heartbeat_tuner.cli.options import duration
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.lint.rule import LintSeverity

_FAILING: Final = {
    "error": {LintSeverity.ERROR},
    "warning": {LintSeverity.ERROR, LintSeverity.WARNING},
    "info": set(LintSeverity),
    "never": set[LintSeverity](),
}
_OUTPUTS: Final = ("text", "json", "yaml", "sarif", "github", "junit")


def _client_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in catalogue.CLIENTS if name.startswith(incomplete)]


def _rule_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    names = [name for rule in rule_catalogue.RULES for name in (rule.code, rule.id)]
    return [name for name in names if name.startswith(incomplete)]


def _option_of(setting: Setting, more: str) -> Callable[[Any], Any]:
    return click.option(request_of_options.option(setting), type=duration, help=more)


@click.command("check", short_help="Check liveness settings: no metrics, no cluster.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--client",
    "name",
    shell_complete=_client_names,
    help="The client library, where the files do not say it; `heartbeat-tuner clients` lists them.",
)
@click.option("--client-version", default="", help="Where older versions differ, like 2.8; else a recent one is meant.")
@click.option("--kafka-version", default="", help="Of the brokers, like 3.9: what they lack, and whom they refuse.")
@_option_of(Setting.SESSION_TIMEOUT, "Where the files do not say it; else the library's default.")
@_option_of(Setting.HEARTBEAT_INTERVAL, "Likewise.")
@_option_of(Setting.FETCH_WAIT, "Likewise: maxWaitTimeInMs, fetch.max.wait.ms.")
@_option_of(Setting.MAX_POLL_INTERVAL, "Likewise, of clients that have one.")
@_option_of(Setting.REBALANCE_TIMEOUT, "Likewise.")
@click.option(
    "--group-protocol", type=click.Choice([protocol.value for protocol in Protocol]), help="Likewise: group.protocol."
)
@click.option("--env-file", type=click.Path(path_type=Path), help="Read NAME=value lines, whatever the file is called.")
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The same as a path without option, as kubectl has it; - is the standard input.",
)
@click.option("--container", help="The only container of manifests to look at.")
@click.option("--preset", help="Read only the variables of a client's preset; see `clients NAME`.")
@click.option(
    "--env",
    "overrides",
    multiple=True,
    metavar="SETTING=NAME",
    help="The variable that holds a setting in the files, like sessionTimeout=MY_TIMEOUT_MS; may be repeated.",
)
@click.option(
    "--handler-time", type=duration, help="The longest handler of one message, or of one poll of clients that poll."
)
@click.option(
    "--blocking-messages",
    type=click.IntRange(0, 1_000_000),
    default=0,
    show_default=True,
    help="How many messages are handled before the client's event loop has a turn; 0: handlers wait, not compute.",
)
@click.option("--longest-pause", type=duration, help="Of the whole process: garbage collection, CPU throttling.")
@click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Of the Kafka cluster.")
@click.option("--broker-min-session", type=duration, help="group.min.session.timeout.ms; else Kafka's default of 6s.")
@click.option("--broker-max-session", type=duration, help="group.max.session.timeout.ms; else Kafka's default of 30m.")
@click.option(
    "--max-detection-time", type=duration, help="How late a crash may be noticed.  [default: 60s; KafkaJS: 5m]"
)
@click.option("--select", multiple=True, shell_complete=_rule_names, help="Only these rules: HT101, HT1, or an id.")
@click.option("--ignore", multiple=True, shell_complete=_rule_names, help="All but these rules.")
@click.option("--fix", is_flag=True, help="Write the values that would hold into the files, and show the difference.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--output", "-o", type=click.Choice(_OUTPUTS), default="text", show_default=True)
@click.option(
    "--fail-on", type=click.Choice(list(_FAILING)), default="error", show_default=True, help="What gives exit status 1."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    is_eager=True,
    callback=check_config.configure,
    expose_value=False,
    help="Options in a file; else .heartbeat-tuner.toml or pyproject.toml, here or in a folder above.",
)
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Check the liveness settings of Kafka consumers: can they work, and what would?

    PATHS are files or folders: env files, properties, YAML, JSON, TOML, Compose, Kubernetes manifests and rendered
    charts; - is the standard input. Without one, settings come from options. What nothing says is the library's
    default.

    Exit status: 0 if nothing was found that --fail-on names, 1 if something was, 2 if the command line or a file cannot
    be used.
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
