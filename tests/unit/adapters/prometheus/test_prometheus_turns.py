"""More queries than Prometheus is asked at a time."""

import asyncio
import gc
import time
from datetime import UTC, datetime
from typing import Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import CONCURRENT_QUERIES, DRIP_FACTOR
from heartbeat_tuner.domain.errors import MetricsUnavailableError
from tests.support.scripted_server import Handler, nothing, respond, serving
from tests.support.sources import reading

TIMEOUT_S: Final = 2.0
ANSWER_S: Final = 1.1
ROUNDS: Final = 4
assert ROUNDS * ANSWER_S > DRIP_FACTOR * TIMEOUT_S


def _slowly(handler: Handler) -> None:
    """Answer, taking time for it."""
    time.sleep(ANSWER_S)
    nothing(handler)


def _as_html(handler: Handler) -> None:
    """Answer with something that is no JSON."""
    respond(handler, b"<html>")


async def test_waiting_for_a_turn_is_not_taken_for_slowness() -> None:
    """With many signals the last ones would be unknown in each cycle, though every answer came in time."""
    with serving(_slowly) as server, reading(server.url, timeout_s=TIMEOUT_S) as source:
        asked = (source.instant("up[1m]", at=datetime.now(UTC)) for _ in range(ROUNDS * CONCURRENT_QUERIES))
        assert await asyncio.gather(*asked) == [[]] * (ROUNDS * CONCURRENT_QUERIES)


async def test_reading_an_answer_leaves_the_collector_of_cycles_on() -> None:
    """It is off while a large answer is read, and only then: also when the answer was none."""
    with serving(nothing) as server, reading(server.url) as source:
        await source.instant("up[1m]", at=datetime.now(UTC))
    assert gc.isenabled()
    with serving(_as_html) as server, reading(server.url) as source, pytest.raises(MetricsUnavailableError):
        await source.instant("up[1m]", at=datetime.now(UTC))
    assert gc.isenabled()
