"""Who has which static id: what a policy's status shows of its slots.

The operator only looks: the webhook gives slots, in Leases, and is not asked. One look serves all policies of a cycle,
and there is none while no policy gives ids.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import LENDING_KINDS, SlotPlace
from heartbeat_tuner.api.v1alpha1.slots_v1alpha1 import MAX_GATED, MAX_SLOTS, GatedPod, SlotsStatus, SlotStatus
from heartbeat_tuner.domain.errors import ApiServerError, TunerError
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.membership.limits import crowded
from heartbeat_tuner.membership.status import Occupancy, State, occupancy
from heartbeat_tuner.membership.values import GroupProtocol, SlotPod, SlotPool, View
from heartbeat_tuner.ports.static_slots import SlotViews
from heartbeat_tuner.reconcile.status.troubles import Troubles

_HELD: Final = frozenset({State.HELD, State.TERMINATING})

_NOTHING: Final = View((), (), datetime.min.replace(tzinfo=UTC))

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class Occupied:
    """What there is to say of a policy's slots.

    Attributes:
        slots: for its status; None where it gives no ids.
    """

    slots: SlotsStatus | None


_NONE: Final = Occupied(None)


async def read(
    source: SlotViews,
    policies: Sequence[Policy],
    workloads: Mapping[ObjectKey, object],
    troubles: Troubles,
    *,
    of_keys: Collection[ObjectKey],
) -> dict[ObjectKey, Occupied]:
    """Return what is to be said of policies' slots; nothing of those about which it is not known now.

    Args:
        source: of the slots.
        policies: all there are: the source holds the slots of those that lend ids.
        workloads: of them, as far as they could be read.
        troubles: takes what went wrong with one of them.
        of_keys: the policies of which it is to be said.
    """
    giving = [policy for policy in policies if _lends(policy)]
    shown = [policy for policy in giving if policy.key in of_keys]
    occupied = {policy.key: _NONE for policy in policies if policy.key in of_keys and not _lends(policy)}
    if not shown:
        return occupied
    try:
        views = await source.read([slot_names.place_of(policy.uid, policy.workload.key) for policy in giving])
    except ApiServerError as error:
        _log.warning("slots not read, the next cycle tries again", error=str(error))
        return occupied
    except Exception:  # noqa: BLE001 - a Lease that surprises us must not end the cycle
        _log.exception("surprise in slots")
        return occupied
    for policy in shown:
        await asyncio.sleep(0)  # to look through the pods of all of them takes a while, and probes must be answered
        if crowded(views.get(slot_names.place_of(policy.uid, policy.workload.key), _NOTHING)):
            troubles.add("slots not shown", policy.key, TunerError("too many pods or Leases have their ids"))
            continue
        try:
            occupied[policy.key] = _occupied(views, policy, workloads.get(policy.key))
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            troubles.add("surprise in a policy's slots", policy.key, error)
    return occupied


def _occupied(views: Mapping[SlotPlace, View], policy: Policy, workload: object) -> Occupied:
    place = slot_names.place_of(policy.uid, policy.workload.key)
    size = workload.most_pods if isinstance(workload, Workload) else None
    return Occupied(None if place not in views and size is None else shown(views, place, size))


def _lends(policy: Policy) -> bool:
    """Whether ids are lent as slots; the pods of a StatefulSet have their own."""
    return policy.instance_id_env is not None and policy.workload.kind in LENDING_KINDS


def shown(views: Mapping[SlotPlace, View], place: SlotPlace, size: int | None) -> SlotsStatus:
    """Return what a status says of the slots at a place.

    Args:
        views: of all places.
        place: whose slots.
        size: how many there are to give; None where that is not known.
    """
    view = views.get(place, _NOTHING)
    # Which protocol it is, and how long a session, decides when a slot may be given, and nothing of what is shown.
    slots = occupancy(view, SlotPool(size or 0, GroupProtocol.CONSUMER, timedelta(0)))
    states = Counter(slot.state for slot in slots)
    held, free = sum(states[state] for state in _HELD), states[State.FREE]
    waiting = sorted(
        (pod for pod in view.pods if pod.gated and not pod.is_over), key=lambda pod: (pod.created_at, pod.name)
    )
    return SlotsStatus(
        size=size,
        held=held,
        free=free,
        unsettled=len(slots) - held - free,
        gated=len(waiting),
        first=[_slot(slot, place) for slot in slots[:MAX_SLOTS]],
        gated_pods=[_gated(slot_pod, place) for slot_pod in waiting[:MAX_GATED]],
    )


def _slot(slot: Occupancy, place: SlotPlace) -> SlotStatus:
    return SlotStatus(
        id=place.id_of(slot.number),
        state=slot.state.value,
        pod=slot.holder or None,
        since=None if slot.since is None else _timestamp(slot.since),
        waiting=slot.waiting or None,
    )


def _gated(pod: SlotPod, place: SlotPlace) -> GatedPod:
    return GatedPod(
        pod=pod.name, id=None if pod.slot is None else place.id_of(pod.slot), since=_timestamp(pod.created_at)
    )


def _timestamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
