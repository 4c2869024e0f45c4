"""When does a group get back what it had at the broker before our last write, and what then? Pure.

To go back is to write exactly what was the group's own before, or to delete what it did not have: nobody asks whether
these values are good. A person asks for it by the time of the write (`api.group_config_notes`), or the write did harm.
"""

from heartbeat_tuner.decision.at_broker import group_changes
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange


def asked(policy: Policy, group: Group, workload: Workload) -> Decision | None:
    """Return the decision to take our last write back, where a person asks for that; None where nobody does.

    Args:
        policy: with the last write, and what is asked.
        group: as it is described.
        workload: whose pods are the group's members.
    """
    write = policy.group_write
    if write is None or write.reverts is not None or write.at != policy.revert_asked:
        return None
    if group.config is None or workload.current is None:
        return None
    finding = Finding(
        Reason.TAKEN_BACK,
        say(
            "a person asked to take back {values}, which the tuner wrote for group {group} at {at:%Y-%m-%dT%H:%M:%SZ}",
            values=str(write.values),
            group=write.group_id,
            at=write.at,
        ),
    )
    return _back(write, workload.current.settings, finding)


def for_harm(policy: Policy, group: Group, workload: Workload, followed: FollowedChange | None) -> Decision | None:
    """Return the decision to take our last write back since it did harm, once; None where it did none, or may stay.

    Args:
        policy: with the last write.
        group: as it is described.
        workload: whose pods are the group's members.
        followed: how far that write is, and what it did.
    """
    write = policy.group_write
    if write is None or write.reverts is not None or followed is None or followed.at != write.at:
        return None
    if not followed.is_harmful or not policy.reverts or policy.mode is not Mode.APPLY:
        return None
    if group.config is None or workload.current is None:
        return None
    return _back(write, workload.current.settings, Finding(Reason(followed.outcome.value), followed.message))


def stays_away(policy: Policy) -> Finding | None:
    """Return that our last write was taken back under the same spec: nothing is written again then."""
    write = policy.group_write
    if write is None or write.reverts is None or write.spec != policy.spec:
        return None
    return taken_back(write)


def taken_back(write: GroupWrite) -> Finding:
    """Say what was taken back, and what to do to have values written again.

    Args:
        write: the one that took it back.
    """
    return Finding(
        Reason.REVERTED if write.harm else Reason.TAKEN_BACK,
        say(
            "{ours}, which the tuner wrote for group {group} at {then:%Y-%m-%dT%H:%M:%SZ}, was taken back at "
            "{at:%Y-%m-%dT%H:%M:%SZ}, {why}: the group has {values} again; nothing is written to it until "
            "{asking} is edited",
            why=say("since it did harm ({harm})", harm=write.harm) if write.harm else "as a person asked",
            ours=str(write.previous),
            group=write.group_id,
            then=write.reverts,
            at=write.at,
            values=str(write.values),
            asking=ASKING_AGAIN,
        ),
    )


def _back(write: GroupWrite, current: LivenessSettings, finding: Finding) -> Decision:
    """Return the decision to write what was there before; its target says what will be in force, as it was then."""
    target = group_changes.before(write, current)
    back = say(
        "The group gets back what it had before, {previous}; then a session of {session} and a heartbeat every "
        "{interval} are in force, as before",
        previous=str(write.previous),
        session=durations.show(target.session_timeout),
        interval=durations.show(target.heartbeat_interval),
    )
    return Decision(Verdict.CHANGE, finding, advice=back, target=target, reverts=True, at_broker=True)
