"""The kubectl plugin for krew: an archive for each platform, and their manifest.

NumPy and pydantic are compiled, so an archive is for one platform and one minor version of Python. It has the wheels
that the lock names for that platform, unpacked; which machine makes it makes no difference. Nothing is published yet:
the manifest's address ends in `.invalid` until a release gives one. Until then krew installs the archive from disk:
`kubectl krew install --manifest=FILE --archive=FILE`.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from heartbeat_tuner import __version__
from release import bills
from release.archives import Entry, tar_gz
from release.pins import LOCK, NAME, pinned
from release.platforms import PYTHON, Platform
from release.source import Source
from release.unpacking import unpacked
from release.versions import semantic
from release.wheels import get

PROGRAM: Final = "kubectl-heartbeat_tuner"
NO_RELEASE: Final = "https://no-release-yet.invalid"
"""A reserved name, which leads nowhere: a release puts its own address here."""

_LAUNCHER: Final = """#!/bin/sh
# Runs the plugin with the packages beside it. They are compiled for CPython {python} on {platform}.
program=$0
while [ -L "$program" ]; do  # krew's link; `readlink -f` is not everywhere
  target=$(readlink "$program")
  case $target in
    /*) program=$target ;;
    *) program=$(dirname "$program")/$target ;;
  esac
done
here=$(CDPATH= cd "$(dirname "$program")" && pwd)
if ! command -v python{python} >/dev/null; then
  echo "Error: put python{python} on the PATH: kubectl heartbeat-tuner is compiled for it" >&2
  exit 2
fi
exec env PYTHONPATH="$here/lib" python{python} -c '
import importlib.machinery, os, sys
found = importlib.machinery.EXTENSION_SUFFIXES[0], os.uname().machine
if found != ("{suffix}", "{machine}"):
    print("Error: this kubectl heartbeat-tuner is compiled for CPython {python} on {platform}, and the python{python} "
          "on the PATH is another one (%s, %s): install the archive of its platform" % found, file=sys.stderr)
    sys.exit(2)
from heartbeat_tuner.cli.kubectl.plugin import main
main()
' "$@"
"""


def launcher(platform: Platform) -> str:
    """Return the program of an archive: it refuses a Python that cannot load what is beside it."""
    return _LAUNCHER.format(python=PYTHON, platform=platform.name, suffix=platform.suffix, machine=platform.machine)


def archive_name(platform: Platform) -> str:
    """Return the name of a platform's archive."""
    return f"{PROGRAM}-{__version__}-{platform.os}-{platform.arch}.tar.gz"


def make(source: Source, into: Path, platforms: Iterable[Platform], core: str, *, url: str) -> Iterator[Path]:
    """Make the archive and the bill of each platform, and the manifest; yield each when it is there.

    Args:
        source: the commit.
        into: a folder.
        platforms: for which it is made.
        core: the bill of the core.
        url: of the folder from which people will download the archives.

    Raises:
        SandboxError: a package has no wheel for a platform, or cannot be downloaded.
    """
    lock = (source.folder / "requirements" / LOCK).read_text()
    sums: dict[Platform, str] = {}
    for platform in platforms:
        pins = pinned(lock, platform)
        wheels = get(pins, platform)
        packed = archive(source.folder, platform, wheels)
        sums[platform] = hashlib.sha256(packed).hexdigest()
        path = into / archive_name(platform)
        path.write_bytes(packed)
        yield path
        bill = into / f"{path.name.removesuffix('.tar.gz')}.cdx.json"
        bill.write_text(bills.of_wheels(core, path.name, zip(pins, wheels, strict=True)))
        yield bill
    path = into / f"{NAME}.krew.yaml"
    path.write_text(yaml.safe_dump(manifest(sums, url=url), sort_keys=False))
    yield path


def manifest(sums: Mapping[Platform, str], *, url: str = NO_RELEASE) -> dict[str, Any]:
    """Return krew's manifest of the plugin.

    Args:
        sums: SHA-256 of each platform's archive.
        url: of the folder from which people will download them.
    """
    needs = " or ".join(dict.fromkeys(platform.needs for platform in sums))
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
            "caveats": (
                f"Needs CPython {PYTHON} as python{PYTHON} on the PATH, {needs} or newer, and heartbeat-tuner's\n"
                "definitions in the cluster.\n"
            ),
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": platform.os, "arch": platform.arch}},
                    "uri": f"{url}/{archive_name(platform)}",
                    "sha256": digits,
                    "bin": PROGRAM,
                }
                for platform, digits in sums.items()
            ],
        },
    }


def archive(checkout: Path, platform: Platform, wheels: Iterable[Path]) -> bytes:
    """Return an archive: the launcher, the licence, and `lib` with the plugin and all that it imports.

    Args:
        checkout: where the project's own files are.
        platform: for which it is.
        wheels: all other packages.
    """
    return tar_gz(
        [
            Entry(PROGRAM, launcher(platform).encode(), mode=0o755),
            Entry("LICENSE", (checkout / "LICENSE").read_bytes()),
            *(Entry(f"lib/{name}", path.read_bytes()) for name, path in _files(checkout / "operator")),
            *unpacked(wheels, "lib"),
        ],
        level=1,
    )


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of the project below `lib`: name and place."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(source).as_posix(), path
