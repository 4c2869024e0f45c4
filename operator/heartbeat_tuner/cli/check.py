"""`heartbeat-tuner check`: a linter for liveness settings, for people's own CI; it needs no metrics and no cluster.

`sources` reads, `decision.linting` and `decision.remedies` judge, `verdicts` writes. Nothing here may import the
operator's clients: the answer has to come at once (import-linter holds that).
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from heartbeat_tuner.adapters.manifests import LONGEST_MS
from heartbeat_tuner.cli import sources, verdicts
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.sources import Subject, Wanted
from heartbeat_tuner.cli.verdicts import Verdict
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import linting, remedies
from heartbeat_tuner.decision.lint_rules import Severity
from heartbeat_tuner.decision.linting import Expectations
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.liveness import Setting

_LONGEST: Final = timedelta(milliseconds=LONGEST_MS)
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,252}")
_FAILING: Final = {"error": {Severity.ERROR}, "warning": {Severity.ERROR, Severity.WARNING}}


def duration(text: str) -> timedelta:
    """Return a duration in Go's notation that Kafka's protocol can hold; click calls its kind by this name.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        found = durations.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if not timedelta(0) < found <= _LONGEST:
        raise click.BadParameter(f"{text!r} is not between 1ms and {durations.show(_LONGEST)}")
    return found


@click.command("check", short_help="Check liveness settings: no metrics, no cluster.")
@click.option("--client", required=True, type=click.Choice(sorted(catalogue.CLIENTS)), help="The client library.")
@click.option("--session-timeout", type=duration, help="Where the files do not say it; else the library's default.")
@click.option("--heartbeat-interval", type=duration, help="Likewise.")
@click.option("--fetch-wait", type=duration, help="Likewise: maxWaitTimeInMs, fetch.max.wait.ms.")
@click.option("--max-poll-interval", type=duration, help="Likewise; KafkaJS has none.")
@click.option("--group-protocol", type=click.Choice(sources.PROTOCOLS), help="Likewise: group.protocol of Java.")
@click.option("--env-file", type=click.Path(path_type=Path), help="Read NAME=value lines; - is the standard input.")
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read a manifest: each Deployment, StatefulSet and Pod in it, with its ConfigMaps. May be repeated; - is the "
    "standard input.",
)
@click.option("--container", help="The container of the manifest's pods that is the consumer.")
@click.option(
    "--env",
    "overrides",
    multiple=True,
    metavar="SETTING=NAME",
    help="The variable that holds a setting in the files, like sessionTimeout=MY_TIMEOUT_MS; may be repeated.",
)
@click.option("--handler-time", type=duration, help="The longest handler of one message (KafkaJS) or poll (Java).")
@click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Of the Kafka cluster.")
@click.option(
    "--max-detection-time", type=duration, default="60s", show_default=True, help="How late a crash may be noticed."
)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on", type=click.Choice(list(_FAILING)), default="error", show_default=True, help="What gives exit status 1."
)
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    client: str,
    session_timeout: timedelta | None,
    heartbeat_interval: timedelta | None,
    fetch_wait: timedelta | None,
    max_poll_interval: timedelta | None,
    group_protocol: str | None,
    env_file: Path | None,
    filenames: tuple[Path, ...],
    container: str | None,
    overrides: tuple[str, ...],
    handler_time: timedelta | None,
    brokers: int,
    max_detection_time: timedelta,
    output: str,
    fail_on: str,
) -> None:
    """Check the liveness settings of a Kafka consumer: can they work, and what would?

    Settings come from flags, from an env file, or from manifests; values in files are whole milliseconds. What nothing
    says is the library's default.

    Exit status: 0 if nothing was found that --fail-on names, 1 if something was, 2 if the command line or a file cannot
    be used.
    """
    flags = {
        Setting.SESSION_TIMEOUT: session_timeout,
        Setting.HEARTBEAT_INTERVAL: heartbeat_interval,
        Setting.FETCH_WAIT: fetch_wait,
        Setting.MAX_POLL_INTERVAL: max_poll_interval,
    }
    wanted = _wanted(client, flags, group_protocol, overrides)
    try:
        subjects = _subjects(wanted, env_file, filenames, container, overrides)
    except TunerError as error:
        raise UsageProblem(str(error)) from error
    expectations = Expectations(brokers, max_detection_time, handler_time)
    found = [_verdict(subject, expectations) for subject in subjects]
    text = verdicts.as_json(found) if output == "json" else verdicts.as_text(found, wanted.env_names)
    click.echo(text, nl=False)
    if any(finding.rule.severity in _FAILING[fail_on] for verdict in found for finding in verdict.findings):
        raise click.exceptions.Exit(1)


def _verdict(subject: Subject, expectations: Expectations) -> Verdict:
    findings = linting.lint(subject.inspected, expectations)
    return Verdict(subject, findings, remedies.suggest(subject.inspected, expectations, findings))


def _wanted(
    name: str, flags: dict[Setting, timedelta | None], protocol: str | None, overrides: tuple[str, ...]
) -> Wanted:
    client = catalogue.client(name)
    given = {setting: value for setting, value in flags.items() if value is not None}
    for setting in given:
        if setting not in client.settings:
            raise UsageProblem(f"{client.title} has no {linting.NAMES[setting]}: take the option out")
    if protocol is not None and client.name != "java":
        raise UsageProblem(f"--group-protocol is for the Java consumer; {client.title} has classic groups only")
    names = dict(client.env_preset)
    for override in overrides:
        named, sign, variable = override.partition("=")
        known = [one.value for one in names]
        if named not in known or not sign:
            raise UsageProblem(f"--env {override}: write SETTING=NAME, with one of {', '.join(known)}")
        if not _ENV_NAME.fullmatch(variable):
            raise UsageProblem(f"--env {override}: {variable!r} cannot be the name of a variable")
        names[Setting(named)] = variable
    return Wanted(client, given, names, protocol)


def _subjects(
    wanted: Wanted,
    env_file: Path | None,
    filenames: tuple[Path, ...],
    container: str | None,
    overrides: tuple[str, ...],
) -> list[Subject]:
    if env_file is not None and filenames:
        raise UsageProblem("--env-file and --filename cannot be used together: run the command twice")
    if container is not None and not filenames:
        raise UsageProblem("--container says which container of a manifest is meant: name the manifest with --filename")
    if overrides and env_file is None and not filenames:
        raise UsageProblem("--env says which variable of a file to read: name the file with --env-file or --filename")
    if env_file is not None:
        return sources.from_env_file(wanted, env_file)
    return sources.from_manifests(wanted, filenames, container) if filenames else sources.from_flags(wanted)
