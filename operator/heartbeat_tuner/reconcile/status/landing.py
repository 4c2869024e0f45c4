"""Have the values of our last change reached the pods, and do these stay up with them? Pure.

True is said of ready pods alone that run with the values and stayed ready; until then the rollout is under way, or has
failed. Once all pods have shown that, it holds as long as one of them still does: pods that are replaced or added later
tell nothing against the values.
"""

import dataclasses
from datetime import datetime
from typing import Final

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.liveness import CurrentSettings
from heartbeat_tuner.domain.policies import ROLLOUT, Application, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Failing, Strategy
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.verdicts import Finding

Landing = tuple[ConditionStatus, Finding]

_CRASHING: Final = "pod {pod}: {problem}; look at its log; `{undo}` brings the pods before them back"


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenChange:
    """A change of ours, and what is seen of it.

    Attributes:
        application: what was written.
        reference: to what.
        workload: as gathered.
        current: what the pods run with; None while they differ.
        is_new: whether it was written after `workload` was gathered.
        had_landed: whether its values had reached the pods before.
        now: when the workload was gathered.
    """

    application: Application
    reference: WorkloadRef | Sentence
    workload: Workload
    current: CurrentSettings | None
    is_new: bool
    had_landed: bool
    now: datetime

    @property
    def is_in_pods(self) -> bool:
        """Whether all running pods have the values, and there are some."""
        return bool(self.workload.pods) and self.has_values

    @property
    def has_values(self) -> bool:
        """Whether the values are those that are set."""
        return self.current is not None and self.current.runs(self.application.values)

    @property
    def is_in_template(self) -> bool:
        """Whether the next pod would have them too, as far as the pods that run show."""
        moved = liveness.changed(self.application.previous, self.application.values)
        return not self.workload.unlike_template & set(moved)

    @property
    def settled(self) -> int:
        """How many pods run with the values and have stayed ready."""
        return workload_parts.settled(self.workload, self.now) if self.is_in_pods else 0


def landing_of(change: WrittenChange) -> Landing:
    """Return what is to be said of a change; of several workloads, first what is to be said of the newest."""
    if not change.workload.parts:
        return _landing(change)
    changes = [
        dataclasses.replace(change, reference=reference, workload=part, current=part.current)
        for reference, part in change.workload.parts.items()
    ]
    newest = next((each for each in changes if each.workload.uid == change.application.workload_uid), changes[0])
    has_stayed = workload_parts.has_stayed(newest.workload, change.application.at, change.now)
    if change.is_new or not newest.has_values or not has_stayed:
        return _landing(newest)
    others = [each for each in changes if not each.has_values]
    if not others:
        return _landing(dataclasses.replace(change, reference=join(", ", map(str, change.workload.parts))))
    waits = "{values}: {count} of {all} workloads run with them; next is {workload}"
    text = say(
        waits,
        values=_written(change),
        count=Reading(len(changes) - len(others)),
        all=len(changes),
        workload=others[0].reference,
    )
    return ConditionStatus.FALSE, Finding(Reason.ROLLING_OUT, text)


def _landing(change: WrittenChange) -> Landing:
    statement = _gone(change) or _landed(change) or _stopped(change) or _failed(change) or _under_way(change)
    if statement is not None:
        return statement
    gone = "the pods of {workload} no longer run with {values}; nothing else is to write"
    text = say(gone, workload=change.reference, values=_written(change))
    return ConditionStatus.FALSE, Finding(Reason.NOTHING_TO_APPLY, text)


def _gone(change: WrittenChange) -> Landing | None:
    if change.is_new or not change.is_in_pods or change.is_in_template:
        return None
    gone = "the template of {workload} no longer has {values}; its next pods run without them"
    text = say(gone, workload=change.reference, values=_written(change))
    return ConditionStatus.FALSE, Finding(Reason.NOTHING_TO_APPLY, text)


def _landed(change: WrittenChange) -> Landing | None:
    if change.is_new or not change.settled:
        return None
    if not (change.had_landed or workload_parts.has_stayed(change.workload, change.application.at, change.now)):
        return None
    landed = "the pods of {workload} run with {values}, and have stayed ready"
    return ConditionStatus.TRUE, Finding(
        Reason.APPLIED, say(landed, workload=change.reference, values=_written(change))
    )


def _stopped(change: WrittenChange) -> Landing | None:
    """Return why no pod gets the values now, if nobody is to blame."""
    workload, reference = change.workload, change.reference
    if not change.is_new and not workload.rollout.wanted and not workload.pods:
        text = say("{workload} has 0 replicas: no pod runs with {values}", workload=reference, values=_written(change))
        return ConditionStatus.FALSE, Finding(Reason.SCALED_TO_ZERO, text)
    if not (change.is_new or workload.rolling_out):
        return None
    if workload.paused:
        paused = "{workload} is paused ({pause}): its pods do not get {values} until it is resumed"
        text = say(paused, workload=reference, pause=workload.pause or "spec.paused", values=_written(change))
        return ConditionStatus.FALSE, Finding(Reason.ROLLOUT_PAUSED, text)
    if workload.partition and workload.rollout.crashing(change.now) is None:
        parted = (
            "{workload} keeps its pods below ordinal {partition} at the template they have "
            "(spec.updateStrategy.rollingUpdate.partition): they do not get {values} until it is 0"
        )
        text = say(parted, workload=reference, partition=workload.partition, values=_written(change))
        return ConditionStatus.FALSE, Finding(Reason.ROLLOUT_PAUSED, text)
    if workload.strategy is Strategy.ON_DELETE:
        by_hand = (
            "{workload} has the updateStrategy OnDelete: each pod gets {values} when somebody deletes it; nothing is "
            "rolled out"
        )
        text = say(by_hand, workload=reference, values=_written(change))
        return ConditionStatus.FALSE, Finding(Reason.AT_NEXT_RESTART, text)
    return None


def _failed(change: WrittenChange) -> Landing | None:
    rollout, now = change.workload.rollout, change.now
    if change.is_new or not _is_unfinished(change):
        return None
    crashing, overdue = rollout.crashing(now), rollout.is_overdue(change.application.at, now)
    if crashing is None and not overdue:
        return None
    what = "the rollout of {workload} with {values} failed: {why}"
    text = say(what, workload=change.reference, values=_written(change), why=_why_failed(change, crashing))
    return ConditionStatus.FALSE, Finding(Reason.ROLLOUT_FAILED, text)


def _why_failed(change: WrittenChange, crashing: Failing | None) -> Sentence:
    rollout = change.workload.rollout
    worst = crashing or rollout.worst(change.now)
    if worst is not None:
        is_argo = isinstance(change.reference, WorkloadRef) and change.reference.kind == ROLLOUT
        undo = "kubectl argo rollouts undo" if is_argo else "kubectl rollout undo"
        return say(_CRASHING, pod=worst.pod, problem=worst.why, undo=undo)
    if rollout.aborted:
        return say("it was aborted (status.abort), and its pods have the values before")
    return say(
        "no progress for {deadline}, and no pod with them says why: {updated} of {wanted} pods are of the new template",
        deadline=rollout.deadline,
        updated=Reading(rollout.updated),
        wanted=Reading(rollout.wanted),
    )


def _under_way(change: WrittenChange) -> Landing | None:
    if not change.is_new and not _is_unfinished(change):
        return None
    rollout = change.workload.rollout
    wanted, updated = rollout.wanted, 0 if change.is_new else min(rollout.updated, rollout.wanted)
    settled = 0 if change.is_new else min(change.settled, wanted)
    # The pods of a rollout are news: people watch them.
    text = say(
        "{values}: the pods of {workload} are being replaced; {updated} of {wanted} are of the new template, {settled} "
        "have stayed ready with the values for a minute",
        values=_written(change),
        workload=change.reference,
        updated=updated,
        wanted=wanted,
        settled=settled,
    )
    return ConditionStatus.FALSE, Finding(Reason.ROLLING_OUT, text)


def _is_unfinished(change: WrittenChange) -> bool:
    """Whether pods with the values are still to come, or to stay."""
    return change.workload.rolling_out or change.current is None or change.has_values


def _written(change: WrittenChange) -> Sentence:
    application = change.application
    changes = ", ".join(
        f"{setting} {durations.show(application.previous[setting])} → {durations.show(value)}"
        for setting, value in application.values.by_setting.items()
    )
    return say("the values written at {at:%Y-%m-%dT%H:%M:%SZ} ({changes})", at=application.at, changes=changes)
