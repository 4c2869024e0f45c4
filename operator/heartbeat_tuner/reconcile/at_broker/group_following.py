"""How far is a write into a group's configuration? Pure; `reconcile.following` asks.

Nothing is rolled out: each member follows with the beat that was due. What shows fencings, a rebalance listener, is of
the pods' code. So a verdict is of the pods that there were at the write: with another template nothing tells any more.
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verifications import FollowedChange, Outcome
from heartbeat_tuner.reconcile.group_history import GroupLook

MARGIN: Final = timedelta(seconds=1)
"""A member has heard of new values so long after the beat that was due, by the interval before."""

OTHER_PODS: Final = say(
    "the pods' template was changed before anything had shown, and whether the new pods show that they are fenced is "
    "not known"
)


def landed(look: GroupLook, change: Application, followed: FollowedChange) -> FollowedChange:
    """Return a write with when it was in force, and with when somebody changed the pods' template after it.

    Args:
        look: at the group.
        change: the write.
        followed: as it was known.
    """
    if followed.landed is None and followed.outcome is Outcome.INCONCLUSIVE:
        return followed  # nobody watched what became of it
    template, now = look.workload.template, look.now.replace(microsecond=0)
    if not followed.template:
        followed = dataclasses.replace(followed, template=template)
    elif followed.template != template and followed.deployed is None:
        followed = dataclasses.replace(followed, deployed=now)
    current = look.workload.current
    due = change.at + change.previous.heartbeat_interval + MARGIN
    if followed.landed is not None or current is None or current.settings != change.values or look.now < due:
        return followed
    return dataclasses.replace(followed, landed=max(due.replace(microsecond=0), change.at))
