"""The outside of Kafka's wire protocol: enough to see who asked what and how long the answer took.

A connection carries frames, each a four-byte length and that many bytes. A request starts with its kind (api key), the
kind's version, a correlation id and the client's id; an answer starts with the correlation id of its request. What
follows differs by kind and version and is not looked at. Pure: bytes in, values out; `sandbox.proxy` feeds it.
"""

import struct
from dataclasses import dataclass, replace
from typing import Final

JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
CONSUMER_GROUP_HEARTBEAT: Final = 68
SHARE_GROUP_HEARTBEAT: Final = 76
STREAMS_GROUP_HEARTBEAT: Final = 88

_LENGTH: Final = struct.Struct(">i")
_REQUEST: Final = struct.Struct(">hhih")
_API_KEY: Final = struct.Struct(">h")
_CORRELATION: Final = struct.Struct(">i")
_HEAD_BYTES: Final = 512
_LARGEST_FRAME: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class KafkaRequest:
    """One request that came through; `round_trip_s` is None while, or if, there is no answer."""

    arrival_s: float
    connection: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    round_trip_s: float | None = None


class FrameHeads:
    """Cuts a stream of bytes into frames and keeps only the first bytes of each, however long it is."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._to_skip = 0
        self._foreign = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes of the stream; return the heads of the frames whose head is complete now.

        A length that no frame has means that this is not Kafka's protocol; nothing is returned from there on.
        """
        if self._foreign:
            return []
        self._pending += data
        heads = []
        while not self._foreign:
            skipped = min(self._to_skip, len(self._pending))
            del self._pending[:skipped]
            self._to_skip -= skipped
            if len(self._pending) < _LENGTH.size:
                break
            (length,) = _LENGTH.unpack_from(self._pending)
            if not 0 <= length <= _LARGEST_FRAME:
                self._foreign = True
                break
            end = _LENGTH.size + min(length, _HEAD_BYTES)
            if len(self._pending) < end:
                break
            heads.append(bytes(self._pending[_LENGTH.size : end]))
            del self._pending[:end]
            self._to_skip = length - len(heads[-1])
        return heads


def api_key(head: bytes) -> int:
    """Return the kind of a request; -1 if its head is too short for one."""
    return int(_API_KEY.unpack_from(head)[0]) if len(head) >= _API_KEY.size else -1


class Recorder:
    """Pairs the requests and the answers of many connections.

    Requests are stamped when they arrive and answers when they are passed on, so a round trip is what the client felt,
    the proxy's own delays included.
    """

    def __init__(self) -> None:
        self._requests: list[KafkaRequest] = []
        self._streams: dict[tuple[int, bool], FrameHeads] = {}
        self._unanswered: dict[tuple[int, int], int] = {}

    @property
    def requests(self) -> list[KafkaRequest]:
        """Everything seen so far, in the order of arrival."""
        return list(self._requests)

    def from_client(self, connection: int, data: bytes, now_s: float) -> None:
        """Take bytes of a connection on their way to the broker."""
        for head in self._heads(connection, data, is_request=True):
            if len(head) < _REQUEST.size:
                continue
            api_key, api_version, correlation_id, id_length = _REQUEST.unpack_from(head)
            client_id = None
            if id_length >= 0:
                client_id = head[_REQUEST.size : _REQUEST.size + id_length].decode(errors="replace")
            self._unanswered[connection, correlation_id] = len(self._requests)
            self._requests.append(KafkaRequest(now_s, connection, api_key, api_version, correlation_id, client_id))

    def to_client(self, connection: int, data: bytes, now_s: float) -> None:
        """Take bytes of a connection on their way back to the client."""
        for head in self._heads(connection, data, is_request=False):
            if len(head) < _CORRELATION.size:
                continue
            (correlation_id,) = _CORRELATION.unpack_from(head)
            index = self._unanswered.pop((connection, correlation_id), None)
            if index is not None:
                asked = self._requests[index]
                self._requests[index] = replace(asked, round_trip_s=now_s - asked.arrival_s)

    def _heads(self, connection: int, data: bytes, *, is_request: bool) -> list[bytes]:
        return self._streams.setdefault((connection, is_request), FrameHeads()).feed(data)
