"""What holds for all tests: how examples are judged, and how our own commands are started.

A property is judged by its examples, not by how long a busy machine takes to draw them.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from sandbox.forked_commands import forks

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("patient"), max_examples=3_000)
settings.load_profile("patient")

pytest_plugins = ["tests.support.rows"]


@pytest.fixture(scope="session", autouse=True)
def _own_commands_are_forks() -> Iterator[None]:
    """Import the product once for all operators and webhooks that tests start; begun with the first of them."""
    with forks():
        yield
