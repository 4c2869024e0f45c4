"""Recordings back into a real Prometheus, by remote write: exactly the samples, at other times.

`load` shifts a recording so that it ends at a given time and sends it to `/api/v1/write` of a Prometheus that was
started with `--web.enable-remote-write-receiver`, as the sandbox's is. Values arrive as they were recorded, NaN too,
and times to the millisecond. Stale markers are not there: the query API, which recordings come from, does not show
them.

`samples` asks Prometheus for raw samples as the recorder does, and is what exactness is measured with.
"""

import http.client
import json
import struct
import urllib.parse
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

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
_TIME_BYTES: Final = 6
_SAMPLE: Final = np.dtype([("begins", "V3"), ("value", "<u8"), ("then", "u1"), ("time", "u1", (_TIME_BYTES,))])
_SAMPLE_BEGINS: Final = np.void(b"\x12\x10\x09")
"""Field 2 of a series has 16 bytes; its field 1 is a double."""

_TIME_FOLLOWS: Final = 0x10
_NORMAL_NAN: Final = 0x7FF8000000000001
"""The NaN that Prometheus calls normal; another one is its stale marker."""

_LABELS_CACHED: Final = 50_000
_AXES_CACHED: Final = 1_000


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
    labels = (_label(name, value) for name, value in sorted(series.labels.items()))
    return b"".join((*labels, _samples(series, began_ms)))


@lru_cache(maxsize=_LABELS_CACHED)
def _label(name: str, value: str) -> bytes:
    return _field(1, _field(1, name.encode()) + _field(2, value.encode()))


def _samples(series: Series, began_ms: int) -> bytes:
    """Return the fields of all samples, each 18 bytes: a million of them, one by one, take seconds."""
    values = np.fromiter(map(float, series.values), "<f8", len(series.values))
    bits = values.view("<u8")
    bits[np.isnan(values)] = _NORMAL_NAN
    found = np.empty(len(values), _SAMPLE)
    found["begins"] = _SAMPLE_BEGINS
    found["value"] = bits
    found["then"] = _TIME_FOLLOWS
    found["time"] = _times(series.times_ms, began_ms)
    return found.tobytes()


@lru_cache(maxsize=_AXES_CACHED)
def _times(times_ms: tuple[int, ...], began_ms: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return each time as a varint, which has six bytes from 1971 to 2109; many series share their times.

    Raises:
        ValueError: a time is not in these years.
    """
    since_1970_ms = np.array(times_ms, np.int64) + began_ms
    least, above = (1 << _VARINT_BITS * count for count in (_TIME_BYTES - 1, _TIME_BYTES))
    if len(times_ms) and not least <= since_1970_ms.min() <= since_1970_ms.max() < above:
        raise ValueError(f"times from {since_1970_ms.min()} to {since_1970_ms.max()} ms are not of 1971 to 2109")
    parts = since_1970_ms[:, None] >> _VARINT_BITS * np.arange(_TIME_BYTES) & 0x7F
    parts[:, :-1] |= 0x80
    return parts.astype(np.uint8)


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
