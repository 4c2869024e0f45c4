"""Looks after slots and gated pods between admissions, in every replica.

What the rules say is written, and what came second is refused by the API server and looked at again. Places at which
nothing moves cost nothing. A gated pod that no policy stands for any more is replaced: its id may be in use, and its
successor starts without one.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Coroutine
from datetime import timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, TunerError, WriteConflictError
from heartbeat_tuner.membership.lifting import lift
from heartbeat_tuner.membership.settling import settle
from heartbeat_tuner.membership.status import Occupancy, State, occupancy
from heartbeat_tuner.membership.values import Lift, Pod, Pool, Remove, View, Write
from heartbeat_tuner.ports import Clock, SlotPods, Slots, WorkloadSizes
from heartbeat_tuner.webhook.enrolment import Enrolment
from heartbeat_tuner.webhook.telemetry import WebhookTelemetry

TURN_S: Final = 2.0
"""Between two looks at what waits for time to pass."""

NEWS_PAUSE_S: Final = 0.05
"""Between two looks at what changed: the changes of one pod come in bursts, and those of a rollout do not end."""

BLIND_PAUSE_S: Final = 0.2
"""Until there is a view to look at: after a start no gate is added before the first good turn."""

PATIENCE_S: Final = 15.0
"""Without a good turn for so long nobody may count on gates being lifted."""

LIST_AGE: Final = timedelta(seconds=20)
"""While something waits for certainty, lists are at most this old."""

RIGHTS_AGE_S: Final = 300.0

_SETTLED: Final = frozenset({State.HELD, State.FREE})

_log = structlog.get_logger()


class Touched:
    """Places at which something changed."""

    def __init__(self) -> None:
        self._places: set[SlotPlace] = set()
        self._news = asyncio.Event()

    def note(self, place: SlotPlace) -> None:
        """Note that something changed at a place."""
        self._places.add(place)
        self._news.set()

    def take(self) -> set[SlotPlace]:
        """Return what was noted, and forget it."""
        places, self._places = self._places, set()
        self._news.clear()
        return places

    async def wait(self, longest_s: float) -> None:
        """Wait until something is noted, or for a while."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), longest_s)


class Tender:
    """Looks after all places.

    Args:
        enrolments: of all policies, the younger of two and suspended ones too: what they gave is still out; None while
            they are not known.
        slots: what there is.
        pods: those that wait.
        sizes: how much may be given.
        clock: for the records.
        touched: where to look, besides where something waits.
        telemetry: counts.
    """

    def __init__(
        self,
        enrolments: Callable[[], Collection[Enrolment] | None],
        slots: Slots,
        pods: SlotPods,
        sizes: WorkloadSizes,
        clock: Clock,
        touched: Touched,
        telemetry: WebhookTelemetry,
    ) -> None:
        self._enrolments = enrolments
        self._slots = slots
        self._pods = pods
        self._sizes = sizes
        self._clock = clock
        self._telemetry = telemetry
        self._touched = touched
        self._restless: set[SlotPlace] = set()
        self._well_until_s = 0.0
        self._rights_until_s = 0.0

    @property
    def lifts(self) -> bool:
        """Whether a gate that is added now is sure to be lifted: turns are made, and the rights are there."""
        return time.monotonic() < self._well_until_s

    async def run(self) -> None:
        """Look until cancelled."""
        due_s = 0.0
        while True:
            await self._touched.wait(max(due_s - time.monotonic(), 0.0))
            is_due = time.monotonic() >= due_s
            well = await self.turn(news_only=not is_due)
            if is_due and well:
                due_s = time.monotonic() + TURN_S
            # Out of touch, what was noted stays noted, and would wake us at once.
            await asyncio.sleep(NEWS_PAUSE_S if well else BLIND_PAUSE_S)

    async def turn(self, *, news_only: bool = False) -> bool:
        """Look once at the places at which something moves; return whether there was a view to look at.

        Args:
            news_only: look only where something changed, and not where something waits.
        """
        as_of, enrolments = self._slots.as_of, self._enrolments()
        if as_of is None or enrolments is None:
            return False
        looked_at = self._touched.take() | (set() if news_only else self._restless)
        self._restless -= looked_at
        namespaces = {place.namespace for place in looked_at}
        places = {one.slots: one for one in enrolments if one.workload.namespace in namespaces}
        try:
            if looked_at and self._clock.now() - as_of > LIST_AGE:
                await self._slots.refresh()
            for place in looked_at & places.keys():
                await self._within(place, self._tend(places[place]))
            if not news_only:
                await self._replace_those_without_a_policy(enrolments)
            if time.monotonic() >= self._rights_until_s and await self._pods.may_lift():
                self._rights_until_s = time.monotonic() + RIGHTS_AGE_S
        except TunerError as error:
            self._restless |= looked_at
            _log.warning("slots not looked after", error=str(error))
            return True
        if time.monotonic() < self._rights_until_s:
            self._well_until_s = time.monotonic() + PATIENCE_S
        return True

    async def _replace_those_without_a_policy(self, enrolments: Collection[Enrolment]) -> None:
        waiting = self._pods.gated()
        if not waiting:
            return
        for place in waiting.keys() - {one.slots for one in enrolments}:
            for pod in waiting[place]:
                await self._within(place, self._replace(place, pod, "its policy gives no ids any more"))

    async def _within(self, place: SlotPlace, work: Coroutine[Any, Any, None]) -> None:
        """Do what concerns one place; what fails there costs no other place, nor what else is to be done there.

        An answer that is an error of a server may be of one place, too: another webhook of its namespace that is down.

        Raises:
            ApiServerError: the API server did not answer: then no other place has a chance either.
        """
        try:
            await work
        except WriteConflictError:
            self._restless.add(place)
        except ApiServerError as error:
            if error.status is None:
                raise
            self._restless.add(place)
            _log.warning("place not looked after", namespace=place.namespace, slots=place.prefix, error=str(error))
        except Exception:  # noqa: BLE001 - what stands in one tenant's objects must not end the work for all others
            self._restless.add(place)
            _log.exception("surprise at a place", namespace=place.namespace, slots=place.prefix)

    async def _tend(self, one: Enrolment) -> None:
        place, view = one.slots, self._view(one.slots)
        if not view.slots and not view.pods:
            return  # all policies are noted when they are first seen, and most have nothing to look after
        pool = one.pool(await self._sizes.size(one.workload))
        for step in settle(self._view(place), pool, now=self._clock.now()):
            await self._within(place, self._settle(one, step))
        view = self._view(place)
        if any(_moves(slot, pool) for slot in occupancy(view, pool)) or any(pod.gated for pod in view.pods):
            self._restless.add(place)
        for todo in lift(view, pool, now=self._clock.now()):
            if isinstance(todo, Lift):
                await self._within(place, self._lift(place, todo.pod))
            else:
                await self._within(place, self._replace(place, todo.pod, todo.reason.value))

    async def _settle(self, one: Enrolment, step: Write | Remove) -> None:
        place = one.slots
        try:
            if isinstance(step, Write):
                await self._slots.write(place, Owner(one.policy.name, one.policy_uid), step)
            else:
                await self._slots.remove(place, step)
        except WriteConflictError:
            self._restless.add(place)
            await self._slots.look(place, step.number)

    async def _lift(self, place: SlotPlace, pod: Pod) -> None:
        await self._pods.lift(place, pod)
        self._telemetry.pod_lifted()

    async def _replace(self, place: SlotPlace, pod: Pod, why: str) -> None:
        _log.info("pod is replaced", pod=pod.name, namespace=place.namespace, why=why)
        await self._pods.evict(place, pod)
        self._telemetry.pod_replaced()

    def _view(self, place: SlotPlace) -> View:
        as_of = self._slots.as_of
        if as_of is None:
            raise ApiServerError("pods and slots are not kept up to date at the moment")
        return View(self._slots.leases(place), self._slots.pods(place), as_of)


def _moves(slot: Occupancy, pool: Pool) -> bool:
    """Whether a slot changes as time passes; a free one beyond the pool is given up."""
    return slot.state not in _SETTLED or (slot.state is State.FREE and slot.number >= pool.size)
