"""What `kustomize build` makes of folders, as far as settings depend on it: bases, generated ConfigMaps, patches.

Files are anybody's: a cycle, a missing file or a patch for nothing is a problem with a sentence, and other machines are
never asked.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.adapters.files import file_texts, kustomize, kustomize_patches, manifest_yaml
from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError
from heartbeat_tuner.lint.found_settings import FileProblem

MOST_FOLDERS: Final = 200
"""That one build may visit: a folder may be named by several others."""

_LONGEST_NAME: Final = 250
"""Bytes of one part of a path."""

_Object = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class KustomizeBuild:
    """The objects of one kustomization that no other builds on.

    Attributes:
        name: its file, as sentences call it.
        folder: in which it is.
        is_overlay: whether it builds on others, or patches: values then stand elsewhere than objects.
        objects: each with the path of the file that it stands in.
    """

    name: str
    folder: str
    is_overlay: bool
    objects: Sequence[tuple[Path, _Object]]


@dataclasses.dataclass(slots=True)
class _Reading:
    """One build under way.

    Attributes:
        consumed: files whose content is part of it, and no place of its own.
        beside: files with values for ConfigMaps.
        visited: how many folders.
        has_remote: whether something of another machine is left out.
    """

    problems: list[FileProblem]
    consumed: set[Path]
    beside: set[Path]
    visited: int = 0
    has_remote: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class KustomizeBuilds:
    """All builds of some files, why parts of them cannot be read, and which files they are made of."""

    builds: Sequence[KustomizeBuild]
    problems: Sequence[FileProblem]
    consumed: frozenset[Path]
    beside: frozenset[Path]


def of_files(files: Iterable[tuple[str, Path]]) -> KustomizeBuilds:
    """Return the builds of kustomizations.

    Args:
        files: the name and the path of each kustomization.
    """
    paths = {_real(path): name for name, path in files}
    problems: list[FileProblem] = []
    consumed, beside, inner = set[Path](), set[Path](), set[Path]()
    builds: dict[Path, KustomizeBuild] = {}
    for path, name in paths.items():
        reading = _Reading([], set(), set())
        objects = list(_built(path, name, (), reading))
        built_on = {other for other in reading.consumed if other != path and other.name in kustomize.NAMES}
        inner |= built_on
        is_overlay = bool(built_on) or bool(_patches(_document(path, name, reading)))
        builds[path] = KustomizeBuild(name, str(Path(name).parent), is_overlay, objects)
        problems += reading.problems
        consumed |= reading.consumed
        beside |= reading.beside
    roots = [build for path, build in builds.items() if path not in inner]
    return KustomizeBuilds(roots, list(dict.fromkeys(problems)), frozenset(consumed), frozenset(beside))


def _built(path: Path, name: str, above: tuple[Path, ...], reading: _Reading) -> list[tuple[Path, _Object]]:
    """Return the objects of a kustomization."""
    reading.visited += 1
    if path in above or reading.visited > MOST_FOLDERS:
        why = "builds on itself" if path in above else f"builds on more than {MOST_FOLDERS} folders"
        reading.problems.append(FileProblem(name, f"{name} {why}"))
        return []
    reading.consumed.add(path)
    document = _document(path, name, reading)
    objects: list[tuple[Path, _Object]] = []
    for resource in kustomize.resources(document):
        objects += _resource(path, name, resource, above, reading)
    if kustomize.has_remote(document):
        reading.has_remote = True
    objects = _with_maps(objects, path, document, reading)
    try:
        for target, patch in _patches(document):
            objects = _patched(objects, target, list(_contents(path, name, patch, reading)), name, reading)
    except ManifestError as error:
        reading.problems.append(FileProblem(name, f"{name}: {error}"))
    namespace = document.get("namespace")
    counts = {str(each.get("name")): each.get("count") for each in _mappings(document.get("replicas"))}
    return [(file, _placed(body, namespace, counts)) for file, body in objects]


def _resource(
    path: Path, name: str, resource: str, above: tuple[Path, ...], reading: _Reading
) -> list[tuple[Path, _Object]]:
    """Return the objects of a file, or of a folder with a kustomization."""
    at = _beside(path, resource)
    inner = next((at / known for known in sorted(kustomize.NAMES) if (at / known).is_file()), None)
    if inner is not None:
        return _built(
            _real(inner), os.path.normpath(Path(name).parent / resource / inner.name), (*above, path), reading
        )
    text = file_texts.beside(at)
    if text is None:
        reading.problems.append(FileProblem(name, f"{name} builds on {resource[:120]}, which cannot be read"))
        return []
    reading.consumed.add(_real(at))
    try:
        return [
            (_real(at), body)
            for body in _expanded(manifest_yaml.documents(text, os.path.normpath(Path(name).parent / resource)))
        ]
    except ManifestError as error:
        reading.problems.append(FileProblem(name, str(error)))
        return []


def _with_maps(
    objects: list[tuple[Path, _Object]], path: Path, document: Mapping[str, Any], reading: _Reading
) -> list[tuple[Path, _Object]]:
    """Return objects with the ConfigMaps that a kustomization makes, or merges into those of a base."""

    def text_of(beside: str) -> str | None:
        at = _beside(path, beside)
        text = file_texts.beside(at)
        if text is not None:
            reading.beside.add(_real(at))
        return text

    for made in kustomize.config_maps(document, text_of):
        map_name = made["metadata"]["name"]
        behavior = kustomize.behavior(document, map_name)
        known = next((each for _, each in objects if _identity(each) == ("ConfigMap", map_name)), None)
        if known is None or behavior not in {"merge", "replace"}:
            objects = [*objects, (path, made)]
            continue
        before = known.get("data")
        data = made["data"]
        if behavior == "merge" and isinstance(before, Mapping):
            data = {**before, **data}
        objects = [(file, {**each, "data": data} if each is known else each) for file, each in objects]
    return objects


def _patches(document: Mapping[str, Any]) -> list[tuple[Mapping[str, Any] | None, str]]:
    """Return the patches of a kustomization: the target, if it is given, and a path or the patch itself."""
    merges = [(None, str(each)) for each in kustomize.listed(document.get("patchesStrategicMerge"))]
    others = [*_mappings(document.get("patches")), *_mappings(document.get("patchesJson6902"))]
    body = [(each.get("target"), str(each.get("path") or each.get("patch") or "")) for each in others]
    return [*merges, *((target if isinstance(target, Mapping) else None, patch) for target, patch in body)]


def _contents(path: Path, name: str, patch: str, reading: _Reading) -> Iterator[Any]:
    """Yield the documents of a patch, which is a path or stands there itself."""
    text: str | None = patch
    if "\n" not in patch and not patch.lstrip().startswith(("{", "[")):
        at = _beside(path, patch)
        text = file_texts.beside(at)
        reading.consumed.add(_real(at))
    if text is None:
        raise ManifestError(f"the patch {patch[:120]} cannot be read")
    yield from (each for each in manifest_yaml.documents(text, name) if isinstance(each, list | Mapping))


def _patched(
    objects: list[tuple[Path, _Object]],
    target: Mapping[str, Any] | None,
    contents: Sequence[Any],
    name: str,
    reading: _Reading,
) -> list[tuple[Path, _Object]]:
    """Return objects with the documents of a patch laid over those that it is for."""
    for content in contents:
        wanted = target
        if wanted is None and isinstance(content, Mapping):
            kind, object_name = _identity(content)
            wanted = {"kind": kind, "name": object_name}
        hits = [each for _, each in objects if wanted and kustomize_patches.is_target(wanted, each)]
        if not hits and not reading.has_remote:
            called = " ".join(str((wanted or {}).get(key, "")) for key in ("kind", "name")).strip()
            reading.problems.append(
                FileProblem(name, f"{name} patches {called[:120] or 'something'}, which is not there")
            )
        objects = [
            (file, _overlaid(each, content) if any(each is hit for hit in hits) else each) for file, each in objects
        ]
    return [(file, each) for file, each in objects if each]


def _overlaid(body: _Object, content: Any) -> _Object:
    """Return an object with a patch; an empty one where the patch deletes it."""
    if isinstance(content, list):
        return kustomize_patches.operated(body, content)
    if content.get("$patch") == "delete":
        return {}
    names = {key: value for key, value in content.items() if key not in {"apiVersion", "kind", "metadata"}}
    merged: _Object = kustomize_patches.merged(body, names)
    return merged


def _placed(body: _Object, namespace: Any, counts: Mapping[str, Any]) -> _Object:
    """Return an object in the namespace, and with the number of pods, that a kustomization gives it."""
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(namespace, str):
        body = {**body, "metadata": {**metadata, "namespace": namespace}}
    count, spec = counts.get(_identity(body)[1]), body.get("spec")
    return {**body, "spec": {**spec, "replicas": count}} if count is not None and isinstance(spec, Mapping) else body


def _document(path: Path, name: str, reading: _Reading) -> Mapping[str, Any]:
    """Return a kustomization; an empty one where it cannot be read, which is a problem."""
    try:
        documents = manifest_yaml.documents(file_texts.beside(path) or "", name)
    except ManifestError as error:
        reading.problems.append(FileProblem(name, str(error)))
        return {}
    return next((each for each in documents if isinstance(each, Mapping)), {})


def _expanded(documents: Iterable[Any]) -> Iterator[_Object]:
    for each in documents:
        if isinstance(each, Mapping) and str(each.get("kind", "")).endswith("List") and "items" in each:
            yield from _expanded(kustomize.listed(each["items"]))
        elif isinstance(each, Mapping):
            yield dict(each)


def _identity(body: Mapping[str, Any]) -> tuple[str, str]:
    metadata = body.get("metadata")
    return str(body.get("kind", "")), str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in kustomize.listed(value) if isinstance(each, Mapping)]


def _beside(path: Path, name: str) -> Path:
    """Return a path that is given from another one; a name that no file can have leads to no file."""
    is_possible = "\0" not in name and all(
        len(part.encode(errors="replace")) < _LONGEST_NAME for part in name.split("/")
    )
    return Path(os.path.normpath(path.parent / (name if is_possible else "(no name of a file)")))


def _real(path: Path) -> Path:
    """Return a path without links; unlike `resolve`, a circle of them is no error."""
    return Path(os.path.realpath(path))
