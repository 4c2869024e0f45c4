"""What the API says about a pod and its containers. Pure: states in, status documents out.

The words (phases, reasons, condition types) are the kubelet's, because controllers and people read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sandbox.node.api import Document

CONFIG_ERROR: Final = "CreateContainerConfigError"
CRASH_LOOP: Final = "CrashLoopBackOff"
LOST_EXIT_CODE: Final = 255  # of a container that ended while nobody looked, as after a reboot


@dataclass(frozen=True)
class Waiting:
    """Not running yet, or not yet again."""

    reason: str
    message: str = ""


@dataclass(frozen=True)
class Running:
    """Running since `started_at`."""

    started_at: datetime


@dataclass(frozen=True)
class Terminated:
    """Ended; exit code 128 + n for signal n."""

    exit_code: int
    reason: str
    started_at: datetime
    finished_at: datetime
    message: str = ""


ContainerState = Waiting | Running | Terminated


@dataclass
class ContainerRecord:
    """What is known of one container; its runner changes it, everyone else reads it."""

    name: str
    image: str
    state: ContainerState
    last: Terminated | None = None
    restart_count: int = 0
    ready: bool = False
    started: bool = False
    pid: int | None = None


def restarts(policy: str, exit_code: int) -> bool:
    """Whether a container that ended like this is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def recall(container: Document, previous: Document | None) -> ContainerRecord:
    """Return the record with which a container begins under a node that has just started.

    Args:
        container: from the pod's spec.
        previous: its entry in the pod's `containerStatuses`, written by the node's earlier life.
    """
    record = ContainerRecord(container["name"], container.get("image", ""), Waiting("ContainerCreating"))
    if previous is None:
        return record
    record.restart_count = previous["restartCount"]
    record.last = _terminated(previous.get("lastState", {}).get("terminated"))
    ended = _terminated(previous["state"].get("terminated"))
    if "running" in previous["state"]:
        began = _parse(previous["state"]["running"]["startedAt"])
        ended = Terminated(LOST_EXIT_CODE, "Unknown", began, datetime.now(UTC), "the node was restarted")
    if ended is not None:
        record.state = ended
    elif record.last is not None:
        record.state = record.last  # it was waiting to be started again
    return record


def pod_status(records: Sequence[ContainerRecord], policy: str, previous_conditions: Sequence[Document]) -> Document:
    """Return phase, conditions and container statuses of a pod.

    Args:
        records: its containers.
        policy: its restartPolicy.
        previous_conditions: as last written; a condition that keeps its value keeps its time.
    """
    current = phase(records, policy)
    unready = [record.name for record in records if not record.ready]
    reason, message = "", ""
    if current == "Succeeded":
        reason = "PodCompleted"
    elif unready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    values = {"PodScheduled": True, "Initialized": True, "ContainersReady": not unready, "Ready": not unready}
    conditions = [
        {"type": kind, "status": str(value)} | ({} if value else {"reason": reason, "message": message})
        for kind, value in values.items()
    ]
    return {
        "phase": current,
        "conditions": [_with_time(condition, previous_conditions) for condition in conditions],
        "containerStatuses": [_container_status(record) for record in records],
    }


def phase(records: Sequence[ContainerRecord], policy: str) -> str:
    """Return the pod's phase: Pending, Running, Succeeded or Failed."""
    states = [record.state for record in records]
    if any(isinstance(record.state, Waiting) and record.last is None for record in records):
        return "Pending"
    ended = [state for state in states if isinstance(state, Terminated)]
    if len(ended) < len(states) or any(restarts(policy, state.exit_code) for state in ended):
        return "Running"
    return "Succeeded" if all(state.exit_code == 0 for state in ended) else "Failed"


def _container_status(record: ContainerRecord) -> Document:
    return {
        "name": record.name,
        "image": record.image,
        "imageID": "",
        "containerID": "" if record.pid is None else f"process://{record.pid}",
        "ready": record.ready,
        "started": record.started,
        "restartCount": record.restart_count,
        "state": _state(record.state),
        "lastState": {} if record.last is None else _state(record.last),
    }


def _state(state: ContainerState) -> Document:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, "message": message}}
        case Running(started_at):
            return {"running": {"startedAt": timestamp(started_at)}}
        case Terminated():
            return {
                "terminated": {
                    "exitCode": state.exit_code,
                    "reason": state.reason,
                    "message": state.message,
                    "startedAt": timestamp(state.started_at),
                    "finishedAt": timestamp(state.finished_at),
                }
            }


def _terminated(document: Document | None) -> Terminated | None:
    if document is None:
        return None
    return Terminated(
        document["exitCode"],
        document.get("reason", ""),
        _parse(document.get("startedAt")),
        _parse(document.get("finishedAt")),
        document.get("message", ""),
    )


def _with_time(condition: Document, previous: Sequence[Document]) -> Document:
    for before in previous:
        if before["type"] == condition["type"] and before["status"] == condition["status"]:
            return condition | {"lastTransitionTime": before["lastTransitionTime"]}
    return condition | {"lastTransitionTime": timestamp(datetime.now(UTC))}


def timestamp(time: datetime) -> str:
    """Return a Kubernetes Time: whole seconds, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse(text: str | None) -> datetime:
    return datetime.now(UTC) if text is None else datetime.fromisoformat(text)
