"""`make e2e-install`: the life of a release on a container node, from which nothing is left on the machine."""

import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from sandbox import consumers, images, kafka, ownership
from sandbox.backfill import PROGRAM
from sandbox.binaries import NODE_PROGRAMS, Binaries
from sandbox.container_node import enclosure
from tests.install import traces
from tests.install.stage import RUN_DIR
from tests.install.stopwatch import RESULT, summary

STORY: Final = Path(__file__).with_name("life_of_a_release.py")
HEAVY: Final = ("containerd", "kubelet", "prometheus")
"""Of the run's folder: gigabytes that tell nothing afterwards."""

LASTS_S: Final = 2400.0


@pytest.fixture
def prepared() -> None:
    """Everything that has to be fetched or built: inside there is no way to it."""
    RESULT.unlink(missing_ok=True)
    if reason := enclosure.obstacle() or images.obstacle():
        pytest.skip(reason)
    enclosure.ensure()
    binaries = Binaries()
    binaries.get_all()
    for name in (*NODE_PROGRAMS, "helm"):
        binaries.path(name)
    binaries.path_of_own(PROGRAM)
    consumers.kafkajs_command()
    consumers.java_command()
    kafka.jars()
    for target in images.TARGETS:
        images.build(target)


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("prepared")
def test_the_life_of_a_release_leaves_nothing_on_the_machine() -> None:
    """Every step of it is well; mounts, processes, networks, control groups and kernel settings are as before.

    Its output is for the person who waits: run it with `--capture=no`.
    """
    before = traces.found(RUN_DIR)
    with ownership.claim(RUN_DIR):
        try:
            status = enclosure.run(
                [sys.executable, "-m", "pytest", STORY, "-p", "no:cacheprovider", "--capture=no", "--quiet"],
                timeout_s=LASTS_S,
            )
        finally:
            for name in HEAVY:
                shutil.rmtree(RUN_DIR / name, ignore_errors=True)
    assert status == 0, f"the logs are in {RUN_DIR}"
    assert traces.found(RUN_DIR) == before
    assert summary().startswith("installed, used, upgraded")
