"""Manifest files as people write them: workloads and the ConfigMaps beside them, read without a cluster.

A file is anybody's: what does not have the shape that Kubernetes asks for is named by its place, and values are never
repeated. What comes out is what the API server would give, reduced to the environment, so that `container_env` can read
it.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.adapters.files import manifest_yaml
from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError
from heartbeat_tuner.adapters.workloads.container_env import ConfigMaps
from heartbeat_tuner.lint.found_settings import WorkloadFacts

_TEMPLATE: Final = ("spec", "template", "spec")

POD_SPECS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "Job": _TEMPLATE,
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    "Rollout": _TEMPLATE,  # Argo's
    "Pod": ("spec",),
}
"""The kinds that are checked, and where their pod's spec stands."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")


@dataclasses.dataclass(frozen=True, slots=True)
class FoundWorkload:
    """A workload of a file.

    Attributes:
        title: kind, namespace if it has one, and name.
        file: that it stands in.
        containers: reduced to `name`, `image`, `env`, `envFrom` and `words`: those of command and arguments.
        config_maps: those of its namespace that stand in the files.
        facts: what it says of its pods.
    """

    title: str
    file: str
    containers: Sequence[Mapping[str, Any]]
    config_maps: ConfigMaps
    facts: WorkloadFacts


@dataclasses.dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that is no workload: kind, namespace and name as a title, and what it holds."""

    title: str
    file: str
    kind: str
    content: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What stands in files.

    Attributes:
        workloads: those of the kinds that are checked.
        passed_over: the titles of objects with a pod template that are of another kind.
        objects: all others.
    """

    workloads: Sequence[FoundWorkload]
    passed_over: Sequence[str]
    objects: Sequence[FoundObject] = ()


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

    def key(self) -> str:
        """Return a key of a ConfigMap."""
        if not isinstance(self.value, str) or not _KEY.fullmatch(self.value):
            raise ManifestError(f"{self.where} is no key (letters, digits, '-', '_' and '.')")
        return self.value

    def truth(self) -> bool:
        """Return a truth value; nothing at all is false."""
        if not isinstance(self.value, bool | None):
            raise ManifestError(f"{self.where} is neither true nor false")
        return bool(self.value)

    def text(self) -> str:
        """Return a text; nothing at all is an empty one, as for the API server."""
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise ManifestError(f"{self.where} is no text, which Kubernetes refuses; put the value in quotes")
        return self.value


@dataclasses.dataclass(frozen=True, slots=True)
class _Object:
    """An object of Kubernetes: a mapping, and the kind that it says it is of, which may be any text."""

    kind: str
    place: _Place
    file: str = ""

    def identity(self) -> tuple[str, str]:
        """Return the namespace, empty if it has none, and the name."""
        metadata = self.place.under("metadata")
        namespace = metadata.under("namespace")
        return "" if namespace.value is None else namespace.name(), metadata.under("name").name()

    def title(self) -> str:
        namespace, name = self.identity()
        return f"{self.kind} {namespace}/{name}" if namespace else f"{self.kind} {name}"


def read(files: Iterable[tuple[str, str]]) -> Found:
    """Return the workloads in files, given by name and text.

    Raises:
        ManifestError: a file is no YAML, or what we read of it has not the shape that Kubernetes asks for.
    """
    return read_documents((name, manifest_yaml.documents(text, name)) for name, text in files)


def read_documents(files: Iterable[tuple[str, Sequence[Any]]]) -> Found:
    """Return the same of documents that were read already, given by the name of their file.

    Raises:
        ManifestError: what we read of one has not the shape that Kubernetes asks for.
    """
    objects = [manifest for name, documents in files for manifest in _objects(documents, name)]
    maps: dict[str, dict[str, dict[str, str]]] = {}
    for manifest in objects:
        if manifest.kind == "ConfigMap":
            namespace, name = manifest.identity()
            maps.setdefault(namespace, {})[name] = _data(manifest.place)
    others = [manifest for manifest in objects if manifest.kind not in POD_SPECS]
    return Found(
        workloads=[_workload(manifest, maps) for manifest in objects if manifest.kind in POD_SPECS],
        passed_over=[_title_if_any(manifest) for manifest in others if _has_pod_template(manifest.place.value)],
        objects=[
            FoundObject(_title_if_any(manifest), manifest.file, manifest.kind, manifest.place.mapping())
            for manifest in others
        ],
    )


def _objects(documents: Sequence[Any], file: str) -> Iterator[_Object]:
    """Yield the objects of a file; those of lists one by one."""
    for number, document in enumerate(documents, start=1):
        if document is not None:
            for manifest in _expanded(_Place(document, f"{file}, document {number}")):
                yield dataclasses.replace(manifest, file=file)


def _expanded(place: _Place, kind: str = "") -> Iterator[_Object]:
    """Yield the object, or what it is a list of.

    Args:
        place: where it stands.
        kind: its kind, if it does not say it itself: the API server leaves it out in a DeploymentList.
    """
    kind = place.under("kind").text() or kind
    if kind == "List" or (kind.endswith("List") and "items" in place.mapping()):
        for item in place.under("items").items():
            yield from _expanded(item, kind.removesuffix("List"))
    else:
        yield _Object(kind, place)


def _has_pod_template(value: Any) -> bool:
    """Whether there is one anywhere in the value: kinds put it in many places."""
    if isinstance(value, dict):
        at: Any = value
        for key in ("template", "spec", "containers"):
            at = at.get(key) if isinstance(at, dict) else None
        return isinstance(at, list) or any(_has_pod_template(nested) for nested in value.values())
    return isinstance(value, list) and any(_has_pod_template(nested) for nested in value)


def _title_if_any(manifest: _Object) -> str:
    """Return kind and name, else the place: nobody asked what has to be right in an object that is passed over."""
    try:
        return manifest.title() if _KIND.fullmatch(manifest.kind) else manifest.place.where
    except ManifestError:
        return manifest.place.where


def _data(place: _Place) -> dict[str, str]:
    data = place.under("data")
    entries = {} if data.value is None else data.mapping()
    shown = {key: key if isinstance(key, str) and _KEY.fullmatch(key) else "(a key)" for key in entries}
    return {str(key): _Place(value, f"{data.where}.{shown[key]}").text() for key, value in entries.items()}


def _workload(manifest: _Object, maps: Mapping[str, ConfigMaps]) -> FoundWorkload:
    namespace, _ = manifest.identity()
    spec = manifest.place
    for key in POD_SPECS[manifest.kind]:
        spec = spec.under(key)
    containers = [_container(place) for place in spec.under("containers").items()]
    if not containers:
        raise ManifestError(f"{spec.where} has no containers")
    return FoundWorkload(manifest.title(), manifest.file, containers, maps.get(namespace, {}), _facts(manifest))


def _facts(manifest: _Object) -> WorkloadFacts:
    """Return what the workload says of its pods; what has another shape than it should have says nothing."""
    spec = manifest.place.mapping().get("spec")
    spec = spec if isinstance(spec, dict) else {}
    replicas = str(spec.get("replicas", ""))
    strategy = spec.get("strategy")
    strategy = strategy if isinstance(strategy, dict) else {}
    rolling = strategy.get("rollingUpdate")
    surge = str(rolling.get("maxSurge", "25%")) if isinstance(rolling, dict) else "25%"
    surges = (
        manifest.kind in {"Deployment", "Rollout"} and strategy.get("type") != "Recreate" and surge not in {"0", "0%"}
    )
    return WorkloadFacts(manifest.kind, int(replicas) if re.fullmatch("[0-9]{1,6}", replicas) else None, surges)


def _container(place: _Place) -> dict[str, Any]:
    return {
        "name": place.under("name").name(),
        "image": str(place.mapping().get("image", "")),
        "words": [str(item.value) for key in ("command", "args") for item in place.under(key).items()],
        "env": [_entry(item) for item in place.under("env").items()],
        "envFrom": [_source(item) for item in place.under("envFrom").items()],
    }


def _entry(place: _Place) -> dict[str, Any]:
    name, literal = place.under("name").text(), place.under("value")
    reference = place.under("valueFrom")
    if reference.value is None:
        return {"name": name} if literal.value is None else {"name": name, "value": literal.text()}
    key = reference.under("configMapKeyRef")
    if key.value is None:
        field = reference.mapping().get("fieldRef")
        path = field.get("fieldPath", "") if isinstance(field, dict) else ""
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": str(path)}} if path else {}}
    selector = {
        "name": key.under("name").name(),
        "key": key.under("key").key(),
        "optional": key.under("optional").truth(),
    }
    return {"name": name, "valueFrom": {"configMapKeyRef": selector}}


def _source(place: _Place) -> dict[str, Any]:
    source: dict[str, Any] = {"prefix": place.under("prefix").text()}
    reference = place.under("configMapRef")
    return source if reference.value is None else {**source, "configMapRef": {"name": reference.under("name").name()}}
