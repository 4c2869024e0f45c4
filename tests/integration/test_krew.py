"""The archive of the kubectl plugin runs by itself, as kubectl calls it."""

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from heartbeat_tuner import __version__
from tests import krew


@pytest.mark.timeout(300)  # some seconds on a quiet machine
def test_the_plugin_runs_from_its_archive(tmp_path: Path) -> None:
    """Through a link, as krew puts it on the PATH, and without the packages of this environment."""
    packed = krew.archive()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / krew.PROGRAM
    program.symlink_to(tmp_path / "store" / krew.PROGRAM)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for words, said in ((["--version"], __version__), (["status", "--help"], "Usage: kubectl heartbeat-tuner status")):
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, check=True, timeout=60, env={"PATH": path}
        )
        assert said in done.stdout
