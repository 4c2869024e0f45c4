"""Each way in which an answer can go wrong, on each method: the right cause, a sentence with the query, no number."""

import dataclasses
import gzip
import json
import socket
import struct
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from tests.support.scripted_server import LOOPBACK, Handler, Script, answer, respond, serving
from tests.support.sources import reading

NAME: Final = 'kafka_consumer_heartbeat_total{namespace="tenant"}'
NOW: Final = datetime.now(UTC)
MAX_BYTES: Final = 100_000
SHORT_S: Final = 0.5

Ask = Callable[[PrometheusSource], Awaitable[Any]]

ASKS: Final[dict[str, Ask]] = {
    "instant": lambda source: source.instant(f"{NAME}[1h]", at=NOW),
    "vector": lambda source: source.vector(f"count({NAME})", at=NOW),
    "series": lambda source: source.series([NAME, "up"], start=NOW - timedelta(hours=1), end=NOW, limit=10),
}

TRIED: Final = {
    "instant": f"; tried {NAME}[1h]",
    "vector": f"; tried count({NAME})",
    "series": f"; tried the series of {NAME} or up",
}


def good(handler: Handler) -> bytes:
    """Return a good answer with something in it, for whichever method asks."""
    labels, sample = {"__name__": "up"}, [NOW.timestamp(), "7"]
    if handler.path.endswith("/series"):
        return answer([labels])
    if "count(" in handler.asked.form["query"][0]:
        return answer({"resultType": "vector", "result": [{"metric": labels, "value": sample}]})
    return answer({"resultType": "matrix", "result": [{"metric": labels, "values": [sample]}]})


def says(status: int, body: str | bytes, **headers: str) -> Script:
    """Answer always the same."""
    payload = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: respond(handler, payload, status=status, headers=named)


def error(status: int, kind: str, sentence: str, **headers: str) -> Script:
    """Answer with an error as the query API writes it."""
    return says(status, json.dumps({"status": "error", "errorType": kind, "error": sentence}), **headers)


def reset(handler: Handler) -> None:
    """Break the connection instead of answering."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.rfile.close()
    handler.wfile.close()
    handler.connection.close()


def hang_up(handler: Handler) -> None:
    """Close the connection instead of answering."""
    handler.close_connection = True


def silent(handler: Handler) -> None:
    """Say nothing for longer than anybody waits."""
    time.sleep(4 * SHORT_S)
    handler.close_connection = True


def _drip(handler: Handler, piece: bytes) -> None:
    """Send a byte now and then, each well before the timeout for a wait."""
    for _ in range(40):
        handler.wfile.write(piece)
        handler.wfile.flush()
        time.sleep(SHORT_S / 5)


def drip_body(handler: Handler) -> None:
    """Answer with a body that comes byte by byte."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
    _drip(handler, b" ")


def drip_chunks(handler: Handler) -> None:
    """Likewise, in chunks."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    _drip(handler, b"1\r\n \r\n")


def drip_header(handler: Handler) -> None:
    """Answer with headers that come byte by byte."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    _drip(handler, b"x")


def cut(body: Callable[[Handler], bytes], *, status: int = 200) -> Script:
    """Answer with a body shorter than its Content-Length says, and close."""

    def script(handler: Handler) -> None:
        payload = body(handler)
        respond(handler, payload[:-5], status=status, headers={"Content-Length": str(len(payload))})
        handler.close_connection = True

    return script


def cut_chunks(handler: Handler) -> None:
    """Answer in chunks of which the last ones are missing; what came is good JSON."""
    payload = good(handler)
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    handler.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
    handler.close_connection = True


def cut_without_length(handler: Handler) -> None:
    """Answer with half of a body whose end is the connection's."""
    payload = good(handler)
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + payload[: len(payload) // 2])
    handler.close_connection = True


def packed(payload: bytes, *, length: int | None = None) -> Script:
    """Answer packed by gzip; of the packed bytes only so many."""
    data = gzip.compress(payload)[:length]
    return lambda handler: respond(handler, data, headers={"Content-Encoding": "gzip"})


def no_http(handler: Handler) -> None:
    """Answer in another protocol."""
    handler.wfile.write(b"-ERR unknown command\r\n")
    handler.close_connection = True


def long_ago(handler: Handler) -> None:
    """Answer in another year."""
    body = good(handler)
    head = f"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2015 00:00:00 GMT\r\nContent-Length: {len(body)}\r\n\r\n"
    handler.wfile.write(head.encode() + body)


def beside(**what: Any) -> Script:
    """Answer with something beside good data."""
    return lambda handler: respond(handler, json.dumps(json.loads(good(handler)) | what).encode())


LONG: Final = b'{"status": "success", "data": "' + b"x" * MAX_BYTES + b'"}'

LATER: Final = {"Retry_After": "3600"}


@dataclasses.dataclass(frozen=True)
class Fault:
    """A way in which an answer can go wrong.

    Attributes:
        script: what the server does.
        cause: what it is.
        words: part of the sentence.
        asks: how often it is asked at most.
        timeout_s: of the source; short where it will pass.
    """

    script: Script
    cause: MetricsCause
    words: str
    asks: int = 1
    timeout_s: float = 20.0


TOO_MANY: Final = "query processing would load too many samples into memory in query execution"
ENOUGH: Final = 3

FAULTS: Final = {
    "reset": Fault(reset, MetricsCause.UNREACHABLE, "did not answer (connection broken)", ENOUGH, SHORT_S),
    "hang up": Fault(hang_up, MetricsCause.UNREACHABLE, "did not answer (connection broken)", ENOUGH, SHORT_S),
    "silent": Fault(silent, MetricsCause.TIMEOUT, "did not answer (", timeout_s=SHORT_S),
    "body drips": Fault(drip_body, MetricsCause.TIMEOUT, "did not answer (too slowly)", timeout_s=SHORT_S),
    "chunks drip": Fault(drip_chunks, MetricsCause.TIMEOUT, "did not answer (too slowly)", timeout_s=SHORT_S),
    "header drips": Fault(drip_header, MetricsCause.TIMEOUT, "did not answer (too slowly)", timeout_s=SHORT_S),
    "429": Fault(says(429, "slow down", **LATER), MetricsCause.OVERLOADED, "answered 429 (slow down)"),
    "503": Fault(says(503, "no room", **LATER), MetricsCause.OVERLOADED, "answered 503 (no room)"),
    "502": Fault(says(502, "no backend", **LATER), MetricsCause.UNREACHABLE, "answered 502 (no backend)"),
    "504": Fault(says(504, "", **LATER), MetricsCause.UNREACHABLE, "answered 504;"),
    "422": Fault(error(422, "execution", TOO_MANY), MetricsCause.TOO_MUCH, f"answered 422 ({TOO_MANY})"),
    "422 cut": Fault(cut(lambda _: b"too many samples", status=422), MetricsCause.TOO_MUCH, "answered 422 (too many"),
    "413": Fault(says(413, "too large"), MetricsCause.TOO_MUCH, "answered 413 (too large)"),
    "long": Fault(says(200, LONG), MetricsCause.TOO_MUCH, f"longer than {MAX_BYTES} bytes"),
    "long when unpacked": Fault(packed(LONG * 50), MetricsCause.TOO_MUCH, f"longer than {MAX_BYTES} bytes"),
    "400": Fault(error(400, "bad_data", "parse error"), MetricsCause.REFUSED, "answered 400 (parse error)"),
    "401": Fault(says(401, "no org id"), MetricsCause.REFUSED, "answered 401 (no org id): check the credentials"),
    "403": Fault(says(403, "<p>\nno\n"), MetricsCause.REFUSED, "answered 403 (<p> no): check the credentials"),
    "404": Fault(says(404, "404 page not found"), MetricsCause.REFUSED, "set prometheus.url"),
    "redirect": Fault(
        says(302, "", Location="https://sso.example/login?state=secret"),
        MetricsCause.REFUSED,
        "answered 302, a redirect (https://sso.example/login): set prometheus.url",
    ),
    "500": Fault(error(500, "internal", "oops"), MetricsCause.FAILED, "answered 500 (oops)"),
    "599": Fault(says(599, "what"), MetricsCause.FAILED, "answered 599 (what)"),
    "warnings": Fault(beside(warnings=["one store is away"]), MetricsCause.PARTIAL, "part of the data (one store is"),
    "warnings of another form": Fault(beside(warnings="some"), MetricsCause.PARTIAL, "part of the data"),
    "isPartial": Fault(beside(isPartial=True), MetricsCause.PARTIAL, "part of the data"),
    "html": Fault(says(200, "<html>log in</html>"), MetricsCause.MALFORMED, "no JSON"),
    "nothing": Fault(says(200, ""), MetricsCause.MALFORMED, "no JSON"),
    "deep": Fault(says(200, "[" * 50_000), MetricsCause.MALFORMED, "no JSON"),
    "a list": Fault(says(200, "[]"), MetricsCause.MALFORMED, "without success"),
    "error with 200": Fault(error(200, "internal", "oops"), MetricsCause.MALFORMED, "without success (oops)"),
    "no data": Fault(says(200, '{"status": "success"}'), MetricsCause.MALFORMED, "something that is no "),
    "scalar": Fault(
        says(200, answer({"resultType": "scalar", "result": [1, "1"]})), MetricsCause.MALFORMED, "something that is no "
    ),
    "cut by length": Fault(cut(good), MetricsCause.MALFORMED, "was cut off"),
    "cut in chunks": Fault(cut_chunks, MetricsCause.MALFORMED, "was cut off"),
    "cut without length": Fault(cut_without_length, MetricsCause.MALFORMED, "no JSON"),
    "cut when packed": Fault(packed(b"[]" * 5_000, length=-9), MetricsCause.MALFORMED, "was cut off"),
    "not packed": Fault(says(200, b"{}", Content_Encoding="gzip"), MetricsCause.MALFORMED, "was cut off"),
    "no HTTP": Fault(no_http, MetricsCause.MALFORMED, "what came is no HTTP"),
    "clock": Fault(long_ago, MetricsCause.CLOCK, "Prometheus' clock says 2015-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("method", ASKS)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_an_answer_that_is_none_is_an_error_with_its_cause(fault: Fault, method: str) -> None:
    """Never a number, always with what a person could try."""
    with (
        serving(fault.script) as server,
        reading(server.url, timeout_s=fault.timeout_s, max_answer_bytes=MAX_BYTES) as source,
    ):
        with pytest.raises(MetricsUnavailableError) as caught:
            await ASKS[method](source)
        assert caught.value.cause is fault.cause
        assert fault.words in str(caught.value)
        assert str(caught.value).endswith(TRIED[method])
        assert 1 <= len(server.requests) <= fault.asks
        assert source.spent.requests == len(server.requests)
        assert source.spent.samples == 0


@pytest.mark.parametrize("method", ASKS)
@pytest.mark.parametrize(
    "script",
    [
        lambda handler: respond(handler, good(handler)),
        lambda handler: packed(good(handler))(handler),
        beside(warnings=[], infos=["PromQL info: metric might not be a counter"]),
        beside(isPartial=False),
    ],
    ids=["plain", "packed", "infos", "not partial"],
)
async def test_an_answer_that_is_one_is_read(script: Script, method: str) -> None:
    """The faults above fail for what is wrong with them; what is only said (`infos`) is no fault."""
    with serving(script) as server, reading(server.url) as source:
        (found,) = await ASKS[method](source)
        if method == "series":
            assert found == {"__name__": "up"}
        else:
            assert (found.labels, [sample.value for sample in found.samples]) == ({"__name__": "up"}, [7.0])
        assert source.spent.requests == 1
        assert source.spent.samples == (0 if method == "series" else 1)


@pytest.mark.parametrize("method", ASKS)
async def test_nobody_there_is_unreachable(method: str) -> None:
    """Told at once: a cycle has better things to do."""
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))  # so that nobody else listens there meanwhile
        url = "http://{}:{}".format(*held.getsockname())
        with reading(url) as source, pytest.raises(MetricsUnavailableError) as caught:
            await ASKS[method](source)
        assert caught.value.cause is MetricsCause.UNREACHABLE
        assert str(caught.value) == f"Prometheus did not answer (connection refused){TRIED[method]}"
        assert source.spent.requests == 1


async def test_what_is_little_packed_and_much_unpacked_takes_no_memory() -> None:
    """Of a flood no more is unpacked than may be read."""
    flood = packed(b" " * 60_000_000)
    with serving(flood) as server, reading(server.url, max_answer_bytes=MAX_BYTES) as source:
        tracemalloc.start()
        try:
            with pytest.raises(MetricsUnavailableError, match="longer than"):
                await ASKS["instant"](source)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 10_000_000
