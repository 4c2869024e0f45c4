"""An operator and a Prometheus whose clocks are apart."""

import http.server
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.domain.errors import MetricsUnavailableError

EMPTY = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}}).encode()


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> str:
    """How the server writes its time zone."""
    found: str = getattr(request, "param", "GMT")
    return found


@pytest.fixture
def source(zone: str) -> Iterator[PrometheusSource]:
    """A Prometheus that has the machine's time, and nothing to tell."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(EMPTY)))
            self.end_headers()
            self.wfile.write(EMPTY)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(timestamp).replace("GMT", zone)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = PrometheusSource(f"http://127.0.0.1:{server.server_address[1]}", timeout=timedelta(seconds=5))
        yield found
        found.close()
        server.shutdown()


@pytest.mark.parametrize("zone", ["GMT", "-0000", "whenever"], indirect=True)
async def test_a_zone_that_says_little_is_borne(source: PrometheusSource, zone: str) -> None:
    """`-0000` is UTC of unknown origin; what is no date at all says nothing."""
    assert zone
    assert await source.instant("up[1m]", at=datetime.now(UTC)) == []


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
async def test_clocks_an_hour_apart_leave_metrics_unknown(source: PrometheusSource, jump: timedelta) -> None:
    """Whoever's clock jumped: what was asked for is not now."""
    with pytest.raises(MetricsUnavailableError, match="clock says"):
        await source.instant("up[1m]", at=datetime.now(UTC) + jump)


async def test_clocks_a_little_apart_are_borne(source: PrometheusSource) -> None:
    """No two machines agree to the second."""
    assert await source.instant("up[1m]", at=datetime.now(UTC) - timedelta(seconds=30)) == []
