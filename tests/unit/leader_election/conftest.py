"""A clock for elections that goes on as long as everybody waits, and stands still while somebody computes."""

import asyncio
from collections.abc import Callable, Mapping

import looptime
import pytest


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the event loop of a test: where it asks for `loop_clock`, one whose clock moves as the test waits."""
    moves = "loop_clock" in getattr(item, "fixturenames", ())
    return {"moving": looptime.new_event_loop} if moves else {"usual": asyncio.new_event_loop}


@pytest.fixture
def loop_clock() -> None:
    """Have minutes of leases take no time, and no busy machine end them."""
