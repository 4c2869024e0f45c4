"""An operator and a Prometheus whose clocks are apart."""

import dataclasses
import email.utils
from datetime import UTC, datetime, timedelta

import pytest

from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from tests.support.scripted_server import EMPTY, Handler, answer, serving
from tests.support.sources import reading


@dataclasses.dataclass(frozen=True)
class _WrongClock:
    """The machine's clock, and something more."""

    ahead: timedelta

    def now(self) -> datetime:
        """Return the wrong time."""
        return datetime.now(UTC) + self.ahead


def _dated(handler: Handler, date: str) -> None:
    """Answer that there is nothing, at that time."""
    body = answer(EMPTY["/api/v1/query"])
    handler.wfile.write(
        f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body,
    )


@pytest.mark.parametrize("zone", ["GMT", "-0000", "whenever"])
async def test_a_zone_that_says_little_is_borne(zone: str) -> None:
    """`-0000` is UTC of unknown origin; what is no date at all says nothing."""
    date = email.utils.format_datetime(datetime.now(UTC)).replace("+0000", zone)
    with serving(lambda handler: _dated(handler, date)) as server, reading(server.url) as source:
        assert await source.instant("up[1m]", at=datetime.now(UTC)) == []


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
async def test_clocks_an_hour_apart_leave_metrics_unknown(jump: timedelta) -> None:
    """Whoever's clock jumped: what was asked for is not now."""
    with serving() as server, reading(server.url, clock=_WrongClock(jump)) as source:
        with pytest.raises(MetricsUnavailableError, match="clock says") as caught:
            await source.instant("up[1m]", at=datetime.now(UTC) + jump)
        assert caught.value.cause is MetricsCause.CLOCK


async def test_clocks_a_little_apart_are_borne() -> None:
    """No two machines agree to the second."""
    with serving() as server, reading(server.url, clock=_WrongClock(-timedelta(seconds=30))) as source:
        assert await source.instant("up[1m]", at=datetime.now(UTC) - timedelta(seconds=30)) == []


async def test_what_was_an_hour_ago_may_be_asked_for() -> None:
    """A backfill asks for times long past: the clocks are compared, not what is asked."""
    with serving() as server, reading(server.url) as source:
        assert await source.instant("up[1m]", at=datetime.now(UTC) - timedelta(hours=1)) == []
