"""A policy that names several Deployments of one group: the stage of it, and what happens to its workloads."""

import dataclasses
from typing import Any, Final

from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from tests.support import counters, manifests, worlds
from tests.support.stages import Stage

FIRST: Final = ObjectKey("shop", "orders-a")
SECOND: Final = ObjectKey("shop", "orders-b")
THIRD: Final = ObjectKey("shop", "orders-c")
ALL: Final = (FIRST, SECOND, THIRD)
CURED: Final = worlds.settings("30s", "1s", "1s")
PODS: Final = 2


def refs(count: int) -> list[dict[str, str]]:
    """Return `spec.workloadRefs` of so many Deployments."""
    return [{"kind": "Deployment", "name": key.name, "container": "app"} for key in ALL[:count]]


def storm(count: int = 2, **spec: Any) -> Stage:
    """Return the source article's storm in a group of several Deployments of two pods each, under one policy."""
    rollout = {"rollout": {"cooldown": "1s"}}
    body = manifests.policy(spec={"workloadRef": None, "workloadRefs": refs(count), **rollout, **spec})
    workloads = {}
    for number, key in enumerate(ALL[:count], 1):
        pods = [worlds.pod(PODS * number + place) for place in range(PODS)]
        uid = f"workload-{number}"
        workloads[key] = dataclasses.replace(
            worlds.workload(worlds.STORM, running=pods),
            uid=uid,
            resource_version=str(50 * number),
            template=f"template-{number}",
            holdings=Holdings({}, {}, {}, {}, {}, {}, uid, 5),
        )
    stage = Stage([body], workloads=workloads)
    feed(stage)
    return stage


def feed(stage: Stage) -> None:
    """Have Prometheus hold what the pods that run export: a storm where beats come too late, else a healthy group."""
    answers, until = [], stage.clock.now() + worlds.HOUR
    for workload in stage.workloads.stored.values():
        stormy = workload.current is not None and workload.current.settings == worlds.STORM
        for pod in workload.pods:
            made = counters.stormy if stormy else counters.quiet
            answers.append(made([pod], pod.started, until))
    stage.prometheus.answers = counters.together(*answers)


def roll_out(stage: Stage, key: ObjectKey) -> None:
    """Replace all pods of a Deployment with such as run with what was written last."""
    stage.workloads.roll_out(key, stage.clock.now())
    feed(stage)


def crash(stage: Stage, key: ObjectKey) -> None:
    """Have the first new pod of a Deployment crash; the pods before it go on."""
    failing = Failing(f"{key.name}-new", "container app ends again and again, with exit code 1", 2, container="app")
    stage.workloads.edit(key, rollout=Rollout(wanted=PODS, updated=1, failing=(failing,)))


def is_rolling(stage: Stage, key: ObjectKey) -> bool:
    """Whether a Deployment's rollout is not over."""
    return stage.workloads.stored[key].rolling_out


def writes(stage: Stage) -> list[tuple[str, LivenessSettings]]:
    """Return which Deployment got which values, in order."""
    return [(write.key.name, write.target) for write in stage.workloads.writes]


def back(stage: Stage, key: ObjectKey) -> None:
    """Have the template of a Deployment be what it was before: its old pods are its pods already."""
    stage.workloads.edit(
        key, rolling_out=False, our_rollout=False, current=worlds.current(worlds.STORM), rollout=Rollout(PODS, PODS)
    )
    feed(stage)


def roll_back(stage: Stage, key: ObjectKey) -> None:
    """Undo what was written to a Deployment, its note too, as `kubectl rollout undo` does."""
    held = stage.workloads.stored[key].holdings
    assert held is not None
    held = dataclasses.replace(held, standing={}, applications={}, revision=(held.revision or 0) + 1)
    stage.workloads.edit(key, holdings=held, applications={}, is_our_template=False)
    back(stage, key)
