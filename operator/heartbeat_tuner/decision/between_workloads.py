"""What is decided between two workloads of a policy that names several. Pure.

`next_workload` knows which is next. Of a policy of one workload nothing is said here.
"""

from datetime import datetime

from heartbeat_tuner.decision import next_workload, workload_parts
from heartbeat_tuner.domain.evidence import Record, Workload
from heartbeat_tuner.domain.liveness import changed, shown
from heartbeat_tuner.domain.policies import Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange


def taken_back_next(
    policy: Policy, workload: Workload, followed: FollowedChange | None, now: datetime
) -> Decision | None:
    """Return that a change is taken back from the next workload that it was written to; None where it is not."""
    step, last = next_workload.next_part(policy, workload, followed, now), policy.application
    if step is None or last is None or not step.reverts:
        return None
    if not policy.reverts or policy.mode is not Mode.APPLY:
        return None  # edited between two workloads: as where nothing has gone back yet
    why = last.failed[-1] if last.failed else None
    reason = Reason.ROLLOUT_FAILED if why is None else Reason(why.outcome.value)
    finding = Finding(reason, "the change did harm or failed" if why is None else why.message)
    if not step.is_due:
        wait = say("Its values are taken back from {workload} when the rollout before is over", workload=step.reference)
        return Decision(Verdict.UNKNOWN, finding, advice=wait)
    back = say(
        "The values before it, {values}, are to be written to {workload} again",
        values=shown(step.target, changed(policy.applications[step.reference].values, step.target)),
        workload=step.reference,
    )
    current = workload.parts[step.reference].current
    target = step.target if current is None else current.under_group(step.target)
    return Decision(Verdict.CHANGE, finding, advice=back, target=target, reverts=True)


def unseen(workload: Workload, record: Record) -> Decision | None:
    """Return that nothing is decided, since nothing is known of any pod of one workload; None where each is seen."""
    for reference, part in workload.parts.items():
        if part.pods and all(pod.name in record.unobserved_pods for pod in part.pods):
            text = say(
                "no fresh metrics of any pod of {workload}, so nothing is known of the group", workload=reference
            )
            return Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, text))
    return None


def lacks_pods(policy: Policy, workload: Workload) -> Finding:
    """Say that no pod runs, or none is ready that could show whose group it is."""
    lacks = "no pod of {workload} " + ("is ready with" if workload.pods else "runs") + " container {container}"
    sentence = say(lacks, workload=workload_parts.named(policy), container=policy.workload.container)
    return Finding(Reason.TOO_LITTLE_DATA, sentence)


def pods_differ(policy: Policy) -> Finding:
    """Say that pods run with different values, and what is waited for."""
    others = (
        "those that have not got the new ones yet get them when they are replaced"
        if policy.mode is Mode.INITIAL
        else "waiting for the rollout to finish"
    )
    differ = "the pods of {workload} run with different values; {others}"
    sentence = say(differ, workload=workload_parts.named(policy), others=others)
    return Finding(Reason.ROLLOUT_IN_PROGRESS, sentence)


def written_next(policy: Policy, workload: Workload, followed: FollowedChange | None, now: datetime) -> Decision | None:
    """Return that a change is written to the next workload, or waits for that; None where none has begun."""
    step, last = next_workload.next_part(policy, workload, followed, now), policy.application
    if step is None or last is None:
        return None
    begun = say(
        "the change of group {group} that was begun at {at:%Y-%m-%dT%H:%M:%SZ} is not in all workloads yet",
        group=policy.group_id,
        at=last.change,
    )
    finding = Finding(Reason.ROLLOUT_IN_PROGRESS, begun)
    if not step.is_due:
        waits = "{workload} comes next, when the pods of the workloads before it have stayed ready with the values"
        return Decision(Verdict.UNKNOWN, finding, advice=say(waits, workload=step.reference))
    advice = say("{workload} comes next", workload=step.reference)
    return Decision(Verdict.CHANGE, finding, advice=advice, target=step.target, goes_on=True)


def differing(policy: Policy, workload: Workload) -> Decision | None:
    """Return that nothing is decided, since somebody has set other values in one workload than in another."""
    parts = workload.parts
    known = {reference: part.current for reference, part in parts.items()}
    if not parts or workload.current is not None or workload.rolling_out or None in known.values():
        return None
    values = (f"{ref} {shown(current.settings)}" for ref, current in known.items() if current is not None)
    differ = say(
        "the workloads of a policy get the same values, and those of group {group} have different ones now: {shown}. "
        "Set the same values in all of them, or leave one out of spec.workloadRefs",
        group=policy.group_id,
        shown=join("; ", values),
    )
    return Decision(Verdict.UNKNOWN, Finding(Reason.CONFLICT, differ))
