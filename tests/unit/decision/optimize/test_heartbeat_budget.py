"""Who may beat more often where a Kafka cluster's heartbeats have a budget, and what holds of every such share-out."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heartbeat_tuner.decision import derived
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import heartbeat_budget
from heartbeat_tuner.decision.optimize.heartbeat_budget import Beating, Demand, Wish
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings, ValueSource
from heartbeat_tuner.domain.policies import Application, ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits.allowed_values import Limit
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from tests.support import fitted, worlds
from tests.support.worlds import seconds

HELD = "the heartbeats of Kafka cluster main have a budget of 2 requests a second"


def known(name: str = "orders", *, partitions: int = 4, now: LivenessSettings | None = None) -> DecisionInput:
    """Return a healthy Java group of three with a model, which would do better with a shorter interval."""
    absences, gaps = fitted.quantity(), fitted.quantity(largest_s=4.0)
    base = worlds.situation(
        policy=dataclasses.replace(worlds.java_policy(), key=ObjectKey("shop", name)),
        model=fitted.fitted(client="java", quantities={ABSENCE: absences, POLL_GAP: gaps}),
        has=worlds.workload(now or worlds.java_settings()),
        seen=dataclasses.replace(worlds.record(silence=seconds(3)), longest_poll_gap=seconds(2)),
    )
    members = tuple(dataclasses.replace(member, partitions=partitions) for member in base.group.members)
    inputs = dataclasses.replace(base, group=dataclasses.replace(base.group, members=members))
    return beating(inputs, 3.05 if now is None else now.heartbeat_interval.total_seconds())


def beating(inputs: DecisionInput, every_s: float | None) -> DecisionInput:
    """Return a group whose members are seen to beat so often; None: no beat was seen."""
    assert isinstance(inputs.record, Record)
    period = None if every_s is None else seconds(every_s)
    return dataclasses.replace(inputs, record=dataclasses.replace(inputs.record, beat_period=period))


def asked_of(inputs: DecisionInput) -> Question:
    """Return the question of a group that was watched."""
    assert isinstance(inputs.record, Record)
    assert inputs.workload.current is not None
    found = derived.question_of(inputs, inputs.record, inputs.workload.current.settings)
    assert isinstance(found, Question)
    return found


def by_itself(inputs: DecisionInput, decision: Decision | None = None) -> Beating:
    """Return a group with a decision; else with what it would do without a budget."""
    current = None if inputs.workload.current is None else inputs.workload.current.settings
    return Beating(
        inputs.policy, len(inputs.group.members), current, inputs.record, inputs.period, decision or decide(inputs)
    )


def held(*groups: DecisionInput, per_s: float) -> dict[str, timedelta]:
    """Return the least H of each group that a budget holds, by its policy's name."""
    demand = heartbeat_budget.demand(by_itself(group) for group in groups)
    slopes = {}
    for group in groups:
        target = decide(group).target
        assert target is not None
        slopes[group.policy.key] = heartbeat_budget.slope(asked_of(group), target)
    found = heartbeat_budget.limits(demand, slopes, per_s, cluster="main")
    return {key.name: limit.value for key, limit in found.items()}


def test_a_group_by_itself_wants_a_beat_a_second() -> None:
    """Three members that beat every 3 s ask for three requests a second in place of one."""
    demand = heartbeat_budget.demand([by_itself(known())])
    (wish,) = demand.wishes
    assert (wish.intervals[0], wish.intervals[-1]) == (seconds(3), seconds(1))
    assert sum(demand.by_namespace.values()) == pytest.approx(3 / 3.05, rel=0.05)
    assert demand.exceeds(2.0)
    assert not demand.exceeds(3.0)


def test_a_budget_that_does_for_all_holds_nobody() -> None:
    """Nor one that is just enough."""
    assert held(known(), per_s=100.0) == {}


def test_a_budget_goes_to_who_gains_most_by_it() -> None:
    """Ten times the partitions lose ten times as much by each second between two beats."""
    small, large = known("small"), known("large", partitions=40)
    assert held(small, large, per_s=4.2) == {"small": seconds(3)}
    assert held(small, large, per_s=2.0) == {"small": seconds(3), "large": seconds(3)}
    assert held(small, large, per_s=4.6) == {"small": seconds(2)}


def test_a_group_that_is_held_keeps_its_interval_and_may_change_its_session() -> None:
    """The sentence says what holds it."""
    inputs = dataclasses.replace(known(), held=Limit(seconds(3), HELD))
    decision = decide(inputs)
    assert decision.target is not None
    assert decision.target.heartbeat_interval == seconds(3)
    assert decision.target.session_timeout < seconds(45)
    assert f"; heartbeatInterval is not set below 3s: {HELD}, and other groups gain more by it" in decision.advice


def test_an_interval_that_is_set_may_stay_though_it_is_none_of_the_usual() -> None:
    """Who is held at 4 s is not moved to 5."""
    now = worlds.java_settings(interval="4s")
    decision = decide(dataclasses.replace(known(now=now), held=Limit(seconds(4), HELD)))
    assert decision.target is not None
    assert decision.target.heartbeat_interval == seconds(4)


def test_a_budget_makes_nothing_infeasible() -> None:
    """Where the policy wants a shorter interval than the budget leaves, the policy goes first."""
    inputs = known()
    bounded = dataclasses.replace(inputs.policy, bounds=worlds.bounds(heartbeatInterval=(None, "2s")))
    decision = decide(dataclasses.replace(inputs, policy=bounded, held=Limit(seconds(3), HELD)))
    assert decision.verdict is Verdict.CHANGE


@pytest.mark.parametrize(
    ("beats_every_s", "spent_per_s"),
    [(5.0, 0.6), (0.5, 6.0), (None, 3.0)],
)
def test_beats_are_measured_not_declared(beats_every_s: float | None, spent_per_s: float) -> None:
    """Who declares a beat every ms takes what the members send; unmeasured, a beat a second of each at most."""
    declared = worlds.current(worlds.java_settings("45s", "1ms"), ValueSource.POLICY)
    inputs = known()
    inputs = dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, current=declared))
    decision = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "well"))
    found = heartbeat_budget.demand([by_itself(beating(inputs, beats_every_s), decision)])
    assert sum(found.by_namespace.values()) == pytest.approx(spent_per_s)


def test_one_namespace_of_several_counts_for_half_of_a_budget_at_most() -> None:
    """Alone it counts whole; what others may have is left to them."""
    loud, calm = Demand({"loud": 500.0}, []), Demand({"loud": 500.0, "shop": 10.0}, [])
    assert (loud.counted(100.0), calm.counted(100.0), calm.counted(2_000.0)) == (500.0, 60.0, 510.0)
    assert loud.exceeds(100.0)
    assert not calm.exceeds(100.0)


@given(st.lists(st.floats(0.0, 1e4), max_size=5), st.floats(0.0, 1e4), st.floats(0.0, 1e4))
def test_a_larger_budget_leaves_no_less(spent: list[float], per_s: float, more_per_s: float) -> None:
    """Where anything is left: however much of it the namespaces are counted for."""
    demand = Demand({str(number): item for number, item in enumerate(spent)}, [])
    left, more = (budget - demand.counted(budget) for budget in (per_s, per_s + more_per_s))
    assert left <= max(more, 0.0) + 1e-6


def test_what_a_record_demands_is_spent_and_not_asked_for() -> None:
    """A storm is cured, whatever its beats cost."""
    storm = worlds.storm()
    demand = heartbeat_budget.demand([by_itself(storm)])
    assert not demand.wishes
    assert sum(demand.by_namespace.values()) == pytest.approx(len(storm.group.members) / 1.0)


def test_a_group_whose_pods_are_being_replaced_is_counted_by_what_they_will_run_with() -> None:
    """Else its part of the budget would be given away meanwhile."""
    inputs = known()
    rolling = dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, current=None))
    assert heartbeat_budget.demand([by_itself(rolling)]) == Demand({}, [])
    new = worlds.java_settings("20s", "1s")
    application = Application(new, worlds.java_settings(), worlds.NOW, rolling.workload.uid)
    policy = dataclasses.replace(rolling.policy, application=application)
    found = heartbeat_budget.demand([by_itself(dataclasses.replace(rolling, policy=policy))])
    assert sum(found.by_namespace.values()) > 2.5


def test_a_group_without_members_sends_nothing() -> None:
    """And wants nothing."""
    inputs = known()
    empty = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, members=()))
    assert heartbeat_budget.demand([by_itself(empty)]) == Demand({}, [])


def test_where_the_beat_waits_for_the_fetch_only_what_changes_the_period_is_a_step() -> None:
    """KafkaJS with W 5 s beats every 10 s at an H of 10 s, and at one of 8 s likewise."""
    inputs = worlds.situation(now=worlds.settings("45s", "10s", "5s"))
    target = worlds.settings("45s", "5s", "5s")
    finding = dataclasses.replace(decide(known()).finding)
    (wish,) = heartbeat_budget.demand([by_itself(inputs, Decision(Verdict.CHANGE, finding, target=target))]).wishes
    assert wish.intervals == (seconds(10), seconds(5))
    assert wish.periods_s == pytest.approx((10.0, 5.0))


def test_the_slope_is_what_a_second_between_beats_costs() -> None:
    """Ten times as much with ten times the partitions; nothing where the period stays."""
    small, large = asked_of(known()), asked_of(known(partitions=40))
    target = worlds.java_settings("20s", "1s")
    assert heartbeat_budget.slope(large, target) == pytest.approx(10 * heartbeat_budget.slope(small, target), rel=0.05)
    assert heartbeat_budget.slope(small, target) > 0
    assert heartbeat_budget.slope(small, small.current) == 0.0


PERIODS = (15.0, 10.0, 8.0, 5.0, 3.0, 2.0, 1.5, 1.0)


@st.composite
def wished(draw: st.DrawFn) -> list[tuple[Wish, float]]:
    """Return wishes with the slopes of their groups."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        first = draw(st.integers(0, 6))
        periods = PERIODS[first : draw(st.integers(first + 2, 8))]
        wish = Wish(ObjectKey("shop", f"g{number}"), draw(st.integers(1, 50)), tuple(map(seconds, periods)), periods)
        found.append((wish, draw(st.sampled_from([0.0, 1.0, 5.0, 1e6, -1.0]))))
    return found


def taken(wishes: list[tuple[Wish, float]], left_per_s: float) -> dict[ObjectKey, timedelta]:
    """Return the H that each group gets in the end."""
    slopes = {wish.key: slope for wish, slope in wishes}
    least = heartbeat_budget.least_intervals([wish for wish, _ in wishes], slopes, left_per_s)
    return {wish.key: least.get(wish.key, wish.intervals[-1]) for wish, _ in wishes}


@given(wished(), st.floats(-10.0, 300.0))
def test_a_share_out_is_within_the_budget(wishes: list[tuple[Wish, float]], left_per_s: float) -> None:
    """And takes nothing from anybody where there is none."""
    found = taken(wishes, left_per_s)
    more = sum(item.members / found[item.key].total_seconds() - item.members / item.periods_s[0] for item, _ in wishes)
    assert more <= max(left_per_s, 0.0) + 1e-6


@given(wished(), st.floats(-10.0, 300.0), st.floats(0.0, 100.0))
def test_a_larger_budget_takes_nothing_away(
    wishes: list[tuple[Wish, float]], left_per_s: float, more_per_s: float
) -> None:
    """From no group."""
    less, more = taken(wishes, left_per_s), taken(wishes, left_per_s + more_per_s)
    assert all(more[key] <= less[key] for key in less)


@given(wished(), st.floats(-10.0, 300.0), st.randoms(use_true_random=False))
def test_the_order_of_groups_changes_nothing(
    wishes: list[tuple[Wish, float]], left_per_s: float, chance: object
) -> None:
    """Lists of policies have none."""
    other = list(wishes)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert taken(other, left_per_s) == taken(wishes, left_per_s)


@given(wished(), st.floats(0.0, 300.0))
def test_what_was_granted_and_done_leaves_the_others_what_they_had(
    wishes: list[tuple[Wish, float]], left_per_s: float
) -> None:
    """The next cycle, in which the first group beats as it may by now, gives everybody the same."""
    assume(wishes)
    before, (first, slope) = taken(wishes, left_per_s), wishes[0]
    # What is left may be a step exactly, and 1 / 1.0 - 1 / 1.5 is no third: rounding decides then.
    assume(taken(wishes, left_per_s - 1e-6) == before == taken(wishes, left_per_s + 1e-6))
    place = first.intervals.index(before[first.key])
    spent = first.members / first.periods_s[place] - first.members / first.periods_s[0]
    rest = [(dataclasses.replace(first, intervals=first.intervals[place:], periods_s=first.periods_s[place:]), slope)]
    after = taken([*rest, *wishes[1:]], left_per_s - spent + 1e-9)
    assert after == before
