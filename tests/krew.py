"""Build the kubectl plugin for krew, and its manifest: `make krew`, into build/krew.

The archive has the plugin with what it needs, copied from the environment that runs this, so nothing is downloaded. It
is for one platform and one minor version of Python, since NumPy and pydantic are compiled. Nothing is published yet:
the manifest's address ends in `.invalid` until a release gives one (`--url`). Until then krew installs the archive
from disk: `kubectl krew install --manifest=FILE --archive=FILE`.
"""

import argparse
import dataclasses
import gzip
import hashlib
import importlib.metadata
import io
import platform
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from packaging.requirements import Requirement

from heartbeat_tuner import __version__

CHECKOUT: Final = Path(__file__).parents[1]
FOLDER: Final = CHECKOUT / "build" / "krew"

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
_PRE_RELEASE: Final = re.compile(r"(\d+\.\d+\.\d+)\.?(dev|a|b|rc)(\d+)")


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


def version() -> str:
    """Return the project's version as krew wants it: semantic, after a v."""
    match = _PRE_RELEASE.fullmatch(__version__)
    return f"v{__version__}" if match is None else f"v{match[1]}-{match[2]}.{match[3]}"


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
            "version": version(),
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


def archive() -> bytes:
    """Return the archive: the launcher, the licence, and `lib` with the plugin and all that it imports."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        _add(tar, PROGRAM, LAUNCHER.encode(), mode=0o755)
        _add(tar, "LICENSE", (CHECKOUT / "LICENSE").read_bytes())
        for name, path in sorted(_files()):
            _add(tar, f"lib/{name}", path.read_bytes())
    return packed.getvalue()


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


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the files of `lib`: name and place."""
    source = CHECKOUT / "operator"
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(source).as_posix(), path
    for name in distributions():
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield file.as_posix(), path


def _add(tar: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)  # no owner and no time: the same files are the same archive
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def main() -> None:
    """Write archive and manifest."""
    parser = argparse.ArgumentParser(description="Build the kubectl plugin for krew.")
    parser.add_argument("--url", default=NO_RELEASE, help="folder of the release, such as https://…/v0.1.0")
    url = parser.parse_args().url
    target, packed = here(), archive()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / target.archive).write_bytes(packed)
    text = yaml.safe_dump(manifest(target, packed, url=url), sort_keys=False)
    note = "" if url != NO_RELEASE else "# Nothing is released: `uri` is to be filled (make krew URL=…).\n"
    (FOLDER / f"{NAME}.yaml").write_text(f"{note}{text}")
    print(f"{FOLDER / target.archive} ({len(packed) / 1e6:.0f} MB)\n{FOLDER / f'{NAME}.yaml'}")


if __name__ == "__main__":
    main()
