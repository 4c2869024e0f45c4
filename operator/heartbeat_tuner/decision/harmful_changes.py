"""What follows where our last change to a workload did harm: the values before it, unless a person took it back. Pure.

What stood before is written entry by entry, so it is not asked whether these values are good.
"""

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.liveness import changed, shown
from heartbeat_tuner.domain.policies import Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange


def taken_back(policy: Policy, workload: Workload, followed: FollowedChange | None) -> Decision | None:
    """Return the decision to go back; None where nothing is to be taken back.

    Args:
        policy: with our last change.
        workload: whose pods go back, and not their group at the broker.
        followed: how far that is, and what it did.
    """
    newest, application = policy.application, workload_parts.last_of(policy)
    if newest is None or followed is None or followed.at != newest.at or not followed.is_harmful:
        return None
    taken_back = policy.taken_back
    if application is None or (taken_back is not None and taken_back.application.at == application.at):
        return None
    is_there = application.change == newest.change  # the workloads that it is in may be gone
    if not is_there or application.reverts is not None or application.entries_before is None:
        return None
    if not policy.reverts or policy.mode is not Mode.APPLY:
        return None  # the condition Verified says what it did; whatever else the group needs must not wait for that
    # Under other names the values would stay where they are, and the revert would be one in words alone.
    names = set(policy.env_names.values())
    if not names >= application.entries.keys() | application.entries_before.keys():
        return None
    previous, current = application.previous, workload.current
    values = shown(previous, changed(application.values, previous))
    back = say("The values before it, {values}, are to be written again", values=values)
    return Decision(
        Verdict.CHANGE,
        Finding(Reason(followed.outcome.value), followed.message),
        advice=back,
        target=previous if current is None else current.under_group(previous),
        reverts=True,
    )
