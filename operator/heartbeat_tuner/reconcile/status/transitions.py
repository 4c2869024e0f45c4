"""Which changes of a status deserve an Event, and which of these a person should look at. Pure."""

import dataclasses
from typing import Final

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Condition, ConditionStatus, ConditionType, Status
from heartbeat_tuner.domain.reasons import Reason

_QUIET_REASONS: Final = frozenset(
    {
        Reason.NOTHING_TO_APPLY,
        Reason.RECOMMEND_MODE,
        Reason.AT_NEXT_RESTART,
        Reason.WATCHING,
        Reason.FEASIBLE,
        Reason.HEALTHY,
        Reason.WITHIN_OBJECTIVE,
        Reason.LIKELY_WITHIN,
        Reason.TOO_EARLY,
        Reason.OUTSIDE_WINDOW,
        Reason.FLEET_BUDGET_SPENT,
        Reason.SCALED_TO_ZERO,
        Reason.PROTOCOL_READY,
        Reason.LIBRARY_LACKS_PROTOCOL,
        Reason.BROKERS_LACK_PROTOCOL,
        Reason.SETTINGS_REFUSED,
        Reason.ASSIGNOR_LACKS_COUNTERPART,
        Reason.BROKERS_NOT_READ,
        Reason.CLIENT_VERSION_UNKNOWN,
    }
)
"""Reasons that are no news by themselves."""

_OF_THE_OBJECTIVE: Final = frozenset(
    {Reason.WITHIN_OBJECTIVE, Reason.LIKELY_WITHIN, Reason.TOO_EARLY, Reason.ABOVE_OBJECTIVE}
)
"""Reasons that several conditions have at once: where Recommended has news, that is told alone."""

OF_READY: Final = frozenset(
    {
        Reason.WORKLOAD_NOT_FOUND,
        Reason.WORKLOAD_UNSUPPORTED,
        Reason.CONTAINER_NOT_FOUND,
        Reason.WORKLOAD_UNSUPPORTED,
        Reason.GROUP_NOT_FOUND,
        Reason.GROUP_UNREADABLE,
        Reason.GROUP_NOT_OWNED,
        Reason.CLUSTER_NOT_CONFIGURED,
        Reason.CLUSTER_UNREACHABLE,
        Reason.CONFLICT,
        Reason.SETTING_UNREADABLE,
        Reason.INVALID_POLICY,
        Reason.INTERNAL_ERROR,
        Reason.API_SERVER_ERROR,
    }
)
"""Reasons for which a policy is not Ready; another condition is Unknown for one of them only while it is not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Announcement:
    """One Kubernetes Event to record.

    Attributes:
        type: of the condition that changed.
        before: its status until then; None where there was none.
        status: its status now.
        reason: why.
        message: the sentence.
        warning: whether a person should look.
        count: of policies that it speaks for.
    """

    type: ConditionType
    before: ConditionStatus | None
    status: ConditionStatus
    reason: Reason
    message: str
    warning: bool
    count: int = 1


def announcements(previous: Status, current: Status) -> list[Announcement]:
    """Return the Events for what changed between two statuses, and one where two conditions say the same."""
    before = {condition.type: condition for condition in previous.conditions if not is_withdrawn(condition)}
    announced: dict[tuple[Reason, str], Announcement] = {}
    for condition in current.conditions:
        if not is_withdrawn(condition) and _is_news(before.get(condition.type), condition):
            announcement = _announcement(before.get(condition.type), condition)
            announced.setdefault((condition.reason, condition.message), announcement)
    is_told = any(event.type is ConditionType.RECOMMENDED for event in announced.values())
    return [
        event
        for event in announced.values()
        if event.type is ConditionType.RECOMMENDED or not (is_told and event.reason in _OF_THE_OBJECTIVE)
    ]


def _announcement(before: Condition | None, condition: Condition) -> Announcement:
    return Announcement(
        type=condition.type,
        before=None if before is None else before.status,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        warning=_is_warning(condition),
    )


def _is_news(before: Condition | None, after: Condition) -> bool:
    """Whether a change deserves an Event: a new status or reason, but no plain good news on first sight."""
    if before is not None and (before.status, before.reason) == (after.status, after.reason):
        return False
    if before is None and after.type is not ConditionType.APPLIED and not _is_warning(after):
        return False
    return after.reason not in _QUIET_REASONS or (before is not None and before.reason not in _QUIET_REASONS)


def is_withdrawn(condition: Condition) -> bool:
    """Whether nobody knows it because the policy is not Ready: that is told once, of Ready."""
    return condition.status is ConditionStatus.UNKNOWN and condition.reason in OF_READY


def _is_warning(condition: Condition) -> bool:
    """Whether a person should look: something is wrong, or should be changed."""
    if condition.type is ConditionType.RECOMMENDED:
        return condition.status is ConditionStatus.TRUE
    calm = _QUIET_REASONS | {Reason.ROLLING_OUT}
    return condition.status is ConditionStatus.FALSE and condition.reason not in calm
