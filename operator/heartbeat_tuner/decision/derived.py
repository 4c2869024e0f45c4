"""What the steps of a decision derive from one input: what its record shows, and which values the group should have.

That is asked only where a fitted model may be used: a record of hours shows that values hold or do not, not what rare
delays cost. What a model comes to takes a millisecond to work out, and is worked out only for who does not remember the
answer. A step that asks for what an earlier one should have made sure of is an error of this program, `StepOrderError`.
"""

import functools
from collections.abc import Callable
from typing import Final

from heartbeat_tuner.decision import counted_evictions
from heartbeat_tuner.decision.at_broker import group_bounds, last_write
from heartbeat_tuner.decision.evictions import assessment, eviction_evidence, expected_evictions, refuted_sessions
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.gates import record_consent
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.decision.optimize.questions import Answer, ModelHistory, Question
from heartbeat_tuner.decision.profile import group_facts
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.decision.step_order import needed
from heartbeat_tuner.domain.evidence import Record, Unknown, Unwatched
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence
from heartbeat_tuner.domain.verdicts import Finding, Forecast, StaticAdvice
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import Fitted, Unfitted

_BROKERS: Final = group_bounds.OF_GROUP


class Derived:
    """What steps derive from one input: each thing at most once, and only when a step asks for it.

    Args:
        inputs: of the decision.
        answer: says which values a group should have.
        expected: says what values bring.
        advise: says whether static ids pay.
        free: which settings may change of a group whose S and H are the broker's.
    """

    def __init__(
        self,
        inputs: DecisionInput,
        *,
        answer: Callable[[Question], Answer],
        expected: Callable[[Question, LivenessSettings | None], Forecast | None],
        advise: Callable[[Question], StaticAdvice],
        free: frozenset[Setting] = _BROKERS,
    ) -> None:
        self._inputs = inputs
        self._answer = answer
        self._expected = expected
        self.advise = advise
        self._free = free

    @property
    def record(self) -> Record:
        """The record.

        Raises:
            StepOrderError: there is none; `record_is_unknown` comes first.
        """
        record = self._inputs.record
        return needed(None if isinstance(record, Unknown) else record, "the record")

    @property
    def current(self) -> CurrentSettings:
        """What is set.

        Raises:
            StepOrderError: the pods differ; `pods_differ` comes first.
        """
        return needed(self._inputs.workload.current, "what is set")

    @functools.cached_property
    def shown(self) -> Finding:
        """What the record shows."""
        return assessment.assess(self._inputs, self.record, self.current.settings)

    @functools.cached_property
    def evidence(self) -> EvictionEvidence | None:
        """What weeks of evictions say of the values that are set; None where nothing was counted with them yet."""
        return evidence_of(self._inputs)

    def evidence_refuses(self, answer: Answer, change: tuple[LivenessSettings, LivenessSettings]) -> str:
        """Return why weeks of evictions refuse shorter limits, as a sentence; empty if they do not.

        A law that does not know of evictions before our last change would find the session too long again.

        Args:
            answer: that asks for them.
            change: what is set, and what it asks for.
        """
        inputs = self._inputs
        if isinstance(inputs.model, Unfitted) or not guard.tightens(*change):
            return ""
        if not self.is_founded(answer):
            return "more evictions were counted than it promises of the values set"
        if self._unexplained_before is not None:
            return self._unexplained_before
        return refuted_sessions.refusal(inputs.history, inputs.policy, inputs.model.model, change, answer.new)

    def refusal(self, answer: Answer, change: tuple[LivenessSettings, LivenessSettings]) -> str:
        """Return why the group's weeks, or its record, refuse shorter limits, as a sentence; empty if they do not.

        Args:
            answer: that asks for them.
            change: what is set, and what it asks for.
        """
        inputs = self._inputs
        of_record = record_consent.refusal(self.record, change, inputs.client, inputs.period, now=inputs.now)
        return self.evidence_refuses(answer, change) or of_record

    @property
    def is_endangered(self) -> bool:
        """Whether these weeks show more evictions than the objective allows."""
        return self.evidence is not None and self.evidence.is_dangerous(self._inputs.per_month)

    def is_founded(self, answer: Answer) -> bool:
        """Whether what was counted does not refute what an answer promises of the values that are set."""
        return self.evidence is None or answer.now is None or not self.evidence.refutes(answer.now.evictions_upper)

    @property
    def is_priced(self) -> bool:
        """Whether a model knows what the evictions that the record shows cost: weeks at the same rate are in it."""
        if self.shown.reason is not Reason.DANGER or not _is_of_weeks(self._inputs, self.record):
            return False
        return isinstance(self.answer, Answer) and self.is_founded(self.answer)

    @functools.cached_property
    def unexplained(self) -> Sentence | None:
        """That a model's own rebalances contradict whatever it would promise; None where they do not."""
        facts = _facts(self._inputs)
        return None if isinstance(facts, Unknown) else _unexplained(self._inputs, facts)

    @functools.cached_property
    def _unexplained_before(self) -> Sentence | None:
        """The same of days that reach back before our last change, with what a model expects of those values too."""
        inputs, written, model = self._inputs, self._inputs.policy.application, self._inputs.model
        facts = _facts(inputs)
        if written is None or isinstance(facts, Unknown) or isinstance(model, Unfitted):
            return None
        return _rebalances_of(inputs, model, facts, (written.previous, self.current.settings))

    @functools.cached_property
    def question(self) -> Question | Unfitted:
        """Which values the group should have, or why that cannot be asked."""
        record = None if isinstance(self._inputs.record, Unwatched) else self.record
        return question_of(self._inputs, record, self.current.settings, self._free)

    @functools.cached_property
    def answer(self) -> Answer | Unfitted:
        """The answer to the question, or why there is none."""
        return self.question if isinstance(self.question, Unfitted) else self._answer(self.question)

    @functools.cached_property
    def of_client(self) -> "Derived":
        """The same, asked which M the clients should have while S and H stay the broker's."""
        return self._asking(group_bounds.OF_CLIENT)

    @functools.cached_property
    def of_both(self) -> "Derived":
        """The same, asked for all of them together."""
        return self._asking(group_bounds.OF_CLIENT | group_bounds.OF_GROUP)

    def _asking(self, free: frozenset[Setting]) -> "Derived":
        return Derived(self._inputs, answer=self._answer, expected=self._expected, advise=self.advise, free=free)

    def saving(self, target: LivenessSettings) -> Answer | None:
        """Return the answer that a change comes from, the last one if it is a part of that; None if it is demanded."""
        is_watched = not isinstance(self._inputs.record, Unwatched)
        if is_watched and (self.shown.reason is not Reason.HEALTHY or self.is_endangered):
            return None
        is_apart = group_bounds.poll_limit_is_clients(self._inputs.group)
        asked = (self, self.of_client, self.of_both) if is_apart else (self,)
        answers = (each.answer for each in asked)
        fits = (answer for answer in answers if isinstance(answer, Answer) and answer.target == target)
        last = next(fits, None) or asked[-1].answer
        return last if isinstance(last, Answer) else None

    @property
    def is_shown_by_weeks(self) -> bool:
        """Whether evictions of weeks demand a change that the record of the hour does not.

        The record may be without beats: that of a library whose evictions are known by the broker alone.
        """
        if isinstance(self._inputs.record, Unwatched):
            return False
        is_calm = self.shown.reason is Reason.HEALTHY or assessment.lacks_beats_alone(self.record)
        return is_calm and self.is_endangered

    def forecast(self, target: LivenessSettings | None) -> Forecast | None:
        """Return what the values set, and others, bring; None where nobody knows."""
        return None if isinstance(self.question, Unfitted) else self._expected(self.question, target)


def question_of(
    inputs: DecisionInput, record: Record | None, current: LivenessSettings, free: frozenset[Setting] = _BROKERS
) -> Question | Unfitted:
    """Return the question, or why it cannot be asked.

    Args:
        inputs: what was gathered.
        record: of it; None where nobody watched it: nothing then speaks against the values set.
        current: what is set.
        free: which settings may change of a group whose S and H are the broker's.
    """
    if isinstance(inputs.model, Unfitted):
        return inputs.model
    facts = _facts(inputs)
    if isinstance(facts, Unknown):
        return Unfitted(facts.message)
    model = inputs.model.model
    if (unfit := group_facts.unfit(model)) is not None:
        return unfit
    if (hidden := _unexplained(inputs, facts)) is not None:
        return Unfitted(hidden)
    absences, gaps = group_facts.watched_days(model.quantities[ABSENCE]), model.quantities.get(POLL_GAP)
    gaps = None if gaps is None else group_facts.watched_days(gaps)
    evictions, evictions_days = (0, 0.0) if record is None else _counted(inputs, record)
    cluster = inputs.cluster.for_groups(inputs.group.kind) if inputs.group.consumer_protocol else inputs.cluster
    return Question(
        history=ModelHistory(model, facts),
        current=current,
        objective=inputs.policy.objective,
        bounds=group_bounds.allowed(inputs.group, inputs.client, inputs.policy.bounds, current),
        fixed=group_bounds.fixed(inputs.group, free),
        least_session=cluster.min_session_timeout,
        most_session=cluster.max_session_timeout,
        broker_interval=group_bounds.intervals(cluster),
        evictions=evictions,
        evictions_days=evictions_days,
        horizon=inputs.policy.horizon,
        held=inputs.held,
        brokers=cluster.brokers,
        bounds_assumed=cluster.bounds_assumed,
        watched_days=absences.group_days,
        member_days=absences.member_days,
        largest_absence_s=group_facts.largest_s(absences),
        largest_poll_gap_s=None if gaps is None else gaps.largest_s,
        gaps_watched_days=0.0 if gaps is None else gaps.group_days,
        gaps_member_days=0.0 if gaps is None else gaps.member_days,
        baseline=last_write.baseline(inputs.policy, inputs.group, current),
    )


def _facts(inputs: DecisionInput) -> Facts | Unknown:
    """Return what is known of the group without statistics, or why that is too little."""
    workload = inputs.workload
    # While partitions are being moved none can be counted, and what was recommended must not come and go with that.
    group = inputs.settled if inputs.settled is not None and inputs.group.rebalancing else inputs.group
    period = None if workload.current is None else inputs.period(workload.current.settings)
    return group_facts.facts(inputs.client, inputs.policy, workload, group, period)


def evidence_of(inputs: DecisionInput) -> EvictionEvidence | None:
    """Return what weeks of evictions say of the values that are set; None where nothing was counted with them yet."""
    settings = None if inputs.workload.current is None else inputs.workload.current.settings
    return eviction_evidence.since_the_change(inputs.history, inputs.policy, inputs.followed, settings, inputs.now)


def _is_of_weeks(inputs: DecisionInput, record: Record) -> bool:
    """Whether the record is one of weeks that show danger themselves."""
    return counted_evictions.is_of_weeks(record, evidence_of(inputs), inputs.history, inputs.per_month, inputs.now)


def _counted(inputs: DecisionInput, record: Record) -> tuple[int, float]:
    """Return how many evictions an answer rests on, and in how many days."""
    of_weeks = _is_of_weeks(inputs, record)
    return counted_evictions.counted(record, evidence_of(inputs), inputs.per_month, of_weeks=of_weeks)


def _unexplained(inputs: DecisionInput, facts: Facts) -> Sentence | None:
    """Return that a model's own rebalances contradict whatever it would promise; None where they do not.

    Those of days before our last change are of other values, and refuse shorter limits only (`Derived`).
    """
    if isinstance(inputs.model, Unfitted):
        return None
    model, change = inputs.model.model, inputs.policy.application
    current = inputs.workload.current
    if current is None or (change is not None and model.since <= change.at.date()):
        return None
    return _rebalances_of(inputs, inputs.model, facts, (current.settings,))


def _rebalances_of(
    inputs: DecisionInput, model: Fitted, facts: Facts, values: tuple[LivenessSettings, ...]
) -> Sentence | None:
    """Return that a model's rebalances are far more than it expects of the values of which it expects most."""

    def most() -> float:
        return max(expected_evictions.per_day_at_most(model, each, inputs.period(each)) for each in values)

    return group_facts.unexplained_rebalances(model.model, facts, most)
