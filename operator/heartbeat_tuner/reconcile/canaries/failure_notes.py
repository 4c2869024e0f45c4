"""Notes at workloads of what failed in them: who has no status knows them, too.

A change that is taken back writes the template, and notes with it why. A canary that fails writes no template: what
failed is noted in the policy's status first, and here at the workload after that, in whichever cycle it is missing.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import structlog

from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, NotLeaderError, TunerError
from heartbeat_tuner.domain.policies import Mode, ObjectKey
from heartbeat_tuner.ports.kubernetes_workloads import Workloads
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.status.troubles import Troubles

_Noted = tuple[str, frozenset[datetime]]

_log = structlog.get_logger()


class FailureNotes:
    """Brings the notes up to date, during one leadership.

    Args:
        workloads: where they are written.
        policies: asked whether a policy is still what was gathered.
        troubles: what went wrong, for the log.
    """

    def __init__(self, workloads: Workloads, policies: Policies, troubles: Troubles) -> None:
        self._workloads = workloads
        self._policies = policies
        self._troubles = troubles
        self._written: dict[ObjectKey, _Noted] = {}

    def begin(self, keys: Collection[ObjectKey]) -> None:
        """Begin a cycle; what was written for policies that are gone is forgotten.

        Args:
            keys: of all policies.
        """
        self._written = {key: noted for key, noted in self._written.items() if key in keys}

    async def write(self, body: Mapping[str, Any], outcome: Decided) -> None:
        """Write what is missing at a workload, once: who takes an annotation out again is not fought.

        Args:
            body: the policy, as stored by now.
            outcome: of it.

        Raises:
            NotLeaderError: the leadership is over.
        """
        key, due = outcome.key, _due(outcome)
        if due is None or self._written.get(key) == due:
            return
        try:
            if await self._policies.is_current(body):
                await self._write(outcome)
                self._written[key] = due
        except NotLeaderError:
            raise
        except TunerError as error:
            self._troubles.add("failed values not noted at the workload", key, error)
            if _is_refused(error):
                self._written[key] = due  # the status has them, too: nobody is asked in vain in each cycle

    async def _write(self, outcome: Decided) -> None:
        policy, workload = outcome.inputs.policy, outcome.inputs.workload
        await self._workloads.note_failed(policy, workload, policy.failed)
        _log.info("failed values noted", policy=str(policy.key), workload=str(policy.workload))


def _due(outcome: Decided) -> _Noted | None:
    """Return what is to be noted at a workload; None where nothing is missing there, or nothing may be written.

    A template that is written in this cycle carries it. Of several workloads each that goes back does.
    """
    policy, workload = outcome.inputs.policy, outcome.inputs.workload
    held = workload.holdings
    if held is None or policy.workloads or policy.suspended or policy.mode is not Mode.APPLY:
        return None
    note = held.applications.get(policy.workload.container)
    noted = (*held.failed.get(policy.workload.container, ()), *(() if note is None else note.failed))
    failed = frozenset(values.at for values in policy.failed)
    if outcome.decision.to_apply is not None or failed <= {values.at for values in noted}:
        return None
    return workload.uid, failed


def _is_refused(error: TunerError) -> bool:
    """Whether the same write would be refused again: another manager has the annotation, or the right is missing."""
    return isinstance(error, FieldOwnedError) or (isinstance(error, ApiServerError) and error.refused)
