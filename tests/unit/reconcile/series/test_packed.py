"""Numbers in little memory come out as they went in, however they were put together."""

from array import array
from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.reconcile.series.packed import Packed, packed

counts = st.lists(st.integers(0, 70_000) | st.sampled_from([254, 255, 256, 65_535, 65_536]), min_size=1, max_size=12)
"""How much is counted from scrape to scrape."""

odd = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, -1.0, 2.0**53, 1767268740.123])


def plain(numbers: "Packed | array[float]") -> list[float]:
    """Return what is packed, or not."""
    return list(numbers.unpacked() if isinstance(numbers, Packed) else numbers)


def rising(grown: list[int], *, scale: int) -> "array[float]":
    """Return a counter of what grows, or times in milliseconds."""
    total, found = 1_767_268_740_123, array("d")
    for item in grown:
        total += item
        found.append(total / scale)
    return found


@given(st.lists(odd, max_size=6) | counts.map(lambda grown: list(rising(grown, scale=1000))))
def test_whatever_goes_in_comes_out(numbers: list[float]) -> None:
    """Sums of seconds, falling counters and the largest numbers, too: those stay as they are."""
    assert plain(packed(array("d", numbers))) == numbers


def test_scrapes_and_beats_take_a_byte_or_two() -> None:
    """Sixty thousand counters of an hour would not fit otherwise."""
    for grown, code in (([15] * 260, "B"), ([15_000] * 260, "H")):
        found = packed(rising(grown, scale=1000))
        assert isinstance(found, Packed)
        assert found.steps.typecode == code


@given(counts, st.sampled_from([1, 1000]), st.data())
def test_a_splice_is_that_of_the_plain_numbers(grown: list[int], scale: int, data: st.DataObject) -> None:
    """Or none at all, where they cannot be packed so."""
    old = rising(grown, scale=scale)
    found = packed(old)
    if not isinstance(found, Packed):
        return
    end = data.draw(st.integers(1, len(old)))
    begin = data.draw(st.integers(0, end - 1))
    steps = data.draw(st.lists(st.integers(-1, 300) | st.just(65_536), min_size=1, max_size=4))
    new = [old[end - 1] + sum(steps[: count + 1]) / scale for count in range(len(steps))]
    new = data.draw(st.sampled_from([new, [*new, old[-1] + 0.0001]]))
    spliced = found.spliced(begin, end, new)
    if spliced is not None:
        assert plain(spliced) == [*old[begin:end], *new]
        assert (spliced.first / scale, spliced.last / scale) == (old[begin], new[-1])


def test_a_counter_that_begins_anew_or_leaps_is_put_together_another_way() -> None:
    """A step of less than nothing fits into no byte, one that is too long neither."""
    found = packed(array("d", [1.0, 2.0, 3.0]))
    assert isinstance(found, Packed)
    assert [found.spliced(0, 3, [new]) for new in (0.0, 3.5, 259.0)] == [None, None, None]
    assert plain(found.spliced(0, 3, [258.0]) or array("d")) == [1.0, 2.0, 3.0, 258.0]


@given(counts, st.sampled_from([1, 1000]), st.integers(-2, 14), st.sampled_from([-0.5, 0.0, 0.5]))
def test_counting_up_to_a_number_is_that_of_the_plain_ones(
    grown: list[int], scale: int, nearest: int, apart: float
) -> None:
    """From whichever end, with equal ones among them."""
    plain_ones = rising(grown, scale=scale)
    found = packed(plain_ones)
    if isinstance(found, Packed):
        number = plain_ones[max(0, min(nearest, len(plain_ones) - 1))] + apart
        assert found.count_until(number) == bisect_right(plain_ones, number)
