"""What `check` looks at: settings from flags, an env file or manifests, each with where it was found.

What stands in a file wins over a flag, which says what cannot be seen there (as a policy's `client.current` does);
the rest is the library's default.
"""

import contextlib
import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.adapters.files import env_files, manifest_files
from heartbeat_tuner.adapters.files.manifest_files import FoundWorkload
from heartbeat_tuner.adapters.workloads import container_env, manifests
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients.client import NO_TIME, Client, Protocol
from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import checked_settings
from heartbeat_tuner.lint.checked_settings import Inspected

LARGEST_FILE: Final = 4 * 1024 * 1024
"""Bytes; a chart rendered with all its definitions is smaller."""

_BARE_NUMBER: Final = re.compile(r"[0-9]{1,10}")

SHORTEST_MEANT: Final = {
    Setting.SESSION_TIMEOUT: timedelta(milliseconds=500),
    Setting.HEARTBEAT_INTERVAL: timedelta(milliseconds=50),
    Setting.MAX_POLL_INTERVAL: timedelta(milliseconds=500),
    Setting.REBALANCE_TIMEOUT: timedelta(milliseconds=500),
}
"""What is below these in a file was most likely meant as seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class CheckRequest:
    """What the command line asks for, beside the files.

    Attributes:
        given: settings by flags.
        env_names: the variable of each setting.
        protocol_env: the variable of the group's protocol.
        protocol: the group's; None where nothing is said.
    """

    client: Client
    given: Mapping[Setting, timedelta]
    env_names: Mapping[Setting, str]
    protocol_env: str
    protocol: Protocol | None


@dataclasses.dataclass(frozen=True, slots=True)
class CheckSubject:
    """One set of settings to check, and where it was found; `title` is empty for flags."""

    title: str
    inspected: Inspected


def from_flags(wanted: CheckRequest) -> list[CheckSubject]:
    """Return what the flags say."""
    return [CheckSubject("", Inspected.of(wanted.client, wanted.given, protocol=wanted.protocol))]


def from_env_file(wanted: CheckRequest, path: Path) -> list[CheckSubject]:
    """Return what an env file says.

    Raises:
        UsageProblem: it cannot be read.
        TunerError: a variable that we look at has no usable value.
    """
    names = {*wanted.env_names.values(), wanted.protocol_env}
    variables = env_files.assignments(_text(path), names, where=_shown(path))
    return [_subject(wanted, _shown(path), variables.get, hidden=lambda _: False)]


def from_manifests(wanted: CheckRequest, paths: Sequence[Path], container: str | None) -> list[CheckSubject]:
    """Return what each workload in manifest files says.

    Raises:
        UsageProblem: a file cannot be read, there is no workload, or it is not clear which container is meant.
        TunerError: a file is no manifest, or a variable that we look at has no usable value.
    """
    names = ", ".join(_shown(path) for path in paths)
    twice = next((path for path, times in Counter(paths).items() if times > 1), None)
    if twice is not None:
        raise UsageProblem(f"--filename names {_shown(twice)} twice; name it once")
    contents = manifest_files.read((_shown(path), _text(path)) for path in paths)
    workloads = contents.workloads
    if not workloads:
        passed_over = f"; {', '.join(contents.passed_over)} cannot be checked" if contents.passed_over else ""
        raise UsageProblem(f"{names}: there is no {', '.join(manifest_files.POD_SPECS)} to check{passed_over}")
    if container is not None and not any(_named(workload, container) for workload in workloads):
        there = "; ".join(f"{workload.title} has {_containers(workload)}" for workload in workloads)
        raise UsageProblem(f"--container {container}: there is no container of that name: {there}")
    for title in contents.passed_over:
        click.echo(f"not checked: {title} has a pod template, but is of a kind that is not known", err=True)
    return [subject for workload in workloads if (subject := _of_workload(wanted, workload, container)) is not None]


def _of_workload(wanted: CheckRequest, workload: FoundWorkload, container: str | None) -> CheckSubject | None:
    """Return what the workload says; None if it has not the container that is asked for."""
    if container is None and len(workload.containers) > 1:
        raise UsageProblem(
            f"{workload.title} has the containers {_containers(workload)}; say with --container which is the consumer"
        )
    spec = workload.containers[0] if container is None else _named(workload, container)
    if spec is None:
        click.echo(f"not checked: {workload.title} has no container {container}", err=True)
        return None
    title = f"{workload.title}, container {spec['name']}"

    def value(name: str) -> str | None:
        missing = container_env.missing_key(spec, name, workload.config_maps)
        if missing is not None:
            raise UsageProblem(
                f"{title} has {name} from ConfigMap {missing[0]}, which has no key {missing[1]}: such a container is "
                f"not started; add the key, or mark the reference as optional"
            )
        return container_env.value(spec, name, workload.config_maps)

    return _subject(
        wanted,
        title,
        value,
        hidden=lambda name: container_env.is_hidden(spec, name, workload.config_maps),
    )


def _named(workload: FoundWorkload, container: str) -> Mapping[str, Any] | None:
    return manifests.container_of({"containers": workload.containers}, container)


def _containers(workload: FoundWorkload) -> str:
    return ", ".join(container["name"] for container in workload.containers)


def _subject(
    wanted: CheckRequest, title: str, value: Callable[[str], str | None], *, hidden: Callable[[str], bool]
) -> CheckSubject:
    given, unseen = dict(wanted.given), set()
    for setting, name in wanted.env_names.items():
        text = value(name)
        if text is not None:
            given[setting] = _value(wanted.client, setting, text, f"{title} has {name}")
        elif hidden(name):
            unseen.add(setting)
    named = value(wanted.protocol_env) if len(wanted.client.protocols) > 1 else None
    if named is not None and named.lower() not in list(Protocol):
        raise UsageProblem(
            f"{title} has {wanted.protocol_env} with a value that is neither classic nor consumer; correct it"
        )
    protocol = wanted.protocol if named is None else Protocol(named.lower())
    return CheckSubject(title, Inspected.of(wanted.client, given, unseen=unseen, protocol=protocol))


def _value(client: Client, setting: Setting, text: str, where: str) -> timedelta:
    """Return the duration that a variable's text says.

    Raises:
        UsageProblem: it says none, or one that was most likely meant otherwise.
    """
    try:
        value = client.format.parse(text)
    except ValueError:
        # Only what looks like a duration is shown: the name may be any variable's, a password's too.
        shown = container_env.shown(text)
        raise UsageProblem(
            f"{where}={shown}, which is no {client.format.value} between {client.format.example(1)} and "
            f"{client.format.example(LONGEST_MS)}; {_meant(client, text.strip())}, or "
            f"name the right variable with --env {setting}=NAME"
        ) from None
    if value < SHORTEST_MEANT.get(setting, NO_TIME):
        meant = client.format.render(value * 1_000)
        raise UsageProblem(
            f"{where}={text}, which is {durations.show(value)}; if {durations.show(value * 1_000)} is meant, "
            f"write {meant}; a {checked_settings.NAMES[setting]} of {durations.show(value)} is shorter than any that "
            "works"
        )
    return value


def _meant(client: Client, text: str) -> str:
    """Return how to write what a text says that is in another format than the client's; else, how to write 30 s."""
    if client.format is Format.GO and _BARE_NUMBER.fullmatch(text):
        readings = [f"{text}{unit} ({durations.show(durations.parse(f'{text}{unit}'))})" for unit in ("ms", "s")]
        return f"it has no unit: write {' or '.join(readings)}, whichever is meant"
    for written in (client.format, Format.GO):
        with contextlib.suppress(ValueError):
            return f"write {client.format.render(written.parse(text))}"
    return f"write 30 seconds as {client.format.example(30_000)}"


def _text(path: Path) -> str:
    """Return a file's text; `-` is the standard input.

    Raises:
        UsageProblem: it cannot be read, is too large or no UTF-8.
    """
    try:
        if path == Path("-"):
            content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageProblem(f"{_shown(path)} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise UsageProblem(
            f"{_shown(path)} is larger than {LARGEST_FILE // 1024 // 1024} MiB, which is more than is read"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{_shown(path)} is no text in UTF-8") from error


def _shown(path: Path) -> str:
    return "standard input" if path == Path("-") else click.format_filename(path)
