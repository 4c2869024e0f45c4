"""`heartbeat-tuner check`: a linter for liveness settings, for people's own CI; it needs no metrics and no cluster.

`settings_sources` reads, `lint.linting` and `lint.suggestions` judge, `check_output` writes. Nothing here may import
the operator's clients: the answer has to come at once (import-linter holds that).
"""

import functools
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from heartbeat_tuner.cli.checking import check_output, settings_sources
from heartbeat_tuner.cli.checking.check_output import CheckVerdict
from heartbeat_tuner.cli.checking.settings_sources import CheckRequest, CheckSubject
from heartbeat_tuner.cli.options import client_of, duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed
from heartbeat_tuner.clients import presets
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import checked_settings, linting, suggestions
from heartbeat_tuner.lint.checked_settings import Expectations
from heartbeat_tuner.lint.rule_catalogue import LintSeverity

_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,252}")
_FAILING: Final = {"error": {LintSeverity.ERROR}, "warning": {LintSeverity.ERROR, LintSeverity.WARNING}}


@click.command("check", short_help="Check liveness settings: no metrics, no cluster.")
@click.option("--client", "name", required=True, help="The client library; `heartbeat-tuner clients` lists them.")
@click.option("--client-version", help="Where older versions differ, like 2.8; else a recent one is meant.")
@click.option("--session-timeout", type=duration, help="Where the files do not say it; else the library's default.")
@click.option("--heartbeat-interval", type=duration, help="Likewise.")
@click.option("--fetch-wait", type=duration, help="Likewise: maxWaitTimeInMs, fetch.max.wait.ms.")
@click.option("--max-poll-interval", type=duration, help="Likewise, of clients that have one.")
@click.option("--rebalance-timeout", type=duration, help="Likewise.")
@click.option(
    "--group-protocol", type=click.Choice([protocol.value for protocol in Protocol]), help="Likewise: group.protocol."
)
@click.option("--env-file", type=click.Path(path_type=Path), help="Read NAME=value lines; - is the standard input.")
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read a manifest: each Deployment, StatefulSet, DaemonSet, ReplicaSet, Job and Pod in it, with its "
    "ConfigMaps. May be repeated; - is the standard input.",
)
@click.option("--container", help="The container of the manifest's pods that is the consumer.")
@click.option("--preset", help="How the files name variables, of clients with more than one way; see `clients NAME`.")
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
@click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Of the Kafka cluster.")
@click.option(
    "--max-detection-time", type=duration, default="60s", show_default=True, help="How late a crash may be noticed."
)
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on", type=click.Choice(list(_FAILING)), default="error", show_default=True, help="What gives exit status 1."
)
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    name: str,
    client_version: str | None,
    session_timeout: timedelta | None,
    heartbeat_interval: timedelta | None,
    fetch_wait: timedelta | None,
    max_poll_interval: timedelta | None,
    rebalance_timeout: timedelta | None,
    group_protocol: str | None,
    env_file: Path | None,
    filenames: tuple[Path, ...],
    container: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    handler_time: timedelta | None,
    blocking_messages: int,
    brokers: int,
    max_detection_time: timedelta,
    output: str,
    fail_on: str,
) -> None:
    """Check the liveness settings of a Kafka consumer: can they work, and what would?

    Settings come from flags, from an env file, or from manifests; values in files are whole milliseconds, or durations
    as Go writes them where the client is one in Go. What nothing says is the library's default.

    Exit status: 0 if nothing was found that --fail-on names, 1 if something was, 2 if the command line or a file cannot
    be used.
    """
    flags = {
        Setting.SESSION_TIMEOUT: session_timeout,
        Setting.HEARTBEAT_INTERVAL: heartbeat_interval,
        Setting.FETCH_WAIT: fetch_wait,
        Setting.MAX_POLL_INTERVAL: max_poll_interval,
        Setting.REBALANCE_TIMEOUT: rebalance_timeout,
    }
    client = client_of(name, client_version)
    _suit(client, handler_time, preset)
    wanted = _wanted(client, flags, group_protocol, preset or next(iter(client.presets)), overrides)
    try:
        subjects = _subjects(wanted, env_file, filenames, container, naming=overrides or preset)
    except TunerError as error:
        raise UsageProblem(str(error)) from error
    expectations = Expectations(brokers, max_detection_time, handler_time, blocking_messages)
    checked = [_verdict(subject, expectations) for subject in subjects]
    text = check_output.as_json(checked) if output == "json" else check_output.as_text(checked, wanted)
    click.echo(text, nl=False)
    if any(finding.rule.severity in _FAILING[fail_on] for verdict in checked for finding in verdict.findings):
        raise click.exceptions.Exit(1)


def _suit(client: Client, handler_time: timedelta | None, preset: str | None) -> None:
    """Refuse options that the client has no use for."""
    if handler_time is not None and not client.handles_messages:
        raise UsageProblem(
            f"{client.title} handles no messages itself: take --handler-time out, and check the consumers of its sink "
            f"tasks with --client java"
        )
    if preset is not None and preset not in client.presets:
        raise UsageProblem(f"--preset {preset}: {client.title} is known with {listed(list(client.presets))}")


def _verdict(subject: CheckSubject, expectations: Expectations) -> CheckVerdict:
    findings = linting.lint(subject.inspected, expectations)
    return CheckVerdict(subject, findings, suggestions.suggest(subject.inspected, expectations, findings))


def _wanted(
    client: Client,
    flags: dict[Setting, timedelta | None],
    protocol: str | None,
    preset: str,
    overrides: tuple[str, ...],
) -> CheckRequest:
    given = {setting: value for setting, value in flags.items() if value is not None}
    for setting in given:
        _known(client, setting, _option(setting), _option)
    if protocol is not None and protocol not in client.protocols:
        raise UsageProblem(
            f"--group-protocol {protocol}: groups of {client.title} are {' or '.join(client.protocols)} ones; take the "
            f"option out"
        )
    names = dict(client.presets[preset])
    for override in overrides:
        named, sign, variable = override.partition("=")
        if named not in list(Setting) or not sign:
            raise UsageProblem(f"--env {override}: write SETTING=NAME, with one of {', '.join(names)}")
        _known(client, Setting(named), f"--env {override}", functools.partial(_override, variable))
        if not _ENV_NAME.fullmatch(variable):
            raise UsageProblem(f"--env {override}: {variable!r} cannot be the name of a variable")
        names[Setting(named)] = variable
    for setting, variable in names.items():
        twin = next(owner for owner, other in names.items() if other == variable)
        if twin is not setting:
            raise UsageProblem(
                f"--env: {variable} is the variable of {twin} and of {setting}; one variable cannot hold two settings"
            )
    return CheckRequest(
        client, given, names, presets.group_protocol(preset), None if protocol is None else Protocol(protocol)
    )


def _known(client: Client, setting: Setting, given: str, instead: Callable[[Setting], str]) -> None:
    """Refuse a setting that the client has not.

    Args:
        client: the library.
        setting: what is asked for.
        given: how the command line asks for it.
        instead: how it would ask for another setting.

    Raises:
        UsageProblem: with what plays its part.
    """
    if setting in client.settings:
        return
    stand_in = client.stand_in(setting)
    hint = "" if stand_in is None else f"; say it with {instead(stand_in)}"
    raise UsageProblem(
        f"{given}: {client.title} has no {checked_settings.NAMES[setting]}: {client.part_of(setting)}{hint}"
    )


def _override(variable: str, setting: Setting) -> str:
    return f"--env {setting}={variable}"


def _option(setting: Setting) -> str:
    return f"--{checked_settings.NAMES[setting].replace(' ', '-')}"


def _subjects(
    wanted: CheckRequest,
    env_file: Path | None,
    filenames: tuple[Path, ...],
    container: str | None,
    *,
    naming: object,
) -> list[CheckSubject]:
    if env_file is not None and filenames:
        raise UsageProblem("--env-file and --filename cannot be used together: run the command twice")
    if container is not None and not filenames:
        raise UsageProblem("--container says which container of a manifest is meant: name the manifest with --filename")
    if naming and env_file is None and not filenames:
        raise UsageProblem(
            "--env and --preset say which variables of a file to read: name the file with --env-file or --filename"
        )
    if env_file is not None:
        return settings_sources.from_env_file(wanted, env_file)
    return (
        settings_sources.from_manifests(wanted, filenames, container)
        if filenames
        else settings_sources.from_flags(wanted)
    )
