"""What a container node could leave on a machine."""

import dataclasses
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Final

from sandbox.container_node import enclosure, inside

_PROC: Final = Path("/proc")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_GROUPS: Final = ("kubepods", "heartbeat-tuner")
_SETTINGS: Final = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
    *("net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet"),
)
_FOLDERS: Final = (*enclosure.FIXED, Path("/var/log/containers"), Path("/var/log/pods"), Path("/run/netns"))


@dataclasses.dataclass(frozen=True)
class Traces:
    """What is there of a node.

    Attributes:
        mounts: on its folders.
        processes: that have to do with its folders, by their command lines.
        links: bridges and the ends of pods' networks.
        tables: nftables' rules of Services.
        groups: control groups.
        folders: at fixed places.
        settings: of the kernel, by name.
    """

    mounts: frozenset[str]
    processes: frozenset[str]
    links: frozenset[str]
    tables: frozenset[str]
    groups: frozenset[str]
    folders: frozenset[Path]
    settings: frozenset[tuple[str, str]]


def found(run_dir: Path) -> Traces:
    """Look at the machine, for a node whose run folder is `run_dir`."""
    places = (str(run_dir), "/var/lib/kubelet", "/var/lib/cni", "/run/netns")
    mounts = {line.split()[1] for line in (_PROC / "self" / "mounts").read_text().splitlines()}
    nft = shutil.which("nft") or "nft"
    shown = subprocess.run([nft, "list", "tables"], capture_output=True, text=True, check=True, timeout=30)
    return Traces(
        mounts=frozenset(where for where in mounts if where.startswith(places)),
        processes=frozenset(line for line in _command_lines() if str(run_dir) in line),
        links=frozenset(name for _, name in socket.if_nameindex() if name.startswith((inside.BRIDGE, "veth"))),
        tables=frozenset(line for line in shown.stdout.splitlines() if "kube" in line),
        groups=frozenset(folder for folder, _, _ in os.walk(_CGROUPS) if Path(folder).name.startswith(_GROUPS)),
        folders=frozenset(path for path in _FOLDERS if path.exists()),
        settings=frozenset((name, (_PROC / "sys" / name).read_text()) for name in _SETTINGS),
    )


def _command_lines() -> list[str]:
    lines = []
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:  # it has ended meanwhile
                continue
    return lines
