"""What the garbage collector of the operator's process looks through."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from heartbeat_tuner.reconcile.collecting import Collector


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


def is_looked_through(thing: object) -> bool:
    """Whether a full collection walks through an object."""
    return any(found is thing for found in gc.get_objects())


def test_what_is_there_is_not_looked_through_until_the_leadership_ends() -> None:
    """Hundreds of thousands of objects that live as long as it does; what comes later is another matter."""
    collector, memory = Collector(), [Ring()]
    for _ in range(2):
        collector.looked()
        later = [Ring()]
        for _ in range(2):
            assert (is_looked_through(memory), is_looked_through(later)) == (False, True)
            collector.looked()
        collector.forgot()
        assert is_looked_through(memory)


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
    Collector().looked()
    assert all(now > usual for now, usual in zip(gc.get_threshold(), (700, 10, 10), strict=True))
