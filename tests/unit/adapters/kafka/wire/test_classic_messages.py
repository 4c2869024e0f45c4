"""Descriptions of classic groups, put together here field by field from Kafka's message definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.kafka.wire import classic_messages
from heartbeat_tuner.adapters.kafka.wire.classic_messages import UNCOUNTED, ClassicDescription
from heartbeat_tuner.adapters.kafka.wire.wire_format import number, old_text, text, varint
from heartbeat_tuner.domain.kafka_groups import Member

TAGS, HEAD = b"\0", b"\0\0\0\x07\0"
NAMES = st.text(min_size=1, max_size=30)
TOPICS = st.dictionaries(NAMES, st.integers(0, 40), max_size=4)


def array(*items: bytes) -> bytes:
    """Return an array."""
    return varint(len(items) + 1) + b"".join(items)


def content(value: bytes) -> bytes:
    """Return bytes."""
    return varint(len(value) + 1) + value


def assignment(topics: dict[str, int]) -> bytes:
    """Return what a leader writes for one member: so many partitions of each topic, and data of its own."""
    parts = [old_text(topic) + number(count, 4) + bytes(4 * count) for topic, count in topics.items()]
    return number(1, 2) + number(len(parts), 4) + b"".join(parts) + number(3, 4) + b"own"


def member(each: Member, given_to_it: bytes) -> bytes:
    """Return a member."""
    names = text(each.member_id) + (b"\0" if each.instance_id is None else text(each.instance_id))
    return names + text(each.client_id) + text("/" + each.host) + content(b"any") + content(given_to_it) + TAGS


def group(members: list[bytes], *, name: str = "orders", error: int = 0, kind: str = "consumer") -> bytes:
    """Return a stable group of consumers."""
    head = number(error, 2) + text(name) + text("Stable") + text(kind) + text("range")
    return head + array(*members) + number(-(2**31), 4) + TAGS


def answer(*groups: bytes) -> list[ClassicDescription]:
    """Return what an answer with these groups says."""
    return classic_messages.describe_classic(["orders"]).answer(HEAD + number(0, 4) + array(*groups) + TAGS, 7)


@given(
    st.lists(
        st.tuples(
            st.builds(Member, NAMES, NAMES.filter(lambda host: host[0] != "/"), NAMES, st.none() | NAMES), TOPICS
        ),
        max_size=5,
    )
)
def test_a_group_is_read_to_its_last_member(given_to: list[tuple[Member, dict[str, int]]]) -> None:
    """With as many partitions as its topics have in all."""
    (described,) = answer(group([member(each, assignment(topics)) for each, topics in given_to]))
    expected = [
        Member(each.member_id, each.host, each.client_id, each.instance_id, sum(topics.values()))
        for each, topics in given_to
    ]
    assert described == ClassicDescription("orders", 0, "Stable", "consumer", "range", tuple(expected))


@given(TOPICS.filter(bool), st.data())
def test_an_assignment_that_breaks_off_is_not_counted(topics: dict[str, int], data: st.DataObject) -> None:
    """And takes nothing of what follows: the other members and groups are read as ever."""
    whole = assignment(topics)
    topic_bytes = len(whole) - 7  # without the leader's own data
    cut = data.draw(st.integers(1, topic_bytes - 1))
    broken, good = Member("m-1", "10.0.0.7", "app"), Member("m-2", "10.0.0.8", "app")
    first, second = answer(group([member(broken, whole[:cut]), member(good, whole)]), group([], name="others"))
    assert [each.partitions for each in first.members] == [UNCOUNTED, sum(topics.values())]
    assert second.group_id == "others"


@pytest.mark.parametrize("nothing", [b"", number(1, 2) + number(0, 4) + number(-1, 4)])
def test_who_is_given_nothing_has_no_partitions(nothing: bytes) -> None:
    """While partitions are moved, and where members are more than partitions."""
    (described,) = answer(group([member(Member("m-1", "10.0.0.7"), nothing)]))
    assert described.members[0].partitions == 0


@given(st.binary(max_size=60))
def test_what_connects_workers_are_given_is_not_read(given_to_it: bytes) -> None:
    """It is their own protocol's: connectors and tasks, and no partitions of topics."""
    worker = Member("m-1", "10.0.0.7", "connect-10.0.0.7:8083")
    described, after = answer(group([member(worker, given_to_it)], kind="connect"), group([], name="b"))
    assert described.members == (worker,)
    assert (described.protocol_type, after.group_id) == ("connect", "b")


def test_each_group_has_an_error_of_its_own() -> None:
    """Another coordinator's group, between two that are described."""
    described = answer(group([], name="a"), group([], name="b", error=16), group([], name="c"))
    assert [(each.group_id, each.error) for each in described] == [("a", 0), ("b", 16), ("c", 0)]


def test_the_request_is_as_kafka_defines_it() -> None:
    """Header of version 2, the groups, and that nobody asks which operations are allowed."""
    header = b"\0\x0f\0\x05\0\0\0\x07\0\x0fheartbeat-tuner\0"
    assert classic_messages.describe_classic(["a", "b"]).framed(7) == header + b"\x03\x02a\x02b\0\0"
