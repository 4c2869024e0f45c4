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
    for generator in _listed(document.get("configMapGenerator")):
        if not isinstance(generator, Mapping) or not isinstance(generator.get("name"), str):
            continue
        data: dict[str, str] = {}
        for literal in _listed(generator.get("literals")):
            name, _, value = str(literal).partition("=")
            data[name] = value.strip("\"'")
        for path in [*_listed(generator.get("envs")), *_listed(generator.get("env"))]:
            data |= {entry.key: entry.text or "" for entry in text_entries.env_entries(beside(str(path)) or "")}
        for named in _listed(generator.get("files")):
            key, sign, path = str(named).partition("=")
            text = beside(path if sign else key)
            if text is not None:
                data[key if sign else Path(key).name] = text
        namespace = document.get("namespace")
        metadata = {"name": generator["name"]} | ({"namespace": namespace} if isinstance(namespace, str) else {})
        yield {"kind": "ConfigMap", "metadata": metadata, "data": data}


def resources(document: Mapping[str, Any]) -> list[str]:
    """Return the paths that a kustomization builds on; those of other machines are left out."""
    paths = [*_listed(document.get("resources")), *_listed(document.get("bases"))]
    return [str(path) for path in paths if "://" not in str(path)]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
