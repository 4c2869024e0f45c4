"""One group in the hands of the operator: its policy, its pods, what the last hour showed, and what was decided.

What `reconcile` does around a decision is done here with its own pure parts: `following.follow` looks at each change,
`applications` makes what is written, `pipeline.decide` decides. Around them stand the simplest things that could be:
pods that start within five minutes of a write, a coordinator that describes a group at rest, and an owner who declares
what is set and takes nothing back. A write of the operator's lands before the next look, in all pods at once: there is
no canary, as where the operator may not evict pods, and no budget of rollouts that others hold.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from bench.as_shipped.hours import HOUR_S, Hour
from bench.as_shipped.lives import Life
from bench.as_shipped.surroundings import BROKER, START, address, described
from bench.fleets import HOURS
from bench.observed import period_s, settings_of
from heartbeat_tuner.decision.at_broker import group_changes, last_write
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import HiddenFencings, Pod, Record, Workload
from heartbeat_tuner.domain.kafka_groups import GroupConfig, GroupWrite
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.rollouts import Rollout, UpdatedPod
from heartbeat_tuner.domain.verdicts import Decision
from heartbeat_tuner.domain.verifications import MOST_FAILED
from heartbeat_tuner.metrics.record import SETTLING
from heartbeat_tuner.models.group_model import Fitted, Unfitted
from heartbeat_tuner.reconcile import applications, following
from heartbeat_tuner.reconcile.at_broker import due_writes
from heartbeat_tuner.reconcile.following import Witnesses
from heartbeat_tuner.reconcile.group_history import FollowMemory, GroupLook
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW

HOUR: Final = timedelta(hours=1)
_ROLLOUT: Final = timedelta(minutes=5)
_JOINED_AGAIN: Final = HiddenFencings("a member of the share group joined again", lasts=True)


@dataclasses.dataclass(frozen=True)
class Note:
    """One line of a group's trace: written where the decision differs from the hour before.

    Attributes:
        hour: since the start.
        values: in force.
        decision: what was decided.
        change: what was written then; None where nothing was.
    """

    hour: int
    values: LivenessSettings
    decision: Decision
    change: LivenessSettings | None


class HeldGroup:
    """One group under a policy.

    Args:
        life: of the group.
        policy: of it.
    """

    def __init__(self, life: Life, policy: Policy) -> None:
        truth = life.group.truth
        self.life, self.policy = life, policy
        self.values: LivenessSettings = settings_of(truth)
        self.decision: Decision | None = None
        self.notes: list[Note] = []
        self.changes: list[LivenessSettings] = []
        self.reverts = self.flips = 0
        self.evicted = 0
        """Live members that were truly removed for silence."""
        self._memory = FollowMemory()
        self._sources = dict.fromkeys(Setting, ValueSource.POLICY)
        self._kept: dict[str, dict[str, str]] = {}
        self._written: Mapping[str, object] = {}
        start = START + timedelta(days=life.joins_on) - timedelta(days=1)
        self._starts = [start] * truth.members
        self._template = 0
        self._is_ours = False
        self._group = described(life)
        self.last_record: Record | None = None
        self.last_inputs: DecisionInput | None = None
        self._quiet_with: Fitted | Unfitted | None = None
        """The model at the last look, if nothing happened in its hour."""
        self._configured = START
        """Since when the group has its values at the broker: its record begins then."""

    def restart(self, member: int, at: datetime) -> None:
        """Note that a pod was started."""
        self._starts[member % len(self._starts)] = at

    def deploy(self) -> None:
        """Note that the owner changed the pods' template."""
        self._template += 1
        self._is_ours = False

    def look(self, hour: int, seen: Hour, model: Fitted | Unfitted, witnesses: Witnesses, answers: AnswerCache) -> bool:
        """Look at the group at the end of an hour, decide, and write; return whether something was written."""
        if hour % HOURS != HOURS - 1 and self._would_decide_the_same(seen, model):
            return False
        now = START + HOUR * (hour + 1)
        day = START + timedelta(days=hour // 24)
        self.evicted += seen.silent
        for member, second in seen.started:
            self.restart(member, day + timedelta(seconds=second))
        if seen.deployed:
            self.deploy()
        workload = self._workload()
        evicted_at_s = tuple(day.timestamp() + second for second in seen.evicted_at_s)
        self.last_record = record = self._record(now, seen, evicted_at_s)
        # Looks come every minute: the history knows of what a pod's start has cut off from the record.
        watched = dataclasses.replace(record, evicted_at_s=evicted_at_s)
        self.policy = last_write.after_look(self.policy, self._group, now)
        at_broker = group_changes.change_of(self.policy, workload, self._group)
        followed, history, self._memory = following.follow(
            GroupLook(self.policy, workload, watched, now, at_broker), self._memory, witnesses
        )
        self.policy = dataclasses.replace(self.policy, followed=followed, history=history)
        inputs = DecisionInput(
            now,
            self.policy,
            workload,
            self._group,
            BROKER,
            record,
            model,
            self._group,
            followed=followed,
            history=history,
        )
        self.last_inputs = inputs
        decision = decide(inputs, answer=answers.answer, expected=answers.expected, advise=answers.static_advice)
        outcome = Decided(inputs, decision)
        written, at_broker_now = applications.application_for(outcome, now), due_writes.due_write(outcome, now)
        self._note(hour, decision, decision.to_alter if written is None else written.values)
        self.decision = decision
        self._quiet_with = model if seen.is_quiet else None
        if at_broker_now is not None:
            self._alter(at_broker_now, now)
        elif written is not None:
            self._apply(written, now)
        return at_broker_now is not None or written is not None

    def _apply(self, written: Application, now: datetime) -> None:
        """Write into the workload: all pods start again with the values."""
        self._noted(written.values)
        self.values = written.values
        self._sources = dict.fromkeys(Setting, ValueSource.POD)
        self._starts = [now + _ROLLOUT] * len(self._starts)
        self._template += 1
        self._is_ours = True
        entries = dict(written.entries)
        self._kept = {self.policy.workload.container: entries}
        self._written = {self.policy.workload.container: written}
        failed = {past.at: past for past in (*self.policy.failed, *written.failed)}
        self.policy = dataclasses.replace(
            self.policy,
            application=written,
            failed=tuple(failed[at] for at in sorted(failed))[-MOST_FAILED:],
        )

    def _alter(self, write: GroupWrite, now: datetime) -> None:
        """Write into the group's configuration: members have it with their next beat."""
        usual, own = settings_of(self.life.group.truth), write.values
        session = own.session_timeout or usual.session_timeout
        interval = own.heartbeat_interval or usual.heartbeat_interval
        values = dataclasses.replace(self.values, session_timeout=session, heartbeat_interval=interval)
        self._noted(values)
        self.values = values
        lock = None if self._group.config is None else self._group.config.record_lock
        self._group = dataclasses.replace(self._group, config=GroupConfig(session, interval, own, lock))
        self._configured = now
        self.policy = dataclasses.replace(
            self.policy, group_write=dataclasses.replace(write, answered=True, before=None)
        )

    def _would_decide_the_same(self, seen: Hour, model: Fitted | Unfitted) -> bool:
        """Whether a look would say what the last one said, and note nothing; the last look of a day is never left out.

        Nothing happened in either hour, nothing is to be written, no change is followed, and the history has no
        eviction whose rate falls with time: a decision without a target rests on counts that are all zero, on the
        values and on the model. How long a silence was, which differs from hour to hour, is asked of nothing but a
        target.
        """
        last, history = self.decision, self.policy.history
        if last is None or last.target is not None or self.policy.changed_at is not None or not seen.is_quiet:
            return False
        if history is None or history.episodes_s:
            return False
        return self._quiet_with is model or (isinstance(model, Unfitted) and self._quiet_with == model)

    @property
    def period(self) -> timedelta:
        """Between two heartbeats of a member."""
        return timedelta(seconds=period_s(self.life.group.truth.client, self.values))

    def _noted(self, values: LivenessSettings) -> None:
        """Count a change, before its values are in force."""
        reverts = self.decision is not None and self.decision.reverts
        earlier = [settings_of(self.life.group.truth), *self.changes][:-1]
        self.flips += values in earlier and not reverts
        self.reverts += reverts
        self.changes.append(values)

    def _workload(self) -> Workload:
        pods = tuple(
            Pod(f"{self.life.name}-{number}", f"uid-{number}", address(number), start, 0, ready_since=start)
            for number, start in enumerate(self._starts)
        )
        ready = tuple(UpdatedPod(pod.name, pod.started, 0) for pod in pods)
        return Workload(
            uid="workload",
            resource_version=str(self._template),
            current=self._group.prescribed(CurrentSettings(self.values, self._sources)),
            rolling_out=False,
            foreign_env={},
            kept_env=self._kept,
            applications=self._written,  # type: ignore[arg-type]
            pods=pods,
            is_our_template=self._is_ours,
            template=f"template-{self._template}",
            rollout=Rollout(wanted=len(pods), updated=len(pods), ready=ready, pods=frozenset(pod.name for pod in pods)),
        )

    def _record(self, now: datetime, seen: Hour, evicted_at_s: tuple[float, ...]) -> Record:
        since = min(now, max([now - RECORD_WINDOW, self._configured, *self._starts]))
        share = (now - since) / HOUR
        within = tuple(at_s for at_s in evicted_at_s if at_s >= since.timestamp())
        left = round(seen.left * share)
        span_s, period = (now - since).total_seconds(), self.period
        settled_s = span_s - SETTLING.total_seconds()
        rebalances = 2.0 * (len(within) + left) if settled_s > 0 else 0.0
        truth = self.life.group.truth
        took_s = truth.settle_s + period.total_seconds() / 2
        beats = int(truth.members * span_s / period.total_seconds())
        return Record(
            since=since,
            until=now,
            evictions=len(within),
            poll_gap_evictions=left,
            rebalances=rebalances,
            rebalancing_share=min(1.0, rebalances * took_s / settled_s) if settled_s >= HOUR_S / 60 else None,
            accepted_beats=beats,
            beat_period=period if span_s >= 12 * period.total_seconds() else None,
            longest_silence=timedelta(seconds=round(seen.longest_silence_s, 3)) if beats else None,
            longest_poll_gap=None if seen.longest_gap_s is None else timedelta(seconds=round(seen.longest_gap_s, 3)),
            unobserved_pods=(),
            counted_evictions=len(within),
            evicted_at_s=within,
            beats_timed_for=timedelta(seconds=span_s),
            hidden=_JOINED_AGAIN if seen.joined_again else None,
        )

    def _note(self, hour: int, decision: Decision, change: LivenessSettings | None) -> None:
        last = self.notes[-1] if self.notes else None
        if change is None and last is not None and _gist(last.decision) == _gist(decision):
            return
        self.notes.append(Note(hour, self.values, decision, change))


def _gist(decision: Decision) -> tuple[object, ...]:
    hold = None if decision.hold is None else decision.hold.reason
    return decision.verdict, decision.finding.reason, hold, decision.target
