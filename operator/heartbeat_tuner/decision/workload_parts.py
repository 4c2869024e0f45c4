"""A policy that names several workloads: each of them by itself, and all as one. Pure.

All get the same values, so the group has one record, one decision and one change. `next_workload` says which of them
is written next.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar

from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.rollouts import LONGEST_DEADLINE, Rollout, Strategy, has_settled
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Finding

_Read = TypeVar("_Read")

_NONE: Final[Mapping[WorkloadRef, MissingWorkload]] = MappingProxyType({})


def references(policy: Policy) -> tuple[WorkloadRef, ...]:
    """Return all workloads that a policy names."""
    return policy.workloads or (policy.workload,)


def named(policy: Policy) -> WorkloadRef | Sentence:
    """Return what a sentence calls the workloads of a policy."""
    return join(", ", map(str, policy.workloads)) if policy.workloads else policy.workload


def alone(policy: Policy, reference: WorkloadRef) -> Policy:
    """Return a policy as if it named this workload alone; one that does is returned as it is."""
    if not policy.workloads:
        return policy
    application = policy.applications.get(reference, policy.application)  # perhaps of another: its uid says so
    return dataclasses.replace(policy, workload=reference, workloads=(), application=application)


def by_themselves(policy: Policy) -> list[Policy]:
    """Return a policy once for each workload that it names, as if it named that alone."""
    return [alone(policy, reference) for reference in references(policy)]


def looks(policies: Iterable[Policy], read: Mapping[ObjectKey, _Read]) -> Iterator[tuple[Policy, Workload | _Read]]:
    """Yield each workload of policies by itself, or why it is not known, with the policy as if it named that alone.

    Of several workloads those that are not there are left out.

    Args:
        policies: that were looked at.
        read: what was read for each.
    """
    for policy in policies:
        whole = read[policy.key]
        parts, absent = (whole.parts, whole.absent) if isinstance(whole, Workload) else ({}, {})
        for by_itself in by_themselves(policy):
            if by_itself.workload not in absent:
                yield by_itself, parts.get(by_itself.workload, whole)


def each(policy: Policy, workload: Workload) -> Mapping[WorkloadRef, Workload]:
    """Return each workload of a policy by itself."""
    return workload.parts or {policy.workload: workload}


def written_next(policy: Policy, workload: Workload) -> Workload:
    """Return by itself the workload that is written next."""
    return workload.parts.get(policy.workload, workload)


def last_of(policy: Policy) -> Application | None:
    """Return what was last written to the workload that is written next."""
    return policy.applications.get(policy.workload) if policy.workloads else policy.application


def written_to(policy: Policy, change: Application, workload: Workload) -> tuple[WorkloadRef, Workload]:
    """Return by itself the workload that a change was written to, with its reference."""
    by_itself = ((ref, part) for ref, part in workload.parts.items() if part.uid == change.workload_uid)
    return next(by_itself, (policy.workload, workload))


def settled(workload: Workload, now: datetime) -> int:
    """Return how many running pods have stayed ready."""
    return sum(1 for pod in workload.pods if has_settled(pod.ready_since, pod.restarts, now))


def has_stayed(workload: Workload, since: datetime, now: datetime) -> bool:
    """Whether all pods stayed ready after a rollout; long after its begin one does for all if nothing speaks against.

    Args:
        workload: that was rolled out.
        since: when the rollout began.
        now: the time.
    """
    if workload.rolling_out:
        return False
    rollout, is_old = workload.rollout, now - since >= LONGEST_DEADLINE
    is_calm = is_old and not rollout.exceeded and rollout.crashing(now) is None
    return settled(workload, now) >= (min(1, rollout.wanted) if is_calm else rollout.wanted)


def prescribed(workload: Workload, group: Group) -> Workload:
    """Return a workload, and its parts, with what the broker prescribes to the group in the place of the pods' own."""

    def of_group(each: Workload) -> Workload:
        return each if each.current is None else dataclasses.replace(each, current=group.prescribed(each.current))

    whole = of_group(workload)
    if not whole.parts or not group.consumer_protocol:
        return whole
    parts = {ref: of_group(part) for ref, part in whole.parts.items()}
    return dataclasses.replace(whole, current=_alike(list(parts.values())), parts=parts)


def together(parts: Mapping[WorkloadRef, Workload], absent: Mapping[WorkloadRef, MissingWorkload] = _NONE) -> Workload:
    """Return all workloads of a policy as one: the pods of all, and what is set where that is alike in all.

    Args:
        parts: those that are there.
        absent: the others, with why.
    """
    all_parts = list(parts.values())
    rolling = [part for part in all_parts if part.rolling_out]
    pods = sorted((pod for part in all_parts for pod in part.pods), key=lambda pod: (pod.started, pod.name))
    return dataclasses.replace(
        all_parts[0],
        current=_alike(all_parts),
        pods=tuple(pods),
        rolling_out=bool(rolling),
        our_rollout=bool(rolling) and all(part.our_rollout for part in rolling),
        most_pods=sum(part.most_pods for part in all_parts),
        at_once=any(part.at_once for part in all_parts),
        paused=any(part.paused for part in all_parts),
        pause=next((part.pause for part in all_parts if part.paused), ""),
        partition=max(part.partition for part in all_parts),
        strategy=next((part.strategy for part in all_parts if part.strategy is not Strategy.ROLLING), Strategy.ROLLING),
        unlike_template=frozenset(setting for part in all_parts for setting in part.unlike_template),
        template=_fingerprint(all_parts),
        rollout=_rollout([part.rollout for part in all_parts]),
        # Begun when the policy named one workload alone: its pods are taken back.
        canary=next((part.canary for part in all_parts if part.canary.uids), all_parts[0].canary),
        parts=parts,
        absent=absent,
    )


def is_made_of(
    workload: Workload, parts: Mapping[WorkloadRef, Workload], absent: Mapping[WorkloadRef, MissingWorkload]
) -> bool:
    """Whether these very workloads are the parts of one view, and the others are missing for the same reasons."""
    known = workload.parts
    is_same = list(known) == list(parts) and all(known[reference] is part for reference, part in parts.items())
    return is_same and workload.absent == absent


def missing(workload: Workload) -> Finding | None:
    """Say which of several workloads is not there; None where none is missing."""
    for absent in workload.absent.values():
        phrase = "{why}. Meanwhile only what did harm is taken back, from {rest}; spec.workloadRefs may leave it out"
        there = join(", ", map(str, workload.parts))
        return Finding(absent.reason, say(phrase, why=absent.message, rest=there))
    return None


def written(policy: Policy, change: Application, workload: Workload) -> list[tuple[WorkloadRef, Application, Workload]]:
    """Return each workload that a change is in by itself, with its reference and what was written; the newest last.

    Args:
        policy: with what was last written to each workload.
        change: the newest.
        workload: all of them.
    """
    if not workload.parts:
        return [(policy.workload, change, workload)]
    noted = [
        (ref, policy.applications[ref], part) for ref, part in workload.parts.items() if ref in policy.applications
    ]
    return sorted((each for each in noted if each[1].change == change.change), key=lambda each: each[1].at)


def as_written(policy: Policy, change: Application, workload: Workload, *, is_first: bool) -> Workload:
    """Return the workload that a change was written to, with one fingerprint of all templates that the change is in.

    Args:
        policy: with what was last written to each workload.
        change: the newest.
        workload: all of them.
        is_first: whether the change was not seen before: what others did to the workloads before it belongs to it then.
    """
    if not workload.parts:
        return workload
    newest, parts = written_to(policy, change, workload)[1], [part for *_, part in written(policy, change, workload)]
    is_ours = newest.is_our_template if is_first else all(part.is_our_template for part in parts)
    return dataclasses.replace(newest, template=_fingerprint(parts), is_our_template=is_ours)


def _alike(parts: Sequence[Workload]) -> CurrentSettings | None:
    """Return what is set in all workloads; None where they, or their pods, differ.

    Where one of them does not show a value, it is assumed for all.
    """
    known = [part.current for part in parts if part.current is not None]
    if len(known) < len(parts) or any(current.settings != known[0].settings for current in known):
        return None
    sources: dict[Setting, ValueSource] = dict(known[0].sources)
    for current in known[1:]:
        sources |= {setting: source for setting, source in current.sources.items() if source is ValueSource.DEFAULT}
    return CurrentSettings(known[0].settings, sources)


def _rollout(rollouts: Sequence[Rollout]) -> Rollout:
    return Rollout(
        wanted=sum(rollout.wanted for rollout in rollouts),
        updated=sum(rollout.updated for rollout in rollouts),
        deadline=max(rollout.deadline for rollout in rollouts),
        exceeded=any(rollout.exceeded for rollout in rollouts),
        aborted=any(rollout.aborted for rollout in rollouts),
        progressed=max((rollout.progressed for rollout in rollouts if rollout.progressed is not None), default=None),
        failing=tuple(pod for rollout in rollouts for pod in rollout.failing),
        ready=tuple(pod for rollout in rollouts for pod in rollout.ready),
        unready=tuple(pod for rollout in rollouts for pod in rollout.unready),
        pods=frozenset(pod for rollout in rollouts for pod in rollout.pods),
    )


def _fingerprint(parts: Iterable[Workload]) -> str:
    return hashlib.sha256(" ".join(part.template for part in parts).encode()).hexdigest()
