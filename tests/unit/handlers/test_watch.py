"""The watch that feeds the store."""

import inspect

from heartbeat_tuner.handlers import registry_for
from heartbeat_tuner.reconcile.policy_store import PolicyStore


async def nothing() -> None:
    """Await nothing."""


def test_the_store_is_fed_in_the_event_loop() -> None:
    """Kopf runs plain functions in threads, where they would change the store under those who walk through it."""
    handlers = list(registry_for(PolicyStore(), nothing)._watching.get_all_handlers())
    assert len(handlers) == 1
    assert all(inspect.iscoroutinefunction(handler.fn) for handler in handlers)
