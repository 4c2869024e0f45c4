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


def _manifest(tar: tarfile.TarFile) -> dict[str, Any]:
    return cast("dict[str, Any]", _read(tar, "manifest.json")[0])


def _read(tar: tarfile.TarFile, name: str) -> Any:
    stream = tar.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} is no file of {tar.name!r}")
    return json.load(stream)
