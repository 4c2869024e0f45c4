"""Did somebody take our values back? Pure.

What we wrote stands in the policy's status and in the workload itself, and either may be lost: a rollback takes the
workload's note away. So the template is compared with the newest note there is. What stands there otherwise than we
wrote it, or not at all, somebody took back: whatever way they chose, it was not us.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Application, Intent, Policy, TakenBack
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import MOST_FAILED, FailedValues

CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""The API server's clock, by which a template was changed, and ours may be so far apart."""


def seen(policy: Policy, held: Holdings, *, now: datetime) -> Policy:
    """Return the policy with its last application, and with what somebody took back, after a look at the workload.

    The same object is returned where nothing of it is new.
    """
    done = None if policy.intent is None else _was_done(policy, policy.intent, held)
    if done and policy.intent is not None:
        policy = dataclasses.replace(policy, application=policy.intent.application)
    last = last_application(policy, held.uid, held.applications)
    taken_back = _taken_back(policy, last, held, now=now)
    intent = policy.intent if done is None else None
    failed = _failed(policy, last, held, now)
    if (last, taken_back, intent, failed) == (policy.application, policy.taken_back, policy.intent, policy.failed):
        return policy
    return dataclasses.replace(policy, application=last, taken_back=taken_back, intent=intent, failed=failed)


def last_application(policy: Policy, uid: str, noted: Mapping[str, Application]) -> Application | None:
    """Return our last write to the policy's container of this very object, from its own note or from the status.

    Either may be the newer: the status may not have been written, and the note may be gone with a replaced manifest.
    A container of another name has not been written to: it was made, or renamed, by a rollout of the owner's.
    """
    container = policy.workload.container
    ours = [
        application
        for application in (policy.application, noted.get(container))
        if application is not None and application.workload_uid == uid and application.container in {"", container}
    ]
    return max(ours, key=lambda our: our.at, default=None)


def finding(policy: Policy, taken_back: TakenBack) -> Finding:
    """Say what was taken back, by whom, and what to do to have values written again."""
    before, after = taken_back.application.previous, taken_back.application.values
    changes = ", ".join(
        f"{setting} {durations.show(before[setting])} → {durations.show(after[setting])}"
        for setting in liveness.changed(before, after)
    )
    by = f" by {taken_back.by}" if taken_back.by else ""
    return Finding(
        Reason.TAKEN_BACK,
        say(
            "the values written to {workload}, container {container}, at {at:%Y-%m-%dT%H:%M:%SZ} ({moves}) were taken "
            "back{by}, seen at {seen:%Y-%m-%dT%H:%M:%SZ}; nothing is written to it again until {asking} is edited",
            workload=policy.workload,
            container=policy.workload.container,
            at=taken_back.application.at,
            moves=changes,
            by=by,
            seen=taken_back.seen,
            asking=ASKING_AGAIN,
        ),
    )


def _was_done(policy: Policy, intent: Intent, held: Holdings) -> bool | None:
    """Return whether the write that was noted beforehand took place; None if that cannot be known yet.

    It rests on one version of the workload, so it is the very next rollout or none at all. Where there were more
    rollouts and no trace of it is left, it may have been done and rolled back, and that is what is assumed. Of a
    StatefulSet each step of scale looks like a rollout: there, nothing was done while nobody changed the template.
    """
    wanted = intent.application
    if wanted.workload_uid != held.uid:
        return False
    if held.standing is None:
        return None
    note = held.applications.get(policy.workload.container)
    if (note is not None and note.at >= wanted.at) or not _gone(policy, wanted, held):
        return True
    if held.revision is None:
        return None
    rollouts = held.revision - intent.revision
    stands = held.template_at is not None and held.template_at < wanted.at - CLOCKS_DIFFER
    return None if rollouts == 0 else rollouts > 1 and not stands


def _failed(policy: Policy, last: Application | None, held: Holdings, now: datetime) -> tuple[FailedValues, ...]:
    """Return what failed, by the status and by the workload's own notes: any of them may be lost.

    Anybody who may edit the workload may write notes. Those of times to come would push out what did fail, for ever,
    and it would be tried again and again.
    """
    noted = (*(() if last is None else last.failed), *held.failed.get(policy.workload.container, ()))
    by_time = {failed.at: failed for failed in (*(note for note in noted if note.at <= now), *policy.failed)}
    return tuple(by_time[at] for at in sorted(by_time))[-MOST_FAILED:]


def _gone(policy: Policy, application: Application, held: Holdings) -> list[str]:
    """Return the entries of a write that stand there otherwise, or not at all; of a revert, those it took out, too."""
    standing, entries = held.standing or {}, _entries(policy, application)
    missing = [name for name, text in entries.items() if standing.get(name) != text]
    if application.reverts is None:
        return missing
    out = (application.entries_before or {}).items()
    return [*missing, *(name for name, text in out if name not in entries and standing.get(name) == text)]


def _taken_back(policy: Policy, last: Application | None, held: Holdings, *, now: datetime) -> TakenBack | None:
    """Return what is taken back: what stood noted, or what is seen now."""
    noted = policy.taken_back
    if policy.forbidden is not None or last is None or held.standing is None:
        return noted
    written = last.at if last.reverts is not None else last.change
    if noted is not None and noted.application.at >= written:
        return noted  # this change is over and done with; the policy was edited since
    gone = _gone(policy, last, held)
    if not gone:
        return None
    # A new policy asks for values, whatever became of an earlier one's: a write before it is no write for it.
    is_new = policy.observed_generation is None and policy.intent is None
    generation, spec = (0, "") if is_new or last.at < policy.created else (policy.generation, policy.spec)
    by = next((owner for name in gone if (owner := held.values_of.get(name))), "")
    return TakenBack(last, now.replace(microsecond=0), generation, by, spec)


def _entries(policy: Policy, last: Application) -> Mapping[str, str]:
    """Return the entries that a write left behind; of an older version's note, those that it surely made."""
    if last.entries or last.reverts is not None:
        return last.entries
    moved = liveness.changed(last.previous, last.values)
    return policy.entries({setting: last.values[setting] for setting in moved})
