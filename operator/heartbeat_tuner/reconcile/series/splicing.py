"""Numbers of a series as they are kept, and what becomes of them when new ones come in their midst: pure.

Numbers that are whole in some unit are packed, the values of a counter that stands still are one number. What was read
again stands for what was there in the same span.
"""

from array import array
from bisect import bisect_right
from typing import Final, NamedTuple, TypeAlias

from heartbeat_tuner.metrics.raw.samples import Course
from heartbeat_tuner.reconcile.series.packed import Packed, packed
from heartbeat_tuner.reconcile.series.spans import Span

Numbers: TypeAlias = "Packed | array[float]"
Values: TypeAlias = "Packed | array[float] | float"

NO_NUMBERS: Final = array("d")


class Splice(NamedTuple):
    """What became of times; the values go the same way.

    Attributes:
        old: the times that were there.
        new: those that were read.
        span: where they stand for the old ones.
        keep_after_s: older ones went.
        begin: the first of the old that stays.
        end: the first of the old that new ones stand for.
        behind: the first of the old behind the new ones.
        times_s: what became of them.
        fullest_s: of all times of the pod in this cycle those with the most scrapes.
    """

    old: Numbers
    new: "array[float]"
    span: Span
    keep_after_s: float
    begin: int
    end: int
    behind: int
    times_s: Numbers
    fullest_s: Numbers


def with_values(old: Values, new: "array[float]", splice: Splice) -> Values:
    """Return values after a splice of their times."""
    if isinstance(old, float):
        if not new or new.count(old) == len(new):
            return old
        old = array("d", [old]) * len(splice.old)
    numbers = joined(old, new, splice.begin, splice.end, splice.behind)
    if isinstance(numbers, Packed):
        return numbers if numbers.first < numbers.last else numbers.last / numbers.scale
    return numbers[0] if numbers.count(numbers[0]) == len(numbers) else packed(numbers)


def joined(old: Numbers, new: "array[float]", begin: int, end: int, behind: int) -> Numbers:
    """Return old numbers from `begin` to `end`, new ones, and the old ones behind them."""
    if isinstance(old, Packed) and new and begin < end and behind == len(old):
        spliced = old.spliced(begin, end, new)
        if spliced is not None:
            return spliced
    plain = unpacked(old)
    return packed(plain[begin:end] + new + plain[behind:])


def course_of(values: Values) -> Course:
    """Return how values go, as far as the way they are kept shows it."""
    if isinstance(values, float):
        return Course.STANDS_STILL
    return Course.NEVER_FALLS if isinstance(values, Packed) else Course.UNKNOWN


def unpacked(numbers: Numbers) -> "array[float]":
    """Return numbers as they came."""
    return numbers.unpacked() if isinstance(numbers, Packed) else numbers


def count_until(times_s: Numbers, time_s: float) -> int:
    """Return how many of some times are not after another."""
    return times_s.count_until(time_s) if isinstance(times_s, Packed) else bisect_right(times_s, time_s)


def first_of(times_s: Numbers) -> float:
    """Return the first of some times."""
    return times_s.first / times_s.scale if isinstance(times_s, Packed) else times_s[0]


def last_of(times_s: Numbers) -> float:
    """Return the last of some numbers."""
    return times_s.last / times_s.scale if isinstance(times_s, Packed) else times_s[-1]


def are_the_same(numbers: Numbers, other: Numbers) -> bool:
    """Whether two hold the same numbers, kept in the same way."""
    if isinstance(numbers, Packed) and isinstance(other, Packed):
        return (numbers.first, numbers.scale) == (other.first, other.scale) and numbers.steps == other.steps
    return type(numbers) is type(other) and numbers == other
