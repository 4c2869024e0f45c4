"""When does a group get back what it had at the broker before our last write, and what then? Pure.

To go back is to write exactly what was the group's own before, or to delete what it did not have: nobody asks whether
these values are good. A person asks for it by the time of the write (`api.group_config_notes`), or the write did harm.
"""

from heartbeat_tuner.decision.at_broker import group_changes
from heartbeat_tuner.decision.evictions import assessment
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record, Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
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


def for_fencings(policy: Policy, group: Group, workload: Workload, record: Record) -> Decision | None:
    """Return the decision to take shorter limits back at once where members are fenced with them, or may be unseen.

    No statistics are asked: to go back costs nothing here, and which session the group had without trouble is known.

    Args:
        policy: with the last write.
        group: as it is described.
        workload: whose pods are the group's members.
        record: since that write.
    """
    write, change = policy.group_write, group_changes.change_of(policy, workload, group)
    if write is None or change is None or write.reverts is not None or workload.current is None:
        return None
    is_in_force = group.config is not None and group.config.overrides == write.values and record.since >= write.at
    if not is_in_force or not guard.tightens(change.previous, change.values):
        return None
    if not policy.reverts or policy.mode is not Mode.APPLY:
        return None
    if assessment.silences_are_dangerous(record, policy.objective.max_false_evictions_per_month):
        phrase = (
            "live members of group {group} were fenced {evictions} times since {values} was written at "
            "{at:%Y-%m-%dT%H:%M:%SZ}"
        )
        fenced = Reading(record.evictions)
        words = say(phrase, group=write.group_id, evictions=fenced, values=str(write.values), at=write.at)
        return _back(write, workload.current.settings, Finding(Reason.DANGER, words))
    if record.hidden is None or not record.hidden.lasts:
        return None
    phrase = "shorter limits were written at {at:%Y-%m-%dT%H:%M:%SZ}, and nobody would see any more what they do: {why}"
    words = say(phrase, at=write.at, why=record.hidden.message)
    return _back(write, workload.current.settings, Finding(Reason.FENCINGS_HIDDEN, words))


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
            why=_why(write.harm),
            ours=str(write.previous),
            group=write.group_id,
            then=write.reverts,
            at=write.at,
            values=str(write.values),
            asking=ASKING_AGAIN,
        ),
    )


def _why(harm: str) -> Sentence | str:
    if harm == Reason.FENCINGS_HIDDEN:
        return "since nothing showed any more whether members were fenced"
    return say("since it did harm ({harm})", harm=harm) if harm else "as a person asked"


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
