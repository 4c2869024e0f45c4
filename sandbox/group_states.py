"""In which state a broker's groups are, of every kind: what librdkafka's admin client does not tell of all.

It knows classic groups and those of the consumer protocol; of Kafka Streams (KIP-1071) and share groups (KIP-932) it
says that they are not there. So the broker is asked here by one request, ListGroups in its version 5, in plain text.
"""

import socket
import struct
from typing import Final

_LIST_GROUPS: Final = 16
_VERSION: Final = 5
_CLIENT_ID: Final = b"sandbox"
_TIMEOUT_S: Final = 5.0
_LOW_BITS: Final = 0x7F
"""Of a byte of a number of variable length; the highest says that another byte follows."""


def group_states(bootstrap: str) -> dict[str, str]:
    """Return the state of each group that a broker coordinates, as Kafka calls it, by the group's id.

    Args:
        bootstrap: the broker's plain listener, host and port.

    Raises:
        OSError: the broker does not answer.
        ValueError: it answers with an error.
    """
    host, _, port = bootstrap.rpartition(":")
    header = struct.pack(">hhih", _LIST_GROUPS, _VERSION, 1, len(_CLIENT_ID)) + _CLIENT_ID + b"\0"
    request = header + b"\x01\x01\0"  # no filter of states, none of types, no tags
    with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        answer = _Answer(_exactly(connection, length))
    answer.skip(4 + 1 + 4)  # correlation id, tags, throttle time
    (error,) = struct.unpack(">h", answer.take(2))
    if error:
        raise ValueError(f"ListGroups was answered with error {error}")
    states = {}
    for _ in range(answer.number() - 1):
        group_id, _protocol_type, state, _kind = (answer.text() for _ in range(4))
        answer.skip(1)  # tags
        states[group_id] = state
    return states


def _exactly(connection: socket.socket, length: int) -> bytes:
    """Return so many bytes of a connection."""
    data = bytearray()
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError("the broker closed the connection in the middle of an answer")
        data += more
    return bytes(data)


class _Answer:
    """The bytes of an answer, read from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        self._place += length
        return self._data[self._place - length : self._place]

    def skip(self, length: int) -> None:
        """Pass over the next bytes."""
        self._place += length

    def number(self) -> int:
        """Return an unsigned number of variable length."""
        value, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & _LOW_BITS) << shift
            if byte <= _LOW_BITS:
                return value
            shift += 7

    def text(self) -> str:
        """Return a compact string."""
        return self.take(self.number() - 1).decode()
