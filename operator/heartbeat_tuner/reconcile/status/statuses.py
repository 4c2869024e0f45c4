"""The reporting end of a cycle: each outcome becomes a status, the points of metrics, Events and lines of the log.

A status is made again only where what it rests on has changed (`grounds`), and written only where it differs. Writes
are paced (`write_pace`); what all of a cycle's policies have to say to people is collected, and told once at its end,
where the same of many is folded (`folding`). A policy that fails in a way that nobody foresaw costs itself one pass.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.applied import writing_of
from heartbeat_tuner.api.standing_words import NOTHING_KNOWN, StandingWords
from heartbeat_tuner.api.v1alpha1.installation_v1alpha1 import noted
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, TunerError
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.liveness.turns import Turns, of_all
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Outcome, Result, UnexpectedFailure
from heartbeat_tuner.reconcile.policy_store import PolicyView
from heartbeat_tuner.reconcile.status import grounds, metric_points, reporting, transitions, write_pace
from heartbeat_tuner.reconcile.status.folding import Told, Transitions
from heartbeat_tuner.reconcile.status.grounds import Grounds
from heartbeat_tuner.reconcile.status.slot_occupation import Occupied
from heartbeat_tuner.reconcile.status.troubles import Troubles
from heartbeat_tuner.reconcile.status.write_pace import WritePace

MADE_ANEW_AFTER: Final = timedelta(minutes=10)
"""A status that nothing happens to is made again after so long, at most twice this: what depends on the time alone (the
end of what the webhook sets) is due within a day."""

UNANSWERED: Final = write_pace.AT_ONCE
"""After so many writes in a row that the API server did not answer, the rest of a cycle's are left for the next."""

_SPREAD: Final = 997
"""Not all statuses are made again in one cycle."""

_NOT_WRITTEN: Final = "status not written, the next cycle tries again"

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class Finished:
    """What became of one policy, told to all who are told.

    Attributes:
        outcome: what became of it.
        written: whether its status was written; None if that failed.
        points: what Prometheus is told.
        standing: the verdict of a status that was left as it is; None where this cycle found one, or none at all.
    """

    outcome: Result
    written: bool | None
    points: Sequence[MetricPoint] = ()
    standing: Verdict | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Standing:
    """A status, and what goes with it.

    Attributes:
        version: of the policy that has it.
        grounds: what it rests on; None where a cycle wrote for it, or wanted to.
        until: when it is made again, whatever happens.
        verdict: of it.
        points: for Prometheus, that rest on the same.
    """

    version: tuple[str, str]
    grounds: Grounds | None
    until: datetime
    verdict: Verdict | None
    points: tuple[MetricPoint, ...]


class Statuses:
    """Brings statuses up to date, during one leadership.

    Args:
        store: what is watched.
        policies: where statuses are written.
        clock: the time.
        pace: of writes.
        troubles: what went wrong, for the log.
    """

    def __init__(
        self, store: PolicyView, policies: Policies, clock: Clock, *, pace: WritePace, troubles: Troubles
    ) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._pace = pace
        self._standing: dict[ObjectKey, _Standing] = {}
        self._words: dict[ObjectKey, StandingWords] = {}
        self._transitions = Transitions()
        self._troubles = troubles
        self._unanswered: list[TunerError] = []

    def begin(self, keys: Collection[ObjectKey]) -> None:
        """Begin a cycle over these policies; all others are forgotten."""
        self._standing = {key: standing for key, standing in self._standing.items() if key in keys}
        self._words = {key: words for key, words in self._words.items() if key in keys}
        self._transitions = Transitions()
        self._unanswered = []

    async def finish(
        self, body: Mapping[str, Any], policy: Policy | None, outcome: Result, occupied: Occupied | None
    ) -> Finished:
        """Report one outcome; a surprise costs this policy this pass.

        Raises:
            NotLeaderError: the leadership is over.
        """
        if isinstance(outcome, UnexpectedFailure):
            return await self._surprised(body, policy, outcome)
        try:
            return await self._finished(body, policy, outcome, occupied)
        except NotLeaderError:
            raise
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return await self._surprised(body, policy, UnexpectedFailure(error))

    async def tell(self, turns: Turns, moved: Moved) -> None:
        """Tell people what has changed in the cycle, by Events and in the log.

        Raises:
            NotLeaderError: the leadership is over.
        """
        for line in self._transitions.lines():
            announcement = line.announcement
            if line.count == 1:
                _log.info(
                    "transition",
                    policy=line.policies[0],
                    reason=announcement.reason.value,
                    message=announcement.message,
                )
            else:
                _log.info(
                    "transition of many policies",
                    count=line.count,
                    namespaces=line.namespaces,
                    condition=f"{announcement.type} {announcement.status}",
                    reason=announcement.reason.value,
                    policies=line.policies,
                    message=announcement.message,
                )
        await of_all(self._transitions.events(), self._announced, at_once=write_pace.AT_ONCE, turns=turns, moved=moved)

    async def _finished(
        self, body: Mapping[str, Any], policy: Policy | None, outcome: Outcome | NotRead, occupied: Occupied | None
    ) -> Finished:
        rests_on = grounds.grounds_of(outcome, policy, occupied)
        written: bool | None = False
        standing = self._still_standing(body, rests_on)
        if standing is None:
            standing, written = await self._made_anew(body, policy, outcome, occupied, rests_on)
        points = (*standing.points, *metric_points.passing(outcome))
        return Finished(outcome, written, points, standing.verdict if isinstance(outcome, NotRead) else None)

    def _still_standing(self, body: Mapping[str, Any], rests_on: Grounds | None) -> _Standing | None:
        """Return the status that stands on the same grounds as before; None where it has to be made again."""
        key = parsing.key_of(body)
        standing = self._standing.get(key)
        if standing is None or rests_on is None or standing.grounds != rests_on:
            return None
        if standing.version != _version(body) or standing.until <= self._clock.now():
            return None
        # By the newest of all objects that say the same: the older ones can go.
        self._standing[key] = dataclasses.replace(standing, grounds=rests_on)
        return standing

    async def _made_anew(
        self,
        body: Mapping[str, Any],
        policy: Policy | None,
        outcome: Outcome | NotRead,
        occupied: Occupied | None,
        rests_on: Grounds | None,
    ) -> tuple[_Standing, bool | None]:
        """Return the status that should stand, and whether it was written; None if that failed."""
        key, now, previous = parsing.key_of(body), self._clock.now(), parsing.status_of(body)
        is_left = isinstance(outcome, NotRead)
        status = previous if isinstance(outcome, NotRead) else self._after(previous, body, outcome, policy, occupied)
        made = _Standing(
            version=_version(body),
            grounds=rests_on,
            until=now + MADE_ANEW_AFTER * (1 + hash(key) % _SPREAD / _SPREAD),
            verdict=status.verdict,
            points=metric_points.lasting(policy, outcome, status),
        )
        written = False if is_left else await self._reported(body, previous, status)
        if written is False:
            self._standing[key] = made
        else:
            self._standing.pop(key, None)  # what was written is looked at once more: it may say something new itself
        return made, written

    async def _surprised(self, body: Mapping[str, Any], policy: Policy | None, failure: UnexpectedFailure) -> Finished:
        """Have the log tell what only a change of the program can repair; the status says that much."""
        key = parsing.key_of(body)
        self._standing.pop(key, None)
        self._troubles.add("policy skipped, the next cycle tries again", key, failure.error)
        sentence = f"the operator failed on this policy ({type(failure.error).__name__}); its log says more"
        try:
            previous = parsing.status_of(body)
            status = self._after(previous, body, Blocked(Finding(Reason.INTERNAL_ERROR, sentence)), policy)
            points = metric_points.points(policy, failure, status)
            return Finished(failure, await self._reported(body, previous, status), points)
        except NotLeaderError:
            raise
        except Exception as error:  # noqa: BLE001 - what failed may be the report itself
            self._troubles.add("the status could not be written", key, error)
            return Finished(failure, None)

    def _after(
        self,
        previous: Status,
        body: Mapping[str, Any],
        outcome: Outcome,
        policy: Policy | None,
        occupied: Occupied | None = None,
    ) -> Status:
        """Return the status that should stand now."""
        key, now, generation = parsing.key_of(body), self._clock.now(), body["metadata"]["generation"]
        words = self._words.get(key, NOTHING_KNOWN)
        reported = reporting.status_after(previous, outcome, generation=generation, now=now, policy=policy, words=words)
        status, self._words[key] = reported.status, reported.words
        surprised = isinstance(outcome, Blocked) and outcome.finding.reason is Reason.INTERNAL_ERROR
        if policy is not None and not surprised:  # after a surprise nobody knows what was done: what is noted stays
            intent = outcome.open_intent if isinstance(outcome, Decided) else policy.intent
            status = status.model_copy(update={"writing": None if intent is None else writing_of(intent)})
        if self._store.installation is not None:
            status = status.model_copy(update={"installation": noted(self._store.installation)})
        return status if occupied is None else status.model_copy(update={"slots": occupied.slots})

    async def _reported(self, body: Mapping[str, Any], previous: Status, status: Status) -> bool | None:
        """Bring the status up to date; return whether it was written, None if that failed."""
        key, document = parsing.key_of(body), reporting.document(status)
        if not reporting.differs(body.get("status") or {}, document):
            return False
        if len(self._unanswered) >= UNANSWERED:
            self._troubles.add(_NOT_WRITTEN, key, self._unanswered[-1])
            return None
        await self._pace.turn()
        try:
            stored = await self._policies.write_status(body, document)
        except NotLeaderError:
            raise
        except TunerError as error:
            self._failed(_NOT_WRITTEN, key, error)
            return None
        self._unanswered = []
        self._store.refresh(stored)
        for announcement in transitions.announcements(previous, status):
            self._transitions.add(body, announcement)
        return True

    async def _announced(self, event: Told) -> None:
        """Write an Event; one that cannot be written is no loss, since the status says it."""
        body, announcement = event
        if len(self._unanswered) >= UNANSWERED:
            return
        await self._pace.turn()
        try:
            await self._policies.announce(
                body,
                reason=announcement.reason.value,
                message=announcement.message,
                warning=announcement.warning,
                count=announcement.count,
            )
        except NotLeaderError:
            raise
        except TunerError as error:
            self._failed("event not written", parsing.key_of(body), error)

    def _failed(self, event: str, key: ObjectKey, error: TunerError) -> None:
        """Note a write that failed; who answers nobody is not asked for ever."""
        self._troubles.add(event, key, error)
        no_answer = isinstance(error, ApiServerError) and error.status is None
        self._unanswered = [*self._unanswered, error] if no_answer else []


def _version(body: Mapping[str, Any]) -> tuple[str, str]:
    return body["metadata"]["uid"], body["metadata"]["resourceVersion"]
