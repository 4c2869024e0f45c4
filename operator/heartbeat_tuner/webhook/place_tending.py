"""What is done at one place of static ids: its slots are settled, gates lifted, and pods replaced.

What the rules say is written, and what came second is refused by the API server and looked at again. What fails at one
place costs no other.
"""

import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.membership.lifting import lift
from heartbeat_tuner.membership.limits import MOST_PODS, crowded
from heartbeat_tuner.membership.settling import settle
from heartbeat_tuner.membership.status import waits
from heartbeat_tuner.membership.values import Lift, Remove, SlotPod, View, Write
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadSizes
from heartbeat_tuner.ports.static_slots import SlotPods, Slots
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.webhook.admission.enrolment import Enrolment
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from heartbeat_tuner.webhook.rests import Rests
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry

Result = TypeVar("Result")

_log = structlog.get_logger()


class PlaceTending:
    """Looks after one place at a time.

    Args:
        slots: what there is.
        pods: those that wait.
        sizes: how much may be given.
        clock: for the records.
        telemetry: counts.
        aside: for what takes long.
        rests: takes note of how long each namespace took.

    Attributes:
        restless: places at which something waits, or went wrong: they are looked at again.
    """

    def __init__(
        self,
        slots: Slots,
        pods: SlotPods,
        sizes: WorkloadSizes,
        clock: Clock,
        telemetry: WebhookTelemetry,
        aside: TenantWork,
        rests: Rests,
    ) -> None:
        self._slots = slots
        self._pods = pods
        self._sizes = sizes
        self._clock = clock
        self._telemetry = telemetry
        self._aside = aside
        self._rests = rests
        self.restless: set[SlotPlace] = set()

    async def tend(self, enrolment: Enrolment, *, until_s: float) -> None:
        """Settle the slots of a place and lift gates, up to a time of the monotonic clock.

        Raises:
            ApiServerError: the API server did not answer.
        """
        await self._within(enrolment.slots, self._tend(enrolment, until_s=until_s))

    async def replace_stranded(self, place: SlotPlace, pod: SlotPod) -> None:
        """Replace a gated pod for which no policy stands any more.

        Raises:
            ApiServerError: the API server did not answer.
        """
        await self._within(place, self._replace(place, pod, "its policy gives no ids any more"))

    async def _within(self, place: SlotPlace, work: Coroutine[Any, Any, None]) -> None:
        """Do what concerns one place; what fails there costs no other place, nor what else is to be done there.

        An answer that is an error of a server may be of one place, too: another webhook of its namespace that is down.

        Raises:
            ApiServerError: the API server did not answer: then no other place of the namespace has a chance either.
        """
        try:
            await work
        except WriteConflictError:
            self.restless.add(place)
        except ApiServerError as error:
            if error.status is None:
                raise
            self.restless.add(place)
            _log.warning("place not looked after", namespace=place.namespace, slots=place.prefix, error=str(error))
        except Exception:  # noqa: BLE001 - what stands in one tenant's objects must not end the work for all others
            self.restless.add(place)
            _log.exception("surprise at a place", namespace=place.namespace, slots=place.prefix)

    async def _tend(self, enrolment: Enrolment, *, until_s: float) -> None:
        place, view = enrolment.slots, self._view(enrolment.slots)
        if not view.slots and not view.pods:
            return  # all policies are noted when they are first seen, and most have nothing to look after
        if crowded(view):
            self.restless.add(place)
            why = f"more than {MOST_PODS} pods or Leases have its ids; delete those that were made by hand"
            _log.warning("place left alone", namespace=place.namespace, slots=place.prefix, why=why)
            return
        pool = enrolment.pool(await self._sizes.size(enrolment.kind, enrolment.workload))
        view = self._view(place)
        now = self._clock.now()
        for step in await self._found(place, view, functools.partial(settle, view, pool, now=now)):
            if self._is_over(place, until_s):
                return
            await self._within(place, self._settle(enrolment, step))
        view = self._view(place)
        if await self._found(place, view, functools.partial(waits, view, pool)):
            self.restless.add(place)
        now = self._clock.now()
        for todo in await self._found(place, view, functools.partial(lift, view, pool, now=now)):
            if self._is_over(place, until_s):
                return
            if isinstance(todo, Lift):
                await self._within(place, self._lift(place, todo.pod))
            else:
                await self._within(place, self._replace(place, todo.pod, todo.reason.value))

    def _is_over(self, place: SlotPlace, until_s: float) -> bool:
        """Whether a namespace's time is over; then the rest of a place is left to the next turn."""
        if time.monotonic() < until_s:
            return False
        self.restless.add(place)
        return True

    async def _found(self, place: SlotPlace, view: View, work: Callable[[], Result]) -> Result:
        """Return what a rule finds at a place, and take note of what that took of a core.

        A machine that is busy otherwise has no namespace rest.
        """

        def timed() -> tuple[Result, float]:
            began_s = time.thread_time()
            return work(), time.thread_time() - began_s

        result, spent_s = await self._aside.run(place.namespace, len(view.pods) + len(view.slots), timed)
        self._rests.spend(place.namespace, spent_s)
        return result

    async def _settle(self, enrolment: Enrolment, step: Write | Remove) -> None:
        place = enrolment.slots
        try:
            if isinstance(step, Write):
                await self._slots.write(place, Owner(enrolment.policy.name, enrolment.policy_uid), step)
            else:
                await self._slots.remove(place, step)
        except WriteConflictError:
            self.restless.add(place)
            await self._slots.look(place, step.number)

    async def _lift(self, place: SlotPlace, pod: SlotPod) -> None:
        await self._pods.lift(place, pod)
        self._telemetry.pod_lifted()

    async def _replace(self, place: SlotPlace, pod: SlotPod, why: str) -> None:
        _log.info("pod is replaced", pod=pod.name, namespace=place.namespace, why=why)
        await self._pods.evict(place, pod)
        self._telemetry.pod_replaced()

    def _view(self, place: SlotPlace) -> View:
        as_of = self._slots.as_of
        if as_of is None:
            raise ApiServerError("pods and slots are not kept up to date at the moment")
        return View(self._slots.leases(place), self._slots.pods(place), as_of)
