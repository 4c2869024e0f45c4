"""More queries than Prometheus is asked at a time."""

import asyncio
import http.server
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.adapters.prometheus import CONCURRENT_QUERIES, DRIP_FACTOR, PrometheusSource

EMPTY: Final = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}}).encode()
TIMEOUT_S: Final = 2.0
ANSWER_S: Final = 1.1
ROUNDS: Final = 4
assert ROUNDS * ANSWER_S > DRIP_FACTOR * TIMEOUT_S


@pytest.fixture
def source() -> Iterator[PrometheusSource]:
    """A Prometheus that takes its time."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(ANSWER_S)
            self.send_response(200)
            self.send_header("Content-Length", str(len(EMPTY)))
            self.end_headers()
            self.wfile.write(EMPTY)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = PrometheusSource(f"http://127.0.0.1:{server.server_address[1]}", timeout=timedelta(seconds=TIMEOUT_S))
        yield found
        found.close()
        server.shutdown()


async def test_waiting_for_a_turn_is_not_taken_for_slowness(source: PrometheusSource) -> None:
    """With many signals the last ones would be unknown in each cycle, though every answer came in time."""
    asked = (source.instant("up[1m]", at=datetime.now(UTC)) for _ in range(ROUNDS * CONCURRENT_QUERIES))
    assert await asyncio.gather(*asked) == [[]] * (ROUNDS * CONCURRENT_QUERIES)
