"""What `check` looks at: settings from flags, an env file or manifests, each with where it was found.

What stands in a file wins over a flag, which says what cannot be seen there (as a policy's `client.current` does);
the rest is the library's default.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.adapters import env_files, manifest_files, manifests
from heartbeat_tuner.adapters.manifest_files import FoundWorkload
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision.linting import Inspected
from heartbeat_tuner.domain.liveness import Setting

LARGEST_FILE: Final = 4 * 1024 * 1024
"""Bytes; a chart rendered with all its definitions is smaller."""

PROTOCOL_ENV: Final = "KAFKA_GROUP_PROTOCOL"
"""The variable of the Java consumer's `group.protocol`, named as the presets of the settings are."""

PROTOCOLS: Final = ("classic", "consumer")


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for, beside the files.

    Attributes:
        given: settings by flags.
        env_names: the variable of each setting.
        protocol: `classic`, `consumer`, or None where nothing is said.
    """

    client: Client
    given: Mapping[Setting, timedelta]
    env_names: Mapping[Setting, str]
    protocol: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """One set of settings to check, and where it was found; `title` is empty for flags."""

    title: str
    inspected: Inspected


def from_flags(wanted: Wanted) -> list[Subject]:
    """Return what the flags say."""
    return [Subject("", Inspected.of(wanted.client, wanted.given, consumer_protocol=wanted.protocol == "consumer"))]


def from_env_file(wanted: Wanted, path: Path) -> list[Subject]:
    """Return what an env file says.

    Raises:
        UsageProblem: it cannot be read.
        TunerError: a variable that we look at has no usable value.
    """
    names = {*wanted.env_names.values(), PROTOCOL_ENV}
    found = env_files.assignments(_text(path), names, where=_shown(path))
    return [_subject(wanted, _shown(path), found.get, hidden=lambda _: False)]


def from_manifests(wanted: Wanted, paths: Sequence[Path], container: str | None) -> list[Subject]:
    """Return what each workload in manifest files says.

    Raises:
        UsageProblem: a file cannot be read, there is no workload, or it is not clear which container is meant.
        TunerError: a file is no manifest, or a variable that we look at has no usable value.
    """
    names = ", ".join(_shown(path) for path in paths)
    workloads = manifest_files.workloads({_shown(path): _text(path) for path in paths})
    if not workloads:
        raise UsageProblem(f"{names}: there is no {', '.join(manifest_files.POD_SPECS)} to check")
    if container is not None and not any(_named(one, container) for one in workloads):
        there = "; ".join(f"{one.title} has {_containers(one)}" for one in workloads)
        raise UsageProblem(f"--container {container}: there is no container of that name: {there}")
    return [subject for one in workloads if (subject := _of_workload(wanted, one, container)) is not None]


def _of_workload(wanted: Wanted, workload: FoundWorkload, container: str | None) -> Subject | None:
    """Return what the workload says; None if it has not the container that is asked for."""
    if container is None and len(workload.containers) > 1:
        raise UsageProblem(
            f"{workload.title} has the containers {_containers(workload)}; say with --container which is the consumer"
        )
    found = workload.containers[0] if container is None else _named(workload, container)
    if found is None:
        click.echo(f"not checked: {workload.title} has no container {container}", err=True)
        return None
    return _subject(
        wanted,
        f"{workload.title}, container {found['name']}",
        lambda name: manifests.value(found, name, workload.config_maps),
        hidden=lambda name: manifests.is_hidden(found, name, workload.config_maps),
    )


def _named(workload: FoundWorkload, container: str) -> Mapping[str, Any] | None:
    return manifests.container_of({"containers": workload.containers}, container)


def _containers(workload: FoundWorkload) -> str:
    return ", ".join(one["name"] for one in workload.containers)


def _subject(
    wanted: Wanted, title: str, value: Callable[[str], str | None], *, hidden: Callable[[str], bool]
) -> Subject:
    given, unseen = dict(wanted.given), set()
    for setting, name in wanted.env_names.items():
        text = value(name)
        if text is not None:
            remedy = f"write 30 seconds as 30000, or name the right variable with --env {setting}=NAME"
            given[setting] = manifests.duration(text, where=title, name=name, remedy=remedy)
        elif hidden(name):
            unseen.add(setting)
    protocol = value(PROTOCOL_ENV) if wanted.client.name == "java" else None
    if protocol is not None and protocol.lower() not in PROTOCOLS:
        raise UsageProblem(f"{title} has {PROTOCOL_ENV} with a value that is neither classic nor consumer; correct it")
    is_consumer = (protocol or wanted.protocol or "classic").lower() == "consumer"
    return Subject(title, Inspected.of(wanted.client, given, unseen=unseen, consumer_protocol=is_consumer))


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
