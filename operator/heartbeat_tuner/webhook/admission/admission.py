"""From a review to its answer: whose pod it is, which values and which slot it gets.

Reads come from watches but for one, the size of the Deployment; one write makes the claim. Claims of one place wait for
each other in a replica; between replicas the versions of the Leases decide who was first.
"""

import asyncio
import collections
import dataclasses
import functools
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

import structlog

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.membership.claiming import claim
from heartbeat_tuner.membership.values import Refused, SlotPool, SlotRefusal, View
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadSizes
from heartbeat_tuner.ports.static_slots import Slots
from heartbeat_tuner.ports.ticket_takers import TicketTakers
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.webhook.admission import enrolment, initial_mode, injection
from heartbeat_tuner.webhook.admission.enrolment import Enrolment, OwnerWorkload
from heartbeat_tuner.webhook.admission.initial_mode import Filled, InitialValues
from heartbeat_tuner.webhook.admission.review import Review
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork

TRIES: Final = 10
"""Claims of one pod: each conflict means that somebody else got a slot."""

LATER_S: Final = (0.05, 0.1, 0.2, 0.4)
"""Pauses before a pod that got no slot asks again, within what the API server waits for an answer.

A rollout has the old pod deleted and the new one created at the same time, by two workers: the review may be here
before the news that the old pod is Terminating, or before it is. Its slot is then seen to be held, and is promised a
moment later. Without it the new pod would be a member more, and the old one's partitions parked: two rebalances.
"""

_PASSING: Final = frozenset({SlotRefusal.ALL_HELD, SlotRefusal.RESTING})
"""Why there is no slot, when there may be one in a moment."""

_log = structlog.get_logger()

Enrolled = Callable[[OwnerWorkload], Collection[Enrolment]]
"""A workload to the policies that ask for something in its pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Settled:
    """What became of a pod: as in an answer, but the pod itself and not how it was changed."""

    outcome: ReviewOutcome
    pod: Mapping[str, Any]
    message: str = ""


class Admission:
    """Decides about pods.

    Args:
        enrolled: who gives a workload's pods their ids, and values.
        slots: what there is.
        tickets: of canaries.
        sizes: how much of it may be given.
        clock: for the records.
        may_gate: whether a gate that is added now is sure to be lifted.
        aside: for what takes long.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        enrolled: Enrolled,
        slots: Slots,
        tickets: TicketTakers,
        sizes: WorkloadSizes,
        clock: Clock,
        *,
        may_gate: Callable[[], bool],
        aside: TenantWork,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._enrolled = enrolled
        self._slots = slots
        self._tickets = tickets
        self._sizes = sizes
        self._clock = clock
        self._may_gate = may_gate
        self._aside = aside
        self._sleep = sleep
        self._turns: collections.defaultdict[SlotPlace, _ClaimTurn] = collections.defaultdict(_ClaimTurn)

    async def decide(self, review: Review) -> ReviewAnswer:
        """Return what a review is answered.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        place = enrolment.workload_of(review.pod, review.namespace)
        enrolled = () if place is None else self._enrolled(place)
        if any(policy.served_elsewhere for policy in enrolled):
            return ReviewAnswer(ReviewOutcome.OTHER_INSTALLATION)
        given = [values for values in enrolment.in_containers(enrolled) if await self._is_given(values, review)]
        filled = initial_mode.filled(review.pod, given, now=self._clock.now())
        holder, unfit = enrolment.holder(enrolled), "; ".join(filled.unfit)
        if holder is None:
            return ReviewAnswer(_without_id(filled, review), injection.patch(review.pod, filled.pod), message=unfit)
        settled = await self._identified(holder, dataclasses.replace(review, pod=filled.pod))
        sentence = "; ".join(text for text in (unfit, settled.message) if text)
        return ReviewAnswer(settled.outcome, injection.patch(review.pod, settled.pod), message=sentence)

    async def _is_given(self, values: InitialValues, review: Review) -> bool:
        """Whether a pod gets values: those of a canary with a ticket of its own, and nobody takes one for a trial."""
        if values.ticket is None:
            return True
        fits = initial_mode.filled(review.pod, [values], now=self._clock.now()).pod is not review.pod
        if review.dry_run or not fits:
            return False
        try:
            return await self._tickets.take(values.ticket, review.uid)
        except ApiServerError as error:
            _log.warning("no ticket of a canary taken", policy=str(values.policy.key), error=str(error))
            return False

    async def _identified(self, holder: Enrolment, review: Review) -> _Settled:
        """Return what became of a pod that is to have an id."""
        left_alone = _left_alone(holder, review)
        if left_alone is not None:
            return left_alone
        if not holder.lends_slots:
            return _with_ordinal(holder, review)
        if review.dry_run:
            return _Settled(ReviewOutcome.DRY_RUN, review.pod)
        pool = holder.pool(await self._sizes.size(holder.kind, holder.workload))
        settled = await self._in_turn(holder, review, pool)
        for pause_s in LATER_S:
            if isinstance(settled, _Settled) or settled.reason not in _PASSING:
                break
            await self._sleep(pause_s)
            settled = await self._in_turn(holder, review, pool)
        if isinstance(settled, Refused):
            return _Settled(ReviewOutcome.NO_SLOT, review.pod, message=f"{holder.policy}: {settled.reason}")
        return settled

    async def _in_turn(self, holder: Enrolment, review: Review, pool: SlotPool) -> _Settled | Refused:
        """Claim when it is this review's turn: claims of one place wait for each other."""
        turn = self._turns[holder.slots]
        turn.waiting += 1
        try:
            async with turn.lock:
                return await self._claimed(holder, review, pool)
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._turns[holder.slots]

    async def _claimed(self, holder: Enrolment, review: Review, pool: SlotPool) -> _Settled | Refused:
        # The API server refuses a pod that names its node and has a gate.
        may_gate = self._may_gate() and not review.pod["spec"].get("nodeName")
        place, token = holder.slots, review.uid  # the API server's own, so that who is asked twice answers the same
        for _ in range(TRIES):
            as_of = self._slots.as_of
            if as_of is None:
                why = "pods and slots are not kept up to date at the moment"
                return _Settled(ReviewOutcome.NOT_READY, review.pod, message=why)
            view = View(self._slots.leases(place), self._slots.pods(place), as_of)
            work = functools.partial(claim, token, view, pool, may_gate=may_gate, now=self._clock.now())
            claimed = await self._aside.run(place.namespace, len(view.pods) + len(view.slots), work)
            if isinstance(claimed, Refused) and claimed.reason is SlotRefusal.COPIED:
                token = str(uuid.uuid4())
                continue
            if isinstance(claimed, Refused):
                return claimed
            if claimed.write is not None:
                try:
                    await self._slots.write(place, Owner(holder.policy.name, holder.policy_uid), claimed.write)
                except WriteConflictError:
                    await self._slots.look(place, claimed.number)
                    continue
            pod = _with_id(holder, review, claimed.number, token)
            if claimed.gated:
                return _Settled(ReviewOutcome.PROMISED, injection.with_gate(pod, slot_names.GATE))
            return _Settled(ReviewOutcome.CLAIMED, pod)
        return _Settled(
            ReviewOutcome.CONTENDED, review.pod, message=f"{holder.policy}: others were first {TRIES} times"
        )


class _ClaimTurn:
    """Who waits for claims of one place."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


def _without_id(filled: Filled, review: Review) -> ReviewOutcome:
    """Return what became of a pod that no policy gives an id."""
    if filled.pod is not review.pod:
        return ReviewOutcome.VALUES_SET
    return ReviewOutcome.VALUES_UNFIT if filled.unfit else ReviewOutcome.NOT_ENROLLED


def _left_alone(holder: Enrolment, review: Review) -> _Settled | None:
    """Return why a pod of this policy gets no id; None if it may."""
    if holder.suspended:
        return _Settled(ReviewOutcome.SUSPENDED, review.pod)
    if injection.container(review.pod, holder.container) is None:
        why = f"{holder.policy}: the pod has no container {holder.container}"
        return _Settled(ReviewOutcome.NO_CONTAINER, review.pod, message=why)
    if injection.has_variable(review.pod, holder.container, holder.variable):
        return _Settled(ReviewOutcome.OWN_ID, review.pod)
    return None


def _with_ordinal(holder: Enrolment, review: Review) -> _Settled:
    """Return what became of a StatefulSet's pod: there is one of its name at a time, so nothing has to be claimed."""
    number = enrolment.ordinal_of(review.pod, holder.workload.name)
    if number is None:
        return _Settled(
            ReviewOutcome.NO_SLOT, review.pod, message=f"{holder.policy}: the pod's name does not end in a number"
        )
    given = {holder.variable: slot_names.ordinal_id(holder.policy_uid, holder.workload, number)}
    return _Settled(ReviewOutcome.ORDINAL, injection.with_variables(review.pod, holder.container, given))


def _with_id(holder: Enrolment, review: Review, number: int, token: str) -> injection.Pod:
    pod = injection.with_variables(review.pod, holder.container, {holder.variable: holder.slots.id_of(number)})
    pod = injection.with_marks(pod, "labels", {slot_names.SLOT_LABEL: str(number)})
    return injection.with_marks(pod, "annotations", {slot_names.TOKEN_ANNOTATION: token})
