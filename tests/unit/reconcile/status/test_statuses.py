"""The reporting end of a cycle: what is worked out, what is written, and who is told."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import pytest
import structlog.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.api import parsing
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import GroupOwnership
from heartbeat_tuner.domain.policies import Application, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.liveness.progress import nobody_looks
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Outcome
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.reconcile.status import metric_points, statuses
from heartbeat_tuner.reconcile.status.folding import MOST_ALONE
from heartbeat_tuner.reconcile.status.statuses import MADE_ANEW_AFTER, Finished, Statuses
from heartbeat_tuner.reconcile.status.troubles import Troubles
from heartbeat_tuner.reconcile.status.write_pace import PER_S, WritePace
from tests.support import fitted, manifests, tuned, worlds
from tests.support.fakes import FakeClock, FakePolicies, no_sleep
from tests.support.stages import MINUTE, ORDERS

CURED: Final = worlds.settings("30s", "1s", "1s")
UNREACHABLE: Final = Finding(Reason.CLUSTER_UNREACHABLE, "Kafka cluster main did not answer")


class Watched(dict[str, Any]):
    """An object that counts how often its status is looked at."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        """Return a part of it."""
        self.looks += key == "status"
        return super().get(key, default)


class Reporting:
    """Policies in an API server, and who reports on them."""

    def __init__(self, *names: str, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.store = PolicyStore()
        self.policies = FakePolicies(self.store, [manifests.policy(name) for name in names or ("orders",)])
        self.troubles = Troubles()
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        pace = WritePace(PER_S, lambda: 0.0, no_sleep)
        self.statuses = Statuses(self.store, self.policies, self.clock, pace=pace, troubles=self.troubles)

    async def cycle(self, outcome: Outcome | NotRead, policy: Policy | None = None) -> list[Finished]:
        """Report one outcome of all policies."""
        bodies = {parsing.key_of(body): body for body in self.store.snapshot()}
        self.statuses.begin(bodies)
        found = [await self.statuses.finish(body, policy, outcome, None) for body in bodies.values()]
        await self.statuses.tell(Turns(), nobody_looks)
        self.troubles.tell()
        return found

    async def looks(self, outcome: Outcome | NotRead, policy: Policy | None = None) -> int:
        """Return how often the status of the first policy is looked at in a cycle."""
        body = Watched(self.store.snapshot()[0])
        self.statuses.begin([parsing.key_of(body)])
        finished = await self.statuses.finish(body, policy, outcome, None)
        assert finished.written is False
        return body.looks


def decided(situation: DecisionInput, **changes: Any) -> Decided:
    """Return what is decided on a situation, but for changes to it."""
    changed = dataclasses.replace(situation, **changes)
    return Decided(changed, decide(changed))


RECORD: Final = worlds.record(silence=worlds.seconds(5))
QUIET: Final = dataclasses.replace(tuned.known(mode=Mode.RECOMMEND), record=RECORD)


WELL: Final = decided(QUIET)


async def test_what_nothing_happened_to_is_not_looked_at() -> None:
    """Neither its status nor what it would be; its points are those of this very pass all the same."""
    reporting = Reporting()
    await reporting.cycle(WELL)
    assert await reporting.looks(WELL) > 0  # what was written is looked at once more
    now = worlds.NOW + MINUTE
    later = decided(QUIET, now=now, record=dataclasses.replace(RECORD, until=now))
    assert await reporting.looks(later) == 0
    (finished,) = await reporting.cycle(later)
    status = parsing.status_of(reporting.policies.stored[ORDERS])
    assert finished.points == metric_points.points(None, later, status)
    assert reporting.policies.writes == 1


def unlike(**changes: Any) -> Decided:
    """Return the same decision on another situation."""
    return dataclasses.replace(WELL, inputs=dataclasses.replace(QUIET, **changes))


REFITTED: Final = fitted.fitted(client="java", fitted_at=worlds.NOW)
CHANGES: Final[Mapping[str, Outcome | NotRead]] = {
    "decision": dataclasses.replace(WELL, decision=dataclasses.replace(WELL.decision, outlook="brighter")),
    "workload": unlike(workload=dataclasses.replace(QUIET.workload, template="another")),
    "model": unlike(model=REFITTED),
    "record": unlike(record=Unknown(Reason.NO_SERIES, "no series")),
    "policy": unlike(policy=dataclasses.replace(QUIET.policy, suspended=True)),
    "protocol": unlike(group=dataclasses.replace(QUIET.group, consumer_protocol=True)),
    "ownership": unlike(ownership=GroupOwnership("main", "orders", "workload-1", since=worlds.NOW)),
    "blocked": Blocked(UNREACHABLE),
    "not-read": NotRead(),
    "failure": dataclasses.replace(WELL, failure=UNREACHABLE),
}


@pytest.mark.parametrize("changed", sorted(CHANGES))
async def test_whatever_a_status_rests_on_has_it_looked_at(changed: str) -> None:
    """And so has a policy that somebody edited."""
    reporting = Reporting()
    for _ in range(2):
        await reporting.cycle(WELL)
    body = Watched(reporting.store.snapshot()[0])
    await reporting.statuses.finish(body, None, CHANGES[changed], None)
    assert body.looks > 0
    for _ in range(2):
        await reporting.cycle(WELL)
    reporting.policies.edit(ORDERS)
    body = Watched(reporting.store.snapshot()[0])
    await reporting.statuses.finish(body, None, WELL, None)
    assert body.looks > 0


def stormy(evictions: int, *, pod: str | None = None) -> Decided:
    """Return what is decided on a storm that was seen for some time, or on a pod of which nothing is known."""
    seen = worlds.record(evictions=evictions, span=worlds.seconds(5 * evictions), rebalances=8.0, beats=0)
    if pod is not None:
        seen = worlds.record(evictions=2, beats=0, unobserved=(pod,))
    return decided(worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND)), record=seen)


async def test_a_status_is_not_written_while_only_readings_move() -> None:
    """Nor by the next leader at its first look; what that has found out itself it tells once."""
    reporting = Reporting()
    for evictions in (24, 25, 26, 300):
        await reporting.cycle(stormy(evictions))
    assert reporting.policies.writes == 1
    assert "24 evictions" in reporting.policies.condition(ORDERS, "Recommended")["message"]
    reporting.restart()
    await reporting.cycle(stormy(301))
    assert reporting.policies.writes == 1
    for evictions in (302, 303):
        await reporting.cycle(stormy(evictions))
    assert reporting.policies.writes == 2
    assert "302 evictions" in reporting.policies.condition(ORDERS, "Recommended")["message"]


async def test_a_fact_that_could_not_be_written_is_written_later() -> None:
    """What is remembered is what stands in the status, not what should."""
    reporting = Reporting()
    await reporting.cycle(stormy(0, pod="orders-1"))
    reporting.policies.error = ApiServerError("the API server did not answer")
    await reporting.cycle(stormy(0, pod="orders-2"))
    reporting.policies.error = None
    await reporting.cycle(stormy(0, pod="orders-2"))
    assert "pod orders-2" in reporting.policies.condition(ORDERS, "Recommended")["message"]


async def test_a_status_is_made_anew_now_and_then() -> None:
    """What depends on the time alone is not forgotten; not all of them come in one cycle."""
    names = [f"orders-{number}" for number in range(100)]
    reporting, anew = Reporting(*names), []
    for _ in range(2):
        await reporting.cycle(WELL)
    for _ in range(2 * (MADE_ANEW_AFTER // MINUTE) + 1):
        reporting.clock.advance(MINUTE)
        bodies = [Watched(body) for body in reporting.store.snapshot()]
        for body in bodies:
            await reporting.statuses.finish(body, None, WELL, None)
        anew.append(sum(1 for body in bodies if body.looks))
    assert sum(anew) >= 100
    assert max(anew) < 60
    assert reporting.policies.writes == 100


def _pods_ready(situation: DecisionInput, age: timedelta) -> DecisionInput:
    pods = tuple(dataclasses.replace(pod, ready_since=worlds.NOW - age) for pod in situation.workload.pods)
    return dataclasses.replace(situation, workload=dataclasses.replace(situation.workload, pods=pods))


def _written(age: timedelta, *, mode: Mode = Mode.APPLY, **workload: Any) -> DecisionInput:
    """Return a healthy group whose values were written some time ago."""
    change = Application(CURED, worlds.STORM, worlds.NOW - age, "workload-1", "app")
    runs = dataclasses.replace(worlds.workload(CURED), **workload)
    policy = worlds.policy(mode=mode, application=change)
    return worlds.situation(policy=policy, has=runs, seen=worlds.record(beat=worlds.seconds(1)))


async def test_pods_that_stay_ready_are_told_in_time() -> None:
    """Nothing but the time moves: what is remembered must not outlive the minute that they have to stay."""
    reporting, situation = Reporting(), _pods_ready(_written(timedelta(minutes=5)), timedelta(seconds=30))
    for seconds, reason in ((0, "RollingOut"), (10, "RollingOut"), (20, "RollingOut"), (40, "Applied")):
        outcome = decided(situation, now=worlds.NOW + worlds.seconds(seconds))
        await reporting.cycle(outcome, situation.policy)
        assert reporting.policies.condition(ORDERS, "Applied")["reason"] == reason
    assert reporting.policies.writes == 2


async def test_values_for_new_pods_are_told_to_be_in_them_in_time() -> None:
    """Likewise, of what the webhook sets."""
    reporting, policy = Reporting(), worlds.policy(mode=Mode.INITIAL)
    await reporting.cycle(decided(worlds.storm(policy=policy)), policy)
    cured = worlds.situation(policy=policy, has=worlds.workload(CURED), seen=worlds.record(beat=worlds.seconds(1)))
    situation = _pods_ready(cured, timedelta(seconds=30))
    for seconds, reason in ((0, "AtNextRestart"), (10, "AtNextRestart"), (20, "AtNextRestart"), (40, "Applied")):
        await reporting.cycle(decided(situation, now=worlds.NOW + worlds.seconds(seconds)), policy)
        assert reporting.policies.condition(ORDERS, "Applied")["reason"] == reason


STORY: Final[Sequence[DecisionInput]] = (
    QUIET,
    worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND)),
    worlds.storm(policy=worlds.policy(mode=Mode.INITIAL)),
    worlds.situation(policy=worlds.policy(mode=Mode.INITIAL), seen=Unknown(Reason.NO_SERIES, "no series")),
    _written(MINUTE),
    _written(MINUTE, rolling_out=True),
    _pods_ready(_written(timedelta(hours=2)), timedelta(seconds=30)),
    _pods_ready(_written(timedelta(hours=2)), timedelta(hours=1)),
    worlds.situation(seen=Unknown(Reason.METRICS_STALE, "stale")),
)

STEPS = st.tuples(
    st.integers(0, len(STORY) + 1),
    st.integers(1, 4),
    st.sampled_from([timedelta(seconds=1), MINUTE, timedelta(minutes=7), timedelta(hours=25)]),
)


@settings(max_examples=40)
@given(st.lists(STEPS, min_size=1, max_size=8))
async def test_who_remembers_says_what_one_says_who_does_not(steps: list[tuple[int, int, timedelta]]) -> None:
    """In any order of things that happen, each for some cycles; but for what is due within a day, a while later."""
    clock = FakeClock()
    remembering, fresh = Reporting(clock=clock), Reporting(clock=clock)
    for chosen, cycles, pause in steps:
        for _ in range(cycles):
            clock.advance(pause)
            fresh.restart()
            outcome = _outcome(chosen, clock)
            policy = outcome.inputs.policy if isinstance(outcome, Decided) else None
            (status,), (other,) = await remembering.cycle(outcome, policy), await fresh.cycle(outcome, policy)
            assert (status.written, status.standing) == (other.written, other.standing)
            assert status.points == other.points
            assert remembering.policies.status_of(ORDERS) == fresh.policies.status_of(ORDERS)


def _outcome(chosen: int, clock: FakeClock) -> Outcome | NotRead:
    if chosen >= len(STORY):
        return NotRead() if chosen == len(STORY) else Blocked(UNREACHABLE)
    situation, now = STORY[chosen], clock.now()
    record = situation.record
    if not isinstance(record, Unknown):
        record = dataclasses.replace(record, since=now - record.span, until=now)
    return decided(situation, now=now, record=record)


async def test_an_api_server_that_does_not_answer_is_not_asked_for_ever() -> None:
    """Ten thousand writes that time out one after the other would be a cycle of hours; the next one tries again."""
    reporting = Reporting(*(f"orders-{number:03}" for number in range(statuses.UNANSWERED + 50)))
    reporting.policies.error = ApiServerError("the API server did not answer")
    with structlog.testing.capture_logs() as report:
        found = await reporting.cycle(Blocked(UNREACHABLE))
    assert [item.written for item in found] == [None] * len(found)
    assert reporting.policies.attempts == statuses.UNANSWERED
    (line,) = report
    assert (line["event"], line["count"]) == ("status not written, the next cycle tries again", len(found))
    reporting.policies.error = None
    assert {item.written for item in await reporting.cycle(Blocked(UNREACHABLE))} == {True}


async def test_refusals_of_some_keep_nobody_else_waiting() -> None:
    """A webhook that denies says nothing of the next policy."""
    reporting = Reporting(*(f"orders-{number:03}" for number in range(statuses.UNANSWERED + 50)))
    reporting.policies.error = ApiServerError("denied", status=403)
    found = await reporting.cycle(Blocked(UNREACHABLE))
    assert reporting.policies.attempts == len(found)


async def test_a_mass_transition_is_one_event_and_one_line() -> None:
    """A broker goes down, and all policies of the namespace with it: nobody reads a thousand Events."""
    reporting = Reporting(*(f"orders-{number:03}" for number in range(MOST_ALONE + 1)))
    with structlog.testing.capture_logs() as report:
        await reporting.cycle(Blocked(UNREACHABLE))
    (event,) = reporting.policies.events
    assert (event.policy, event.reason, event.count) == ("orders-000", "ClusterUnreachable", MOST_ALONE + 1)
    (line,) = report
    assert (line["event"], line["count"], line["namespaces"]) == ("transition of many policies", MOST_ALONE + 1, 1)
    assert await reporting.cycle(Blocked(UNREACHABLE))
    assert len(reporting.policies.events) == 1


async def test_an_event_that_is_not_written_is_no_error() -> None:
    """The status says it; the log says that nobody was told."""
    reporting = Reporting()
    reporting.policies.event_error = ApiServerError("namespace shop is being terminated", status=403)
    with structlog.testing.capture_logs() as report:
        (finished,) = await reporting.cycle(Blocked(UNREACHABLE))
    assert finished.written is True
    assert [line["event"] for line in report] == ["transition", "event not written"]


async def test_events_that_nobody_answers_are_given_up() -> None:
    """The statuses are written, and say the same; a cycle does not wait for each of the rest."""
    reporting = Reporting(*(f"orders-{number:03}" for number in range(2 * MOST_ALONE)))
    reporting.policies.event_error = ApiServerError("the API server did not answer")
    bodies = {parsing.key_of(body): body for body in reporting.store.snapshot()}
    reporting.statuses.begin(bodies)
    for number, body in enumerate(bodies.values()):
        other = Finding(Reason.GROUP_NOT_FOUND, "no such group") if number % 2 else UNREACHABLE
        await reporting.statuses.finish(body, None, Blocked(other), None)
    await reporting.statuses.tell(Turns(), nobody_looks)
    assert (reporting.policies.writes, reporting.policies.event_attempts) == (len(bodies), statuses.UNANSWERED)


async def test_a_status_that_was_left_has_the_verdict_that_stands() -> None:
    """Remembered or not."""
    reporting = Reporting()
    await reporting.cycle(WELL)
    for _ in range(3):
        (finished,) = await reporting.cycle(NotRead())
        assert (finished.written, finished.standing) == (False, WELL.decision.verdict)
        assert not [point for point in finished.points if point.family.name.startswith("record")]
    assert await reporting.looks(NotRead()) == 0
