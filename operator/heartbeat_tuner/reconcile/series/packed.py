"""Numbers in little memory: a first number and the steps to the next ones, a byte or two each.

Scrapes come every so many milliseconds, and most counters count things: both are whole numbers that grow by little.
What is none stays as it is. Nothing is rounded: what is packed comes out as it went in.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

_SCALES: Final = (1, 1000)
"""How many of what is counted are 1: whole numbers, or milliseconds."""

_EXACT: Final = 2**53
"""Below this every whole number is a number."""

_WIDTHS: Final = (("B", 0xFF), ("H", 0xFFFF))


class Packed:
    """Numbers that never fall, one or more; they cannot be changed.

    Attributes:
        first: the first of them, times the scale.
        last: the last of them, times the scale.
        steps: from each to the next.
        scale: how many make 1.
    """

    __slots__ = ("first", "last", "scale", "steps")

    def __init__(self, first: int, last: int, steps: "array[int]", scale: int) -> None:
        self.first = first
        self.last = last
        self.steps = steps
        self.scale = scale

    def __len__(self) -> int:
        return len(self.steps) + 1

    def unpacked(self) -> "array[float]":
        """Return the numbers."""
        numbers = np.empty(len(self), dtype=np.float64)
        numbers[0] = 0
        np.cumsum(np.frombuffer(self.steps, dtype=self.steps.typecode), out=numbers[1:])
        numbers += self.first
        if self.scale != 1:
            numbers /= self.scale
        return array("d", numbers.tobytes())

    def count_until(self, number: float) -> int:
        """Return how many are not greater than a number; quickly, if it is near one of the ends."""
        scale = self.scale
        if self.first / scale > number:
            return 0
        if number - self.first / scale < self.last / scale - number:
            whole = self.first
            for count, step in enumerate(self.steps, 1):
                whole += step
                if whole / scale > number:
                    return count
        whole = self.last
        for count, step in zip(range(len(self), 0, -1), reversed(self.steps), strict=False):
            if whole / scale <= number:
                return count
            whole -= step
        return 1

    def spliced(self, begin: int, end: int, new: Sequence[float]) -> "Packed | None":
        """Return those from `begin` up to `end` and then new ones, one or more; None if they cannot be packed so.

        Args:
            begin: the first that stays, from the left.
            end: the first that does not; greater than `begin`.
            new: what comes behind.
        """
        scale, most = self.scale, 0xFF if self.steps.typecode == "B" else 0xFFFF
        whole = [round(number * scale) for number in new]
        if any(number / scale != other for number, other in zip(whole, new, strict=True)):
            return None
        steps = self.steps[begin : end - 1]
        before = self.last - sum(self.steps[end - 1 :])
        grown = [later - earlier for earlier, later in pairwise([before, *whole])]
        if min(grown) < 0 or max(grown) > most:
            return None
        steps.extend(grown)
        return Packed(self.first + sum(self.steps[:begin]), whole[-1], steps, scale)


def packed(numbers: "array[float]") -> "Packed | array[float]":
    """Return numbers in less memory, or themselves if that cannot be; they are finite."""
    plain = np.frombuffer(numbers)
    if plain.size < 2:  # noqa: PLR2004 - there is no step
        return numbers
    largest = abs(plain).max()
    for scale in _SCALES:
        if largest >= _EXACT / scale:
            continue
        whole = np.rint(plain * scale)
        if not np.array_equal(whole / scale, plain):
            continue
        grown = np.diff(whole)
        for code, most in _WIDTHS:
            if grown.min() >= 0 and grown.max() <= most:
                steps = array(code, grown.astype(code).tobytes())
                return Packed(int(whole[0]), int(whole[-1]), steps, scale)
        return numbers
    return numbers
