"""More queries than Prometheus is asked at a time."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.adapters.prometheus import CONCURRENT_QUERIES, DRIP_FACTOR
from tests.support.scripted_server import Handler, nothing, serving
from tests.support.sources import reading

TIMEOUT_S: Final = 2.0
ANSWER_S: Final = 1.1
ROUNDS: Final = 4
assert ROUNDS * ANSWER_S > DRIP_FACTOR * TIMEOUT_S


def _slowly(handler: Handler) -> None:
    """Answer, taking time for it."""
    time.sleep(ANSWER_S)
    nothing(handler)


async def test_waiting_for_a_turn_is_not_taken_for_slowness() -> None:
    """With many signals the last ones would be unknown in each cycle, though every answer came in time."""
    with serving(_slowly) as server, reading(server.url, timeout_s=TIMEOUT_S) as source:
        asked = (source.instant("up[1m]", at=datetime.now(UTC)) for _ in range(ROUNDS * CONCURRENT_QUERIES))
        assert await asyncio.gather(*asked) == [[]] * (ROUNDS * CONCURRENT_QUERIES)
