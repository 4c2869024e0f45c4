"""A story of tests that runs on a container node of its own, and from which nothing is left on the machine.

Inside the enclosure there is no way out, so everything is fetched and built before.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from sandbox import images, kafka, ownership
from sandbox.backfill import PROGRAM
from sandbox.binaries import NODE_PROGRAMS, Binaries
from sandbox.container_node import enclosure
from tests.install import traces

_HEAVY: Final = ("containerd", "kubelet", "prometheus", "days")
"""Of the run's folder: gigabytes that say nothing afterwards."""

_LASTS_S: Final = 2400.0


def prepare(targets: Sequence[str]) -> None:
    """Fetch and build what a story needs, or skip the test where no container node can run.

    Args:
        targets: the images.
    """
    if reason := enclosure.obstacle() or images.obstacle():
        pytest.skip(reason)
    enclosure.ensure()
    binaries = Binaries()
    binaries.get_all()
    for name in (*NODE_PROGRAMS, "helm"):
        binaries.path(name)
    binaries.path_of_own(PROGRAM)
    kafka.jars()
    for target in targets:
        images.build(target)


def assert_passes_and_leaves_nothing(story: Path, run_dir: Path) -> None:
    """Run the tests of a file inside; mounts, processes, networks, control groups and kernel settings stay the same.

    Args:
        story: the file.
        run_dir: where its parts write their logs.
    """
    before = traces.found(run_dir)
    with ownership.claim(run_dir):
        try:
            status = enclosure.run(
                [sys.executable, "-m", "pytest", story, "-p", "no:cacheprovider", "--capture=no", "--quiet"],
                timeout_s=_LASTS_S,
            )
        finally:
            for name in _HEAVY:
                shutil.rmtree(run_dir / name, ignore_errors=True)
    assert status == 0, f"the logs are in {run_dir}"
    assert traces.found(run_dir) == before
