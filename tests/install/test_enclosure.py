"""What a command in an enclosure can and cannot do to the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.container_node import enclosure, inside
from sandbox.errors import SandboxError
from tests.install import traces


@pytest.fixture(autouse=True)
def possible() -> None:
    """Where no enclosure can be made, there is nothing to test."""
    if reason := enclosure.obstacle():
        pytest.skip(reason)
    enclosure.ensure()


def run(program: str, *arguments: Path, timeout_s: float = 50) -> int:
    """Run a Python program inside."""
    return enclosure.run([sys.executable, "-c", program, *arguments], timeout_s=timeout_s)


def test_it_has_a_network_of_its_own_and_no_way_out(tmp_path: Path) -> None:
    """A bridge and loopback, and no default route."""
    report = tmp_path / "told"
    program = """
import pathlib, socket, sys
links = sorted(name for _, name in socket.if_nameindex())
pathlib.Path(sys.argv[1]).write_text(f"{links}{pathlib.Path('/proc/net/route').read_text()}")
"""
    assert run(program, report) == 0
    links, routes = report.read_text().split("]")
    assert f"'{inside.BRIDGE}'" in links
    assert "'eth0'" not in links
    assert not [line for line in routes.splitlines() if line.split()[1:2] == ["00000000"]]


def test_nothing_stays_of_what_it_starts_mounts_or_sets(tmp_path: Path) -> None:
    """Not even a process that was meant to outlive it, nor a setting of the whole kernel."""
    before = traces.found(tmp_path)
    program = """
import pathlib, subprocess, sys
folder = pathlib.Path(sys.argv[1])
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", folder], start_new_session=True)
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
pathlib.Path("/proc/sys/kernel/panic").write_text("77")
pathlib.Path("/var/lib/kubelet/left").touch()
"""
    assert run(program, tmp_path) == 0
    assert traces.found(tmp_path) == before


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """By the kernel: nobody inside is asked."""
    before = traces.found(tmp_path)
    program = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]])
"""
    with pytest.raises(subprocess.TimeoutExpired):
        run(program, tmp_path, timeout_s=10)
    assert traces.found(tmp_path) == before


def test_a_node_is_refused_outside() -> None:
    """It would change the machine."""
    with pytest.raises(SandboxError, match="make e2e-install"):
        inside.require()
