"""What each image is made from, and how."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sandbox import cache, commands, debian
from sandbox.binaries import Binaries
from sandbox.errors import PrerequisiteMissingError
from sandbox.images import buildah

_HERE: Final = Path(__file__).parent
_CHECKOUT: Final = _HERE.parents[1]
_TOOLS: Final = ("buildah", "mmdebstrap")
_PACKAGES: Final = "ca-certificates,python3,python3-venv"
_MADE_AT_S: Final = 1
"""The time of the base's files: the same packages are the same base, on whatever day it is made."""

_KEPT_ARCHIVES: Final = 3  # of each target: other clones and branches may use theirs


def obstacle() -> str | None:
    """Return why no image can be built here, or None when nothing is in the way."""
    if os.geteuid() != 0:
        return "only root can build images here: containers are unpacked with the owners they have"
    return debian.obstacle(*_TOOLS)


def reference(target: str) -> str:
    """Return the image's name and tag; the tag changes with what it is made from, but that of `pause`, which is 1."""
    return _REPOSITORIES[target] + ":" + ("1" if target == "pause" else _key(target))


def build(target: str) -> Path:
    """Return the docker-archive of one of `TARGETS`, built if it is not in the cache.

    Raises:
        PrerequisiteMissingError: not run as root, or no Debian system.
        SandboxError: the build failed; the message carries the end of what it said.
    """
    name, key, called = f"image-{target}", _key(target), reference(target)

    def make(scratch: Path) -> None:
        if reason := obstacle():
            raise PrerequisiteMissingError(f"The sandbox cannot build images: {reason}")
        debian.ensure(*_TOOLS)
        with cache.lock("images"):  # the targets share stages
            _MAKERS[target](target, called)
            buildah.write_archive(called, scratch / "image.tar")
            buildah.forget(_REPOSITORIES[target], but=_KEPT_ARCHIVES)

    archive = cache.entry(name, key, make) / "image.tar"
    archive.parent.touch()  # used just now
    _forget_old(name)
    return archive


def build_release(target: str, checkout: Path, called: str, made_at_s: int) -> None:
    """Build an image of another checkout into the store, with one time for all its files.

    Args:
        target: of the checkout's Dockerfile.
        checkout: the folder.
        called: the image's name and tag in the store.
        made_at_s: seconds since 1970.

    Raises:
        PrerequisiteMissingError: not run as root, or no Debian system.
        SandboxError: the build failed; the message carries the end of what it said.
    """
    if reason := obstacle():
        raise PrerequisiteMissingError(f"The sandbox cannot build images: {reason}")
    debian.ensure(*_TOOLS)
    with cache.lock("images"):
        arguments = {"PYTHON": _python(), "SOURCE_DATE_EPOCH": str(made_at_s)}
        dockerfile = checkout / "Dockerfile"
        buildah.build(called, checkout, dockerfile=dockerfile, target=target, arguments=arguments, made_at_s=made_at_s)


def _build_pause(_target: str, called: str) -> None:
    with tempfile.TemporaryDirectory() as context:
        shutil.copy(Binaries().path_of_own("pause"), context)
        buildah.build(called, Path(context), dockerfile=_HERE / "pause.Dockerfile")


def _build_project(target: str, called: str) -> None:
    arguments = {"PYTHON": _python()}
    buildah.build(called, _CHECKOUT, dockerfile=_CHECKOUT / "Dockerfile", target=target, arguments=arguments)


def _python() -> str:
    """Return the base for the project's images, built if it is not in the store."""
    sources = debian.sources()
    name = f"localhost/python:debian-{_key_of_base(sources)}"
    if not buildah.exists(name):
        with tempfile.TemporaryDirectory() as context:
            (Path(context) / "sources.list").write_text(sources)
            system: list[str | Path] = [
                *(
                    "env",
                    f"SOURCE_DATE_EPOCH={_MADE_AT_S}",
                    "mmdebstrap",
                    "--mode=root",
                    "--variant=minbase",
                    f"--include={_PACKAGES}",
                    "--skip=output/dev",
                ),
                '--customize-hook=ln --symbolic python3 "$1/usr/bin/python"',
                *("", Path(context) / "root.tar", Path(context) / "sources.list"),
            ]
            commands.run("images", "making a Debian system with Python", system)
            buildah.build(name, Path(context), dockerfile=_HERE / "python.Dockerfile", made_at_s=_MADE_AT_S)
    return name


def _key_of_base(sources: str) -> str:
    return cache.key(sources, _PACKAGES, str(_MADE_AT_S), _HERE / "python.Dockerfile")


def _key(target: str) -> str:
    if target == "pause":
        return cache.key(_HERE / "pause.Dockerfile", _HERE.parent / "tools" / "pause" / "main.go")
    files = _copied()
    return cache.key(target, *(part for file in files for part in (str(file.relative_to(_CHECKOUT)), file)))


def _copied() -> list[Path]:
    """Return all files that the Dockerfile gets to see, and itself."""
    allowed = [
        _CHECKOUT / line[1:] for line in (_CHECKOUT / ".dockerignore").read_text().split("\n") if line[:1] == "!"
    ]
    files = [file for path in allowed for file in (path.rglob("*") if path.is_dir() else [path])]
    stored = (file for file in files if file.is_file() and "__pycache__" not in file.parts)
    return sorted({_CHECKOUT / "Dockerfile", _CHECKOUT / ".dockerignore", *stored})


def _forget_old(name: str) -> None:
    found = sorted(cache.root().glob(f"{name}-*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in found[_KEPT_ARCHIVES:]:
        shutil.rmtree(folder, ignore_errors=True)


_REPOSITORIES: Final = {
    "operator": "localhost/heartbeat-tuner",
    "fitting": "localhost/heartbeat-tuner-fitting",
    "pause": "localhost/pause",
}
_MAKERS: Final[dict[str, Callable[[str, str], None]]] = {
    "operator": _build_project,
    "fitting": _build_project,
    "pause": _build_pause,
}
TARGETS: Final = tuple(_REPOSITORIES)
