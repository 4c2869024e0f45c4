"""The wheels of a platform: pip gets them by the lock's hashes, and the sandbox's cache keeps them for later releases.

`python -m release.wheels` gets those of this machine's platform, when the environment of a release is installed.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from packaging.utils import parse_wheel_filename

from release.integrity import digest
from release.pins import LOCK, Pin, pinned
from release.platforms import DIGITS, PYTHON, Platform, here
from release.source import CHECKOUT
from sandbox import cache
from sandbox.errors import ChecksumMismatchError, SandboxError

_TIMEOUT_S: Final = 600
_RETRIES: Final = "3"  # of which pip says each: without one, no index looks like no wheel
_ABIS: Final = (f"cp{DIGITS}", "abi3", "none")


def get(pins: Sequence[Pin], platform: Platform) -> list[Path]:
    """Return a wheel of each package, downloaded if the cache does not have it.

    Raises:
        SandboxError: a package has no wheel for the platform, or pip reaches no index.
        ChecksumMismatchError: the cache has something that is not in the lock.
    """
    requirements = "".join(f"{pin.line()}\n" for pin in pins)
    folder = cache.entry(
        f"wheels-{platform.os}-{platform.arch}",
        cache.key(requirements, *_ABIS, *platform.tags),
        lambda scratch: _download(requirements, platform, scratch),
    )
    return _checked(folder, pins)


def _download(requirements: str, platform: Platform, into: Path) -> None:
    listed = into / "requirements.txt"
    listed.write_text(requirements)
    command: list[str | Path] = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
        *("--retries", _RETRIES, "--no-deps", "--only-binary=:all:"),
        *("--require-hashes", "--requirement", listed, "--dest", into),
        *("--implementation", "cp", "--python-version", PYTHON),
        *_each("--abi", _ABIS),
        *_each("--platform", platform.tags),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"the wheels for {platform.name}: pip has not got them in {_TIMEOUT_S} s; retry") from error
    if done.returncode != 0:
        raise SandboxError(_refusal(platform, done.stderr))
    listed.unlink()


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _refusal(platform: Platform, output: str) -> str:
    """Return a sentence for what pip printed: no index, no wheel, or something else."""
    if "Retrying" in output:
        return (
            f"pip does not reach its index, and {cache.root()} does not have the wheels for {platform.name}: "
            "make the release once with a network, or name the other platforms with --platform"
        )
    lacking = re.search(r"No matching distribution found for ([^\s(]+)", output)
    if lacking is None:
        errors = [line for line in output.splitlines() if line.startswith("ERROR: ")] or output.splitlines()[-1:]
        return f"the wheels for {platform.name} cannot be downloaded, by pip: {' '.join(errors) or 'no word'}"
    return (
        f"{lacking[1]} has no wheel with a hash in requirements/{LOCK} for CPython {PYTHON} on {platform.name} "
        f"({', '.join(platform.tags)}): pin a version that has, or name the other platforms with --platform"
    )


def _checked(folder: Path, pins: Iterable[Pin]) -> list[Path]:
    """Return the wheels, each of which has a sum of its package, in the order of the packages."""
    found: dict[str, Path] = {parse_wheel_filename(path.name)[0]: path for path in folder.glob("*.whl")}
    for pin in pins:
        if pin.name not in found or digest(found[pin.name]) not in pin.sums:
            raise ChecksumMismatchError(f"{folder}: no wheel of {pin.name} that is in requirements/{LOCK}; delete it")
    return [found[pin.name] for pin in pins]


def fetch(platforms: Iterable[Platform]) -> None:
    """Have the cache hold what this checkout's lock says of platforms.

    Raises:
        SandboxError: as `get` does.
    """
    lock = (CHECKOUT / "requirements" / LOCK).read_text()
    for platform in platforms:
        get(pinned(lock, platform), platform)


def main() -> None:
    """Get the wheels of this machine's platform, if the plugin is made for it."""
    platform = here()
    try:
        fetch([] if platform is None else [platform])
    except SandboxError as error:
        raise SystemExit(f"Error: {error}") from error


if __name__ == "__main__":
    main()
