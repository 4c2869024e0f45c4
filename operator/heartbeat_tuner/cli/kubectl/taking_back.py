"""To take the last change of a policy out of its workloads, as a person may: what is written then, and what forbids it.

The person writes, with his own rights, what `kubectl set env` would. The operator sees values that somebody took back,
and writes no others until the policy is edited. A patch carries the version of the object that it rests on, so that it
is refused where somebody, the operator too, has written since.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ROLLOUT, Application, Policy, WorkloadRef

_MILLISECONDS: Final = re.compile(r"[1-9][0-9]{0,11}")


class NothingToRevertError(TunerError):
    """There is no change that could be taken back; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class TemplatePatch:
    """What takes a change out of one workload.

    Attributes:
        ref: the workload.
        container: of it, with the variables.
        patch: a strategic merge patch.
        moved: by variable, its value now and after that; None for no entry.
    """

    ref: WorkloadRef
    container: str
    patch: Mapping[str, Any]
    moved: Mapping[str, tuple[str, str | None]]


def last_change(policy: Policy) -> dict[WorkloadRef, Application]:
    """Return the last change of a policy, by each workload that it was written to.

    Raises:
        NothingToRevertError: there is none, or it is gone already.
    """
    newest = policy.application
    if newest is None:
        raise NothingToRevertError(f"policy {policy.key}: the operator has written no values that could be reverted")
    if newest.reverts is not None:
        at = f"{newest.at:%Y-%m-%dT%H:%M:%SZ}"
        raise NothingToRevertError(f"policy {policy.key}: the operator reverted its last change itself, at {at}")
    taken = policy.taken_back
    if taken is not None and taken.application.at == newest.at and not policy.workloads:  # of several, one may have it
        by = taken.by or "somebody"
        raise NothingToRevertError(f"policy {policy.key}: {by} has taken the last change out already")
    written = policy.applications or {policy.workload: newest}
    return {ref: application for ref, application in written.items() if application.change == newest.change}


def template_patch(ref: WorkloadRef, application: Application, workload: Mapping[str, Any]) -> TemplatePatch | str:
    """Return what takes a change out of a workload, or why the workload does not have the change any more.

    Args:
        ref: which workload.
        application: the change.
        workload: the object as it is now.

    Raises:
        NothingToRevertError: somebody has written other values since; or it is a Rollout, which takes no such patch.
    """
    if ref.kind == ROLLOUT:
        where = f"rollouts.argoproj.io/{ref.key.name} -n {ref.key.namespace}"
        raise NothingToRevertError(
            f"{ref}: the API server merges no part into a Rollout; take the operator's variables out by hand: kubectl "
            f"edit {where}"
        )
    before = application.entries_before
    if not application.entries or before is None:
        raise NothingToRevertError(f"{ref}: the change does not name its variables; use kubectl rollout undo")
    if workload["metadata"]["uid"] != application.workload_uid:
        return f"{ref}: it was created again since the change"
    container = application.container or ref.container
    values = _values(workload, container)
    if all(values.get(name) == before.get(name) for name in application.entries):
        return f"{ref}: it has the values before the change already"
    for name, written in application.entries.items():
        if values.get(name) != written:
            has = values.get(name, "no entry")
            raise NothingToRevertError(
                f"{ref}: {name} has {durations_or(has)}, not the {durations_or(written)} that the operator wrote: "
                "somebody has changed it since; nothing is reverted"
            )
    moved = {name: (written, before.get(name)) for name, written in application.entries.items()}
    env = [
        {"name": name, "$patch": "delete"} if value is None else {"name": name, "value": value}
        for name, (_, value) in moved.items()
    ]
    patch = {
        "metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]},
        "spec": {"template": {"spec": {"containers": [{"name": container, "env": env}]}}},
    }
    return TemplatePatch(ref, container, patch, moved)


def giving_up(patch: TemplatePatch) -> str:
    """Return the command that takes a person's entries out; empty where the patch leaves none.

    The operator writes over nobody's entries, also where the policy asks for values again.
    """
    names = " ".join(f"{name}-" for name, (_, value) in patch.moved.items() if value is not None)
    ref = patch.ref
    where = f"kubectl -n {ref.key.namespace} set env {ref.kind.lower()}/{ref.key.name} -c {patch.container}"
    return f"{where} {names}" if names else ""


def durations_or(text: str) -> str:
    """Return a value of milliseconds as people write it; any other text as a terminal may show it."""
    return durations.show(durations.parse(f"{text}ms")) if _MILLISECONDS.fullmatch(text) else shown(text)


def _values(workload: Mapping[str, Any], container: str) -> dict[str, str]:
    """Return the literal entries of a container of the pods' template."""
    containers = workload["spec"]["template"]["spec"]["containers"]
    entries = (entry for spec in containers if spec["name"] == container for entry in spec.get("env") or ())
    return {entry["name"]: entry.get("value", "") for entry in entries if "valueFrom" not in entry}
