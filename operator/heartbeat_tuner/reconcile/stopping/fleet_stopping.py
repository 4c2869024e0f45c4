"""Stops changes of values where they harm, and holds them back until a person resumes.

All that is remembered stands in the note, which outlasts every leader; here is only what the log was last told. What
cannot be read does not mean that nothing is stopped: nothing new begins in such a cycle. What a change of ours broke is
taken back all the same.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.ports.fleet_stops import FleetStop, FleetStops, StopNote
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.outcomes import Decided, Result
from heartbeat_tuner.reconcile.stopping import fleet_guard
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup

_IN_PODS_TO_COME: Final = frozenset({Reason.AT_NEXT_RESTART, Reason.CANARY_RUNNING})
"""Reasons that hold back a write, while new pods get the values all the same."""

_log: Final = structlog.get_logger()


class FleetStopping:
    """The stop, as one leadership sees it.

    Args:
        stops: where it is noted.
        clock: the time.
    """

    def __init__(self, stops: FleetStops, clock: Clock) -> None:
        self._stops = stops
        self._clock = clock
        self._stop: FleetStop | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether values are stopped, in all of the fleet or in a part, for all that is known."""
        return self._stop is not None

    async def held(
        self, outcomes: Mapping[ObjectKey, Result], changed: Iterable[ChangedGroup]
    ) -> dict[ObjectKey, Result]:
        """Return outcomes with a hold on each change that must not begin now.

        Args:
            outcomes: of this cycle.
            changed: the groups that are known to have been changed; an early look asks nothing of them.

        Raises:
            NotLeaderError: the leadership ended meanwhile.
        """
        try:
            self._tell(await self._next(changed))
        except (ApiServerError, WriteConflictError) as error:
            phrase = "whether changes of values are stopped could not be found out: {error}"
            unknown = Finding(Reason.API_SERVER_ERROR, say(phrase, error=str(error)))
            return {key: _with_hold(outcome, unknown) for key, outcome in outcomes.items()}
        stop = self._stop
        if stop is None:
            return dict(outcomes)
        hold = Finding(Reason.FLEET_STOPPED, _sentence(stop))
        return {
            key: _with_hold(outcome, hold) if stop.holds(key.namespace) else outcome
            for key, outcome in outcomes.items()
        }

    async def _next(self, changed: Iterable[ChangedGroup]) -> FleetStop | None:
        """Return the stop that holds from now on, once it is noted."""
        note, now = await self._stops.read(), self._clock.now()
        if note.asked_to_resume:
            resumed = StopNote(resumed_at=now)
            await self._stops.replace(note, resumed)
            note = resumed
        # A thousand groups take half a second, and probes have to be answered meanwhile.
        stop = await asyncio.to_thread(fleet_guard.next_stop, note, list(changed), now)
        if stop != note.stop:
            await self._stops.replace(note, dataclasses.replace(note, stop=stop))
        return stop

    def _tell(self, stop: FleetStop | None) -> None:
        """Tell the log of a stop when it is first seen, and when it ends."""
        if stop == self._stop:
            return
        self._stop = stop
        if stop is None:
            _log.warning("changes of values are resumed")
        else:
            _log.error(
                "changes of values are stopped until a person resumes them",
                why=stop.message,
                since=None if stop.since is None else stop.since.isoformat(),
                namespaces=sorted(stop.namespaces) or "all",
            )


def _with_hold(outcome: Result, hold: Finding) -> Result:
    """Return an outcome with a hold, if it would change values now, or in pods to come; a revert passes.

    What a canary has next is held by it, too; to take one back is not.
    """
    if not isinstance(outcome, Decided):
        return outcome
    decision = outcome.decision
    is_next = decision.hold is None or decision.hold.reason in _IN_PODS_TO_COME
    if decision.target is None or decision.reverts or not is_next:
        return outcome
    return dataclasses.replace(outcome, decision=dataclasses.replace(decision, hold=hold))


def _sentence(stop: FleetStop) -> Sentence:
    phrase = (
        "changes of values are stopped in {where}: {why}. What did harm is taken back; nothing else is changed, cures "
        "neither, until somebody who runs the operator resumes"
    )
    return say(phrase, where="this namespace" if stop.namespaces else "the whole fleet", why=stop.message)
