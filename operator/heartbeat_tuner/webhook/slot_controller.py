"""Looks after slots and gated pods between admissions, in every replica: where, when, and for how long.

Places at which nothing moves cost nothing; what is done at the others says `place_tending`. A gated pod that no policy
stands for any more is replaced: its id may be in use, and its successor starts without one.
"""

import asyncio
import collections
import dataclasses
import time
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Final

import structlog

from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.membership.values import SlotPod
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadSizes
from heartbeat_tuner.ports.static_slots import SlotPods, Slots
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.webhook.admission.enrolment import Enrolment
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from heartbeat_tuner.webhook.place_tending import PlaceTending
from heartbeat_tuner.webhook.rests import Rests
from heartbeat_tuner.webhook.touched import Touched
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry

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

NAMESPACE_S: Final = 2.0
"""For so long one namespace is looked after in a turn; some hundred writes."""

AT_ONCE: Final = 16
"""Namespaces that are looked after side by side."""

SHOWN: Final = 5
"""Namespaces that a message names."""

_log = structlog.get_logger()


@dataclasses.dataclass(slots=True)
class _Tasks:
    """What is to be done in one namespace: places to look at, and pods that wait though no policy stands for them."""

    places: list[Enrolment] = dataclasses.field(default_factory=list)
    stranded: list[tuple[SlotPlace, SlotPod]] = dataclasses.field(default_factory=list)


class SlotController:
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
        aside: for what takes long.

    Attributes:
        namespace_s: for so long one namespace is looked after in a turn.
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
        aside: TenantWork,
    ) -> None:
        self._enrolments = enrolments
        self._slots = slots
        self._pods = pods
        self._clock = clock
        self._telemetry = telemetry
        self._touched = touched
        self.namespace_s = NAMESPACE_S
        self._busy: dict[str, asyncio.Task[bool]] = {}
        self._rests = Rests()
        self._places = PlaceTending(slots, pods, sizes, clock, telemetry, aside, self._rests)
        self._well_until_s = 0.0
        self._rights_until_s = 0.0

    @property
    def lifts(self) -> bool:
        """Whether a gate that is added now is sure to be lifted: turns are made, and the rights are there."""
        return time.monotonic() < self._well_until_s

    async def run(self) -> None:
        """Look until cancelled."""
        due_s = 0.0
        try:
            while True:
                await self._touched.wait(max(due_s - time.monotonic(), 0.0))
                is_due = time.monotonic() >= due_s
                well = await self.turn(news_only=not is_due)
                if is_due and well:
                    due_s = time.monotonic() + TURN_S
                # Out of touch, what was noted stays noted, and would wake us at once.
                await asyncio.sleep(NEWS_PAUSE_S if well else BLIND_PAUSE_S)
        finally:
            for task in self._busy.values():
                task.cancel()

    async def turn(self, *, news_only: bool = False) -> bool:
        """Look once at the places at which something moves; return whether there was a view to look at.

        Namespaces are looked after side by side, each for `namespace_s`: what one of them holds up, by the number of
        its objects or by what stands before its writes, delays no other. What was not reached comes in a later turn.

        Args:
            news_only: look only where something changed, and not where something waits.
        """
        as_of, enrolments = self._slots.as_of, self._enrolments()
        if as_of is None or enrolments is None:
            return False
        looked_at = self._touched.take() | (set() if news_only else self._places.restless)
        self._places.restless -= looked_at
        try:
            if looked_at and self._clock.now() - as_of > LIST_AGE:
                await self._slots.refresh()
            answered = await self._look_after(self._tasks(looked_at, enrolments, news_only=news_only))
            if not answered or time.monotonic() >= self._rights_until_s:
                self._rights_until_s = time.monotonic() + RIGHTS_AGE_S if await self._pods.may_lift() else 0.0
        except TunerError as error:
            self._places.restless |= looked_at
            _log.warning("slots not looked after", error=str(error))
            return True
        if time.monotonic() < self._rights_until_s:
            self._well_until_s = time.monotonic() + PATIENCE_S
        return True

    def _tasks(
        self, looked_at: Collection[SlotPlace], enrolments: Collection[Enrolment], *, news_only: bool
    ) -> Mapping[str, _Tasks]:
        """Return what is to be done in each namespace that is not busy, nor rests."""
        tasks: collections.defaultdict[str, _Tasks] = collections.defaultdict(_Tasks)
        namespaces = {place.namespace for place in looked_at}
        places = {enrolment.slots: enrolment for enrolment in enrolments if enrolment.workload.namespace in namespaces}
        for place in looked_at & places.keys():
            tasks[place.namespace].places.append(places[place])
        waiting = {} if news_only else self._pods.gated()
        for place in waiting.keys() - {enrolment.slots for enrolment in enrolments} if waiting else ():
            tasks[place.namespace].stranded.extend((place, pod) for pod in waiting[place])
        for namespace in tasks.keys() & (self._busy.keys() | self._rests.resting()):
            self._places.restless |= {enrolment.slots for enrolment in tasks.pop(namespace).places}
        return tasks

    async def _look_after(self, tasks: Mapping[str, _Tasks]) -> bool:
        """Look after namespaces; return whether the API server answered in all of them, as far as that is known."""
        at_once = asyncio.Semaphore(AT_ONCE)
        begun = {
            asyncio.create_task(self._look_after_one(namespace, namespace_tasks, at_once), name=namespace)
            for namespace, namespace_tasks in tasks.items()
        }
        if not begun:
            return True
        self._busy |= {task.get_name(): task for task in begun}
        for task in begun:
            task.add_done_callback(lambda task: self._busy.pop(task.get_name()))
        done, late = await asyncio.wait(begun, timeout=2 * self.namespace_s)
        if late:
            slow = sorted(task.get_name() for task in late)
            _log.warning("slow namespaces, the others go on", namespaces=slow[:SHOWN])
        return all(task.result() for task in done)

    async def _look_after_one(self, namespace: str, tasks: _Tasks, at_once: asyncio.Semaphore) -> bool:
        """Look after one namespace for a while; return whether the API server answered."""
        async with at_once:
            began_s = time.monotonic()
            self._rests.begin(namespace)
            try:
                for enrolment in tasks.places:
                    await self._places.tend(enrolment, until_s=began_s + self.namespace_s)
                for place, pod in tasks.stranded:
                    if time.monotonic() >= began_s + self.namespace_s:
                        break  # the pods that are left still wait at the next turn
                    await self._places.replace_stranded(place, pod)
            except TunerError as error:
                self._places.restless |= {enrolment.slots for enrolment in tasks.places}
                _log.warning("slots not looked after", namespace=namespace, error=str(error))
                return False
            finally:
                self._rests.end(namespace)
                self._telemetry.namespace_looked_after(duration_s=time.monotonic() - began_s)
            return True
