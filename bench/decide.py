"""How long does it take to decide? `python -m bench.decide`.

10,000 groups of all client families, protocols and sizes, with laws and bounds as two weeks of metrics would give them,
from scratch. Then what a cycle of the operator has to decide for 1,000 policies with a fitted model each: the first
cycle, one in which nothing has changed, and one after the models were read again and say the same. One process, one
core; making groups and models is not counted. Seconds are of processor time, since the machine may be shared; the
report has those of the clock as well.
"""

import copy
import dataclasses
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.verdicts import Decision
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Z_95
from tests.support import fitted, worlds

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "decide.json"

GROUPS: Final = 10_000
POLICIES: Final = 1_000
SEED: Final = 8

_DAYS: Final = 14.0
_NEVER: Final = FailureProcess(0.0, Law.constant(0.0))

T = TypeVar("T")
Of = TypeVar("Of")

_CLIENTS: Final = ("java", "java", "spring", "kafkajs", "confluent-kafka-python", "streams", "sarama", "franz-go")


@dataclasses.dataclass(frozen=True)
class Timed:
    """What deciding for all groups took."""

    processor_s: float
    clock_s: float


def mixed(count: int, seed: int) -> list[Question]:
    """Return questions of groups as a fleet has them."""
    rng = np.random.default_rng(seed)
    return [_question(rng) for _ in range(count)]


def _question(rng: np.random.Generator) -> Question:
    client = catalogue.client(str(rng.choice(_CLIENTS)))
    rebalancing = _rebalancing(rng, client.name)
    members = int(np.clip(rng.lognormal(np.log(7), 0.7), 2, 40))
    member_days = members * _DAYS
    # Quiet, with long collections, throttled.
    routine = [(20.0, 0.12, 0.6), (50.0, 1.2, 0.7), (300.0, 0.7, 0.6)][int(rng.integers(3))]
    freezes = 0.02 * rng.lognormal(0.0, 0.8)
    pauses = _estimated(
        rng, [(routine[0], Law.lognormal(*routine[1:])), (freezes, Law.lognormal(8.0, 0.6))], member_days
    )
    slow = float(rng.choice([0.4, 0.4, 1.2, 12.0]))
    handlers = Law.lognormal(slow, 0.6)
    late = 86_400 / handlers.mean_s * 10.0 ** rng.uniform(-5, -3)
    gaps = [(86_400 / handlers.mean_s, handlers), (late, Law.lognormal(10 * slow, 0.6))]
    static, surge, bounded, evicted = rng.random(4) < (0.1, 0.6, 0.2, 0.1)
    profile = Profile(
        client=client.name,
        rebalancing=rebalancing,
        members=members,
        partitions=min(members * int(rng.choice([1, 2, 3, 4, 8])), 200),
        static=rebalancing is not Rebalancing.CONSUMER and bool(static),
        pauses=pauses,
        node_pauses=_estimated(rng, [(0.01, Law.lognormal(10.0, 0.8))], _DAYS),
        node_members=int(rng.integers(1, 4)),
        outages=_estimated(rng, [(0.03, Law.lognormal(4.0, 0.8))], _DAYS),
        delivery=Delivery.LATE,
        crashes=FailureProcess(0.01 * rng.lognormal(0.0, 1.2), Law.lognormal(22.0, 0.45)),
        restarts=FailureProcess(float(rng.choice([0.25, 0.25, 4.0])), Law.lognormal(22.0, 0.35)),
        surge=bool(surge),
        hangs=FailureProcess(0.001, Law.lognormal(3_600.0, 1.0)),
        handlers=handlers,
        slow_handlers=_estimated(rng, gaps, member_days),
        settle_s=float(rng.lognormal(np.log(0.6), 0.5)),
    )
    consumer = rebalancing is Rebalancing.CONSUMER
    return Question(
        history=profile,
        current=dataclasses.replace(client.defaults, heartbeat_interval=timedelta(seconds=5 if consumer else 3)),
        objective=Objective(timedelta(seconds=60), 1.0),
        bounds={Setting.SESSION_TIMEOUT: Range(timedelta(seconds=10), timedelta(seconds=50))} if bounded else {},
        least_session=timedelta(seconds=45 if consumer else 6),
        most_session=timedelta(seconds=60 if consumer else 1_800),
        watched_days=_DAYS,
        member_days=member_days,
        evictions=int(rng.integers(3, 20)) if evicted else 0,
        evictions_days=_DAYS,
        largest_absence_s=_largest(pauses, member_days),
        largest_poll_gap_s=_largest(profile.slow_handlers or _NEVER, member_days),
        horizon=timedelta(days=14),
    )


def _rebalancing(rng: np.random.Generator, client: str) -> Rebalancing:
    if client == "kafkajs":
        return Rebalancing.EAGER
    kinds = [Rebalancing.EAGER, Rebalancing.COOPERATIVE]
    if client == "java":
        kinds.append(Rebalancing.CONSUMER)
    return kinds[int(rng.integers(len(kinds)))]


def _estimated(rng: np.random.Generator, parts: list[tuple[float, Law]], days: float) -> FailureProcess:
    """Return a happening of several kinds, by rate and law, with its bounds from so many days."""
    rates = np.sum([rate * law.exceedances for rate, law in parts], axis=0)
    rates = rates * rng.lognormal(0.0, 0.1)
    known = FailureProcess(float(rates[0]), Law.table(np.minimum(rates / rates[0], 1.0)))
    counted = rates * days
    upper = (counted + Z_95 * np.sqrt(counted) + 1.35) / days
    largest_s = _largest(known, days)
    beyond = np.maximum(rates, shape_free.beyond_per_day(TIMES_S, largest_s, days))
    return dataclasses.replace(known, upper_per_day=np.where(largest_s > TIMES_S, upper, beyond))


def _largest(process: FailureProcess, days: float) -> float:
    """Return the time that is exceeded about once in so many days."""
    return max(float(process.law.quantile(min(1.0, 1.0 / (process.per_day * days)))), 0.01)


def situations(count: int) -> list[DecisionInput]:
    """Return healthy Java groups of three that were fitted over two weeks, each with numbers of its own."""
    return [_situation(number) for number in range(count)]


def _situation(number: int) -> DecisionInput:
    absences = fitted.quantity(values=40_320 + number)
    gaps = fitted.quantity(values=40_320 + number, largest_s=4.0)
    group = f"orders-{number}"
    model = fitted.fitted(group=group, client="java", quantities={ABSENCE: absences, POLL_GAP: gaps})
    base = worlds.situation(policy=worlds.java_policy(), model=model, has=worlds.workload(worlds.java_settings()))
    members = tuple(dataclasses.replace(member, partitions=4) for member in base.group.members)
    return dataclasses.replace(base, group=dataclasses.replace(base.group, group_id=group, members=members))


def read_anew(inputs: DecisionInput) -> DecisionInput:
    """Return the same with another object of the same model."""
    return dataclasses.replace(inputs, model=copy.deepcopy(inputs.model))


def _timed(asked: Sequence[Of], decide: Callable[[Of], T]) -> tuple[list[T], Timed]:
    clock, processor = time.perf_counter(), time.process_time()
    answers = [decide(item) for item in asked]
    return answers, Timed(time.process_time() - processor, time.perf_counter() - clock)


def _cycles(count: int) -> dict[str, float]:
    """Return what deciding takes of each policy, in milliseconds of processor time."""
    watched, memory = situations(count), AnswerCache(2 * count)

    def decided(inputs: DecisionInput) -> Decision:
        return decide(inputs, answer=memory.answer, expected=memory.expected)

    first, began = _timed(watched, decided)
    again, unchanged = _timed(watched, decided)
    anew, same = _timed([read_anew(item) for item in watched], decided)
    assert first == again == anew
    times = {"first": began, "unchanged": unchanged, "models_read_anew": same}
    return {name: 1_000 * time.processor_s / count for name, time in times.items()}


def main(count: int = GROUPS, policies: int = POLICIES) -> None:
    """Measure, print and write the report."""
    questions = mixed(count, SEED)
    tuning.answer(questions[0])
    found, scratch = _timed(questions, tuning.answer)
    report = {
        "groups": count,
        "from_scratch": dataclasses.asdict(scratch),
        "ms_per_group": 1_000 * scratch.processor_s / count,
        "verdicts": dict(Counter(f"{item.verdict}: {item.reason}" for item in found)),
        "policies": policies,
        "cycle_ms_per_policy": _cycles(policies),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
