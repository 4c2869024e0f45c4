"""A policy as a tree: what it says, the pods of its workloads, a canary, and the last change with its verdict: pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import canary_pods
from heartbeat_tuner.cli.reporting import policy_entries
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import WorkloadRef
from heartbeat_tuner.domain.verdicts import headline
from heartbeat_tuner.report.plotted_data import ChangeEntry

MOST_PODS: Final = 20
"""Lines of pods that a workload has; those that are not ready come first."""

_LONGEST: Final = 600
"""Characters of a sentence: what to do often comes last, after values of three or four settings."""

_HINDERING: Final = frozenset({"Ready", "MetricsAvailable", "Applied"})
"""Conditions whose message says why nothing is decided or written."""

_TIME: Final = "%Y-%m-%d %H:%M UTC"


@dataclasses.dataclass(frozen=True, slots=True)
class TreeNode:
    """A line, and what stands below it."""

    text: str
    children: tuple["TreeNode", ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SeenWorkload:
    """A workload of a policy, as the cluster has it.

    Attributes:
        body: the object; None where it is not there.
        pods: all that its selector matches; None where they were not asked for.
        problem: why it could not be read; empty where it was.
    """

    body: Mapping[str, Any] | None = None
    pods: Sequence[Mapping[str, Any]] | None = None
    problem: str = ""


def tree(view: ReportedPolicy, workloads: Mapping[WorkloadRef, SeenWorkload]) -> TreeNode:
    """Return what there is to see of a policy.

    Args:
        view: the policy and its status.
        workloads: those of the policy that were looked at.
    """
    policy, status = view.policy, view.status
    verdict = "not decided yet" if status.verdict is None else headline(status.verdict, status.reason)
    paused = ", suspended" if policy.suspended else ""
    children = [TreeNode(_values(view))]
    children += [_workload(view, ref, seen) for ref, seen in workloads.items()]
    tried = policy_entries.canary_change(view)
    last = next((change for change in policy_entries.changes(view) if change != tried), None)
    children += [TreeNode(_change(change)) for change in (tried, last) if change is not None]
    children += [
        TreeNode(shown(f"{condition.type}={condition.status} {condition.reason}: {condition.message}", _LONGEST))
        for condition in status.conditions
        if condition.type in _HINDERING and condition.status == "False"
    ]
    title = f"{policy.key}  {policy.mode}{paused}  {verdict}"
    return TreeNode(shown(title, _LONGEST), tuple(children))


def lines(node: TreeNode, *, ascii_only: bool = False) -> list[str]:
    """Return a tree as lines.

    Args:
        node: its root.
        ascii_only: whether the terminal has no other characters.
    """
    branch, last, trunk = ("|-- ", "`-- ", "|   ") if ascii_only else ("├── ", "└── ", "│   ")
    drawn = [node.text]
    for child in node.children:
        is_last = child is node.children[-1]
        first, *rest = lines(child, ascii_only=ascii_only)
        drawn.append((last if is_last else branch) + first)
        drawn += [("    " if is_last else trunk) + line for line in rest]
    return drawn


def _values(view: ReportedPolicy) -> str:
    summary = view.status.summary
    if summary is None:
        return "values: not known yet"
    texts = {
        "session timeout": summary.session_timeout,
        "heartbeat interval": summary.heartbeat_interval,
        "fetch wait": summary.fetch_wait,
        "max poll interval": summary.max_poll_interval,
    }
    return "values: " + ", ".join(f"{name} {shown(text)}" for name, text in texts.items() if text is not None)


def _workload(view: ReportedPolicy, ref: WorkloadRef, seen: SeenWorkload) -> TreeNode:
    name = f"{ref.kind} {ref.key.name}, container {ref.container}"
    if seen.problem:
        return TreeNode(shown(f"{name}: {seen.problem}", _LONGEST))
    if seen.body is None:
        return TreeNode(f"{name}: not found")
    wanted, status = seen.body["spec"].get("replicas", 1), seen.body.get("status") or {}
    text = f"{name}: {status.get('readyReplicas', 0)} of {wanted} pods ready"
    updated = status.get("updatedReplicas", 0)
    if updated != wanted:
        text += f", {updated} with the newest template"
    if seen.pods is None:
        return TreeNode(text)
    _, tried = canary_pods.parted(view.policy, seen.body, seen.pods)
    of_canary = {pod["metadata"]["name"] for pod in tried}
    pods = sorted(seen.pods, key=lambda pod: (_is_ready(pod), pod["metadata"]["name"]))
    nodes = [TreeNode(_pod(pod, canary=pod["metadata"]["name"] in of_canary)) for pod in pods[:MOST_PODS]]
    if len(pods) > MOST_PODS:
        nodes.append(TreeNode(f"{len(pods) - MOST_PODS} more"))
    return TreeNode(text, tuple(nodes))


def _pod(pod: Mapping[str, Any], *, canary: bool) -> str:
    status = pod.get("status") or {}
    restarts = sum(container.get("restartCount", 0) for container in status.get("containerStatuses") or ())
    words = ["terminating" if "deletionTimestamp" in pod["metadata"] else shown(str(status.get("phase", "unknown")))]
    words += ["ready"] if _is_ready(pod) else ["not ready"]
    words += [f"{restarts} restart{'' if restarts == 1 else 's'}"] if restarts else []
    words += ["canary"] if canary else []
    return f"{pod['metadata']['name']}  {', '.join(words)}"


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any((condition.get("type"), condition.get("status")) == ("Ready", "True") for condition in conditions)


def _change(change: ChangeEntry) -> str:
    moved = ", ".join(f"{entry.name} {_ms(entry.before_ms)} → {_ms(entry.after_ms)}" for entry in change.moved)
    text = f"{_moment(change.at_s)} {change.kind}" + (f": {moved}" if moved else "")
    text += f"; {change.outcome}" if change.outcome else ""
    return shown(f"{text}: {change.message}" if change.message else text, _LONGEST)


def _ms(value_ms: int) -> str:
    return durations.show(durations.parse(f"{value_ms}ms"))


def _moment(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):{_TIME}}"
