"""May a change be taken back whose entries another manager owns by now? Pure.

A revert leaves out what the change had added. The API server then takes an entry out only if nobody else owns it: after
somebody copied the values into a manifest, the apply succeeds and the values stay.
"""

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Finding


def finding(policy: Policy, workload: Workload, change: Application) -> Finding | None:
    """Return which entries of a change are another manager's, and what to do; None where all are ours alone.

    Args:
        policy: whose change it is.
        workload: as it was looked up.
        change: that would be taken back.
    """
    before = change.entries_before or {}
    written = change.entries.keys() | before.keys()
    owned = {
        policy.env_names[setting]: manager
        for setting, manager in workload.foreign_env.items()
        if policy.env_names.get(setting) in written
    }
    if not owned:
        return None
    added = ", ".join(name for name in owned if name not in before)
    changed = ", ".join(f'{{name: {name}, value: "{before[name]}"}}' for name in owned if name in before)
    steps = (
        say("take out of the manifest's env: {names}", names=added) if added else "",
        say("set there again: {lines}", lines=changed) if changed else "",
    )
    return Finding(
        Reason.FIELD_OWNED,
        say(
            "entries of container {container} that the change wrote belong to {managers} by now: to let go of them "
            "would leave the values where they are, and nothing is forced. To go back, {steps}",
            container=policy.workload.container,
            managers=", ".join(sorted(set(owned.values()))),
            steps=join("; ", steps),
        ),
    )
