"""The primitive types of Kafka's protocol: bytes to values and back. Pure.

Strings, arrays and structures are in the *flexible* notation (KIP-482) unless a name says otherwise.
"""

import struct
from collections.abc import Callable
from typing import Final, TypeVar

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of one answer. A group of 1,000 Kafka Streams members with 20 tasks each has 1.3 MB (docs/design/0023)."""

MOST_ITEMS: Final = 500_000
"""Elements of arrays in one answer, tagged fields among them: pure Python decodes as many in half a second."""

MOST_TEXT: Final = 32_767
"""Bytes of a string, as Kafka's older notation has it."""

_VARINT_BYTES: Final = 5
_MORE: Final = 0x80
"""The bit of a byte that says that another one follows."""

_T = TypeVar("_T")


class MalformedAnswerError(Exception):
    """Bytes that are no answer to what was asked, or a larger one than is read."""


class AnswerReader:
    """Reads values from the beginning of an answer to its end.

    Args:
        content: the answer.

    Raises:
        MalformedAnswerError: it is larger than `MOST_BYTES`; so do all methods where the bytes are not what was asked.
    """

    def __init__(self, content: bytes) -> None:
        if len(content) > MOST_BYTES:
            raise MalformedAnswerError(f"an answer of {len(content)} bytes, more than {MOST_BYTES}")
        self._content = content
        self._at = 0
        self._items = [0]  # shared with its parts

    def number(self, size: int) -> int:
        """Return a signed number of so many bytes."""
        return int.from_bytes(self.raw(size), "big", signed=True)

    def varint(self) -> int:
        """Return an unsigned number of variable length, of 32 bits at most."""
        value = 0
        for place in range(_VARINT_BYTES):
            (byte,) = self.raw(1)
            value |= (byte & 0x7F) << 7 * place
            if byte < _MORE:
                break
        else:
            raise MalformedAnswerError("a number of variable length does not end")
        if value >= 1 << 32:
            raise MalformedAnswerError(f"a number of variable length is {value}, more than 32 bits")
        return value

    def text(self) -> str:
        """Return a string; empty for one that is null."""
        return self._text(self.varint() - 1)

    def old_text(self) -> str:
        """Return a string in the older notation; empty for one that is null."""
        return self._text(self.number(2))

    def content(self) -> bytes:
        """Return bytes; empty where they are null."""
        return self.raw(max(0, self.varint() - 1))

    def part(self) -> "AnswerReader":
        """Return a reader of the bytes that follow, whose elements count as those of the whole answer."""
        part = AnswerReader(self.content())
        part._items = self._items
        return part

    def old_bytes(self) -> bytes:
        """Return bytes in the older notation; empty where they are null."""
        return self.raw(max(0, self.number(4)))

    def array(self, item: Callable[[], _T]) -> list[_T]:
        """Return the elements of an array, each as `item` reads it; none for one that is null."""
        return [item() for _ in range(self._count(self.varint() - 1))]

    def old_array(self, item: Callable[[], _T]) -> list[_T]:
        """Return the elements of an array in the older notation; none for one that is null."""
        return [item() for _ in range(self._count(self.number(4)))]

    def count_of(self, size: int) -> int:
        """Pass over an array whose elements have so many bytes each; return how many they are."""
        count = max(0, self.varint() - 1)
        self.raw(count * size)
        return count

    def is_there(self) -> bool:
        """Return whether a structure that may be null follows."""
        return self.number(1) >= 0

    def tags(self) -> dict[int, bytes]:
        """Return the tagged fields at the end of a structure, by their numbers: most structures have none known."""
        return {self.varint(): self.raw(self.varint()) for _ in range(self._count(self.varint()))}

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._content)

    def end(self) -> None:
        """Check that nothing is left."""
        left = len(self._content) - self._at
        if left:
            raise MalformedAnswerError(f"an answer has {left} bytes too many")

    def raw(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > len(self._content) - self._at:
            raise MalformedAnswerError(f"an answer ends where {size} more bytes are due")
        self._at += size
        return self._content[self._at - size : self._at]

    def _text(self, size: int) -> str:
        if size > MOST_TEXT:
            raise MalformedAnswerError(f"a string of {size} bytes, more than {MOST_TEXT}")
        try:
            return self.raw(max(0, size)).decode()
        except UnicodeDecodeError as error:
            raise MalformedAnswerError(f"a string that is not UTF-8: {error.reason}") from None

    def _count(self, count: int) -> int:
        """Check a number of elements, each of which has a byte at least, before any of them is read."""
        self._items[0] += max(0, count)
        if count > len(self._content) - self._at or self._items[0] > MOST_ITEMS:
            raise MalformedAnswerError(f"an array of {count} elements, more than there are or than {MOST_ITEMS} in all")
        return max(0, count)


def number(value: int, size: int) -> bytes:
    """Return a signed number as so many bytes."""
    return value.to_bytes(size, "big", signed=True)


def varint(value: int) -> bytes:
    """Return an unsigned number in variable length."""
    shown = bytearray()
    while value >= _MORE:
        shown.append(value & 0x7F | _MORE)
        value >>= 7
    shown.append(value)
    return bytes(shown)


def text(value: str) -> bytes:
    """Return a string."""
    content = value.encode()
    return varint(len(content) + 1) + content


def old_text(value: str) -> bytes:
    """Return a string in the older notation."""
    content = value.encode()
    return struct.pack(">h", len(content)) + content


def old_bytes(value: bytes) -> bytes:
    """Return bytes in the older notation."""
    return struct.pack(">i", len(value)) + value


def texts(values: list[str]) -> bytes:
    """Return an array of strings."""
    return varint(len(values) + 1) + b"".join(text(value) for value in values)
