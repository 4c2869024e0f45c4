"""`make fit-k8s`: the fit with executors as pods, on a container node from which nothing is left on the machine."""

from pathlib import Path
from typing import Final

import pytest

from tests.executors.fit_on_pods import RESULT, RUN_DIR
from tests.install import enclosed

STORY: Final = Path(__file__).with_name("fit_on_pods.py")


@pytest.fixture
def prepared() -> None:
    """Everything that has to be fetched or built."""
    RESULT.unlink(missing_ok=True)
    enclosed.prepare(("fitting", "pause"))


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("prepared")
def test_the_fit_with_executors_leaves_nothing_on_the_machine() -> None:
    """Its story passes, and writes its result."""
    enclosed.assert_passes_and_leaves_nothing(STORY, RUN_DIR)
    assert RESULT.exists()
