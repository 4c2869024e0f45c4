"""May entries of a container's environment be written, or does another manager own them? Pure."""

from collections.abc import Sequence

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ROLLOUT, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding


def finding(policy: Policy, reference: WorkloadRef, workload: Workload, target: LivenessSettings) -> Finding | None:
    """Return which entries somebody else owns, and what to take out of the manifest; None where there are none.

    Args:
        policy: that would be carried out.
        reference: to the workload.
        workload: as it was looked up.
        target: the values that would be written.
    """
    current = workload.current
    if current is None:
        return None
    if workload.merged_by:
        return _unmergeable(reference, workload)
    owned = [setting for setting in workload.to_write(target) if setting in workload.foreign_env]
    if not owned:
        return None
    # What pods have instead of the template's value does not stand in the manifest.
    values = {
        setting: f', value: "{policy.env_text(current.settings[setting])}"'
        for setting in owned
        if setting not in workload.unlike_template
    }
    lines = ", ".join(
        workload.lines.get(setting, f"{{name: {policy.env_names[setting]}{values.get(setting, '')}}}")
        for setting in owned
    )
    managers = ", ".join(sorted({workload.foreign_env[setting] for setting in owned}))
    return Finding(
        Reason.FIELD_OWNED,
        say(
            "container {container} has env entries of {managers} where the operator would write; it overwrites "
            "nobody's entries. Take out of the manifest's env: {lines}. If no manifest has them, run: {command}. "
            "Values from envFrom may stay: the operator's entries take precedence",
            container=reference.container,
            managers=managers,
            lines=lines,
            command=_removal(reference, [policy.env_names[setting] for setting in owned]),
        ),
    )


def _unmergeable(reference: WorkloadRef, workload: Workload) -> Finding:
    """Return why no entry can be written into a list that the API server keeps as one value."""
    phrase = (
        "the API server keeps all containers of {workload} as one value, of {managers}: an apply that names some "
        "entries would take out everything else. Install the CustomResourceDefinition of Argo Rollouts 1.9 or "
        "newer, and have {managers} write the Rollout once more"
    )
    managers = ", ".join(workload.merged_by)
    return Finding(Reason.FIELD_OWNED, say(phrase, workload=reference, managers=managers))


def _removal(reference: WorkloadRef, names: Sequence[str]) -> str:
    """Return the command by which a person removes entries of a container's environment."""
    if reference.kind == ROLLOUT:  # of which `kubectl set env` knows nothing
        return f"kubectl edit rollouts.argoproj.io/{reference.key.name} --namespace {reference.key.namespace}"
    workload = f"{reference.kind.lower()}/{reference.key.name} --namespace {reference.key.namespace}"
    return f"kubectl set env {workload} --containers {reference.container} {' '.join(f'{name}-' for name in names)}"
