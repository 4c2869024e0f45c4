"""What is large is done beside the event loop, and no namespace waits for another's queue."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from heartbeat_tuner.webhook.admission.tenant_work import SMALL, TenantWork
from tests.support.electors import until

LARGE = SMALL + 1


async def test_what_is_small_is_done_at_once() -> None:
    """In the thread that asks."""
    assert await TenantWork().run("shop", SMALL, threading.current_thread) is threading.current_thread()


async def test_what_is_large_leaves_the_event_loop_free() -> None:
    """Others go on meanwhile; an error comes to who asked."""
    aside, goes_on = TenantWork(), threading.Event()
    slow = asyncio.create_task(aside.run("crowd", LARGE, lambda: goes_on.wait(timeout=10)))
    await asyncio.sleep(0)
    goes_on.set()  # by the event loop, which is not held up
    assert await slow
    with pytest.raises(ZeroDivisionError):
        await aside.run("crowd", LARGE, lambda: 1 / 0)
    aside.close()


async def test_each_namespace_has_its_turn() -> None:
    """Behind a hundred pieces of one namespace another waits for one; who gave up is passed over."""
    aside, done, goes_on = TenantWork(), [], threading.Event()

    def noting(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    first = asyncio.create_task(aside.run("crowd", LARGE, lambda: goes_on.wait(timeout=10)))
    await asyncio.sleep(0)
    crowd = [asyncio.create_task(aside.run("crowd", LARGE, noting(f"crowd-{index}"))) for index in range(100)]
    await asyncio.sleep(0)
    victim = asyncio.create_task(aside.run("shop", LARGE, noting("shop")))
    await asyncio.sleep(0)
    crowd[0].cancel()
    goes_on.set()
    await asyncio.wait([first, victim, *crowd])
    assert done.index("shop") <= 1
    assert len(done) == 100
    aside.close()


async def test_who_gives_up_as_its_turn_comes_hands_it_on() -> None:
    """Or nobody would ever have a turn again."""
    aside, goes_on = TenantWork(), threading.Event()
    first = asyncio.create_task(aside.run("crowd", LARGE, lambda: goes_on.wait(timeout=10)))
    await asyncio.sleep(0)
    second = asyncio.create_task(aside.run("crowd", LARGE, lambda: None))
    await asyncio.sleep(0)
    first.add_done_callback(lambda _: second.cancel())
    goes_on.set()
    await until(second.done)
    assert await asyncio.wait_for(aside.run("shop", LARGE, lambda: "done"), 5) == "done"
    aside.close()
