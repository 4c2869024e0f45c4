"""What the group watcher's bench counts, and how its members talk to a broker."""

import asyncio
import struct

import pytest

from bench import group_watch, raw_members
from bench.raw_members import JoinRefusedError
from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.kafka_groups import Member


def test_requests_are_counted_by_kind() -> None:
    """Each line of the broker's log is one; others are none."""
    line = '1 Completed request:{"requestHeader":{"requestApiKeyName":"%s","clientId":"a"}}\n'
    lines = [line % "DESCRIBE_GROUPS", line % "DESCRIBE_GROUPS", line % "FIND_COORDINATOR", "no request\n"]
    assert group_watch.kinds(lines) == {"DESCRIBE_GROUPS": 2, "FIND_COORDINATOR": 1}


def test_members_are_found_at_the_pods_of_their_policy() -> None:
    """Or nothing would be compared, and the figures would be those of nothing."""
    pods = group_watch.pods_of(3)
    members = [Member(f"member-{n}", f"/{raw_members.address(n)}") for n in range(3)]
    assert members_at_pods.compare(members, pods).inside == tuple(members)
    assert len({policy.group_id for policy in group_watch.policies_of(5)}) == 5


async def test_a_refused_member_is_no_member() -> None:
    """A broker that answers with an error code ends the bench."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        await reader.readexactly(length)
        answer = struct.pack(">iih", 1, 0, 26)
        writer.write(struct.pack(">i", len(answer)) + answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(JoinRefusedError, match="error code 26"):
            await raw_members.fill(f"127.0.0.1:{port}", "topic", ["group"], members=1)
