"""The request for classic groups, many of one coordinator at once, and what is read of its answer. Pure.

What members are given stands in the answer as their leader wrote it: clients' bytes, which the broker does not look at.
In a group of Connect's workers they say which connectors a worker runs, and no partitions: they are not read.
"""

import dataclasses
from typing import Final

from heartbeat_tuner.adapters.kafka.wire import wire_format
from heartbeat_tuner.adapters.kafka.wire.wire_format import AnswerReader, MalformedAnswerError
from heartbeat_tuner.adapters.kafka.wire.wire_messages import NO_TAGS, WireRequest
from heartbeat_tuner.domain.kafka_groups import WORKERS, Member

CLASSIC_DESCRIBE: Final = 15
CLASSIC_DESCRIBE_VERSION: Final = 5
"""The first in the flexible notation, with static ids: brokers of 2.4 and later have it."""

UNCOUNTED: Final = -1
"""Stands for the partitions of a member whose assignment is not in the consumers' format."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClassicDescription:
    """A group as its coordinator describes it in the classic protocol.

    Attributes:
        group_id: of the group.
        error: a code of Kafka's; 0 without one.
        state: in Kafka's words; `Dead`, too, for a group of another kind.
        protocol_type: `consumer`, `connect`, or whatever its members say; empty for one that had none yet.
        assignor: as the members call it.
        members: with `UNCOUNTED` partitions where an assignment cannot be read.
    """

    group_id: str
    error: int
    state: str
    protocol_type: str
    assignor: str
    members: tuple[Member, ...]


def describe_classic(group_ids: list[str]) -> WireRequest[list[ClassicDescription]]:
    """Ask a coordinator for classic groups."""

    def read(reader: AnswerReader) -> list[ClassicDescription]:
        reader.number(4)
        groups = reader.array(lambda: _group(reader))
        reader.tags()
        return groups

    body = wire_format.texts(group_ids) + wire_format.number(0, 1) + NO_TAGS
    return WireRequest(CLASSIC_DESCRIBE, CLASSIC_DESCRIBE_VERSION, body, read)


def _group(reader: AnswerReader) -> ClassicDescription:
    error, group_id, state = reader.number(2), reader.text(), reader.text()
    protocol_type, assignor = reader.text(), reader.text()
    has_partitions = protocol_type != WORKERS
    members = tuple(reader.array(lambda: _member(reader, has_partitions=has_partitions)))
    reader.number(4)
    reader.tags()
    return ClassicDescription(group_id, error, state, protocol_type, assignor, members)


def _member(reader: AnswerReader, *, has_partitions: bool) -> Member:
    member_id, instance_id, client_id, host = reader.text(), reader.text(), reader.text(), reader.text()
    reader.content()  # what it subscribes to
    assignment = reader.part()
    reader.tags()
    return Member(
        member_id,
        host.removeprefix("/"),
        client_id=client_id,
        instance_id=instance_id or None,
        partitions=_partitions(assignment) if has_partitions else 0,
    )


def _partitions(assignment: AnswerReader) -> int:
    """Return how many partitions a member is given; none while nothing is assigned."""
    if assignment.is_at_end:
        return 0
    try:
        assignment.number(2)
        return sum(assignment.old_array(lambda: _topic(assignment)))
    except MalformedAnswerError:
        return UNCOUNTED


def _topic(assignment: AnswerReader) -> int:
    assignment.raw(max(0, assignment.number(2)))
    count = max(0, assignment.number(4))
    assignment.raw(4 * count)
    return count
