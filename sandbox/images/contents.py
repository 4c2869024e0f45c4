"""What is in a docker-archive: its layers, unpacked sizes and configuration."""

import json
import tarfile
from pathlib import Path
from typing import Any, cast


def layer_sizes_bytes(archive: Path) -> list[int]:
    """Return the size of each layer as an uncompressed tar, the base's first: what a node has to unpack."""
    with tarfile.open(archive) as tar:
        return [tar.getmember(name).size for name in _manifest(tar)["Layers"]]


def configuration(archive: Path) -> dict[str, Any]:
    """Return what a container of the image runs as: `User`, `Entrypoint`, `Env` and so on."""
    with tarfile.open(archive) as tar:
        return cast("dict[str, Any]", _read(tar, _manifest(tar)["Config"])["config"])


def names(archive: Path) -> list[str]:
    """Return the names and tags that a node gives the image when it imports the archive."""
    with tarfile.open(archive) as tar:
        return cast("list[str]", _manifest(tar)["RepoTags"])


def unpack(archive: Path, root: Path) -> None:
    """Unpack all layers into one folder, as root and with their owners; what a layer deletes of another stays."""
    with tarfile.open(archive) as tar:
        for name in _manifest(tar)["Layers"]:
            with tarfile.open(fileobj=tar.extractfile(name)) as layer:
                layer.extractall(root, numeric_owner=True, filter="fully_trusted")  # noqa: S202 - built here


def _manifest(tar: tarfile.TarFile) -> dict[str, Any]:
    return cast("dict[str, Any]", _read(tar, "manifest.json")[0])


def _read(tar: tarfile.TarFile, name: str) -> Any:
    stream = tar.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} is no file of {tar.name!r}")
    return json.load(stream)
