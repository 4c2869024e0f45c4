"""Which workload of a policy that names several is written next. Pure.

A change is written to one workload after another, in the policy's order: to the next only when the pods of all before
it run with the values and stayed ready. What does harm is taken back from all that it was written to, the newest first.
Nothing of this is remembered: it follows from what was last written to each workload, as the workloads and the policy's
status note it, so that any leader goes on where another stopped.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.evidence import Holdings, Workload
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Policy, Range, WorkloadRef
from heartbeat_tuner.domain.verifications import FollowedChange, Outcome

_GOES_ON: Final = frozenset({Outcome.VERIFYING, Outcome.VERIFIED, Outcome.INCONCLUSIVE})
"""What may be known of a change that is written to one more workload."""


@dataclasses.dataclass(frozen=True, slots=True)
class NextPart:
    """The workload that a change which has begun is written to next, or taken back from.

    Attributes:
        reference: to it.
        target: the values.
        reverts: whether they are those before the change.
        is_due: whether nothing of the workloads before it has to be waited for.
    """

    reference: WorkloadRef
    target: LivenessSettings
    reverts: bool
    is_due: bool


def seen(policy: Policy, held: Mapping[WorkloadRef, Holdings], *, now: datetime) -> Policy:
    """Return the policy with what was last written to each workload, and what somebody took back, after a look.

    The same object is returned where nothing of it is new.

    Args:
        policy: that names several workloads.
        held: what of ours stands in each, as far as it could be read.
        now: the time.
    """
    intent, failed = policy.intent, policy.failed
    applications: dict[WorkloadRef, Application] = {}
    vetoes = [] if policy.taken_back is None else [policy.taken_back]
    is_of_none = intent is not None and set(policy.workloads) <= held.keys()
    for reference in policy.workloads:
        known, holdings = policy.applications.get(reference), held.get(reference)
        if holdings is not None:
            is_here = intent is not None and intent.application.workload_uid == holdings.uid
            asked = dataclasses.replace(
                workload_parts.alone(policy, reference), intent=intent if is_here else None, failed=failed
            )
            noted = taken_back.seen(asked, holdings, now=now)
            known, failed = noted.application, noted.failed
            if is_here:
                intent, is_of_none = noted.intent, False
            if noted.taken_back is not None and noted.taken_back not in vetoes:
                vetoes.append(noted.taken_back)
        if known is not None:
            applications[reference] = known
    veto = max(vetoes, key=lambda veto: (veto.seen, veto.application.at), default=None)
    undone = None if veto is None else veto.application.workload_uid
    after = dataclasses.replace(
        policy,
        workload=next((ref for ref, there in held.items() if there.uid == undone), policy.workloads[0]),
        applications=applications,
        application=max(applications.values(), key=lambda change: change.at, default=None),
        taken_back=veto,
        intent=None if is_of_none else intent,
        failed=failed,
    )
    return policy if after == policy else after


def next_part(policy: Policy, workload: Workload, followed: FollowedChange | None, now: datetime) -> NextPart | None:
    """Return where a change that has begun goes on; None where none has, or it is over, or must not go on.

    Args:
        policy: with what was last written to each workload.
        workload: all of them.
        followed: how far the newest change is.
        now: the time.
    """
    last = policy.application
    if last is None or not workload.parts:
        return None
    if last.reverts is not None:
        return _back_next(policy, workload_parts.written(policy, last, workload), now)
    if followed is None or followed.at != last.at or followed.outcome not in _GOES_ON:
        return None
    return _on_next(policy, last, workload, now)


def turned(policy: Policy, workload: Workload, followed: FollowedChange | None, now: datetime) -> Policy:
    """Return the policy turned to the workload that is written next, if one is.

    Args:
        policy: with what was last written to each workload.
        workload: all of them.
        followed: how far the newest change is.
        now: the time.
    """
    if not workload.parts:
        return policy
    return dataclasses.replace(policy, workload=_turn(policy, workload, followed, now))


def _turn(policy: Policy, workload: Workload, followed: FollowedChange | None, now: datetime) -> WorkloadRef:
    """Return the workload that is written next; where harm shows, the one that was written last."""
    last, veto = policy.application, policy.forbidden
    if veto is not None:
        return workload_parts.written_to(policy, veto.application, workload)[0]
    is_first = last is not None and last.reverts is None  # what goes back goes on with the others
    if last is not None and is_first and followed is not None and followed.at == last.at and followed.is_harmful:
        begun = workload_parts.written(policy, last, workload)
        if begun:
            return begun[-1][0]
    step = next_part(policy, workload, followed, now)
    return next(iter(workload.parts)) if step is None else step.reference


def _on_next(policy: Policy, last: Application, workload: Workload, now: datetime) -> NextPart | None:
    """Return the first workload that a change is still to be written to; none where somebody undid a part of it."""
    begun, values = workload_parts.written(policy, last, workload), last.values
    there = {ref for ref, *_ in begun}
    left = [ref for ref, part in workload.parts.items() if ref not in there and not _has(part, values)]
    is_in_force = all(part.rolling_out or _has(part, values) for *_, part in begun)
    if not left or not is_in_force:
        return None
    current = workload.parts[left[0]].current
    if not _are_allowed(policy, values, frozenset() if current is None else current.of_group):
        return None
    stayed = all(_has(part, values) and workload_parts.has_stayed(part, change.at, now) for _, change, part in begun)
    target = values if current is None else current.under_group(values)
    return NextPart(left[0], target, reverts=False, is_due=stayed)


def _back_next(
    policy: Policy, begun: Sequence[tuple[WorkloadRef, Application, Workload]], now: datetime
) -> NextPart | None:
    """Return the newest workload that a change is still to be taken back from, once the one before has its pods."""
    left = [(ref, change) for ref, change, _ in begun if change.reverts is None]
    if not left:
        return None
    reference, change = left[-1]
    # Under other names the values would stay where they are.
    before, names = change.entries_before, set(policy.env_names.values())
    if before is None or not names >= change.entries.keys() | before.keys():
        return None
    back = ((change, part) for _, change, part in begun if change.reverts is not None)
    is_under_way = any(part.rolling_out and not part.rollout.is_overdue(change.at, now) for change, part in back)
    return NextPart(reference, change.previous, reverts=True, is_due=not is_under_way)


def _has(part: Workload, values: LivenessSettings) -> bool:
    return part.current is not None and part.current.runs(values)


def _are_allowed(policy: Policy, values: LivenessSettings, of_group: frozenset[Setting]) -> bool:
    """Whether the policy, which may have been edited since, still allows values; the group's own are not written."""
    for setting, value in values.by_setting.items():
        side = Range() if setting in of_group else policy.range_of(setting)
        if (side.min is not None and value < side.min) or (side.max is not None and value > side.max):
            return False
    longest = policy.objective.max_detection_time
    return Setting.SESSION_TIMEOUT in of_group or values.session_timeout <= longest
