"""Run a command where a node may be made: in network, mount and process namespaces of its own.

Whatever the command starts ends with it, be it killed: the kernel kills the processes of the process namespace with
their first, and takes down mounts and network with the last of them. What namespaces do not hold is made before and
taken away afterwards: the control group that all pods are in, and folders to mount over. The machine must be able to do
it: `obstacle` says why it is not.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sandbox import cache, debian
from sandbox.container_node import cgroups

CGROUP_VARIABLE: Final = "HEARTBEAT_TUNER_NODE_CGROUP"
"""The name of the control group, for those inside."""

_PACKAGES: Final = {
    "containerd": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "unshare": "util-linux",
}
_PLUGINS_PACKAGE: Final = "containernetworking-plugins"
_PLUGINS: Final = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_PLUGIN: Final = "bridge"

_NEEDED_BYTES: Final = 12 << 30
_PROBE_S: Final = 30.0

FIXED: Final = (Path("/var/lib/kubelet"), Path("/var/lib/cni"))
"""Where kubelet and network plugins write, whatever they are told; inside, something empty is mounted over each."""

_UNSHARE: Final = (
    *("unshare", "--net", "--mount", "--propagation=private", "--pid", "--fork", "--mount-proc"),
    "--kill-child",  # when this process is killed, so is the first inside, and with it all others
)


def obstacle() -> str | None:
    """Return why no node can be made here; None if one can."""
    if sys.platform != "linux":
        return "a container node needs Linux"
    if os.geteuid() != 0:
        return "a container node needs root: it makes namespaces, mounts and control groups"
    missing = _missing()
    if missing and (reason := debian.obstacle(*missing)):
        return reason
    return None if _PACKAGES["unshare"] in missing else _refusal(cache.root())


def ensure() -> None:
    """Install the programs that a node is made of.

    Raises:
        PrerequisiteMissingError: they cannot be installed here.
        SandboxError: apt failed.
    """
    if missing := _missing():
        debian.ensure(*missing)


def plugins() -> Path:
    """Return the folder of the network plugins; `ensure` has seen to it that there is one."""
    return next(folder for folder in _PLUGINS if (folder / _PLUGIN).exists())


def run(argv: Sequence[str | Path], *, timeout_s: float) -> int:
    """Run a command inside and return its exit status; its output is ours.

    Args:
        argv: the command.
        timeout_s: after this time it is killed, with all that it has started.

    Raises:
        subprocess.TimeoutExpired: it was.
        SandboxError: something was left that could not be taken away.
    """
    name = f"heartbeat-tuner-{os.getpid()}"
    with ExitStack() as made:
        made.enter_context(cache.lock("container-node"))  # two at once would take each other's folders away
        for folder in FIXED:
            made.enter_context(_folder(folder))
        made.enter_context(cgroups.group(name))
        done = subprocess.run(
            [*_UNSHARE, sys.executable, "-m", "sandbox.container_node.inside", *map(str, argv)],
            env={**os.environ, CGROUP_VARIABLE: name},
            check=False,
            timeout=timeout_s,
        )
    return done.returncode


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Have a folder, and do away with it if it was not there before."""
    had = path.exists()
    path.mkdir(exist_ok=True)
    try:
        yield
    finally:
        if not had:
            path.rmdir()


def _refusal(folder: Path) -> str | None:
    """Return why namespaces and what is mounted in them cannot be made upon a folder; None if they can."""
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < _NEEDED_BYTES:
        return (
            f"a container node and its images need {_NEEDED_BYTES >> 30} GiB on {folder}, which has {free >> 30} left"
        )
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        lower, upper, work, merged = (Path(scratch, name) for name in ("lower", "upper", "work", "merged"))
        for item in (lower, upper, work, merged):
            item.mkdir()
        layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
        mount = ("mount", "-t", "overlay", "overlay", "-o", layers, str(merged))
        tried = subprocess.run([*_UNSHARE, *mount], capture_output=True, text=True, check=False, timeout=_PROBE_S)
    return f"the kernel refuses namespaces or overlayfs: {tried.stderr.strip()}" if tried.returncode else None


def _missing() -> list[str]:
    """Return the packages of the programs that are not here, be they a distribution's or not."""
    packages = [package for program, package in _PACKAGES.items() if shutil.which(program) is None]
    return packages if any((folder / _PLUGIN).exists() for folder in _PLUGINS) else [*packages, _PLUGINS_PACKAGE]
