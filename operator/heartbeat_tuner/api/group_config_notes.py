"""Writes into groups' configurations in the notation of a policy's status, and a person's request to take one back.

The person need not have rights at the broker: the request is an annotation of the policy. It names the write by its
time, so that one that stays there takes back nothing that is written later.
"""

import functools
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.api.applied import promise_status, promised, timestamp
from heartbeat_tuner.api.v1alpha1.group_config_v1alpha1 import GroupConfigStatus, GroupValues, GroupWriteStatus
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite

REVERT_ANNOTATION: Final = "heartbeat-tuner.dev/revert-group-config"

_LONGEST: Final = 64
"""Of an annotation; a time is shorter."""


def revert_request(body: Mapping[str, Any]) -> str:
    """Return the time of the write that a person wants taken back, as its status has it; empty where nobody does.

    Args:
        body: the policy; its annotations are a tenant's, and may be anything.
    """
    annotations = body["metadata"].get("annotations") or {}
    return str(annotations.get(REVERT_ANNOTATION, ""))[:_LONGEST]


def revert_time(write: GroupWrite) -> str:
    """Return what a request to take a write back has to say."""
    return timestamp(write.at)


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
        replaced=GroupOverrides() if noted.replaced is None else _overrides(noted.replaced),
        reverts=None if noted.reverts is None else datetime.fromisoformat(noted.reverts),
        harm=noted.harm or "",
        promise=None if noted.promise is None else promised(noted.promise),
    )


def _noted(write: GroupWrite) -> dict[str, Any]:
    return {
        "values": _values(write.values),
        "previous": _values(write.previous),
        "at": timestamp(write.at),
        "spec": write.spec,
        "answered": write.answered,
        "replaced": None if write.replaced == GroupOverrides() else _values(write.replaced),
        "reverts": None if write.reverts is None else timestamp(write.reverts),
        "harm": write.harm or None,
        "promise": promise_status(write.promise),
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
