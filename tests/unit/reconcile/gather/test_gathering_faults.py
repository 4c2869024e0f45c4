"""The fault matrix: each way in which an answer can fail, in each phase of gathering.

It ends in *unknown* with a reason, or in the values that there would be without the fault; for as long as a stretch is
missing the record is shorter, and true of the time that it claims. Nothing is ever written for a fault.
"""

import asyncio
import dataclasses
import enum
import functools
import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics import record
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.series import reading_plan
from tests.support import counters, fakes, stages, told_prometheus, worlds
from tests.support.counters import KAFKAJS, Answers
from tests.support.stages import Stage
from tests.support.told_prometheus import DISORDERS, FAILURES, Fault, ToldPrometheus
from tests.support.worlds import NOW, seconds

pytestmark = pytest.mark.no_cover  # reads two hours of scrapes 221 times

MINUTE = stages.MINUTE
POLICY = worlds.policy()

REASONS = {"partial": Reason.PARTIAL_DATA, "warned": Reason.PARTIAL_DATA, "too_much": Reason.TOO_MANY_SERIES}
"""What is told of a failure; of all others that Prometheus cannot be reached."""


class Phase(enum.Enum):
    """When an answer is bad."""

    FIRST_SLICE = "the newest slice after a start"
    LATER_SLICE = "an older slice"
    INCREMENT = "a later cycle"
    AFTER_LEADER_CHANGE = "another replica's first cycle"


class Bench:
    """A gatherer on a Prometheus whose answers go through the adapter's reader.

    Args:
        answers: what the consumers export.
        stage: everything else.
    """

    def __init__(self, stage: Stage, answers: Answers) -> None:
        self.prometheus = ToldPrometheus(counters.exported(answers, KAFKAJS))
        self.stage = stage
        self.restart()

    def restart(self) -> None:
        """Begin with nothing remembered, as another leader does."""
        self.gatherer = Gatherer(
            metrics=self.prometheus,
            groups=fakes.looks_at(self.stage.groups, self.stage.clock),
            workloads=self.stage.workloads,
            models=self.stage.shelf,
            clock=self.stage.clock,
            sleep=fakes.no_sleep,
            grants=self.stage.grants,
        )

    async def gather(self, after: timedelta = MINUTE) -> DecisionInput:
        """Let time pass, and gather once."""
        self.stage.clock.advance(after)
        found = (await self.gatherer.gather([POLICY]))[POLICY.key]
        assert isinstance(found, DecisionInput)
        return found

    async def fail_in(self, phase: Phase, fault: Fault) -> DecisionInput:
        """Return what is gathered in a phase in which answers are bad."""
        if phase is not Phase.FIRST_SLICE and phase is not Phase.LATER_SLICE:
            await self.gather()
        if phase is Phase.AFTER_LEADER_CHANGE:
            self.restart()
        self.prometheus.fault = _only_older(fault) if phase is Phase.LATER_SLICE else fault
        found = await self.gather()
        self.prometheus.fault = None
        return found


def _only_older(fault: Fault) -> Fault:
    """Return a fault of answers that hold nothing of the last minutes."""
    from_s = (NOW - 5 * MINUTE).timestamp()

    def older(query: str, body: bytes) -> bytes:
        found = told_prometheus.newest_s(body)
        return fault(query, body) if found is not None and found < from_s else body

    return older


def long_running(stage: Stage) -> Stage:
    """Return a stage whose pods run for two hours."""
    pods = tuple(dataclasses.replace(pod, started=NOW - 2 * worlds.HOUR) for pod in worlds.pods())
    stored = stage.workloads.stored[stages.CONSUMER]
    stage.workloads.stored[stages.CONSUMER] = dataclasses.replace(stored, pods=pods)
    return stage


def calm() -> Bench:
    """Return a healthy group."""
    answers = counters.quiet(worlds.pods(), NOW - 2 * worlds.HOUR, NOW + worlds.HOUR)
    return Bench(long_running(stages.calm()), answers)


def storm() -> Bench:
    """Return a group in a storm, for which something has to be written."""
    answers = counters.stormy(worlds.pods(), NOW - 2 * worlds.HOUR, NOW + worlds.HOUR)
    return Bench(long_running(stages.storm()), answers)


def restarting() -> Bench:
    """Return a healthy group whose processes start again: their counters begin at zero, and some series end."""
    bench = calm()
    half_s = (NOW - 20 * MINUTE).timestamp()
    beats = KAFKAJS.by_quantity[Quantity.HEARTBEATS].names[0]

    def reset(series: Series) -> list[Series]:
        first = next(iter(series.samples.values))
        pairs = [(at, value if at < half_s else value // 3 - first) for at, value in series.samples]
        if series.labels["__name__"] != beats:
            return [Series.from_raw(series.labels, [(at, max(0.0, value)) for at, value in pairs])]
        later = {**series.labels, "member_id": "another"}
        ended, born = [pair for pair in pairs if pair[0] < half_s], [(at, (at - half_s) // 5) for at, _ in pairs]
        return [
            Series.from_raw(series.labels, ended),
            Series.from_raw(later, [item for item in born if item[0] >= half_s]),
        ]

    bench.prometheus.series = [item for series_ in bench.prometheus.series for item in reset(series_)]
    return bench


WORLDS = {"calm": calm, "storm": storm, "restarting": restarting}


@functools.cache
def undisturbed(world: str, cycles: int) -> DecisionInput:
    """Return what a gatherer without faults finds in a cycle: the same for each fault, so it is found once."""

    async def last() -> DecisionInput:
        bench = WORLDS[world]()
        for _ in range(cycles - 1):
            await bench.gather()
        return await bench.gather()

    with ThreadPoolExecutor(1) as elsewhere:  # the test's own loop runs in this thread
        return elsewhere.submit(asyncio.run, last()).result()


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("failure", sorted(FAILURES))
@pytest.mark.parametrize("world", sorted(WORLDS))
async def test_a_failure_is_unknown_or_shorter_and_never_a_changed_value(
    world: str, failure: str, phase: Phase
) -> None:
    """Where the newest stretch failed nothing is known, and nothing decided; once it is read all is as it ever was."""
    bench = WORLDS[world]()
    found = await bench.fail_in(phase, FAILURES[failure])
    if phase is Phase.LATER_SLICE:
        assert isinstance(found.record, Record)
        assert found.record.span < timedelta(minutes=15)
        assert found.record == _whole_record_since(found, bench)
    else:
        assert isinstance(found.record, Unknown)
        assert found.record.reason is REASONS.get(failure, Reason.PROMETHEUS_UNREACHABLE)
        assert 'tried {__name__=~"' in found.record.message
        decision = decide(found)
        assert decision.verdict is Verdict.UNKNOWN
        assert decision.to_apply is None
    if world != "storm":
        assert decide(found).to_apply is None
    cycles = 2 if phase in (Phase.FIRST_SLICE, Phase.LATER_SLICE) else 3
    assert await bench.gather() == undisturbed(world, cycles)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("disorder", sorted(DISORDERS))
@pytest.mark.parametrize("world", sorted(WORLDS))
async def test_a_disorderly_answer_changes_nothing(world: str, disorder: str, phase: Phase) -> None:
    """Samples that come twice, or in any order, are the same samples."""
    bench = WORLDS[world]()
    found = await bench.fail_in(phase, DISORDERS[disorder])
    assert found == undisturbed(world, 1 if phase in (Phase.FIRST_SLICE, Phase.LATER_SLICE) else 2)


@pytest.mark.parametrize("failure", sorted(FAILURES))
async def test_a_fault_writes_nothing_and_its_end_lets_the_cure_through(failure: str) -> None:
    """A whole operator in a storm: as long as answers are bad nothing is written, and then once."""
    stage = long_running(stages.storm())
    report = ToldPrometheus(counters.exported(stage.prometheus.answers, KAFKAJS))
    report.fault = FAILURES[failure]
    stage.prometheus = report  # type: ignore[assignment]  # it answers likewise
    stage.restart()
    for _ in range(3):
        await stage.cycle()
        assert stage.workloads.writes == []
        assert stage.condition("MetricsAvailable")[0] == "False"
    report.fault = None
    await stage.cycle()
    assert len(stage.workloads.writes) == 1


@pytest.mark.parametrize("failure", sorted(FAILURES))
async def test_a_fault_that_lasts_is_told_once(failure: str) -> None:
    """A sentence that changes with each cycle would be a status write each cycle."""
    stage = long_running(stages.calm())
    report = ToldPrometheus(counters.exported(stage.prometheus.answers, KAFKAJS))
    stage.prometheus = report  # type: ignore[assignment]  # it answers likewise
    stage.restart()
    await stage.cycle()
    report.fault = FAILURES[failure]
    assert (await stage.cycle()).status_writes == 1
    for _ in range(3):
        assert (await stage.cycle()).status_writes == 0


def _whole_record_since(found: DecisionInput, bench: Bench) -> Record | Unknown:
    """Return the record of the same time, measured on everything that there is."""
    assert isinstance(found.record, Record)
    until_s = math.floor(found.now.timestamp())
    since = found.record.since - reading_plan.BASELINE_MARGIN
    cut = [
        Series(series_.labels, series_.samples.between(since.timestamp(), until_s))
        for series_ in bench.prometheus.series
    ]
    group = (POLICY.key.namespace, POLICY.group_id)
    mine = resolver.by_group([item for item in cut if item.samples], known_conventions.CONVENTIONS, {group})[group]
    convention, observed = resolver.followed(mine, known_conventions.of_library(POLICY.library))
    watched = RecordScope(POLICY, found.workload.pods, None, (), found.record.since, found.now)
    return record.measure(watched, observed, convention, query=str)


async def test_a_shorter_record_decides_on_what_it_has() -> None:
    """A storm is cured though the older slices cannot be read: its evidence is fresh."""
    bench = storm()
    found = await bench.fail_in(Phase.LATER_SLICE, FAILURES["failed"])
    decision = decide(found)
    assert decision.verdict is Verdict.CHANGE
    assert isinstance(found.record, Record)
    assert found.record.since == NOW + MINUTE - seconds(reading_plan.LONGEST_S) + reading_plan.BASELINE_MARGIN
