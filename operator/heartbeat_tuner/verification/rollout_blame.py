"""Do pods fail because of the values? Only what our values may have done is taken back for it.

One pod of fifty on a broken node, a sidecar that crashes, an image that cannot be pulled, a node that is full, the
owner's own deploy after our write, and pods that crashed before it too say nothing against values. So a rollout counts
as failed here while the newest change of the template is ours, in the container that was written to, when more of the
new pods fail than run, and pods of the template before stand where there are any. Pods that run and are never ready
fail when the workload's own deadline is over, as its controller says; a StatefulSet has none. Who aborts a rollout of
Argo's says no to its template: where the newest change of that is ours, it is taken back, which starts no pod.
"""

import dataclasses
from datetime import datetime

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.rollouts import LONGEST_DEADLINE, Rollout, Strategy, has_settled


def blamed(workload: Workload, container: str, template: str, written: datetime, now: datetime) -> Rollout:
    """Return the rollout as far as the values may be to blame; a calm one where nothing speaks against them.

    Args:
        workload: as it was looked up.
        container: that was written to.
        template: the fingerprint of the template that our write left; empty where nobody saw it.
        written: when.
        now: the time.
    """
    rollout = workload.rollout
    is_left_to_us = not workload.paused and workload.strategy is not Strategy.ON_DELETE
    if not (is_left_to_us and is_ours(workload, template) and _pods_before_stand(workload, now)):
        return calm(rollout, now)
    if rollout.aborted:
        return rollout
    of_ours = [failing for failing in rollout.failing if failing.container == container]
    crashing = [failing for failing in of_ours if failing.is_crashing(now)]
    healthy = {pod.pod for pod in rollout.ready}.difference(failing.pod for failing in crashing)
    if len(crashing) > len(healthy) + len(rollout.unready):
        return dataclasses.replace(rollout, exceeded=False, progressed=now, failing=tuple(crashing))
    restarted = [failing for failing in of_ours if failing.restarts]
    if _is_overdue(rollout, written, now) and len(restarted) + len(rollout.unready) > len(healthy):
        return dataclasses.replace(rollout, failing=tuple(restarted))
    return calm(rollout, now)


def is_ours(workload: Workload, template: str) -> bool:
    """Whether the pods' template is the one that our write left, by its fingerprint or by who changed it last."""
    return workload.is_our_template or (template != "" and workload.template == template)


def calm(rollout: Rollout, now: datetime) -> Rollout:
    """Return a rollout of which nothing is said against the values."""
    return dataclasses.replace(rollout, exceeded=False, aborted=False, progressed=now, failing=())


def _is_overdue(rollout: Rollout, written: datetime, now: datetime) -> bool:
    """Whether the deadline is over for our write: the controller may still say so of the rollout before."""
    return rollout.exceeded and now - written >= min(rollout.deadline, LONGEST_DEADLINE)


def _pods_before_stand(workload: Workload, now: datetime) -> bool:
    """Whether a pod of the template before has stayed ready, or there are no such pods any more."""
    before = [pod for pod in workload.pods if pod.name not in workload.rollout.pods]
    if not before:
        return True
    return any(has_settled(pod.ready_since, pod.restarts, now) for pod in before)
