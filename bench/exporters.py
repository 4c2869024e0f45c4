"""What many Java consumers export, without the consumers: `python -m bench.exporters --port 9100 --members 10000`.

Each member has the 60 series of a small consumer under the JMX exporter's default rule: those that the operator knows,
and others. One process serves them all, a hundred members a page, so that Prometheus has a hundred targets to scrape.
Values are functions of the time, so that what `history` writes for the past goes on in what is scraped.
"""

import argparse
import http.client
import http.server
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from heartbeat_tuner.metrics.conventions.java_metrics import JMX_EXPORTER
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from sandbox.network import LOOPBACK

PAGE: Final = 100
"""Members of one page."""

GROUPS_OF_NAMESPACE: Final = 20

SCRAPE_S: Final = 15.0

LOT_S: Final = 900.0
"""How much time is written at once: Prometheus takes nothing that is an hour older than its newest sample."""

_UNREAD: Final = 42
_BEAT_S: Final = 3.0


@dataclass(frozen=True)
class Member:
    """One consumer, alone in its pod."""

    number: int
    group_size: int

    @property
    def group(self) -> str:
        """Its consumer group."""
        return f"group-{self.number // self.group_size:05}"

    @property
    def namespace(self) -> str:
        """Its pod's namespace."""
        return f"team-{self.number // self.group_size // GROUPS_OF_NAMESPACE:04}"

    @property
    def pod(self) -> str:
        """Its pod."""
        return f"{self.group}-consumer-6b5f7c9d4-{self.number % self.group_size:05}"

    def labels(self) -> dict[str, str]:
        """Return the labels of all its series, by name."""
        return {
            "client_id": f"consumer-{self.group}-1",
            "container": "app",
            "instance": f"10.{self.number >> 16}.{self.number >> 8 & 255}.{self.number & 255}:9404",
            "namespace": self.namespace,
            "node": f"node-{self.number % 200:03}",
            "pod": self.pod,
        }

    def values(self, at_s: float) -> dict[str, float]:
        """Return its known series at a time: a beat every 3 s, polls every half second, one join long ago."""
        found = {name: float(1 + position) for position, name in enumerate(KNOWN.values())}
        found[KNOWN[Quantity.HEARTBEATS]] = float((at_s + self.number * 0.1) % 1e7 // _BEAT_S)
        found[KNOWN[Quantity.POLL_GAP_MAX]] = 500.0 + (self.number * 7 + at_s // 15) % 43
        found[KNOWN[Quantity.POLL_AGE]] = 0.0
        found[KNOWN[Quantity.REBALANCE_TIME]] = 3000.0 + self.number % 977
        found[KNOWN[Quantity.REBALANCES]] = found[KNOWN[Quantity.JOIN_ANSWERS]] = 2.0
        found[KNOWN[Quantity.FAILED_REBALANCES]] = 1.0
        return found


_OF_STREAMS: Final = {Quantity.TASKS_ASSIGNED_LATENCY_MAX, Quantity.TASKS_LOST_LATENCY_MAX}

KNOWN: Final = {
    metric.quantity: metric.names[-1] for metric in JMX_EXPORTER.metrics if metric.quantity not in _OF_STREAMS
}
"""The series of a plain consumer that the operator knows, by what they are: 18 of them."""

OTHERS: Final = tuple(f"kafka_consumer_consumer_fetch_manager_metrics_attribute_{number}" for number in range(_UNREAD))

_MOVING: Final = (KNOWN[Quantity.HEARTBEATS], KNOWN[Quantity.POLL_GAP_MAX])


def members(count: int, group_size: int) -> list[Member]:
    """Return as many members, in groups of a size."""
    return [Member(number, group_size) for number in range(count)]


class Page:
    """What one target says of its members; most of it never changes, and is made once."""

    def __init__(self, some: Sequence[Member]) -> None:
        self._some = some
        self._texts = []
        for member in some:
            labels = ",".join(f'{name}="{value}"' for name, value in member.labels().items())
            known = member.values(0.0)
            still = [f"{name}{{{labels}}} {value}\n" for name, value in known.items() if name not in _MOVING]
            still += [f"{name}{{{labels}}} {number}\n" for number, name in enumerate(OTHERS[:-4])]
            moving = [f"{name}{{{labels}}} %s\n" for name in (*_MOVING, *OTHERS[-4:])]
            self._texts.append(("".join(still), "".join(moving)))

    def body(self, at_s: float) -> bytes:
        """Return the text format at a time."""
        parts = []
        for member, (still, moving) in zip(self._some, self._texts, strict=True):
            known = member.values(at_s)
            parts += [still, moving % (*(known[name] for name in _MOVING), at_s, at_s, at_s, at_s)]
        return "".join(parts).encode()


def serve(port: int, everybody: Sequence[Member]) -> None:
    """Serve page after page under /0, /1 and so on, for ever."""
    serve_pages(port, [Page(everybody[first : first + PAGE]).body for first in range(0, len(everybody), PAGE)])


def serve_pages(port: int, bodies: Sequence[Callable[[float], bytes]]) -> None:
    """Serve what these say at the time of the request under /0, /1 and so on, for ever."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = bodies[int(self.path.removeprefix("/"))](time.time())
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http.server.ThreadingHTTPServer((LOOPBACK, port), Handler).serve_forever()


def write_history(
    port: int, everybody: Sequence[Member], names: Sequence[str], *, since_s: float, until_s: float, every_s: float
) -> None:
    """Write the past of some series by remote write, all of them together from quarter of an hour to the next."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    times = [since_s + every_s * number for number in range(int((until_s - since_s) / every_s))]
    block = int(LOT_S / every_s)
    for first in range(0, len(times), block):
        for lot in range(0, len(everybody), PAGE):
            post_series(connection, _of_members(everybody[lot : lot + PAGE], names, times[first : first + block]))
    connection.close()


def write_series(port: int, found: Sequence[Series]) -> None:
    """Write series with their samples by remote write, all of them together from quarter of an hour to the next.

    One series after the other would have to be taken out of order, of which Prometheus 3.13 loses some now and then:
    it merges what came out of order while more comes, and acknowledged samples are in neither afterwards.
    """
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    times = [time_s for item in found for time_s in item.samples.times_s]
    at_s = min(times) - 1
    while at_s < max(times):
        lots = ((item, item.samples.between(at_s, at_s + LOT_S)) for item in found)
        post_series(
            connection,
            (
                encoded_series(item.labels, ((value, moment(time_s)) for time_s, value in samples))
                for item, samples in lots
                if samples
            ),
        )
        at_s += LOT_S
    connection.close()


def post_series(connection: http.client.HTTPConnection, encoded: Iterable[bytes]) -> None:
    """Send series, each from `encoded_series`, by remote write."""
    headers = {
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "snappy",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    connection.request("POST", "/api/v1/write", _as_snappy(b"".join(encoded)), headers)
    answer = connection.getresponse()
    said = answer.read()
    if answer.status // 100 != 2:  # noqa: PLR2004 - success
        raise RuntimeError(f"remote write: {answer.status} {said[:200]!r}")


def _of_members(some: Sequence[Member], names: Sequence[str], times_s: Sequence[float]) -> Iterator[bytes]:
    moments = [moment(time_s) for time_s in times_s]
    for member in some:
        known = [member.values(time_s) for time_s in times_s]
        for name in names:
            labels = {**member.labels(), "__name__": name, "job": "pods"}
            yield encoded_series(labels, zip((values[name] for values in known), moments, strict=True))


def encoded_series(labels: Mapping[str, str], samples: Iterable[tuple[float, bytes]]) -> bytes:
    """Return a series as the protocol buffers of remote write; `samples` are values and moments."""
    pairs = sorted(labels.items())
    body = b"".join(_field(1, _field(1, name.encode()) + _field(2, text.encode())) for name, text in pairs)
    return _field(1, body + b"".join(_field(2, b"\x09" + struct.pack("<d", value) + at) for value, at in samples))


def moment(time_s: float) -> bytes:
    """Return a sample's time for `encoded_series`."""
    return b"\x10" + _varint(round(time_s * 1000))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:  # noqa: PLR2004 - seven bits a byte
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _as_snappy(content: bytes) -> bytes:
    """Return content in snappy's block format, uncompressed: literals of 64 KiB."""
    parts = [_varint(len(content))]
    for first in range(0, len(content), 65536):
        literal = content[first : first + 65536]
        parts += [b"\xf4", struct.pack("<H", len(literal) - 1), literal]
    return b"".join(parts)


def main() -> None:
    """Write the past to a Prometheus, then serve until the process is told to end."""
    parser = argparse.ArgumentParser(description="What many Java consumers export.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--members", type=int, required=True)
    parser.add_argument("--group-size", type=int, default=10)
    parser.add_argument("--history-to", type=int, help="port of a Prometheus that takes remote write")
    parser.add_argument("--history-s", type=float, default=0.0, help="how far back, in seconds")
    parser.add_argument("--history-names", nargs="*", default=[], help="of which series")
    asked = parser.parse_args()
    everybody = members(asked.members, asked.group_size)
    if asked.history_to:
        now_s = time.time()
        write_history(
            asked.history_to,
            everybody,
            asked.history_names,
            since_s=now_s - asked.history_s,
            until_s=now_s,
            every_s=SCRAPE_S,
        )
    serve(asked.port, everybody)


if __name__ == "__main__":
    main()
