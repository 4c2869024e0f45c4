"""Manifest files as people write them: workloads and the ConfigMaps beside them, read without a cluster.

A file is anybody's: nothing in it may cost more than its size promises (nested aliases, deep nesting), and what does
not have the shape that Kubernetes asks for is named by its place. Values are never repeated. What comes out is what
the API server would give, reduced to the environment, so that `manifests` can read it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from heartbeat_tuner.adapters.manifests import ConfigMaps
from heartbeat_tuner.domain.errors import TunerError

MOST_NODES: Final = 200_000
"""Of one file, aliases counted as what they stand for; about a second of reading, and far beyond a rendered chart."""

DEEPEST: Final = 60
"""Levels of nesting; a pod's env is at level 10."""

POD_SPECS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "Pod": ("spec",),
}
"""The kinds that are checked, and where their pod's spec stands."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")
_LOADER: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is 10 times faster
_PLAIN_TEXT: Final = "tag:yaml.org,2002:str"


class ManifestError(TunerError):
    """A file that cannot be read as manifests; the message says where."""


@dataclasses.dataclass(frozen=True, slots=True)
class FoundWorkload:
    """A workload of a file.

    Attributes:
        title: kind, namespace if it has one, and name.
        containers: reduced to `name`, `env` and `envFrom`.
        config_maps: those of its namespace that stand in the files.
    """

    title: str
    containers: Sequence[Mapping[str, Any]]
    config_maps: ConfigMaps


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """A value in a document, with the words that lead to it."""

    value: Any
    where: str

    def mapping(self) -> Mapping[str, Any]:
        if not isinstance(self.value, dict):
            raise ManifestError(f"{self.where} is no mapping of names to values")
        return self.value

    def under(self, key: str) -> "_Place":
        return _Place(self.mapping().get(key), f"{self.where}.{key}")

    def items(self) -> Iterator["_Place"]:
        """Yield the items of a list, which may be left out."""
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise ManifestError(f"{self.where} is no list")
        for number, item in enumerate(self.value):
            yield _Place(item, f"{self.where}[{number}]")

    def name(self) -> str:
        if not isinstance(self.value, str) or not _NAME.fullmatch(self.value):
            raise ManifestError(f"{self.where} is no name (lower case letters, digits, '-' and '.')")
        return self.value

    def text(self) -> str:
        """Return a text; nothing at all is an empty one, as for the API server."""
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise ManifestError(f"{self.where} is no text, which Kubernetes refuses; put the value in quotes")
        return self.value


def workloads(files: Mapping[str, str]) -> list[FoundWorkload]:
    """Return the workloads in files, given as texts by name.

    Raises:
        ManifestError: a file is no YAML, or what we read of it has not the shape that Kubernetes asks for.
    """
    objects = [found for name, text in files.items() for found in _objects(text, name)]
    maps: dict[str, dict[str, dict[str, str]]] = {}
    for place in objects:
        if place.value.get("kind") == "ConfigMap":
            namespace, name = _identity(place)
            maps.setdefault(namespace, {})[name] = _data(place)
    return [_workload(place, maps) for place in objects if place.value.get("kind") in POD_SPECS]


def _objects(text: str, file: str) -> Iterator[_Place]:
    """Yield the objects of a file; those of a List one by one."""
    for number, document in enumerate(_documents(text, file), start=1):
        place = _Place(document, f"{file}, document {number}")
        if document is None:
            continue
        if place.mapping().get("kind") != "List":
            yield place
            continue
        for item in place.under("items").items():
            item.mapping()
            yield item


def _documents(text: str, file: str) -> list[Any]:
    try:
        _refuse_costly(text, file)
        return list(yaml.load_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        # Not the error's own text: it may repeat the line, and that may hold a password.
        at = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ManifestError(f"{file}{at} is no YAML: {error.problem}; templates have to be rendered first") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ManifestError(f"{file} is no YAML: it holds a character, a number or a date that none may") from error


def _refuse_costly(text: str, file: str) -> None:
    """Walk through the file's events, of which there are no more than it has characters, before anything is built.

    Raises:
        ManifestError: what it stands for is too much, or too deep, or has types of its own.
    """
    nodes = 0
    open_at: list[tuple[str | None, int]] = []
    anchors: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = {}
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ManifestError(f"{_line(file, event)} has an alias (*) for nothing that is complete before it")
            nodes += anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            nodes += 1
            if event.tag not in {None, "!", _PLAIN_TEXT}:
                raise ManifestError(f"{_line(file, event)} has a tag (!), which manifests do not need")
            if isinstance(event, yaml.ScalarEvent):
                anchors[event.anchor] = 1
            else:
                open_at.append((event.anchor, nodes))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, since = open_at.pop()
            anchors[anchor] = nodes - since + 1
        if nodes > MOST_NODES or len(open_at) > DEEPEST:
            raise ManifestError(
                f"{file} is more than is read: at most {MOST_NODES} values, aliases counted as what they stand for, "
                f"and {DEEPEST} levels"
            )


def _line(file: str, event: yaml.Event) -> str:
    return f"{file}, line {event.start_mark.line + 1}" if event.start_mark else file


def _identity(place: _Place) -> tuple[str, str]:
    """Return an object's namespace, empty if it has none, and name."""
    metadata = place.under("metadata")
    namespace = metadata.under("namespace")
    return "" if namespace.value is None else namespace.name(), metadata.under("name").name()


def _data(place: _Place) -> dict[str, str]:
    data = place.under("data")
    entries = {} if data.value is None else data.mapping()
    shown = {key: key if isinstance(key, str) and _KEY.fullmatch(key) else "(a key)" for key in entries}
    return {str(key): _Place(value, f"{data.where}.{shown[key]}").text() for key, value in entries.items()}


def _workload(place: _Place, maps: Mapping[str, ConfigMaps]) -> FoundWorkload:
    namespace, name = _identity(place)
    spec = place
    for key in POD_SPECS[place.value["kind"]]:
        spec = spec.under(key)
    title = f"{place.value['kind']} {namespace}/{name}" if namespace else f"{place.value['kind']} {name}"
    containers = [_container(one) for one in spec.under("containers").items()]
    if not containers:
        raise ManifestError(f"{spec.where} has no containers")
    return FoundWorkload(title, containers, maps.get(namespace, {}))


def _container(place: _Place) -> dict[str, Any]:
    return {
        "name": place.under("name").name(),
        "env": [_entry(one) for one in place.under("env").items()],
        "envFrom": [_source(one) for one in place.under("envFrom").items()],
    }


def _entry(place: _Place) -> dict[str, Any]:
    name, literal = place.under("name").text(), place.under("value")
    reference = place.under("valueFrom")
    if reference.value is None:
        return {"name": name} if literal.value is None else {"name": name, "value": literal.text()}
    key = reference.under("configMapKeyRef")
    found = {} if key.value is None else {"name": key.under("name").name(), "key": key.under("key").text()}
    return {"name": name, "valueFrom": {"configMapKeyRef": found} if found else {}}


def _source(place: _Place) -> dict[str, Any]:
    source: dict[str, Any] = {"prefix": place.under("prefix").text()}
    reference = place.under("configMapRef")
    return source if reference.value is None else {**source, "configMapRef": {"name": reference.under("name").name()}}
