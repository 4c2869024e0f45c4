"""Do pods fail because of the values? Only what our values may have done is taken back for it.

One pod of fifty on a broken node, a sidecar that crashes, the owner's own deploy after our write, and pods that crashed
before it too say nothing against values. So a rollout counts as failed here while the template is still the one that
our write left, the failing container is the one that was written to, more of the new pods fail than stay ready, and the
pods of the template before stand where there are any.
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
        template: the fingerprint of the template that our write left; empty where nobody saw it yet.
        written: when.
        now: the time.
    """
    rollout = workload.rollout
    is_left_to_us = not workload.paused and workload.strategy is not Strategy.ON_DELETE
    is_ours = workload.template == template if template else workload.our_rollout
    if not (is_left_to_us and is_ours and _pods_before_stand(workload, now)):
        return calm(rollout, now)
    settled = rollout.settled(now)
    crashing = [failing for failing in rollout.failing if failing.container == container and failing.is_crashing(now)]
    if len(crashing) > settled:
        return dataclasses.replace(rollout, exceeded=False, progressed=now, failing=tuple(crashing))
    is_stuck = workload.rolling_out or settled < rollout.wanted
    if is_stuck and 2 * settled < rollout.wanted and _is_overdue(rollout, written, now):
        return rollout
    return calm(rollout, now)


def calm(rollout: Rollout, now: datetime) -> Rollout:
    """Return a rollout of which nothing is said against the values."""
    return dataclasses.replace(rollout, exceeded=False, progressed=now, failing=())


def _is_overdue(rollout: Rollout, written: datetime, now: datetime) -> bool:
    """Whether the deadline is over since our write: a controller may still say so of the rollout before."""
    return rollout.is_overdue(written, now) and now - written >= min(rollout.deadline, LONGEST_DEADLINE)


def _pods_before_stand(workload: Workload, now: datetime) -> bool:
    """Whether a pod of the template before has stayed ready, or there are no such pods any more."""
    before = [pod for pod in workload.pods if pod.name not in workload.rollout.pods]
    if not before:
        return True
    return any(has_settled(pod.ready_since, pod.restarts, now) for pod in before)
