"""Kustomize folders: the ConfigMaps that a kustomization makes, as objects beside its manifests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.adapters.files import text_entries

NAMES: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})


def config_maps(document: Mapping[str, Any], beside: Callable[[str], str | None]) -> Iterator[dict[str, Any]]:
    """Yield the ConfigMaps that a kustomization makes; the hash that Kustomize appends to names is left out.

    Args:
        document: the kustomization.
        beside: reads a file by its path from the kustomization; None where there is none.
    """
    for generator in listed(document.get("configMapGenerator")):
        if not isinstance(generator, Mapping) or not isinstance(generator.get("name"), str):
            continue
        data: dict[str, str] = {}
        for literal in listed(generator.get("literals")):
            name, _, value = str(literal).partition("=")
            data[name] = value.strip("\"'")
        for path in [*listed(generator.get("envs")), *listed(generator.get("env"))]:
            data |= {entry.key: entry.text or "" for entry in text_entries.env_entries(beside(str(path)) or "")}
        for named in listed(generator.get("files")):
            key, sign, path = str(named).partition("=")
            text = beside(path if sign else key)
            if text is not None:
                data[key if sign else Path(key).name] = text
        namespace = document.get("namespace")
        metadata = {"name": generator["name"]} | ({"namespace": namespace} if isinstance(namespace, str) else {})
        yield {"kind": "ConfigMap", "metadata": metadata, "data": data}


def resources(document: Mapping[str, Any]) -> list[str]:
    """Return the paths that a kustomization builds on; those of other machines are left out."""
    return [path for path in _paths(document) if not _is_remote(path)]


def has_remote(document: Mapping[str, Any]) -> bool:
    """Whether a kustomization builds on something of another machine."""
    return any(_is_remote(path) for path in _paths(document))


def behavior(document: Mapping[str, Any], name: str) -> str:
    """Return what becomes of a base's ConfigMap of that name: create (there is none), merge or replace."""
    for generator in listed(document.get("configMapGenerator")):
        if isinstance(generator, Mapping) and generator.get("name") == name:
            return str(generator.get("behavior", "create"))
    return "create"


def _paths(document: Mapping[str, Any]) -> list[str]:
    return [str(path) for key in ("resources", "bases", "components") for path in listed(document.get(key))]


def _is_remote(path: str) -> bool:
    return "://" in path or "?ref=" in path or path.startswith(("github.com/", "git@", "git::"))


def listed(value: Any) -> list[Any]:
    """Return a value as a list: it may be left out, or stand alone."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
