"""Files with settings, of whatever format: what each holds, or why it cannot be read.

The name says the format, and the content where the name says nothing. Files that belong together (manifests and their
ConfigMaps, Compose and its env files, Kustomize's generators) are read together.
"""

import dataclasses
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.adapters.files import (
    compose_files,
    file_texts,
    kustomize,
    kustomize_builds,
    manifest_files,
    manifest_yaml,
    object_settings,
    text_entries,
    tree_entries,
)
from heartbeat_tuner.adapters.files.kustomize_builds import KustomizeBuild
from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError
from heartbeat_tuner.lint.found_settings import FileEntry, FileProblem, FoundSettings

_YAML: Final = (".yaml", ".yml")
_PROPERTIES: Final = (".properties", ".conf", ".cfg", ".ini", ".config")
_SOURCE_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".tsx", ".py", ".java", ".kt", ".scala", ".go", ".rs", ".cs")
_ENV_NAME: Final = re.compile(r"(.*[.\-_])?env([.\-_].*)?", re.IGNORECASE)
_PROFILE: Final = ("spring.config.activate.on-profile", "spring.profiles")


@dataclasses.dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file to read.

    Attributes:
        name: as sentences call it.
        text: its content.
        path: where it is; None for the standard input.
        env: whether it is an env file whatever its name is.
    """

    name: str
    text: str
    path: Path | None = None
    env: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class FilesRead:
    """What stands in files.

    Attributes:
        places: with their settings, each by itself.
        problems: files that could not be read.
        passed_over: objects with a pod template that are of an unknown kind.
        helpers: files that say something of workloads in other files.
    """

    places: Sequence[FoundSettings]
    problems: Sequence[FileProblem]
    passed_over: Sequence[str]
    helpers: Collection[str] = ()


def read(files: Sequence[SettingsFile]) -> FilesRead:
    """Return what stands in files."""
    places: list[FoundSettings] = []
    problems: list[FileProblem] = []
    taken: set[Path] = set()
    manifests: list[tuple[str, Sequence[Any]]] = []
    texts = {file.name: file.text for file in files}
    built = kustomize_builds.of_files(
        (file.name, file.path) for file in files if file.path is not None and file.path.name in kustomize.NAMES
    )
    problems += built.problems
    taken |= built.beside
    for file in files:
        if file.path is not None and file.path.resolve() in built.consumed:
            continue
        try:
            documents = _documents(file)
            if documents is not None and any(_is_manifest(document) for document in documents):
                manifests.append((file.name, documents))
            elif documents is not None:
                places += _of_documents(file, documents, taken)
            else:
                places.append(_of_lines(file))
        except ManifestError as error:
            problems.append(FileProblem(file.name, str(error)))
    theirs = {file.name for file in files if file.path is not None and file.path.resolve() in taken}
    places = [place for place in places if place.file not in theirs]
    passed_over: list[str] = []
    helpers: set[str] = set()

    def embedded(title: str, file: str, name: str, text: str) -> Iterable[FoundSettings]:
        return _embedded(title, file, SettingsFile(name, text), problems)

    for group in [_Group(manifests), *_groups(built.builds, files)]:
        together = manifest_files.read_documents(group.sound(problems))
        passed_over += together.passed_over
        helpers |= set(object_settings.helpers(together))
        places += [group.named(place) for place in object_settings.settings(together, embedded)]
    return FilesRead([_placed(each, texts) for each in places], problems, passed_over, helpers | theirs)


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """Manifests that are deployed together.

    Attributes:
        manifests: documents by the name of their file.
        overlay: how sentences tell these from those of another kustomization; empty where there is none.
    """

    manifests: Sequence[tuple[str, Sequence[Any]]]
    overlay: str = ""

    def sound(self, problems: list[FileProblem]) -> list[tuple[str, Sequence[Any]]]:
        """Return those that have the shape that Kubernetes asks for; note why others have not."""
        sound = []
        for file, documents in self.manifests:
            try:
                manifest_files.read_documents([(file, documents)])
                sound.append((file, documents))
            except ManifestError as error:
                problems.append(FileProblem(file, str(error)))
        return sound

    def named(self, place: FoundSettings) -> FoundSettings:
        """Return a place with the name of the overlay in its title."""
        if not self.overlay:
            return place
        title, container, rest = place.title.partition(", container ")
        return dataclasses.replace(place, title=f"{title} in {self.overlay}{container}{rest}", overlay=self.overlay)


def _groups(builds: Sequence[KustomizeBuild], files: Sequence[SettingsFile]) -> Iterator[_Group]:
    """Yield what each kustomization builds; values of an overlay stand elsewhere than its objects."""
    names = {file.path.resolve(): file.name for file in files if file.path is not None}
    for build in builds:
        manifests = [
            (build.name if build.is_overlay else names.get(path, build.name), [document])
            for path, document in build.objects
        ]
        yield _Group(manifests, build.folder if len(builds) > 1 else "")


def is_settings_file(path: Path) -> bool:
    """Whether a file of a folder is one to look at."""
    name = path.name
    if name.endswith((".lock", "-lock.json", "-lock.yaml")) or name in {"package.json", "tsconfig.json", "mkdocs.yml"}:
        return False
    if name.lower().endswith((*_YAML, ".json", ".toml", *_PROPERTIES)) or name.startswith("Dockerfile"):
        return True
    return _is_env(name)


def _is_env(name: str) -> bool:
    return name.startswith(".env") or _ENV_NAME.fullmatch(name) is not None


def _documents(file: SettingsFile) -> Sequence[Any] | None:
    """Return the documents of a file; None if it has a pair on each line.

    Raises:
        ManifestError: it is none of its kind.
    """
    name = Path(file.name).name.lower()
    if file.env or name.endswith(_PROPERTIES) or name.startswith("dockerfile"):
        return None
    if name.endswith(_SOURCE_CODE):
        raise ManifestError(
            f"{file.name} is source code, and `check` reads settings alone; give the values with --client, "
            f"--session-timeout, --heartbeat-interval"
        )
    if name.endswith(".toml"):
        try:
            return [tomllib.loads(file.text)]
        except tomllib.TOMLDecodeError as error:
            raise ManifestError(f"{file.name} is no TOML: {error}") from None
    if name.endswith((*_YAML, ".json")):
        return manifest_yaml.documents(
            file.text.replace("\t", "  ") if name.endswith(".json") else file.text, file.name
        )
    if _is_env(name) and not file.text.lstrip().startswith(("{", "---", "apiVersion:", "kind:")):
        return None
    return _guessed(file)


def _guessed(file: SettingsFile) -> Sequence[Any] | None:
    """Return the documents of a file whose name says nothing, if it is YAML or JSON."""
    lines = [line for line in file.text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pairs = [line for line in lines if re.match(r"\s*(export\s+)?[A-Za-z_][\w.\-]*\s*=", line)]
    if lines and len(pairs) * 2 > len(lines):
        return None
    documents = manifest_yaml.documents(file.text, file.name)
    if documents and not any(isinstance(document, Mapping) for document in documents if document is not None):
        raise ManifestError(f"{file.name}, document 1 is no mapping of names to values")
    return documents


def _is_manifest(document: Any) -> bool:
    if not isinstance(document, Mapping) or compose_files.is_compose(document):
        return False
    kind = document.get("kind", "")
    return "kind" in document and (not isinstance(kind, str) or kind[:1].isupper() or "apiVersion" in document)


def _of_lines(file: SettingsFile) -> FoundSettings:
    name = Path(file.name).name.lower()
    if not file.env and name.startswith("dockerfile"):
        entries = list(text_entries.dockerfile_entries(file.text))
    elif not file.env and name.endswith(_PROPERTIES):
        entries = list(text_entries.property_entries(file.text))
    else:
        entries = list(text_entries.env_entries(file.text))
    return FoundSettings(file.name, file.name, list(tree_entries.expanded(entries)))


def _of_documents(file: SettingsFile, documents: Sequence[Any], taken: set[Path]) -> Iterator[FoundSettings]:
    mappings = [document for document in documents if isinstance(document, Mapping)]
    if mappings and compose_files.is_compose(mappings[0]):
        yield from compose_files.services(mappings[0], file.name, _beside(file.path, taken))
        return
    yield from profiles(file.name, file.name, [list(tree_entries.flattened(document)) for document in mappings])


def profiles(title: str, file: str, documents: Sequence[list[FileEntry]]) -> Iterator[FoundSettings]:
    """Yield the settings of the documents of one file: Spring's profiles lie on top of the document without one."""
    base: list[FileEntry] = []
    overlays: dict[str, list[FileEntry]] = {}
    for entries in documents:
        profile = next((entry.text for entry in entries if entry.key in _PROFILE), None)
        if profile is None:
            base += entries
        else:
            overlays.setdefault(profile, []).extend(entries)
    yield FoundSettings(title, file, list(tree_entries.expanded(base)))
    for profile, entries in overlays.items():
        yield FoundSettings(f"{title}, profile {profile}", file, list(tree_entries.expanded([*base, *entries])))


def _embedded(title: str, file: str, inner: SettingsFile, problems: list[FileProblem]) -> Iterable[FoundSettings]:
    """Return the settings of a file that stands in a ConfigMap."""
    try:
        if not is_settings_file(Path(inner.name)):
            return []
        documents = _documents(inner)
        if documents is None:
            return [dataclasses.replace(_of_lines(inner), title=title, file=file)]
        mappings = [document for document in documents if isinstance(document, Mapping)]
        return list(profiles(title, file, [list(tree_entries.flattened(document)) for document in mappings]))
    except ManifestError as error:
        problems.append(FileProblem(file, f"{title}: {error}"))
        return []


def _beside(path: Path | None, taken: set[Path]) -> Callable[[str], str | None]:
    """Return what reads a file by its path from another one, and notes that it belongs to that one."""

    def text_of(name: str) -> str | None:
        if path is None:
            return None
        text = file_texts.beside(path.parent / name)
        if text is None:
            return None
        if name != ".env":  # Compose takes variables from it, and so may the application
            taken.add((path.parent / name).resolve())
        return text

    return text_of


def _placed(place: FoundSettings, texts: Mapping[str, str]) -> FoundSettings:
    """Return settings with the lines on which they stand."""
    text = texts.get(place.file)
    if text is None:
        return place
    return dataclasses.replace(place, entries=tree_entries.placed(place.entries, text))
