"""`make e2e-install`: the life of a release on a container node, from which nothing is left on the machine."""

from pathlib import Path
from typing import Final

import pytest

from sandbox import consumers, images
from tests.install import enclosed
from tests.install.stage import RUN_DIR
from tests.install.stopwatch import RESULT, summary

STORY: Final = Path(__file__).with_name("life_of_a_release.py")


@pytest.fixture
def prepared() -> None:
    """Everything that has to be fetched or built."""
    RESULT.unlink(missing_ok=True)
    enclosed.prepare(images.TARGETS)
    consumers.kafkajs_command()
    consumers.java_command()


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("prepared")
def test_the_life_of_a_release_leaves_nothing_on_the_machine() -> None:
    """Every step of it passes.

    Its output is for the person who waits: run it with `--capture=no`.
    """
    enclosed.assert_passes_and_leaves_nothing(STORY, RUN_DIR)
    assert summary().startswith("installed, used, upgraded")
