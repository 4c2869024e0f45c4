"""One pass over all policies: parse, gather, decide, apply, report.

The one path by which anything is ever written. It is level-triggered: whatever happened since the last pass, this one
looks at what is there and does what is due. Nothing is written that is not different, and an error costs one policy
one pass.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.applied import values_of
from heartbeat_tuner.decision.decide import decide
from heartbeat_tuner.decision.remembering import Remembered
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain.errors import (
    ApiServerError,
    FieldOwnedError,
    InvalidPolicyError,
    TunerError,
    WriteConflictError,
)
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.ports import Clock, NotLeaderError, Policies, Workloads
from heartbeat_tuner.reconcile import reporting
from heartbeat_tuner.reconcile.gathering import Gathered, Gatherer
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Outcome, Surprise
from heartbeat_tuner.reconcile.policy_store import PolicyStore

CONCURRENT_WRITES: Final = 10

REMEMBERED: Final = 20_000
"""Answers that are kept: one for each of 10,000 policies, and the one before."""

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class CycleReport:
    """What one pass did, for the operator's own metrics."""

    verdicts: Mapping[Verdict, int]
    workload_writes: int
    status_writes: int
    failed_writes: int


class Cycle:
    """One pass, as often as it is called, during one leadership."""

    def __init__(
        self, *, store: PolicyStore, gatherer: Gatherer, workloads: Workloads, policies: Policies, clock: Clock
    ) -> None:
        self._store = store
        self._gatherer = gatherer
        self._workloads = workloads
        self._policies = policies
        self._clock = clock
        self._answers = Remembered(REMEMBERED)

    async def run(self) -> CycleReport:
        """Look at every policy once and do what is due.

        Raises:
            NotLeaderError: the leadership ended meanwhile; nothing was written or reported after that.
        """
        bodies = {parsing.key_of(body): body for body in self._store.snapshot()}
        settled, usable = _parsed(bodies)
        gathered = await self._gatherer.gather(usable)
        limit = asyncio.Semaphore(CONCURRENT_WRITES)

        async def finish(key: ObjectKey, found: Gathered) -> tuple[Outcome | Surprise, bool | None] | NotLeaderError:
            async with limit:
                try:
                    return await self._finished(bodies[key], found)
                except NotLeaderError as error:
                    return error  # the others find out too; all have ended when this pass ends

        results = await asyncio.gather(*(finish(key, found) for key, found in {**settled, **gathered}.items()))
        for result in results:
            if isinstance(result, NotLeaderError):
                raise result
        return _counted([result for result in results if not isinstance(result, NotLeaderError)])

    async def _finished(self, body: Mapping[str, Any], found: Gathered) -> tuple[Outcome | Surprise, bool | None]:
        """Decide, carry out and report; a surprise costs this policy this pass."""
        if isinstance(found, Surprise):
            return await self._surprised(body, found)
        try:
            done = await self._carried_out(
                body,
                Decided(found, decide(found, answer=self._answers.answer))
                if isinstance(found, Situation)
                else Blocked(found),
            )
            return done, await self._reported(body, done)
        except NotLeaderError:
            raise
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return await self._surprised(body, Surprise(error))

    async def _surprised(self, body: Mapping[str, Any], surprise: Surprise) -> tuple[Surprise, bool | None]:
        """Tell the log, with its traceback, what only a change of the program can mend; the status says that much."""
        _log.error(
            "policy skipped, the next cycle tries again", policy=str(parsing.key_of(body)), exc_info=surprise.error
        )
        sentence = f"the operator failed on this policy ({type(surprise.error).__name__}); its log says more"
        try:
            return surprise, await self._reported(body, Blocked(Finding(Reason.INTERNAL_ERROR, sentence)))
        except NotLeaderError:
            raise
        except Exception:  # noqa: BLE001 - what failed may be the report itself
            _log.exception("the status could not tell of it", policy=str(parsing.key_of(body)))
            return surprise, None

    async def _carried_out(self, body: Mapping[str, Any], outcome: Outcome) -> Outcome:
        """Write what the decision asks for, if anything."""
        if isinstance(outcome, Blocked) or outcome.decision.to_apply is None or outcome.current is None:
            return outcome
        situation, target = outcome.situation, outcome.decision.to_apply
        policy = situation.policy
        application = Application(
            values=target,
            previous=outcome.current,
            at=self._clock.now().replace(microsecond=0),
            workload_uid=situation.workload.uid,
        )
        try:
            # The watch may lag behind: a policy that is gone, suspended or edited by now must not write any more.
            if not await self._policies.is_current(body):
                edited = Finding(Reason.CHANGED_MEANWHILE, f"policy {policy.key} was edited or deleted meanwhile")
                return dataclasses.replace(outcome, failure=edited)
            await self._workloads.apply(policy, situation.workload, application)
        except WriteConflictError as error:
            return dataclasses.replace(outcome, failure=Finding(Reason.CHANGED_MEANWHILE, str(error)))
        except FieldOwnedError as error:
            return dataclasses.replace(outcome, failure=Finding(Reason.FIELD_OWNED, str(error)))
        except ApiServerError as error:
            return dataclasses.replace(outcome, failure=Finding(Reason.API_SERVER_ERROR, str(error)))
        _log.info(
            "applied",
            policy=str(policy.key),
            workload=str(policy.workload),
            reason=outcome.decision.finding.reason.value,
            before=values_of(outcome.current).model_dump(exclude_none=True),
            after=values_of(target).model_dump(exclude_none=True),
        )
        return dataclasses.replace(outcome, application=application)

    async def _reported(self, body: Mapping[str, Any], outcome: Outcome) -> bool | None:
        """Bring the status up to date; return whether it was written, None if that failed."""
        previous = parsing.status_of(body)
        status = reporting.status_after(
            previous, outcome, generation=body["metadata"]["generation"], now=self._clock.now()
        )
        document = reporting.document(status)
        if not reporting.differs(body.get("status") or {}, document):
            return False
        try:
            self._store.refresh(await self._policies.write_status(body, document))
        except NotLeaderError:
            raise
        except TunerError as error:
            _log.warning(
                "status not written, the next cycle tries again", policy=str(parsing.key_of(body)), error=str(error)
            )
            return None
        for announcement in reporting.announcements(previous, status):
            _log.info(
                "transition",
                policy=str(parsing.key_of(body)),
                reason=announcement.reason.value,
                message=announcement.message,
            )
            await self._policies.announce(
                body, reason=announcement.reason.value, message=announcement.message, warning=announcement.warning
            )
        return True


def _parsed(bodies: Mapping[ObjectKey, Mapping[str, Any]]) -> tuple[dict[ObjectKey, Finding], list[Policy]]:
    """Return what is settled already (unusable policies, the younger of two rivals), and the policies to look at."""
    settled: dict[ObjectKey, Finding] = {}
    policies: list[Policy] = []
    for key, body in bodies.items():
        try:
            policies.append(parsing.policy_of(body))
        except InvalidPolicyError as error:
            settled[key] = Finding(Reason.INVALID_POLICY, str(error))
    holders: dict[tuple[ObjectKey, str], Policy] = {}
    for policy in sorted(policies, key=lambda one: (one.created, one.key)):
        place = (policy.workload.key, policy.workload.container)
        holder = holders.setdefault(place, policy)
        if holder is not policy:
            sentence = (
                f"policy {holder.key} is older and tunes container {policy.workload.container} of {policy.workload} "
                f"already; delete one of the two"
            )
            settled[policy.key] = Finding(Reason.CONFLICT, sentence)
    return settled, [policy for policy in policies if policy.key not in settled]


def _counted(results: Sequence[tuple[Outcome | Surprise, bool | None]]) -> CycleReport:
    decided = [outcome for outcome, _ in results if isinstance(outcome, Decided)]
    verdicts = Counter(outcome.decision.verdict for outcome in decided)
    verdicts[Verdict.UNKNOWN] += len(results) - len(decided)
    return CycleReport(
        verdicts={verdict: verdicts[verdict] for verdict in Verdict},
        workload_writes=sum(1 for outcome in decided if outcome.application is not None),
        status_writes=sum(1 for _, written in results if written),
        failed_writes=sum(1 for outcome, written in results if written is None or isinstance(outcome, Surprise))
        + sum(1 for outcome in decided if outcome.failure is not None),
    )
