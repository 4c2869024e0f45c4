"""What a command of `enclosure.run` begins with: make the place fit for a node, then become the command.

There is a bridge, to which all pods are connected, and no way out. What a node writes at fixed places goes to file
systems in memory. The kernel settings that a kubelet insists on are those of the whole machine: it is shown copies.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from sandbox.container_node.enclosure import FIXED
from sandbox.control_plane import SERVICE_CIDR
from sandbox.errors import SandboxError

BRIDGE: Final = "node0"
POD_CIDR: Final = "10.244.0.0/24"
ADDRESS: Final = "10.244.0.1"
"""The node's, on the bridge: where pods reach what listens on it."""

_IN_MEMORY: Final = (Path("/run"), Path("/var/log"), *FIXED)
_MARK: Final = Path("/run/heartbeat-tuner-enclosure")
_OF_THE_MACHINE: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_SYSCTL: Final = Path("/proc/sys")
_FORWARD: Final = _SYSCTL / "net/ipv4/ip_forward"
_FILTER_BRIDGED: Final = _SYSCTL / "net/bridge/bridge-nf-call-iptables"
"""Else a pod that asks a Service is answered by a pod beside it, past the rules that know of it."""

_TIMEOUT_S: Final = 30.0


def require() -> None:
    """Check that this process is inside.

    Raises:
        SandboxError: it is not.
    """
    if not _MARK.exists():
        raise SandboxError("A container node is made inside an enclosure only; make e2e-install runs its tests in one.")


def main() -> None:
    """Prepare everything, and become the command."""
    for path in _IN_MEMORY:
        _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
    _MARK.touch()
    copies = Path(tempfile.mkdtemp(dir="/run"))
    for name in _OF_THE_MACHINE:
        copy = copies / name.replace("/", ".")
        copy.write_text((_SYSCTL / name).read_text())
        _run("mount", "--bind", copy, _SYSCTL / name)
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", BRIDGE, "type", "bridge")
    _run("ip", "address", "add", f"{ADDRESS}/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")
    _run("ip", "route", "add", SERVICE_CIDR, "dev", BRIDGE)  # else, without a rule for one, it would be unreachable
    for setting in (_FORWARD, _FILTER_BRIDGED):
        if setting.exists():
            setting.write_text("1")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - what we were asked for


def _run(*argv: str | Path) -> None:
    subprocess.run([str(word) for word in argv], check=True, timeout=_TIMEOUT_S)


if __name__ == "__main__":
    main()
