"""What the garbage collector of the operator's process looks through."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from heartbeat_tuner.reconcile.liveness.garbage_collection import FILLING, THRESHOLDS, Collector, slow_down
from tests.support.electors import until


class Ring:
    """Something that holds itself: only the collector finds it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Leave the collector of the other tests as it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    gc.collect()
    gc.freeze()  # as the ring began: what was collected stays


def is_looked_through(thing: object) -> bool:
    """Whether a full collection walks through an object."""
    return any(found is thing for found in gc.get_objects())


async def test_what_is_there_is_not_looked_through_until_the_leadership_ends() -> None:
    """Hundreds of thousands of objects that live as long as it does; what comes after the first cycles does not."""
    collector, memory = Collector(), list[Ring]()
    for _ in range(2):
        for _ in range(FILLING):
            memory.append(Ring())
            collector.looked()
            assert not any(map(is_looked_through, memory))
        later = Ring()
        collector.looked()
        assert is_looked_through(later)
        collector.forgot()
        assert all(map(is_looked_through, memory))


async def test_what_a_leadership_leaves_goes_soon_after_it() -> None:
    """Set aside or not: a follower makes so little that no collection would come by itself for days."""
    collector, memory = Collector(let_go_s=0.01), [Ring()]
    collector.looked()
    memory.append(Ring())
    gone = [weakref.ref(ring) for ring in memory]
    memory.clear()
    collector.forgot()
    await until(lambda: [ring() for ring in gone] == [None, None])


def test_garbage_is_not_set_aside() -> None:
    """It would stay as long as the leadership."""
    ring = Ring()
    gone = weakref.ref(ring)
    gc.disable()
    try:
        del ring
        Collector().looked()
    finally:
        gc.enable()
    assert gone() is None


def test_it_works_less_often() -> None:
    """Than Python has it by itself, in which each look at ten thousand policies brought a full collection."""
    slow_down()
    youngest, older, full = gc.get_threshold()
    assert (youngest > 10 * 700, youngest * older > 5 * 700 * 10) == (True, True)
    assert youngest * older * full > 100 * 700 * 10 * 10


async def test_there_is_no_full_collection_while_the_memory_fills() -> None:
    """It would find nothing, and hold probes up for longer each time; after that there are some again."""
    collector = Collector()
    collector.began()
    before = gc.get_stats()[2]["collections"]
    memory = [[Ring()] for _ in range(300_000)]  # by Python's own thresholds there are several among these
    assert gc.get_stats()[2]["collections"] == before
    del memory
    filling = gc.get_threshold()
    for _ in range(FILLING - 1):
        collector.looked()
        assert gc.get_threshold() == filling
    collector.looked()
    assert gc.get_threshold() == THRESHOLDS
    collector.began()
    collector.forgot()
    assert gc.get_threshold() == THRESHOLDS
