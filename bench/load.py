"""Requests at a steady rate, whether or not the answers keep up, and what became of them."""

import asyncio
import dataclasses
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

EMPTY_PATH: Final = "/empty"

Send = Callable[[int], Awaitable[None]]
"""Sends the request of this number and awaits its answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """One request; all in seconds of the loop's clock.

    Attributes:
        due: when it should have been sent.
        sent: when it was.
        done: when its answer was there.
    """

    due: float
    sent: float
    done: float


@dataclasses.dataclass(frozen=True)
class Figures:
    """What many requests took, counted from when each was due: who sends late, as after a pause, hides nothing.

    Attributes:
        count: of requests.
        per_s: answers a second while requests were sent.
        p50_ms: half took no longer.
        p99_ms: 99 of 100 took no longer.
        max_ms: the slowest.
        late_p99_ms: how late 99 of 100 at most were sent: the share of the sender and of the machine.
    """

    count: int
    per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    late_p99_ms: float


def figures(blocks: Sequence[Sequence[Sample]]) -> Figures:
    """Return what blocks of requests amount to; each block was sent without a pause."""
    samples = [sample for block in blocks for sample in block]
    took = [sample.done - sample.due for sample in samples]
    offered_s = sum(max(sample.done for sample in block) - block[0].due for block in blocks)
    return Figures(
        count=len(samples),
        per_s=round(len(samples) / offered_s, 1),
        p50_ms=_ms(quantile(took, 0.5)),
        p99_ms=_ms(quantile(took, 0.99)),
        max_ms=_ms(max(took)),
        late_p99_ms=_ms(quantile([sample.sent - sample.due for sample in samples], 0.99)),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least of the values that so large a share of them does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


async def offer(send: Send, numbers: range, *, per_s: float) -> list[Sample]:
    """Send requests at moments that were fixed before, however long the answers take."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def request(number: int, due: float) -> Sample:
        sent = loop.time()
        await send(number)
        return Sample(due, sent, loop.time())

    under_way = []
    for turn, number in enumerate(numbers):
        due = began + turn / per_s
        await asyncio.sleep(due - loop.time())
        under_way.append(asyncio.create_task(request(number, due)))
    return await asyncio.gather(*under_way)


async def in_turn(
    sides: Mapping[str, Send], *, per_s: float, seconds: float, block_s: float
) -> dict[str, list[list[Sample]]]:
    """Offer each side so many seconds, in blocks that take turns: what else the machine does meets all of them."""
    found: dict[str, list[list[Sample]]] = {name: [] for name in sides}
    size = max(round(per_s * min(block_s, seconds)), 1)
    for block in range(max(round(seconds / block_s), 1)):
        for name, send in sides.items():
            numbers = range(block * size, (block + 1) * size)
            found[name].append(await offer(send, numbers, per_s=per_s))
    return found


async def flat_out(send: Send, *, at_a_time: int, seconds: float) -> float:
    """Return how many answers a second there are where each is followed by the next request."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def worker(number: int) -> int:
        count = 0
        while loop.time() < began + seconds:
            await send(number + count * at_a_time)
            count += 1
        return count

    counts = await asyncio.gather(*(worker(number) for number in range(at_a_time)))
    return sum(counts) / (loop.time() - began)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
