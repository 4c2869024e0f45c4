"""Our last write into a group's configuration as a change that is followed and judged like one of a workload. Pure."""

import dataclasses

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Policy


def change_of(policy: Policy, workload: Workload, group: Group) -> Application | None:
    """Return our last write at the broker as a change; None where there is none, or what is set is not known.

    Args:
        policy: with the write.
        workload: with what is set: S and H as the group prescribes them.
        group: as it is described.
    """
    write = policy.group_write
    if write is None or not write.answered or group.config is None or workload.current is None:
        return None
    current = workload.current.settings
    return Application(
        values=current if group.config.overrides == write.values else _with(current, write),
        previous=before(write, current),
        at=write.at,
        workload_uid=workload.uid,
        container=policy.workload.container,
        promise=write.promise,
        reverts=write.reverts,
    )


def before(write: GroupWrite, current: LivenessSettings) -> LivenessSettings:
    """Return what was in force before a write, as far as that was noted; else what is.

    Args:
        write: the write.
        current: what is set now.
    """
    replaced, previous = write.replaced, write.previous
    return dataclasses.replace(
        current,
        session_timeout=replaced.session_timeout or previous.session_timeout or current.session_timeout,
        heartbeat_interval=replaced.heartbeat_interval or previous.heartbeat_interval or current.heartbeat_interval,
    )


def _with(current: LivenessSettings, write: GroupWrite) -> LivenessSettings:
    values = write.values
    return dataclasses.replace(
        current,
        session_timeout=values.session_timeout or current.session_timeout,
        heartbeat_interval=values.heartbeat_interval or current.heartbeat_interval,
    )
