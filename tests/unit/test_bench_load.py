"""Load at a steady rate, and the arithmetic of what it took."""

import asyncio
import itertools

import pytest

from bench import admission, load
from bench.load import Sample


def test_figures_count_from_when_a_request_was_due() -> None:
    """Who is sent late, as behind a pause of the sender, is late; blocks are offered apart."""
    block = [Sample(due=number / 10, sent=number / 10 + 0.001, done=number / 10 + 0.005) for number in range(99)]
    slow = Sample(due=9.9, sent=10.0, done=10.1)
    found = load.figures([[*block, slow], [Sample(due=100.0, sent=100.0, done=100.1)]])
    assert (found.count, found.p50_ms, found.p99_ms, found.max_ms, found.late_p99_ms) == (101, 5.0, 100.0, 200.0, 1.0)
    assert found.per_s == pytest.approx(101 / 10.2, abs=0.1)


def test_a_quantile_is_one_of_the_values() -> None:
    """The least that so many do not exceed."""
    values = [float(number) for number in range(100, 0, -1)]
    assert [load.quantile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 50.0, 99.0, 100.0]
    assert load.quantile([7.0], 0.5) == 7.0


async def test_requests_do_not_wait_for_answers() -> None:
    """All are under way before the first is answered; sides take turns, each with numbers of its own."""
    under_way, answered = 0, asyncio.Event()

    async def send(_number: int) -> None:
        nonlocal under_way
        under_way += 1
        if under_way == 5:
            answered.set()
        await answered.wait()

    assert len(await load.offer(send, range(5), per_s=500)) == 5
    asked: list[tuple[str, int]] = []

    async def left(number: int) -> None:
        asked.append(("left", number))

    async def right(number: int) -> None:
        asked.append(("right", number))

    found = await load.in_turn({"left": left, "right": right}, per_s=500, seconds=0.012, block_s=0.004)
    assert [len(block) for block in found["left"]] == [2, 2, 2]
    sides = itertools.cycle(["left", "right"])
    blocks = [(next(sides), block) for block in (0, 0, 1, 1, 2, 2)]
    assert asked == [(side, 2 * block + number) for side, block in blocks for number in range(2)]


async def test_flat_out_each_answer_is_followed_by_a_request() -> None:
    """So many at a time, and no number twice."""
    numbers: list[int] = []

    async def send(number: int) -> None:
        numbers.append(number)
        await asyncio.sleep(0.001)

    assert await load.flat_out(send, at_a_time=2, seconds=0.02) > 0
    assert len(set(numbers)) == len(numbers)


def test_a_histogram_says_at_most() -> None:
    """The least bound under which so large a share lies."""
    within = {"0.005": 90, "0.1": 99, "+Inf": 100}
    assert admission._at_most_ms(within, 0.9) == 5.0
    assert admission._at_most_ms(within, 0.99) == 100.0
