"""Carries canaries on: what comes next is noted in the policy's status, and done after that.

A replica that falls between the two leaves a note by which the next one does the very same: the pod is named by its
uid. Whatever is refused or not answered is tried again in the next cycle.
"""

import dataclasses
from collections.abc import Mapping, MutableMapping
from datetime import datetime
from typing import Any, Final

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.applied import failed_statuses
from heartbeat_tuner.api.canary_notes import canary_status
from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.decision.gates import canary_words
from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, TunerError, WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import MOST_FAILED, Canary, CanaryPhase, FailedValues
from heartbeat_tuner.ports.kubernetes_workloads import Workloads
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.reconcile import budget
from heartbeat_tuner.reconcile.canaries import canary_steps
from heartbeat_tuner.reconcile.canaries.canary_steps import CanaryStep
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.policy_store import PolicyView
from heartbeat_tuner.reconcile.status import reporting
from heartbeat_tuner.reconcile.status.troubles import Troubles

NOTED_PARTS: Final = 12
"""The time that was seen is noted so often in all: each time is a status to write."""

_FORBIDDEN: Final = 403
_TOO_MANY_REQUESTS: Final = 429

Bodies = MutableMapping[ObjectKey, Mapping[str, Any]]

_log = structlog.get_logger()


class CanaryRuns:
    """The canaries, during one leadership.

    Args:
        workloads: where pods are evicted.
        policies: where canaries are noted.
        store: what is watched.
        troubles: what went wrong, for the log.
        may_evict: whether the operator may evict pods, and the webhook runs.
    """

    def __init__(
        self, workloads: Workloads, policies: Policies, store: PolicyView, troubles: Troubles, *, may_evict: bool
    ) -> None:
        self.may_evict = may_evict
        self._workloads = workloads
        self._policies = policies
        self._store = store
        self._troubles = troubles
        self._known: dict[ObjectKey, Canary] = {}
        self._forbidden: dict[ObjectKey, datetime] = {}
        self._seen: dict[ObjectKey, Decided] = {}

    async def begin(self, body: Mapping[str, Any], canary: Canary) -> Mapping[str, Any]:
        """Note a canary that begins; return the policy as stored. The first pod is evicted in the next cycle.

        Raises:
            WriteConflictError: the policy is not what was gathered.
            ApiServerError: the API server did not answer or refused.
        """
        stored = await self._noted(body, CanaryStep(canary), ())
        _log.info("canary begun", policy=str(parsing.key_of(body)), pods=canary.pods, entries=dict(canary.entries))
        return stored

    async def advanced(self, bodies: Bodies, outcome: Decided, noted: Canary) -> Decided:
        """Return an outcome with its canary one step further.

        Args:
            bodies: the policies; one in whose status a step is noted is replaced.
            outcome: of this cycle.
            noted: the canary, as the policy's status has it.

        Raises:
            NotLeaderError: the leadership is over.
        """
        key, policy = outcome.key, outcome.inputs.policy
        known = self._known.get(key)
        canary = known if known is not None and known.since == noted.since else noted
        step = canary_steps.next_step(canary, outcome, may_evict=self._may_evict(key, outcome.inputs.now))
        failed = _failed_after(policy, step)
        try:
            if step.failed is not None or step.evicted is not None or _is_news(noted, step.canary, policy):
                bodies[key] = await self._noted(bodies[key], step, failed)
                self._tell(policy, noted, step.canary)
        except (WriteConflictError, ApiServerError) as error:
            self._troubles.add("canary not noted, the next cycle tries again", key, error)
            return _waiting(outcome)
        outcome = _with(outcome, step.canary, failed)
        if step.canary is None:
            self._forget(key)
        else:
            self._known[key], self._seen[key] = step.canary, outcome
        if step.evicted is None or not _is_known_to_webhook(step.canary, policy):
            return outcome
        failure = await self._evict(bodies[key], policy, step.evicted, outcome.inputs.now)
        return outcome if failure is None else dataclasses.replace(outcome, failure=failure)

    async def tell_deleted(self, bodies: Mapping[ObjectKey, Mapping[str, Any]]) -> None:
        """Tell people which pods keep the values of canaries whose policies are gone.

        Args:
            bodies: all policies that there are.

        Raises:
            NotLeaderError: the leadership is over.
        """
        for key, outcome in list(self._seen.items()):
            policy, workload = outcome.inputs.policy, outcome.inputs.workload
            if key in bodies and bodies[key]["metadata"]["uid"] == policy.uid:
                continue
            self._forget(key)
            if policy.canary is None or not workload.canary.uids or not self._store.is_ours(key.namespace):
                continue  # what another installation owns is not gone
            message = canary_words.without_policy(policy, policy.canary, workload)
            _log.warning("policy of a canary deleted", policy=str(key), pods=sorted(workload.canary.uids))
            gone = {"metadata": {"name": key.name, "namespace": key.namespace, "uid": policy.uid}}
            try:
                reason = Reason.CANARY_ENDED.value
                await self._policies.announce(gone, reason=reason, message=fitting(message), warning=True)
            except NotLeaderError:
                raise
            except TunerError as error:
                self._troubles.add("Event not recorded", key, error)

    def _forget(self, key: ObjectKey) -> None:
        """Forget what is known of a canary that is over, or gone with its policy."""
        for known in (self._known, self._seen, self._forbidden):
            known.pop(key, None)

    async def _noted(
        self, body: Mapping[str, Any], step: CanaryStep, failed: tuple[FailedValues, ...]
    ) -> Mapping[str, Any]:
        """Note a step in the policy's status; return the policy as stored."""
        update: dict[str, Any] = {"canary": None if step.canary is None else canary_status(step.canary)}
        if step.failed is not None:
            update["reverted"] = failed_statuses(failed)
        status = parsing.status_of(body).model_copy(update=update)
        stored = await self._policies.write_status(body, reporting.document(status))
        self._store.refresh(stored)
        return stored

    def _may_evict(self, key: ObjectKey, now: datetime) -> bool:
        """Whether a policy's pods may be evicted; whom the API server has refused that is asked for a day later."""
        refused = self._forbidden.get(key)
        return self.may_evict and (refused is None or now - refused >= canary_steps.LONGEST)

    async def _evict(
        self, body: Mapping[str, Any], policy: Policy, pod: tuple[str, str], now: datetime
    ) -> Finding | None:
        """Evict a pod; return why that was not done."""
        name, uid = pod
        try:
            # The watch may lag behind: a policy that is gone, suspended or edited by now must not evict any more.
            if not await self._policies.is_current(body):
                return None
            await self._workloads.evict(policy.workload.key.namespace, name, uid)
        except WriteConflictError:
            return None  # another pod has the name by now
        except ApiServerError as error:
            self._troubles.add("pod not evicted, the next cycle tries again", policy.key, error)
            why = say("pod {pod} could not be evicted: {error}", pod=name, error=str(error))
            if error.status == _FORBIDDEN:
                self._forbidden[policy.key] = now
            if error.status == _TOO_MANY_REQUESTS:
                phrase = "pod {pod} waits for its PodDisruptionBudget, which allows no eviction now: {error}"
                why = say(phrase, pod=name, error=str(error))
            return Finding(Reason.CANARY_RUNNING, why)
        _log.info("evicted", policy=str(policy.key), pod=name)
        return None

    @staticmethod
    def _tell(policy: Policy, before: Canary, canary: Canary | None) -> None:
        if canary is not None and canary.phase is not before.phase:
            _log.info("canary", policy=str(policy.key), phase=canary.phase.value, message=canary.message)


def _is_known_to_webhook(canary: Canary | None, policy: Policy) -> bool:
    """Whether the webhook gives a canary's values to the pod that comes in the place of an evicted one.

    It gives none for a spec that the status is not of yet: that is written at the end of this look.
    """
    is_trying = canary is not None and canary.is_trying
    return not is_trying or policy.observed_generation == policy.generation


def _failed_after(policy: Policy, step: CanaryStep) -> tuple[FailedValues, ...]:
    """Return what is remembered as failed once a step is done."""
    if step.failed is None:
        return policy.failed
    return (*policy.failed, step.failed)[-MOST_FAILED:]


def _with(outcome: Decided, canary: Canary | None, failed: tuple[FailedValues, ...]) -> Decided:
    """Return an outcome after a step; values that passed are written as they were tried.

    Where it was decided before the step that nothing holds a write, what came of the canary holds it: another one would
    take the place of its note, and its pods would be taken back by nobody.
    """
    inputs = outcome.inputs
    policy = dataclasses.replace(inputs.policy, canary=canary, failed=failed)
    decision = outcome.decision
    if _writes_a_saving(outcome):
        decision = dataclasses.replace(decision, hold=canary_words.hold(policy, inputs.workload, inputs.now))
    if canary is not None and canary.phase is CanaryPhase.PASSED and canary_steps.is_wanted(canary, outcome):
        decision = dataclasses.replace(decision, target=canary.values)
    return dataclasses.replace(outcome, inputs=dataclasses.replace(inputs, policy=policy), decision=decision)


def _waiting(outcome: Decided) -> Decided:
    """Return an outcome whose canary's step could not be noted: what it would end is not written either."""
    if not _writes_a_saving(outcome):
        return outcome
    hold = Finding(Reason.CANARY_RUNNING, "what its canary has next could not be noted; the next cycle tries again")
    return dataclasses.replace(outcome, decision=dataclasses.replace(outcome.decision, hold=hold))


def _writes_a_saving(outcome: Decided) -> bool:
    """Whether a change is written in this cycle that a canary may hold."""
    return outcome.decision.to_apply is not None and not outcome.decision.reverts and not budget.is_cure(outcome)


def _is_news(noted: Canary, canary: Canary | None, policy: Policy) -> bool:
    """Whether a canary has to be noted: time that was seen only now and then."""
    if canary is None:
        return True
    if abs(canary.exposed - noted.exposed) >= policy.canary_rules.duration / NOTED_PARTS:
        return True
    same_time = dataclasses.replace(canary, exposed=noted.exposed, seen_until=noted.seen_until)
    return canary_status(same_time) != canary_status(noted)
