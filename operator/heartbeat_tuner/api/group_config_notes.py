"""Writes into groups' configurations in the notation of a policy's status."""

from datetime import datetime, timedelta

from heartbeat_tuner.api.applied import timestamp
from heartbeat_tuner.api.v1alpha1.group_config_v1alpha1 import GroupConfigStatus, GroupValues
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite


def group_write_status(write: GroupWrite) -> GroupConfigStatus:
    """Return a write in the API's notation."""
    return GroupConfigStatus(
        cluster_ref=write.cluster,
        group_id=write.group_id,
        values=_values(write.values),
        previous=_values(write.previous),
        at=timestamp(write.at),
        spec=write.spec,
        answered=write.answered,
    )


def group_write_of(noted: GroupConfigStatus) -> GroupWrite:
    """Return the write that is noted."""
    return GroupWrite(
        cluster=noted.cluster_ref,
        group_id=noted.group_id,
        values=_overrides(noted.values),
        previous=_overrides(noted.previous),
        at=datetime.fromisoformat(noted.at),
        spec=noted.spec,
        answered=noted.answered,
    )


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
