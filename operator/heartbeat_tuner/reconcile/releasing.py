"""Letting go of what somebody overruled, so that the manager that took an entry over may take it away.

Where another manager has the value of an entry of ours, our hold on its name does harm only: once that manager drops
the entry, it would stay without a value, hide what `envFrom` brings, and the next pods would get an empty text. To let
go in time changes no value and starts no pod, so it is done in every mode, also while the policy is suspended. An entry
that has no value any more is taken out as well, though new pods start then: those that run with it are broken. Only a
suspended policy has to wait for that.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import structlog

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.errors import NotLeaderError, TunerError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.policies import Policy, WorkloadRef
from heartbeat_tuner.ports.kubernetes_workloads import Workloads
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.reconcile.status.troubles import Troubles

TRIES: Final = 5
"""In one cycle: while pods come and go, the workload's own controller writes between a read and a write."""

_log = structlog.get_logger()


def first_due(policy: Policy, held: Mapping[WorkloadRef, Holdings]) -> Policy | None:
    """Return the policy as if it named alone the first workload with something to let go of; None where none has.

    One in a cycle: new pods may start.
    """
    for alone in workload_parts.by_themselves(policy):
        ours = held.get(alone.workload)
        if ours is not None and (ours.overruled or (ours.empty and not policy.suspended)):
            return alone
    return None


async def release(
    policy: Policy, body: Mapping[str, Any], workloads: Workloads, policies: Policies, troubles: Troubles
) -> bool:
    """Let go; return whether new pods start by that.

    What is refused is tried again in the next cycle: whatever it was, the workload stands as it stood.

    Raises:
        NotLeaderError: the leadership is over.
    """
    takes_out = not policy.suspended
    try:
        # The watch may lag behind: a policy that is gone or edited by now may be suspended, too.
        if not await policies.is_current(body):
            return False
        held = await _released(policy, workloads, empty=takes_out)
    except NotLeaderError:
        raise
    except TunerError as error:
        troubles.add("entries not let go of, the next cycle tries again", policy.key, error)
        return False
    if held is None:
        return False
    _log.info(
        "let go of entries",
        policy=str(policy.key),
        workload=str(policy.workload),
        overruled={container: dict(names) for container, names in held.overruled.items()},
        without_value={container: list(names) for container, names in held.empty.items()} if takes_out else {},
    )
    return takes_out and bool(held.empty)


async def _released(policy: Policy, workloads: Workloads, *, empty: bool) -> Holdings | None:
    """Let go; each try rests on a look of its own.

    Raises:
        WriteConflictError: the workload changed under every try.
        TunerError: anything else.
    """
    for _ in range(TRIES - 1):
        with contextlib.suppress(WriteConflictError):
            return await workloads.release(policy, empty=empty)
    return await workloads.release(policy, empty=empty)
