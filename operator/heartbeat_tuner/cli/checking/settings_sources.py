"""What `check` looks at: settings from flags, and from files of whatever format, each with where it was found.

What stands in a file wins over a flag, which says what cannot be seen there (as a policy's `client.current` does);
the rest is the library's default.
"""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from heartbeat_tuner.adapters.files import file_texts, settings_files
from heartbeat_tuner.adapters.files.file_texts import LARGEST_FILE
from heartbeat_tuner.adapters.files.settings_files import FilesRead, SettingsFile
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint import consumers
from heartbeat_tuner.lint.checked_settings import IdSource, LintFinding
from heartbeat_tuner.lint.found_consumers import FoundConsumer, ReadingOptions
from heartbeat_tuner.lint.found_settings import FileProblem, FoundSettings
from heartbeat_tuner.lint.rules import reading_rules, static_id_rules

MOST_FILES: Final = 2_000
"""Of one folder; more are no configuration of consumers."""

_SKIPPED: Final = frozenset(
    {"node_modules", "target", "build", "dist", "vendor", "__pycache__", "venv", "site-packages", "test", "tests"}
)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckRequest:
    """What the command line asks for, beside the files.

    Attributes:
        reading: how files are to be read.
        env_names: the variable of each setting that a suggestion names; empty where the library is not known.
        container: the only container of manifests to look at; None: all.
        clients: the library of files, by patterns of their paths.
    """

    reading: ReadingOptions
    env_names: Mapping[Setting, str]
    container: str | None = None
    clients: Mapping[str, Client] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class CheckSubject:
    """A consumer to check, or a place where no consumer was found; `title` is empty for flags."""

    title: str
    consumer: FoundConsumer


@dataclasses.dataclass(frozen=True, slots=True)
class CheckInput:
    """All that the command line names.

    Attributes:
        subjects: in the order of the files.
        texts: of the files, by name.
        paths: of the files, by name.
    """

    subjects: Sequence[CheckSubject]
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    paths: Mapping[str, Path] = dataclasses.field(default_factory=dict)


def from_flags(request: CheckRequest) -> CheckInput:
    """Return what the flags say; the library is known."""
    reading = request.reading
    assert reading.client is not None  # noqa: S101 - the command line was refused without it
    consumer = FoundConsumer("", "", (reading.client,), given=reading.given, protocol=reading.protocol)
    return CheckInput([CheckSubject("", consumer)])


def from_files(request: CheckRequest, paths: Sequence[Path], env_file: Path | None) -> CheckInput:
    """Return what stands in files and folders.

    Raises:
        UsageProblem: one cannot be read, or is named twice, or has not the container that is asked for.
    """
    twice = next((path for path, times in Counter(paths).items() if times > 1), None)
    if twice is not None:
        raise UsageProblem(f"{_shown(twice)} is named twice; name it once")
    unread: list[FileProblem] = []
    named: list[tuple[str, list[SettingsFile]]] = [(_shown(path), list(_files(path, unread))) for path in paths]
    if env_file is not None:
        named.append((_shown(env_file), [_file(env_file, env=True)]))
    files = list({(file.name, file.path): file for _, group in named for file in group}.values())
    contents = settings_files.read(files)
    for title in contents.passed_over:
        click.echo(f"not checked: {title} has a pod template, but is of a kind that is not known", err=True)
    places = list(_chosen(contents.places, request.container))
    read = [consumer for each in places for consumer in _consumers(each, request)]
    read += _perhaps(places, read, request.reading)
    problems = list(_unreadable([*unread, *contents.problems], {file.name: file.path for file in files}))
    silent = list(_silent(named, [*problems, *read], contents))
    everyone = _named_variables(_distinct([*problems, *silent, *read]), places, request.reading)
    return CheckInput(
        [CheckSubject(consumer.title, consumer) for consumer in everyone],
        {file.name: file.text for file in files},
        {file.name: file.path for file in files if file.path is not None},
    )


def _consumers(places: FoundSettings, request: CheckRequest) -> list[FoundConsumer]:
    reading = request.reading
    if reading.client is None:
        for pattern, client in request.clients.items():
            if Path(places.file).match(pattern):
                return consumers.read(places, dataclasses.replace(reading, client=client))
    return consumers.read(places, reading)


def _chosen(places: Iterable[FoundSettings], container: str | None) -> Iterator[FoundSettings]:
    """Yield what is asked for: of manifests the container of that name."""
    everything = list(places)
    if container is None:
        yield from everything
        return
    in_pods = [each for each in everything if each.workload is not None]
    wanted = [each for each in in_pods if each.title.endswith(f", container {container}")]
    if not wanted:
        there = "; ".join(each.title for each in in_pods) or "the files have no container"
        raise UsageProblem(f"--container {container}: there is no container of that name: {there}")
    has = {each.title.rpartition(", container ")[0] for each in wanted}
    for workload in dict.fromkeys(each.title.rpartition(", container ")[0] for each in in_pods):
        if workload not in has:
            click.echo(f"not checked: {workload} has no container {container}", err=True)
    yield from (each for each in everything if each.workload is None or each in wanted)


def _unreadable(problems: Iterable[FileProblem], paths: Mapping[str, Path | None]) -> Iterator[FoundConsumer]:
    """Yield a place for each file that cannot be read; the templates of a chart are one, since nobody renders them."""
    charts: set[Path] = set()
    for problem in problems:
        path = paths.get(problem.file)
        chart = None if path is None else next((up.parent for up in path.parents if _is_templates(up)), None)
        if chart is None:
            finding = LintFinding(reading_rules.UNREADABLE_FILE, problem.message)
            yield FoundConsumer(problem.file, problem.file, (), findings=[finding])
        elif chart not in charts:
            charts.add(chart)
            name = _shown(chart)
            phrase = (
                "{name} is a chart, whose templates are no manifests: helm template {name} | heartbeat-tuner check -"
            )
            finding = LintFinding(reading_rules.UNREADABLE_FILE, say(phrase, name=name))
            yield FoundConsumer(name, problem.file, (), findings=[finding])


def _is_templates(folder: Path) -> bool:
    return folder.name == "templates" and (folder.parent / "Chart.yaml").is_file()


def _perhaps(
    places: Iterable[FoundSettings], read: Sequence[FoundConsumer], reading: ReadingOptions
) -> Iterator[FoundConsumer]:
    """Yield the containers of workloads without a consumer whose settings may come from where nobody can look."""
    workloads = {consumer.title.partition(", container ")[0] for consumer in read}
    for each in places:
        if each.unseen_prefixes and each.title.partition(", container ")[0] not in workloads:
            yield from consumers.unseen(each, reading)


def _silent(
    named: Sequence[tuple[str, Sequence[SettingsFile]]],
    read: Sequence[FoundConsumer],
    contents: FilesRead,
) -> Iterator[FoundConsumer]:
    """Yield a place without a consumer for each argument in which nothing was found."""
    for name, files in named:
        theirs = {file.name for file in files}
        inside = (consumer.file in theirs or Path(consumer.file).is_relative_to(name) for consumer in read)
        if any(inside) or theirs & set(contents.helpers):
            continue
        passed = f"; {', '.join(contents.passed_over)} cannot be checked" if contents.passed_over else ""
        phrase = (
            "{name} has no setting of a Kafka consumer that is known{passed}; if the application has names of its own, "
            "say which variable holds what, as --env sessionTimeout=NAME"
        )
        finding = LintFinding(reading_rules.NOTHING_RECOGNISED, say(phrase, name=name, passed=passed))
        yield FoundConsumer(name, name, (), findings=[finding])


def _named_variables(
    read: Sequence[FoundConsumer], places: Sequence[FoundSettings], reading: ReadingOptions
) -> list[FoundConsumer]:
    """Return consumers, the first with what `--env` names and is in none of the files."""
    everyone = list(read)
    there = {entry.key for each in places for entry in each.entries}
    hidden = [prefix for each in places for prefix in each.unseen_prefixes]
    missing = [
        (setting, name)
        for setting, name in reading.named.items()
        if reading.preset is None and name not in there and not any(name.startswith(prefix) for prefix in hidden)
    ]
    for setting, name in missing if everyone else ():
        phrase = "{name}, which --env says holds the {setting}, stands in none of the files: correct the name"
        finding = LintFinding(reading_rules.NAMED_VARIABLE_MISSING, say(phrase, name=name, setting=setting))
        everyone[0] = dataclasses.replace(everyone[0], findings=[*everyone[0].findings, finding])
    return everyone


def _distinct(read: Sequence[FoundConsumer]) -> list[FoundConsumer]:
    """Return consumers, with those that have another one's static id told so."""
    holders: dict[tuple[str, str, str], str] = {}
    everyone = []
    for consumer in read:
        static_id = consumer.others.static_id
        if static_id is None or static_id.source is not IdSource.LITERAL or not static_id.shown:
            everyone.append(consumer)
            continue
        holder = holders.setdefault((consumer.overlay, consumer.group, static_id.shown), consumer.title)
        if holder != consumer.title:
            phrase = (
                "the static id {id} is that of {holder}, too, in the same group: members with one id fence each other"
            )
            finding = LintFinding(static_id_rules.STATIC_ID_DUPLICATE, say(phrase, id=static_id.shown, holder=holder))
            everyone.append(dataclasses.replace(consumer, findings=[*consumer.findings, finding]))
        else:
            everyone.append(consumer)
    return everyone


def _files(path: Path, unread: list[FileProblem]) -> Iterator[SettingsFile]:
    """Yield the file, or those of the folder that may hold settings; of a folder note which cannot be read."""
    if path == Path("-") or not path.is_dir():
        yield _file(path)
        return
    count = 0
    for inner in sorted(path.rglob("*")):
        parts = inner.relative_to(path).parts
        if any(part in _SKIPPED or (part.startswith(".") and part != inner.name) for part in parts[:-1]):
            continue
        if settings_files.is_settings_file(inner) and inner.is_file():
            count += 1
            if count > MOST_FILES:
                raise UsageProblem(
                    f"{_shown(path)} has more than {MOST_FILES} files of settings; name the folders inside"
                )
            try:
                yield _file(inner)
            except UsageProblem as problem:
                unread.append(FileProblem(_shown(inner), problem.message))


def _file(path: Path, *, env: bool = False) -> SettingsFile:
    return SettingsFile(_shown(path), _text(path), None if path == Path("-") else path, env=env)


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
    text = file_texts.decoded(content, path.name)
    if text is None:
        raise UsageProblem(f"{_shown(path)} is no text in UTF-8")
    return text


def _shown(path: Path) -> str:
    return "standard input" if path == Path("-") else click.format_filename(path)
