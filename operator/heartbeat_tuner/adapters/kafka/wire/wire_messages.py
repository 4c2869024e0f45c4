"""The requests that are sent by Kafka's protocol, and what is read of their answers. Pure.

Each has one version, the oldest that serves: who asks looks first whether the broker has it. Of what the answers hold
only what the product needs is returned; the rest is passed over. `classic_messages` has the groups of old.
"""

import dataclasses
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from heartbeat_tuner.adapters.kafka.wire import wire_format
from heartbeat_tuner.adapters.kafka.wire.wire_format import AnswerReader
from heartbeat_tuner.domain.kafka_groups import Member

NO_TAGS: Final = b"\0"
CLIENT_ID: Final = "heartbeat-tuner"

FIND_COORDINATOR: Final = 10
FIND_COORDINATOR_VERSION: Final = 4
"""The first that asks for many groups at once: brokers of 3.0 and later have it."""

STREAMS_DESCRIBE: Final = 89
SHARE_DESCRIBE: Final = 77

_GROUP: Final = 0  # the type of a coordinator's key
_Answer = TypeVar("_Answer")


@dataclasses.dataclass(frozen=True, slots=True)
class WireRequest(Generic[_Answer]):
    """A request, and how its answer is read.

    Attributes:
        api_key: which one.
        version: of it.
        body: without its header.
        read: reads the answer's body.
        flexible: whether headers have tagged fields, as newer versions have them.
        old_header: whether the answer's header has no tagged fields all the same: brokers of any age can write it.
    """

    api_key: int
    version: int
    body: bytes
    read: Callable[[AnswerReader], _Answer]
    flexible: bool = True
    old_header: bool = False

    def framed(self, correlation: int) -> bytes:
        """Return it as it is sent, with its number, but without the size that goes before it."""
        header = (
            wire_format.number(self.api_key, 2),
            wire_format.number(self.version, 2),
            wire_format.number(correlation, 4),
            wire_format.old_text(CLIENT_ID),
            NO_TAGS if self.flexible else b"",
        )
        return b"".join((*header, self.body))

    def answer(self, content: bytes, correlation: int) -> _Answer:
        """Return what an answer says.

        Args:
            content: of it, without its size.
            correlation: the number of the request.

        Raises:
            MalformedAnswerError: it is no answer to this request.
        """
        reader = AnswerReader(content)
        if reader.number(4) != correlation:
            raise wire_format.MalformedAnswerError("an answer to another request")
        if self.flexible and not self.old_header:
            reader.tags()
        answer = self.read(reader)
        reader.end()
        return answer


@dataclasses.dataclass(frozen=True, slots=True)
class GroupCoordinator:
    """Which broker coordinates a group: its id and address, or an error's code and text."""

    group_id: str
    node: int
    host: str
    port: int
    error: int
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class SaslAnswer:
    """An answer of the broker's to who logs in; `error` is 0 where it goes on."""

    error: int
    message: str
    content: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group as its coordinator describes it: `error` is a code, 0 without one; partitions of Streams are tasks."""

    group_id: str
    error: int
    message: str
    state: str
    assignor: str
    members: tuple[Member, ...]


def api_versions() -> WireRequest[dict[int, tuple[int, int]]]:
    """Ask which requests a broker knows: the answer has the oldest and the newest version of each."""

    def read(reader: AnswerReader) -> dict[int, tuple[int, int]]:
        reader.number(2)  # an error concerns newer versions of this request only
        return dict(reader.old_array(lambda: (reader.number(2), (reader.number(2), reader.number(2)))))

    return WireRequest(18, 0, b"", read, flexible=False)


def sasl_handshake(mechanism: str) -> WireRequest[int]:
    """Ask to log in by a mechanism; the answer is an error's code, or 0."""

    def read(reader: AnswerReader) -> int:
        error = reader.number(2)
        reader.old_array(reader.old_text)
        return error

    return WireRequest(17, 1, wire_format.old_text(mechanism), read, flexible=False)


def sasl_authenticate(content: bytes) -> WireRequest[SaslAnswer]:
    """Send the mechanism's next message."""

    def read(reader: AnswerReader) -> SaslAnswer:
        answer = SaslAnswer(reader.number(2), reader.old_text(), reader.old_bytes())
        reader.number(8)  # how long the login holds: a connection lives for one look
        return answer

    return WireRequest(36, 1, wire_format.old_bytes(content), read, flexible=False)


def find_coordinators(group_ids: list[str]) -> WireRequest[list[GroupCoordinator]]:
    """Ask which brokers coordinate groups."""

    def read_one(reader: AnswerReader) -> GroupCoordinator:
        group_id, node = reader.text(), reader.number(4)
        host, port, error, message = reader.text(), reader.number(4), reader.number(2), reader.text()
        reader.tags()
        return GroupCoordinator(group_id, node, host, port, error, message)

    def read(reader: AnswerReader) -> list[GroupCoordinator]:
        reader.number(4)
        coordinators = reader.array(lambda: read_one(reader))
        reader.tags()
        return coordinators

    body = wire_format.number(_GROUP, 1) + wire_format.texts(group_ids) + NO_TAGS
    return WireRequest(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, body, read)


def describe_streams(group_ids: list[str]) -> WireRequest[list[DescribedGroup]]:
    """Ask a coordinator for groups of Kafka Streams' protocol (KIP-1071)."""
    return WireRequest(STREAMS_DESCRIBE, 0, _of_groups(group_ids), lambda reader: _described(reader, _streams_group))


def describe_share(group_ids: list[str]) -> WireRequest[list[DescribedGroup]]:
    """Ask a coordinator for share groups (KIP-932)."""
    return WireRequest(SHARE_DESCRIBE, 1, _of_groups(group_ids), lambda reader: _described(reader, _share_group))


def _of_groups(group_ids: list[str]) -> bytes:
    return wire_format.texts(group_ids) + wire_format.number(0, 1) + NO_TAGS


def _described(reader: AnswerReader, item: Callable[[AnswerReader], DescribedGroup]) -> list[DescribedGroup]:
    reader.number(4)
    groups = reader.array(lambda: item(reader))
    reader.tags()
    return groups


def _share_group(reader: AnswerReader) -> DescribedGroup:
    error, message, group_id, state = reader.number(2), reader.text(), reader.text(), reader.text()
    reader.raw(8)  # the epochs of the group and of its assignment
    assignor = reader.text()
    members = tuple(reader.array(lambda: _share_member(reader)))
    reader.number(4)
    reader.tags()
    return DescribedGroup(group_id, error, message, state, assignor, members)


def _share_member(reader: AnswerReader) -> Member:
    member_id = reader.text()
    reader.text()  # rack
    reader.number(4)
    client_id, host = reader.text(), reader.text()
    reader.array(reader.text)  # subscribed topics
    partitions = sum(reader.array(lambda: _share_topic(reader)))
    reader.tags()
    reader.tags()
    return Member(member_id, host.removeprefix("/"), client_id=client_id, partitions=partitions)


def _share_topic(reader: AnswerReader) -> int:
    reader.raw(16)
    reader.text()
    partitions = reader.count_of(4)
    reader.tags()
    return partitions


def _streams_group(reader: AnswerReader) -> DescribedGroup:
    error, message, group_id, state = reader.number(2), reader.text(), reader.text(), reader.text()
    reader.raw(8)  # the epochs of the group and of its assignment
    if reader.is_there():
        _topology(reader)
    members = tuple(reader.array(lambda: _streams_member(reader)))
    reader.number(4)
    reader.tags()
    return DescribedGroup(group_id, error, message, state, "", members)


def _topology(reader: AnswerReader) -> None:
    def topic() -> None:
        reader.text()
        reader.raw(6)
        reader.array(lambda: _key_value(reader))
        reader.tags()

    def subtopology() -> None:
        reader.text()
        reader.array(reader.text)
        reader.array(reader.text)
        reader.array(topic)
        reader.array(topic)
        reader.tags()

    reader.number(4)
    reader.array(subtopology)
    reader.tags()


def _key_value(reader: AnswerReader) -> None:
    reader.text()
    reader.text()
    reader.tags()


def _streams_member(reader: AnswerReader) -> Member:
    member_id = reader.text()
    reader.number(4)
    instance_id = reader.text() or None
    reader.text()  # rack
    client_id, host = reader.text(), reader.text()
    reader.number(4)
    reader.text()  # process
    if reader.is_there():  # an endpoint for queries
        reader.text()
        reader.raw(2)
        reader.tags()
    reader.array(lambda: _key_value(reader))
    for _ in ("offsets", "end offsets"):
        reader.array(lambda: _task_offset(reader))
    tasks = _assignment(reader)
    _assignment(reader)  # the one that is aimed at
    reader.number(1)
    reader.tags()
    return Member(member_id, host.removeprefix("/"), client_id=client_id, instance_id=instance_id, partitions=tasks)


def _task_offset(reader: AnswerReader) -> None:
    reader.text()
    reader.raw(12)
    reader.tags()


def _assignment(reader: AnswerReader) -> int:
    """Return how many active tasks there are; those on standby and those that warm up do no work."""

    def tasks() -> int:
        reader.text()
        partitions = reader.count_of(4)
        reader.tags()
        return partitions

    active, _, _ = (sum(reader.array(tasks)) for _ in ("active", "standby", "warm-up"))
    reader.tags()
    return active
