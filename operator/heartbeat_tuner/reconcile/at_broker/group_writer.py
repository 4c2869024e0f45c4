"""Writing what decisions ask for into groups' configurations at the broker.

What is about to be written is noted in the policy's status first, so that a write whose answer was lost, or whose
writer died, is known of. Right before it, the group and the policy are looked at once more. The adapter compares what
is set there with what the decision saw, and asks the fence itself.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.group_config_notes import group_write_status
from heartbeat_tuner.domain.errors import (
    ApiServerError,
    ClusterUnreachableError,
    GroupConfigChangedError,
    GroupConfigRefusedError,
    NoTimeToWriteError,
    WriteConflictError,
)
from heartbeat_tuner.domain.kafka_groups import GroupWrite
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.ports.kafka_clusters import GroupConfigs
from heartbeat_tuner.ports.kubernetes_workloads import Workloads
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.reconcile.at_broker import due_writes
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.policy_store import PolicyView
from heartbeat_tuner.reconcile.status import reporting

REFUSED_FOR: Final = timedelta(minutes=10)
"""What Kafka refused is tried again after so long: bounds change with a restart, rights when somebody grants them."""

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class ValueTargets:
    """Where values are written: into workloads, and into groups' configurations at the broker."""

    workloads: Workloads
    configs: GroupConfigs


class GroupWriter:
    """Writes into groups' configurations, for one leadership.

    Args:
        configs: where they are written.
        policies: where statuses are written.
        store: gets policies as they are stored.
    """

    def __init__(self, configs: GroupConfigs, policies: Policies, store: PolicyView) -> None:
        self._configs = configs
        self._policies = policies
        self._store = store
        self._refused: dict[ObjectKey, tuple[GroupWrite, Finding]] = {}

    async def altered(
        self, body: Mapping[str, Any], outcome: Decided, now: datetime
    ) -> tuple[Mapping[str, Any], Decided]:
        """Return the policy as it is stored, and the outcome, after what is due at the broker was done.

        Args:
            body: the policy.
            outcome: its decision, which has something to set there.
            now: the time.

        Raises:
            NotLeaderError: the leadership ended.
        """
        write = due_writes.due_write(outcome, now)
        if write is None:
            return body, outcome
        refusal = self._refusal(outcome.key, write)
        if refusal is not None:
            return body, dataclasses.replace(outcome, failure=refusal)
        try:
            body = await self._noted(body, write)
        except WriteConflictError as error:
            return body, _failed(outcome, Reason.CHANGED_MEANWHILE, error)
        except ApiServerError as error:
            return body, _failed(outcome, Reason.API_SERVER_ERROR, error)
        return body, await self._written(outcome, write)

    async def _written(self, outcome: Decided, write: GroupWrite) -> Decided:
        """Return the outcome after the write; only where Kafka said no, the status goes on with the write before."""
        try:
            await self._configs.alter(
                write.cluster,
                write.group_id,
                kind=outcome.inputs.group.kind,
                expected=write.previous,
                wanted=write.values,
            )
        except GroupConfigChangedError as error:
            return _failed(outcome, Reason.CHANGED_MEANWHILE, error)
        except GroupConfigRefusedError as error:
            failure = Finding(Reason.GROUP_CONFIG_REFUSED, str(error))
            if not isinstance(error, NoTimeToWriteError):
                self._refused[outcome.key] = (write, failure)
            return dataclasses.replace(outcome, failure=failure)
        except ClusterUnreachableError as error:
            return dataclasses.replace(_failed(outcome, Reason.CLUSTER_UNREACHABLE, error), group_write=write)
        _log.info(
            "group configuration altered",
            policy=str(outcome.key),
            cluster=write.cluster,
            group=write.group_id,
            reason=outcome.decision.finding.reason.value,
            before=str(write.previous),
            after=str(write.values),
        )
        return dataclasses.replace(
            outcome, group_write=dataclasses.replace(write, answered=True, before=None), altered=True
        )

    def _refusal(self, key: ObjectKey, write: GroupWrite) -> Finding | None:
        """Return why Kafka did not take the same write a while ago; None where it may be tried."""
        self._refused = {other: known for other, known in self._refused.items() if write.at - known[0].at < REFUSED_FOR}
        tried, failure = self._refused.get(key, (None, None))
        if tried is None or (tried.group_id, tried.cluster) != (write.group_id, write.cluster):
            return None
        return failure if (tried.values, tried.previous) == (write.values, write.previous) else None

    async def _noted(self, body: Mapping[str, Any], write: GroupWrite) -> Mapping[str, Any]:
        """Note in the policy's status what is about to be written; return the policy as stored.

        Raises:
            WriteConflictError: the policy was edited or deleted meanwhile.
            ApiServerError: the API server did not answer or refused.
        """
        if not await self._policies.is_current(body):
            raise WriteConflictError("the policy was edited or deleted meanwhile")
        status = parsing.status_of(body).model_copy(update={"group_config": group_write_status(write)})
        stored = await self._policies.write_status(body, reporting.document(status))
        self._store.refresh(stored)
        return stored


def _failed(outcome: Decided, reason: Reason, error: Exception) -> Decided:
    return dataclasses.replace(outcome, failure=Finding(reason, str(error)))
