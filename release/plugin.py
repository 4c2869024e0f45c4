"""The kubectl plugin for krew, and its manifest.

The archive has the plugin with what it needs, copied from the environment that runs this, so nothing is downloaded. It
is for one platform and one minor version of Python, since NumPy and pydantic are compiled. Nothing is published yet:
the manifest's address ends in `.invalid` until a release gives one. Until then krew installs the archive from disk:
`kubectl krew install --manifest=FILE --archive=FILE`.
"""

import dataclasses
import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from heartbeat_tuner import __version__
from release.archives import Entry, tar_gz
from release.versions import semantic

NAME: Final = "heartbeat-tuner"
PROGRAM: Final = "kubectl-heartbeat_tuner"
NO_RELEASE: Final = "https://no-release-yet.invalid"
"""A reserved name, which leads nowhere: a release puts its own address here."""

PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

LAUNCHER: Final = f"""#!/bin/sh
# Runs the plugin with the packages beside it; they are compiled for Python {PYTHON}.
here=$(dirname "$(readlink -f "$0")")
if ! command -v python{PYTHON} >/dev/null; then
  echo "Error: put python{PYTHON} on the PATH: kubectl heartbeat-tuner is compiled for it" >&2
  exit 2
fi
exec env PYTHONPATH="$here/lib" python{PYTHON} -c "from heartbeat_tuner.cli.kubectl.plugin import main; main()" "$@"
"""

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A platform, in krew's words.

    Attributes:
        os: such as linux.
        arch: such as amd64.
    """

    os: str
    arch: str

    @property
    def archive(self) -> str:
        """The name of its archive."""
        return f"{PROGRAM}-{__version__}-{self.os}-{self.arch}.tar.gz"


def here() -> Target:
    """Return the platform of this machine."""
    return Target(platform.system().lower(), _ARCHITECTURES[platform.machine()])


def manifest(target: Target, archive: bytes, *, url: str = NO_RELEASE) -> dict[str, Any]:
    """Return krew's manifest of the plugin.

    Args:
        target: the platform of the archive.
        archive: its bytes.
        url: of the folder from which people will download it.
    """
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{semantic(__version__)}",  # as krew wants it
            "shortDescription": "Tune the liveness of Kafka consumers",
            "description": (
                "Shows what heartbeat-tuner found about Kafka consumer groups, explains its values,\n"
                "writes a report, and pauses, resumes or reverts its changes.\n"
            ),
            "caveats": f"Needs python{PYTHON} on the PATH, and heartbeat-tuner's definitions in the cluster.\n",
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": target.os, "arch": target.arch}},
                    "uri": f"{url}/{target.archive}",
                    "sha256": hashlib.sha256(archive).hexdigest(),
                    "bin": PROGRAM,
                }
            ],
        },
    }


def archive(checkout: Path) -> bytes:
    """Return the archive: the launcher, the licence, and `lib` with the plugin and all that it imports.

    Args:
        checkout: where the project's own files are; the packages are those of this environment.
    """
    return tar_gz(
        [
            Entry(PROGRAM, LAUNCHER.encode(), mode=0o755),
            Entry("LICENSE", (checkout / "LICENSE").read_bytes()),
            *(Entry(f"lib/{name}", path.read_bytes()) for name, path in _files(checkout / "operator")),
        ],
        level=1,
    )


def distributions() -> set[str]:
    """Return the names of the packages that the core needs, and those that these need."""
    names, waiting = set[str](), [NAME]
    while waiting:
        for text in importlib.metadata.requires(waiting.pop()) or ():
            requirement = Requirement(text)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if wanted and requirement.name not in names:
                names.add(requirement.name)
                waiting.append(requirement.name)
    return names


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of `lib`: name and place."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(source).as_posix(), path
    for name in distributions():
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield file.as_posix(), path
