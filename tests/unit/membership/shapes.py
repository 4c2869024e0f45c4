"""Slots, pods and views, with as little to say as a test needs; moments are seconds after `START`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.membership.values import (
    ContainerEnd,
    Deletion,
    GroupProtocol,
    Promise,
    Slot,
    SlotPod,
    SlotPool,
    SlotRecord,
    View,
)

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG_AGO_S: Final = -3600.0
SESSION_S: Final = 45.0


def at(seconds: float) -> datetime:
    """Return a moment."""
    return START + timedelta(seconds=seconds)


def pool(size: int = 2, protocol: GroupProtocol = GroupProtocol.CLASSIC) -> SlotPool:
    """Return a pool."""
    return SlotPool(size, protocol, timedelta(seconds=SESSION_S))


def kip848(size: int = 2) -> SlotPool:
    """Return a pool of a group that speaks KIP-848."""
    return pool(size, GroupProtocol.CONSUMER)


def held(number: int, holder: str, *, since_s: float = LONG_AGO_S, promised: str = "", promised_s: float = 0) -> Slot:
    """Return a slot with a holder."""
    promise = Promise(promised, at(promised_s)) if promised else None
    return Slot(number, f"v{number}", SlotRecord(since=at(since_s), holder=holder, promise=promise))


def free(number: int, *, former: str = "", since_s: float = LONG_AGO_S) -> Slot:
    """Return a slot that is free."""
    return Slot(number, f"v{number}", SlotRecord(since=at(since_s), former=former))


def resting(number: int, until_s: float, *, former: str = "gone", promised: str = "") -> Slot:
    """Return a slot that rests."""
    promise = Promise(promised, at(0)) if promised else None
    record = SlotRecord(since=at(LONG_AGO_S), promise=promise, rests_until=at(until_s), former=former)
    return Slot(number, f"v{number}", record)


def edited(number: int) -> Slot:
    """Return a slot that somebody else wrote."""
    return Slot(number, f"v{number}", None)


def pod(
    token: str,
    slot: int | None,
    *,
    created_s: float = LONG_AGO_S,
    deleted_s: float | None = None,
    grace_s: float = 30,
    exit_code: int | None = None,
    ran_s: float = 600,
    **sides: Any,
) -> SlotPod:
    """Return a pod.

    Args:
        token: of its claim.
        slot: whose id it has.
        created_s: when it was stored.
        deleted_s: when its deletion was asked for.
        grace_s: what it was given to end.
        exit_code: of its container, if that has ended.
        ran_s: for how long that had run.
        sides: other fields.
    """
    grace, gated = timedelta(seconds=grace_s), sides.get("gated", False)
    deletion = None if deleted_s is None else Deletion(at(deleted_s) + grace, grace)
    end = None if exit_code is None else ContainerEnd(exit_code, timedelta(seconds=ran_s))
    named: dict[str, Any] = {"name": f"pod-{token}", "uid": f"uid-{token}", "version": "1", "bound": not gated}
    return SlotPod(token=token, slot=slot, created_at=at(created_s), deletion=deletion, end=end, **(named | sides))


def view(slots: Sequence[Slot] = (), pods: Sequence[SlotPod] = (), *, as_of_s: float = 0) -> View:
    """Return what a replica knows."""
    return View(slots, pods, at(as_of_s))
