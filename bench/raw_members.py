"""Members of classic groups that cost nothing: each joins by two raw requests, and its connection ends.

The coordinator keeps a member that is silent until its session ends, which is half an hour here. So no process holds
them, and thousands of groups stand still while something is measured. Members connect from addresses of their own on
loopback, `127.0.1.1` and on, as if these were pods.
"""

import asyncio
import struct
from collections.abc import Sequence
from typing import Final

SESSION_S: Final = 1_800.0
"""The longest that brokers allow by default."""

JOIN_DELAY_S: Final = 2.0
"""For `group.initial.rebalance.delay.ms` of the broker: all members of a group have to join within it."""

_AT_A_TIME: Final = 50
"""Groups that are made beside each other."""

_JOIN_WITHIN_MS: Final = 30_000
_ANSWER_WITHIN_S: Final = 90.0
_JOIN_GROUP: Final = (11, 2)
_SYNC_GROUP: Final = (14, 1)
"""Kinds of requests and their versions, the oldest that Kafka 4 takes for a new member."""


class JoinRefusedError(Exception):
    """The broker answered a member with an error code."""


async def fill(bootstrap: str, topic: str, group_ids: Sequence[str], *, members: int) -> None:
    """Make groups of so many members each, which all have a partition.

    Args:
        bootstrap: `host:port` of the only broker; its `group.initial.rebalance.delay.ms` is `JOIN_DELAY_S`.
        topic: of their subscriptions.
        group_ids: of the groups.
        members: in each of them.

    Raises:
        JoinRefusedError: the broker refused a member.
    """
    for first in range(0, len(group_ids), _AT_A_TIME):
        lot = group_ids[first : first + _AT_A_TIME]
        joins = [_join(bootstrap, topic, group_id, number) for group_id in lot for number in range(members)]
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            await asyncio.gather(*joins)


def address(number: int) -> str:
    """Return where the member of that number connects from."""
    return f"127.0.1.{number + 1}"


async def _join(bootstrap: str, topic: str, group_id: str, number: int) -> None:
    """Join a group, give everybody a partition if this is the leader, and hang up."""
    host, _, port = bootstrap.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(address(number), 0))
    try:
        client = f"client-{number}"
        writer.write(_framed(_JOIN_GROUP, client, _join_group(group_id, topic)))
        generation, member_id, everybody = _joined(await _answer(reader))
        writer.write(_framed(_SYNC_GROUP, client, _sync_group(group_id, topic, generation, member_id, everybody)))
        _refused_unless_zero((await _answer(reader))[8:])
    finally:
        writer.close()


def _join_group(group_id: str, topic: str) -> bytes:
    subscription = struct.pack(">hi", 0, 1) + _text(topic) + _bytes(b"")
    times = struct.pack(">ii", round(SESSION_S * 1000), _JOIN_WITHIN_MS)
    return _text(group_id) + times + _text("") + _text("consumer") + _list([_text("range") + _bytes(subscription)])


def _sync_group(group_id: str, topic: str, generation: int, member_id: bytes, everybody: Sequence[bytes]) -> bytes:
    assignments = []
    for partition, member in enumerate(everybody):
        assigned = struct.pack(">hi", 0, 1) + _text(topic) + struct.pack(">ii", 1, partition) + _bytes(b"")
        assignments.append(_text(member) + _bytes(assigned))
    return _text(group_id) + struct.pack(">i", generation) + _text(member_id) + _list(assignments)


def _joined(answer: bytes) -> tuple[int, bytes, list[bytes]]:
    """Return generation, the member's id, and the ids of all where it is the leader."""
    _refused_unless_zero(answer[8:])
    (generation,) = struct.unpack_from(">i", answer, 10)
    _, rest = _cut(answer[14:], ">h")
    _, rest = _cut(rest, ">h")
    member_id, rest = _cut(rest, ">h")
    (count,), rest = struct.unpack_from(">i", rest), rest[4:]
    everybody = []
    for _ in range(count):
        other, rest = _cut(rest, ">h")
        _, rest = _cut(rest, ">i")
        everybody.append(other)
    return generation, member_id, everybody


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """Return an answer: correlation id, throttle time, and what its kind has."""
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


def _refused_unless_zero(rest: bytes) -> None:
    (code,) = struct.unpack_from(">h", rest)
    if code:
        raise JoinRefusedError(f"a member was refused with Kafka's error code {code}")


def _framed(kind: tuple[int, int], client: str, body: bytes) -> bytes:
    return _bytes(struct.pack(">hhi", *kind, 1) + _text(client) + body)


def _text(value: str | bytes) -> bytes:
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">h", len(raw)) + raw


def _bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _list(items: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def _cut(data: bytes, length: str) -> tuple[bytes, bytes]:
    """Return what follows a length, and the rest."""
    size = struct.calcsize(length)
    end = size + max(0, struct.unpack_from(length, data)[0])
    return data[size:end], data[end:]
