"""Recordings back into a real Prometheus, by remote write: exactly the samples, at other times.

`load` shifts a recording so that it ends at a given time and sends it to `/api/v1/write` of a Prometheus that was
started with `--web.enable-remote-write-receiver`, as the sandbox's is. Values arrive as they were recorded, NaN too,
and times to the millisecond. Stale markers are not there: the query API, which recordings come from, does not show
them.

`samples` asks Prometheus for raw samples as the recorder does, and is what exactness is measured with.
"""

import http.client
import json
import math
import struct
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sandbox.errors import SandboxError
from tests.exporters.recording import Recording, Series

_TIMEOUT_S: Final = 60.0
_SAMPLES_A_REQUEST: Final = 100_000
_HEADERS: Final = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_LENGTH_DELIMITED: Final = 2
_VARINT_BITS: Final = 7


def load(recording: Recording, prometheus_url: str, *, ends_at_s: float) -> float:
    """Send all samples of a recording; return when it begins there, in seconds since 1970.

    Args:
        recording: what to send.
        prometheus_url: of the HTTP API.
        ends_at_s: when the recording shall end, since 1970. A Prometheus takes several recordings in any order if they
            end within the same hour.

    Raises:
        SandboxError: Prometheus refused the samples.
    """
    began_ms = round((ends_at_s - recording.length_s) * 1000)
    for part in _parts(recording.series):
        body = _snappy(b"".join(_field(1, _time_series(item, began_ms)) for item in part))
        status, answer = _post(prometheus_url, "/api/v1/write", body, _HEADERS)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise SandboxError(f"Prometheus does not take {recording.name}: {status} {answer.decode(errors='replace')}")
    return began_ms / 1000


def samples(prometheus_url: str, selector: str, *, began_s: float, ended_s: float) -> list[Series]:
    """Return the raw samples from `began_s` to `ended_s`, both included, with times in milliseconds since `began_s`.

    Raises:
        SandboxError: the query failed, or has warnings.
    """
    # Left-open: a sample at the very beginning would be missing.
    range_ms = round((ended_s - began_s) * 1000) + 1
    query = urllib.parse.urlencode({"query": f"{selector}[{range_ms}ms]", "time": f"{ended_s:.3f}"})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, answer = _post(prometheus_url, "/api/v1/query", query.encode(), headers)
    document: dict[str, Any] = json.loads(answer)
    if status != http.HTTPStatus.OK or document.get("warnings"):
        raise SandboxError(f"{selector}: {status} {document.get('error')} {document.get('warnings')}")
    began_ms = round(began_s * 1000)
    return [
        Series(
            item["metric"],
            tuple(round(at_s * 1000) - began_ms for at_s, _ in item["values"]),
            tuple(value for _, value in item["values"]),
        )
        for item in document["data"]["result"]
        if "values" in item  # a series of native histograms has none
    ]


def _post(prometheus_url: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    where = urllib.parse.urlsplit(prometheus_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _parts(series: Iterable[Series]) -> Iterator[list[Series]]:
    """Split series into requests of a bounded size."""
    part: list[Series] = []
    count = 0
    for series_ in series:
        part.append(series_)
        count += len(series_.values)
        if count >= _SAMPLES_A_REQUEST:
            yield part
            part, count = [], 0
    if part:
        yield part


def _time_series(series: Series, began_ms: int) -> bytes:
    """Return a `TimeSeries` of remote write 1.0."""
    labels = (
        _field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in sorted(series.labels.items())
    )
    found = (
        _field(2, b"\x09" + _double(value) + b"\x10" + _varint(began_ms + at_ms))
        for at_ms, value in zip(series.times_ms, series.values, strict=True)
    )
    return b"".join((*labels, *found))


def _double(shown: str) -> bytes:
    """Return a value as eight bytes; NaN as the quiet one that Prometheus calls normal, not its stale marker."""
    value = float(shown)
    return struct.pack("<Q", 0x7FF8000000000001) if math.isnan(value) else struct.pack("<d", value)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >> _VARINT_BITS:
        encoded.append(value & 0x7F | 0x80)
        value >>= _VARINT_BITS
    encoded.append(value)
    return bytes(encoded)


def _snappy(content: bytes) -> bytes:
    """Return content in snappy's block format, as one literal: valid, and nothing is gained by compressing loopback."""
    return _varint(len(content)) + b"\xfc" + struct.pack("<I", len(content) - 1) + content
