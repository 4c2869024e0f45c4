"""What passes is asked again within bounds; what does not is given up, with the thread that waited for it."""

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import BACKOFF_S, CONCURRENT_QUERIES, PrometheusSource
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from tests.support.scripted_server import Handler, Script, nothing, respond, serving
from tests.support.sources import reading

ASKED_S: Final = 1.0


def _in_turn(*scripts: Script) -> Script:
    """Do one after the other; the last one for ever."""
    left: Iterator[Script] = itertools.chain(scripts[:-1], itertools.repeat(scripts[-1]))

    def script(handler: Handler) -> None:
        next(left)(handler)

    return script


def _busy(status: int = 429, **headers: str) -> Script:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: respond(handler, b"later", status=status, headers=named)


def _hang_up(handler: Handler) -> None:
    handler.close_connection = True


def _drip(handler: Handler, head: bytes = b"HTTP/1.1 200 OK\r\nX-Long: ") -> None:
    """Send a byte of a header now and then, until nobody listens."""
    handler.wfile.write(head)
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.1)


def _drip_to_the_end(handler: Handler) -> None:
    """Likewise of a body whose end is the connection's: the library has let go of the socket by then."""
    _drip(handler, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")


async def _ask(source: PrometheusSource) -> Any:
    return await source.instant("up[1m]", at=datetime.now(UTC))


@pytest.mark.parametrize("bad", [_busy(429), _busy(503), _busy(502), _busy(504), _hang_up])
async def test_what_passes_is_asked_again(bad: Script) -> None:
    """One moment in which a gateway has no backend is no reason to know nothing for a cycle."""
    with serving(_in_turn(bad, bad, nothing)) as server, reading(server.url) as source:
        assert await _ask(source) == []
        assert len(server.requests) == source.spent.requests == 1 + len(BACKOFF_S)


async def test_what_does_not_pass_is_given_up() -> None:
    """With what it said."""
    with serving(_busy()) as server, reading(server.url) as source:
        with pytest.raises(MetricsUnavailableError, match=r"answered 429 \(later\)") as caught:
            await _ask(source)
        assert caught.value.cause is MetricsCause.OVERLOADED
        assert len(server.requests) == 1 + len(BACKOFF_S)


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_a_server_that_wants_to_be_left_alone_is(form: str) -> None:
    """For the time that it names, if there is so much."""
    longer_s = BACKOFF_S[0] + ASKED_S

    def busy(handler: Handler) -> None:
        # A date has no parts of a second: one more, so that at least the time that is checked remains.
        until = datetime.fromtimestamp(time.time() + longer_s + 1, UTC)
        after = "2" if form == "seconds" else format_datetime(until, usegmt=True)
        respond(handler, b"", status=503, headers={"Retry-After": after})

    began = time.monotonic()
    with serving(_in_turn(busy, nothing)) as server, reading(server.url) as source:
        assert await _ask(source) == []
    assert time.monotonic() - began >= longer_s


async def test_a_server_that_wants_to_be_left_alone_for_long_is_given_up_at_once() -> None:
    """The next cycle asks again; this one has no time to wait."""
    with serving(_busy(503, Retry_After="30")) as server, reading(server.url) as source:
        with pytest.raises(MetricsUnavailableError) as caught:
            await _ask(source)
        assert caught.value.cause is MetricsCause.OVERLOADED
        assert len(server.requests) == 1


@pytest.mark.parametrize("after", ["soon", "-5", "", "nan", "9" * 5_000, "Thu, 01 Jan 1970 00:00:00 GMT"])
async def test_a_time_to_wait_that_is_none_is_borne(after: str) -> None:
    """It may come from anybody's gateway."""
    with serving(_in_turn(_busy(503, Retry_After=after), nothing)) as server, reading(server.url) as source:
        assert await _ask(source) == []


@pytest.mark.parametrize("drip", [_drip, _drip_to_the_end], ids=["header", "body"])
async def test_who_drips_holds_no_thread(drip: Script) -> None:
    """A few bytes now and then would hold all threads for ever, and the next cycle would wait for them."""
    with serving(drip) as server, reading(server.url, timeout_s=1.5) as source:
        drips = [_ask(source) for _ in range(CONCURRENT_QUERIES)]
        found = await asyncio.gather(*drips, return_exceptions=True)
        assert [getattr(item, "cause", None) for item in found] == [MetricsCause.TIMEOUT] * CONCURRENT_QUERIES
        server.script = nothing
        assert await asyncio.gather(*(_ask(source) for _ in range(CONCURRENT_QUERIES))) == [[]] * CONCURRENT_QUERIES


async def test_closing_ends_what_is_under_way() -> None:
    """The interpreter waits for threads at its end: one that hangs would keep the operator from ending."""
    with serving(_drip) as server, reading(server.url, timeout_s=20) as source:
        asking = asyncio.create_task(_ask(source))
        await asyncio.to_thread(_until, lambda: bool(server.requests))
        workers = [thread for thread in threading.enumerate() if thread.name.startswith("prometheus")]
        source.close()
        with pytest.raises(MetricsUnavailableError):
            await asyncio.wait_for(asking, timeout=10)
        await asyncio.to_thread(_until, lambda: not any(thread.is_alive() for thread in workers))


async def test_a_question_that_is_taken_back_frees_its_thread() -> None:
    """As when the operator ends in mid-cycle."""
    with serving(_drip) as server, reading(server.url, timeout_s=20) as source:
        asking = [asyncio.create_task(_ask(source)) for _ in range(CONCURRENT_QUERIES)]
        await asyncio.to_thread(_until, lambda: len(server.requests) == CONCURRENT_QUERIES)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        server.script = nothing
        assert await asyncio.wait_for(_ask(source), timeout=10) == []


async def test_a_connection_is_used_again() -> None:
    """A handshake for each query would cost more than the query."""
    ports = set()

    def remember(handler: Handler) -> None:
        ports.add(handler.client_address[1])
        nothing(handler)

    with serving(remember) as server, reading(server.url) as source:
        for _ in range(3 * CONCURRENT_QUERIES):
            await _ask(source)
    assert len(ports) <= CONCURRENT_QUERIES


def _until(true: Any) -> None:
    """Wait until something is so."""
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError
