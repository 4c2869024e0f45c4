"""`make fit-k8s`: the fit with executors as pods, on a container node from which nothing is left on the machine."""

import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from sandbox import images, kafka, ownership
from sandbox.backfill import PROGRAM
from sandbox.binaries import NODE_PROGRAMS, Binaries
from sandbox.container_node import enclosure
from tests.executors.fit_on_pods import RESULT, RUN_DIR
from tests.install import traces

STORY: Final = Path(__file__).with_name("fit_on_pods.py")
HEAVY: Final = ("containerd", "kubelet", "prometheus", "days")
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
    kafka.jars()
    for target in ("fitting", "pause"):
        images.build(target)


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("prepared")
def test_the_fit_with_executors_leaves_nothing_on_the_machine() -> None:
    """Its story is well; mounts, processes, networks, control groups and kernel settings are as before."""
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
    assert RESULT.exists()
