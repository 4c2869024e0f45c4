"""The primitive types of Kafka's protocol: what is written is read again, and whatever a broker sends is bounded."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.kafka.wire import classic_messages, wire_format, wire_messages
from heartbeat_tuner.adapters.kafka.wire.wire_format import AnswerReader, MalformedAnswerError
from heartbeat_tuner.adapters.kafka.wire.wire_messages import WireRequest

TEXTS = st.text(max_size=300)


@given(st.integers(0, 2**32 - 1))
def test_a_number_of_variable_length_is_read_as_it_was_written(value: int) -> None:
    """To its last bit, and to its end."""
    reader = AnswerReader(wire_format.varint(value))
    assert reader.varint() == value
    reader.end()


@given(st.lists(TEXTS, max_size=20))
def test_strings_are_read_as_they_were_written(values: list[str]) -> None:
    """Whatever letters they have."""
    reader = AnswerReader(wire_format.texts(values))
    assert reader.array(reader.text) == values
    reader.end()


@given(TEXTS, st.binary(max_size=300), st.integers(-(2**31), 2**31 - 1))
def test_the_older_notation_is_read_as_it_was_written(text: str, content: bytes, value: int) -> None:
    """Of strings, bytes and numbers."""
    written = wire_format.old_text(text) + wire_format.old_bytes(content) + wire_format.number(value, 4)
    reader = AnswerReader(written)
    assert (reader.old_text(), reader.old_bytes(), reader.number(4)) == (text, content, value)
    reader.end()


def read_texts(content: bytes) -> None:
    """Read an array of strings, to the end."""
    reader = AnswerReader(content)
    reader.array(reader.text)
    reader.end()


def test_null_is_empty() -> None:
    """Strings, bytes, arrays and structures that are null."""
    reader = AnswerReader(b"\x00" + b"\xff\xff" + b"\xff\xff\xff\xff" + b"\x00" + b"\xff")
    assert (reader.text(), reader.old_text(), reader.old_bytes()) == ("", "", b"")
    assert reader.array(reader.text) == []
    assert not reader.is_there()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xff\xff\xff\x0f", "an array of 4294967294 elements"),  # of which a library tried to make room for 34 GB
        (b"\xff\xff\xff\xff\x1f", "more than 32 bits"),
        (b"\x80" * 9, "does not end"),
        (b"\x02\xff\xff\x03", "a string of 65534 bytes"),
        (b"\x02\x09abc", "ends where 8 more bytes are due"),
        (b"\x02\x02\xff", "is not UTF-8"),
        (b"\x01\x00", "1 bytes too many"),
    ],
)
def test_what_is_no_answer_is_told_before_memory_is_used(content: bytes, words: str) -> None:
    """Each size and each count is held against what there is."""
    with pytest.raises(MalformedAnswerError, match=words):
        read_texts(content)


def test_an_answer_has_no_more_than_so_many_bytes_and_elements() -> None:
    """However they are spread over its arrays: each empty one in an array counts, too."""
    with pytest.raises(MalformedAnswerError, match="more than 16777216"):
        AnswerReader(bytes(wire_format.MOST_BYTES + 1))
    most = wire_format.MOST_ITEMS
    reader = AnswerReader(wire_format.varint(most + 2) + bytes(most + 1))
    with pytest.raises(MalformedAnswerError, match="500000 in all"):
        reader.array(reader.text)


def test_tagged_fields_are_passed_over() -> None:
    """A newer broker may send some."""
    reader = AnswerReader(b"\x02\x00\x03abc\x07\x01z" + b"\x05")
    reader.tags()
    assert reader.number(1) == 5


def test_elements_of_a_part_count_as_those_of_the_whole() -> None:
    """Or an answer of many parts would have a bound for each."""
    most = wire_format.MOST_ITEMS // 2 + 1
    part = wire_format.varint(most + 1) + bytes(most)
    reader = AnswerReader(2 * (wire_format.varint(len(part) + 1) + part))
    first = reader.part()
    assert len(first.array(first.text)) == most
    assert first.is_at_end
    second = reader.part()
    with pytest.raises(MalformedAnswerError, match="500000 in all"):
        second.array(second.text)


@given(
    st.binary(max_size=400),
    st.sampled_from(["classic", "streams", "share", "coordinators", "versions", "login", "handshake"]),
)
def test_any_bytes_are_an_answer_or_a_malformed_one(content: bytes, kind: str) -> None:
    """Nothing else comes of them."""
    requests: dict[str, WireRequest[Any]] = {
        "classic": classic_messages.describe_classic(["orders"]),
        "streams": wire_messages.describe_streams(["orders"]),
        "share": wire_messages.describe_share(["orders"]),
        "coordinators": wire_messages.find_coordinators(["orders"]),
        "versions": wire_messages.api_versions(),
        "login": wire_messages.sasl_authenticate(b""),
        "handshake": wire_messages.sasl_handshake("PLAIN"),
    }
    with contextlib.suppress(MalformedAnswerError):
        requests[kind].answer(b"\0\0\0\1" + content, 1)
