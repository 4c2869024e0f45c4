"""Settings of Kubernetes objects: containers with their environment and arguments, ConfigMaps, Strimzi, Dapr."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.files import text_entries, tree_entries
from heartbeat_tuner.adapters.files.manifest_files import Found, FoundObject, FoundWorkload
from heartbeat_tuner.adapters.workloads import container_env
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings, Framework

Embedded = Callable[[str, str, str, str], Iterable[FoundSettings]]
"""Reads a file that stands in an object: title, the file of the object, its own name and text."""

_CONFIGS: Final = {"KafkaConnect": Framework.WORKER, "KafkaConnector": Framework.CONNECTOR}
_DAPR: Final = {"pubsub.kafka", "bindings.kafka"}


def settings(contents: Found, embedded: Embedded) -> Iterator[FoundSettings]:
    """Yield the settings of all objects.

    Args:
        contents: the objects.
        embedded: reads the files that ConfigMaps hold.
    """
    for workload in contents.workloads:
        yield from (_container(workload, container) for container in workload.containers)
    used = {name for workload in contents.workloads for name in _maps_used(workload)}
    for each in contents.objects:
        if each.kind == "ConfigMap":
            yield from _config_map(each, embedded, used=each.content.get("metadata", {}).get("name") in used)
        elif each.kind in _CONFIGS:
            config = _under(each.content, "spec", "config")
            entries = [FileEntry(entry.key, entry.text) for entry in tree_entries.flattened(config)]
            yield FoundSettings(each.title, each.file, entries, framework=_CONFIGS[each.kind])
        elif each.kind == "Component" and _under(each.content, "spec").get("type") in _DAPR:
            yield FoundSettings(each.title, each.file, list(_metadata(each)), framework=Framework.DAPR)


def helpers(contents: Found) -> Iterator[str]:
    """Yield the files whose ConfigMaps workloads take variables from."""
    used = {name for workload in contents.workloads for name in _maps_used(workload)}
    for each in contents.objects:
        if each.kind == "ConfigMap" and each.content.get("metadata", {}).get("name") in used:
            yield each.file


def _container(workload: FoundWorkload, container: Mapping[str, Any]) -> FoundSettings:
    maps = workload.config_maps
    names = [
        name
        for source in container["envFrom"]
        if "configMapRef" in source
        for name in (source["prefix"] + key for key in maps.get(source["configMapRef"]["name"], {}))
    ]
    names += [entry["name"] for entry in container["env"]]
    entries = [_entry(container, name, maps) for name in dict.fromkeys(names)]
    entries += text_entries.argument_entries(container["words"])
    unseen = [
        source["prefix"]
        for source in container["envFrom"]
        if "configMapRef" not in source or source["configMapRef"]["name"] not in maps
    ]
    return FoundSettings(
        f"{workload.title}, container {container['name']}",
        workload.file,
        list(tree_entries.expanded(entries)),
        image=container["image"],
        unseen_prefixes=unseen,
        workload=workload.facts,
    )


def _entry(container: Mapping[str, Any], name: str, maps: container_env.ConfigMaps) -> FileEntry:
    missing = container_env.missing_key(container, name, maps)
    why = ""
    if missing is not None:
        why = (
            f"from ConfigMap {missing[0]}, which has no key {missing[1]}: such a container is not started; add the "
            f"key, or mark the reference as optional"
        )
    last: Mapping[str, Any] = next((entry for entry in reversed(container["env"]) if entry["name"] == name), {})
    field = last.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
    optional = last.get("valueFrom", {}).get("configMapKeyRef", {}).get("optional", False)
    text = container_env.value(container, name, maps)
    if text is None and optional and not container_env.is_hidden(container, name, maps):
        return FileEntry("", None)  # an optional reference that leads nowhere sets nothing
    return FileEntry(name, text, field=field, missing=why)


def _maps_used(workload: FoundWorkload) -> Iterator[str]:
    for container in workload.containers:
        for source in container["envFrom"]:
            if "configMapRef" in source:
                yield source["configMapRef"]["name"]
        for entry in container["env"]:
            reference = entry.get("valueFrom", {}).get("configMapKeyRef")
            if reference is not None:
                yield reference["name"]


def _config_map(contents: FoundObject, embedded: Embedded, *, used: bool) -> Iterator[FoundSettings]:
    data = contents.content.get("data")
    texts = {str(key): value for key, value in (data or {}).items() if isinstance(value, str)}
    files = {key: text for key, text in texts.items() if "\n" in text or ("." in key and "=" in text)}
    for key, text in files.items():
        yield from embedded(f"{contents.title}, {key}", contents.file, key, text)
    if not used:
        entries = [FileEntry(key, text) for key, text in texts.items() if key not in files]
        yield FoundSettings(contents.title, contents.file, list(tree_entries.expanded(entries)))


def _metadata(contents: FoundObject) -> Iterator[FileEntry]:
    metadata = _under(contents.content, "spec").get("metadata")
    for item in metadata if isinstance(metadata, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            yield FileEntry(item["name"], tree_entries.scalar(item["value"]) if "value" in item else None)


def _under(content: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    at: Any = content
    for key in keys:
        at = at.get(key) if isinstance(at, Mapping) else None
    return at if isinstance(at, Mapping) else {}
