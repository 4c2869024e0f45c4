"""Answers as brokers make them, put together here field by field from Kafka's message definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.kafka.wire import feature_messages, wire_format, wire_messages
from heartbeat_tuner.adapters.kafka.wire.wire_format import MalformedAnswerError, number, text, varint
from heartbeat_tuner.adapters.kafka.wire.wire_messages import DescribedGroup, GroupCoordinator
from heartbeat_tuner.domain.kafka_groups import Member

TAGS, HEAD = b"\0", b"\0\0\0\x07\0"
NAMES = st.text(min_size=1, max_size=30)
MEMBERS = st.lists(
    st.builds(Member, NAMES, NAMES.filter(lambda host: host[0] != "/"), NAMES, st.none() | NAMES, st.integers(0, 40)),
    max_size=6,
)


def array(*items: bytes) -> bytes:
    """Return an array."""
    return varint(len(items) + 1) + b"".join(items)


def tasks(count: int) -> bytes:
    """Return tasks of one subtopology."""
    return text("sub-0") + varint(count + 1) + bytes(4 * count) + TAGS


def assignment(active: int) -> bytes:
    """Return an assignment with active tasks, and others that do no work."""
    return array(tasks(active)) + array(tasks(7)) + array() + TAGS


def streams_member(member: Member) -> bytes:
    """Return a member of a Streams group, with everything that may stand there."""
    offset = text("sub-0") + bytes(12) + TAGS
    return b"".join(
        (
            text(member.member_id) + number(3, 4),
            b"\0" if member.instance_id is None else text(member.instance_id),
            b"\0" + text(member.client_id) + text("/" + member.host) + number(0, 4) + text("process"),
            b"\x01" + text("host") + b"\x1f\x90" + TAGS if member.partitions % 2 else b"\xff",
            array(text("zone") + text("a") + TAGS) + array(offset) + array(offset, offset),
            assignment(member.partitions) + assignment(1) + b"\0" + TAGS,
        )
    )


def share_member(member: Member) -> bytes:
    """Return a member of a share group."""
    topic = bytes(16) + text("orders") + varint(member.partitions + 1) + bytes(4 * member.partitions) + TAGS
    head = text(member.member_id) + b"\0" + number(3, 4) + text(member.client_id) + text("/" + member.host)
    return head + array(text("orders")) + array(topic) + TAGS + TAGS


@given(MEMBERS)
def test_a_streams_group_is_read_to_its_last_member(members: list[Member]) -> None:
    """Its active tasks are its partitions."""
    topic = text("changelog") + bytes(6) + array(text("key") + text("value") + TAGS) + TAGS
    subtopology = text("sub-0") + array(text("orders")) + array() + array(topic) + array(topic, topic) + TAGS
    group = b"".join(
        (
            number(0, 2) + b"\0" + text("orders") + text("Stable") + bytes(8),
            b"\x01" + number(1, 4) + array(subtopology) + TAGS,
            array(*(streams_member(member) for member in members)) + number(-(2**31), 4) + TAGS,
        )
    )
    answer = HEAD + number(0, 4) + array(group) + TAGS
    (described,) = wire_messages.describe_streams(["orders"]).answer(answer, 7)
    assert described == DescribedGroup("orders", 0, "", "Stable", "", tuple(members))


@given(MEMBERS)
def test_a_share_group_is_read_to_its_last_member(members: list[Member]) -> None:
    """None of them is static."""
    group = number(0, 2) + b"\0" + text("orders") + text("Stable") + bytes(8) + text("simple")
    group += array(*(share_member(member) for member in members)) + number(-(2**31), 4) + TAGS
    (described,) = wire_messages.describe_share(["orders"]).answer(HEAD + number(0, 4) + array(group) + TAGS, 7)
    expected = [Member(each.member_id, each.host, each.client_id, None, each.partitions) for each in members]
    assert described == DescribedGroup("orders", 0, "", "Stable", "simple", tuple(expected))


def test_a_refused_description_has_its_error() -> None:
    """A group without a topology, and one that is not there."""
    group = number(69, 2) + text("no such group") + text("orders") + b"\x01" + bytes(8) + b"\xff" + array() + bytes(4)
    (described,) = wire_messages.describe_streams(["orders"]).answer(
        HEAD + number(0, 4) + array(group + TAGS) + TAGS, 7
    )
    assert described == DescribedGroup("orders", 69, "no such group", "", "", ())


def test_requests_are_as_kafka_defines_them() -> None:
    """Header of version 2 (or 1, where nothing is flexible), and the body."""
    header = b"\0\x59\0\0\0\0\0\x07\0\x0fheartbeat-tuner\0"
    assert wire_messages.describe_streams(["a"]).framed(7) == header + b"\x02\x02a\0\0"
    assert wire_messages.find_coordinators(["a"]).framed(1).endswith(b"tuner\0\0\x02\x02a\0")
    assert wire_messages.sasl_handshake("PLAIN").framed(1).endswith(b"tuner\0\x05PLAIN")
    assert wire_messages.sasl_authenticate(b"x").framed(1).endswith(b"tuner\0\0\0\x01x")
    assert wire_messages.api_versions().framed(1).endswith(b"heartbeat-tuner")


def test_other_answers_are_read() -> None:
    """Where a group's coordinator is, which requests there are, and how a login goes."""
    found = text("orders") + number(3, 4) + text("kafka-3") + number(9092, 4) + number(0, 2) + b"\0" + TAGS
    (coordinator,) = wire_messages.find_coordinators(["orders"]).answer(HEAD + number(0, 4) + array(found) + TAGS, 7)
    assert coordinator == GroupCoordinator("orders", 3, "kafka-3", 9092, 0, "")
    versions = HEAD[:4] + number(0, 2) + number(1, 4) + number(89, 2) + number(0, 2) + number(1, 2)
    assert wire_messages.api_versions().answer(versions, 7) == {89: (0, 1)}
    shaken = HEAD[:4] + number(33, 2) + number(1, 4) + wire_format.old_text("PLAIN")
    assert wire_messages.sasl_handshake("PLAIN").answer(shaken, 7) == 33
    said = HEAD[:4] + number(58, 2) + wire_format.old_text("no") + wire_format.old_bytes(b"x") + number(0, 8)
    answer = wire_messages.sasl_authenticate(b"").answer(said, 7)
    assert (answer.error, answer.message, answer.content) == (58, "no", b"x")


def features(levels: dict[str, int]) -> bytes:
    """Return the answer of a broker to what it supports: versions of two requests, and features as tagged fields."""
    ranges = array(*(number(key, 2) + number(0, 2) + number(4, 2) + TAGS for key in (18, 68)))
    finalized = array(*(text(name) + number(level, 2) + number(1, 2) + TAGS for name, level in levels.items()))
    fields = ((0, b"\x01"), (1, number(7, 8)), (2, finalized))
    tagged = varint(len(fields)) + b"".join(varint(tag) + varint(len(content)) + content for tag, content in fields)
    return HEAD[:4] + number(0, 2) + ranges + number(0, 4) + tagged


@given(st.dictionaries(NAMES, st.integers(1, 40), max_size=4))
def test_the_features_that_are_turned_on_are_read(levels: dict[str, int]) -> None:
    """They are a tagged field, after a header that has none."""
    assert feature_messages.finalized_features().answer(features(levels), 7) == levels


def test_a_broker_without_features_has_none_turned_on() -> None:
    """One before 2.7 sends no such field."""
    bare = HEAD[:4] + number(0, 2) + array() + number(0, 4) + TAGS
    assert feature_messages.finalized_features().answer(bare, 7) == {}


def test_a_broker_that_does_not_know_the_request_says_nothing_of_features() -> None:
    """One before 2.4 answers with an error, in the oldest notation: that is not level 0."""
    refused = HEAD[:4] + number(35, 2) + number(0, 4)
    with pytest.raises(MalformedAnswerError, match="error 35"):
        feature_messages.finalized_features().answer(refused, 7)
