"""Writes into groups' configurations in the notation of a policy's status."""

import functools
from datetime import datetime, timedelta
from typing import Any

from heartbeat_tuner.api.applied import timestamp
from heartbeat_tuner.api.v1alpha1.group_config_v1alpha1 import GroupConfigStatus, GroupValues, GroupWriteStatus
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite


def group_write_status(write: GroupWrite) -> GroupConfigStatus:
    """Return a write in the API's notation."""
    return GroupConfigStatus(
        cluster_ref=write.cluster,
        group_id=write.group_id,
        before=None if write.before is None else GroupWriteStatus(**_noted(write.before)),
        **_noted(write),
    )


def group_write_of(noted: GroupConfigStatus) -> GroupWrite:
    """Return the write that is noted."""
    write = functools.partial(_write, noted.cluster_ref, noted.group_id)
    return write(noted, before=None if noted.before is None else write(noted.before))


def _write(cluster: str, group_id: str, noted: GroupWriteStatus, *, before: GroupWrite | None = None) -> GroupWrite:
    return GroupWrite(
        cluster,
        group_id,
        values=_overrides(noted.values),
        previous=_overrides(noted.previous),
        at=datetime.fromisoformat(noted.at),
        spec=noted.spec,
        answered=noted.answered,
        before=before,
    )


def _noted(write: GroupWrite) -> dict[str, Any]:
    return {
        "values": _values(write.values),
        "previous": _values(write.previous),
        "at": timestamp(write.at),
        "spec": write.spec,
        "answered": write.answered,
    }


def _values(overrides: GroupOverrides) -> GroupValues:
    session, interval = overrides.session_timeout, overrides.heartbeat_interval
    return GroupValues(
        session_timeout=None if session is None else durations.show(session),
        heartbeat_interval=None if interval is None else durations.show(interval),
    )


def _overrides(values: GroupValues) -> GroupOverrides:
    return GroupOverrides(_parsed(values.session_timeout), _parsed(values.heartbeat_interval))


def _parsed(text: str | None) -> timedelta | None:
    return None if text is None else durations.parse(text)
