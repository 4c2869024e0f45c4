"""What holds of every answer there can be."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.optimize import economics, guard, poll_limits, search, tuning
from heartbeat_tuner.decision.optimize.cost_points import Choice, Unsure
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.decision.optimize.tuning import answer, goal
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.limits import allowed_values, smallest_changes
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.law import Law
from tests.support.questions import happening, question, seconds

pytestmark = pytest.mark.no_cover  # draws and tunes hundreds of groups

slowly = settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])


@st.composite
def happenings(draw: st.DrawFn, most_per_day: float, most_s: float) -> FailureProcess:
    """Return what never happens, now and then, or all the time."""
    return happening(
        draw(st.sampled_from([most_per_day, most_per_day / 10, 1e-6, 0.0])),
        draw(st.floats(0.05, most_s)),
        draw(st.sampled_from([0.3, 0.1, 0.8])),
        doubt=draw(st.sampled_from([1.0, 2.0, 10.0])),
    )


@st.composite
def profiles(draw: st.DrawFn, wild: bool) -> Profile:  # noqa: FBT001 - it is what they differ by
    """Return groups of all libraries and protocols; wild ones are away for long, or all the time, or are huge."""
    library = draw(st.sampled_from(sorted(catalogue.CLIENTS)))
    kinds = [Rebalancing.CONSUMER] if library == "java-kip848" else [Rebalancing.EAGER, Rebalancing.COOPERATIVE]
    members = draw(st.sampled_from([8, 2, 40, 1, 10**9] if wild else [8, 2, 40]))
    longer = 10.0 if wild else 1.0
    return Profile(
        client=library,
        rebalancing=draw(st.sampled_from(kinds)),
        members=members,
        partitions=members * draw(st.sampled_from([4, 1])),
        static=draw(st.booleans()),
        pauses=draw(happenings(30.0 * longer, 3.0 * longer)),
        node_pauses=draw(happenings(0.1 * longer, 5.0 * longer)),
        node_members=draw(st.integers(1, 3)),
        outages=draw(happenings(0.03 * longer, 3.0 * longer)),
        delivery=draw(st.sampled_from([Delivery.LATE, *Delivery] if wild else [Delivery.LATE, Delivery.RETRIED])),
        crashes=draw(happenings(0.1 * longer, 60.0)),
        restarts=draw(happenings(4.0, 60.0)),
        surge=draw(st.booleans()),
        hangs=draw(happenings(0.001 * longer, 3_600.0)),
        handlers=Law.lognormal(draw(st.floats(0.01, 2.0 * longer)), 0.5),
        slow_handlers=draw(happenings(longer, 5.0 * longer) | st.none() if wild else happenings(1.0, 5.0)),
        settle_s=draw(st.floats(0.1, 2.0)),
    )


@st.composite
def questions(draw: st.DrawFn, wild: bool) -> Question:  # noqa: FBT001 - likewise
    """Return questions as policies and brokers may ask them; of wild groups, the contradictory among them."""
    history = draw(profiles(wild))
    client = catalogue.client(history.client)
    session = draw(st.integers(60, 180) if not wild else st.integers(1, 180))
    values: dict[Setting, timedelta] = {
        Setting.SESSION_TIMEOUT: seconds(session / 2),
        Setting.HEARTBEAT_INTERVAL: seconds(draw(st.integers(1, 30)) / 2),
        Setting.FETCH_WAIT: seconds(draw(st.integers(1, 20)) / 2),
    }
    asked = question(
        history,
        current=LivenessSettings.of({**client.defaults.by_setting, **values}),
        objective=Objective(seconds(60), draw(st.sampled_from([20.0, 1.0]))),
        watched_days=draw(st.sampled_from([14.0, 3.0])),
        evictions=draw(st.sampled_from([0, 40])),
        largest_poll_gap_s=draw(st.sampled_from([5.0, 400.0, None])),
        bounds=draw(st.just({}) | st.dictionaries(st.sampled_from(client.settings), ranges(), max_size=2)),
    )
    if not wild:
        return asked
    return dataclasses.replace(
        asked,
        objective=Objective(seconds(draw(st.sampled_from([60, 300, 20, 3]))), draw(st.sampled_from([1.0, 0.0, 20.0]))),
        least_session=seconds(draw(st.sampled_from([6.0, 45.0]))),
        most_session=seconds(draw(st.sampled_from([1_800.0, 60.0, 5.0]))),
        watched_days=draw(st.sampled_from([14.0, 0.5, 0.0])),
        largest_absence_s=draw(st.sampled_from([5.0, 400.0, None])),
    )


wild, tame = questions(wild=True), questions(wild=False)
mixed = tame | wild


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    """Return bounds of a policy."""
    low, high = sorted([draw(st.integers(1, 120)), draw(st.integers(1, 120))])
    return Range(
        seconds(low / 2) if draw(st.booleans()) else None, seconds(high + 0.3) if draw(st.booleans()) else None
    )


def session_of(asked: Question, found: Answer) -> timedelta:
    """Return the session that will be in force."""
    return (found.target or asked.current).session_timeout


@slowly
@given(mixed)
def test_whatever_is_asked_there_is_a_reason(asked: Question) -> None:
    """No exception, and a sentence; values only with a verdict that means them."""
    found = answer(asked)
    assert found.message
    assert found.target is None or found.verdict is Verdict.CHANGE or found.reason is Reason.UNSTABLE
    assert found.verdict is not Verdict.CHANGE or found.target not in {None, asked.current}
    assert found == answer(asked)


@slowly
@given(mixed)
def test_rules_of_broker_client_and_policy_are_kept(asked: Question) -> None:
    """Whatever the group is like."""
    found = answer(asked)
    assume(found.target is not None)
    assert found.target is not None
    client = catalogue.client(asked.profile.client)
    session, interval = found.target.session_timeout, found.target.heartbeat_interval
    assert client.violations(found.target) == ()
    assert client.period(found.target, Circumstances()).longest < session
    assert session >= 3 * interval
    assert asked.least_session <= session <= min(asked.most_session, asked.objective.max_detection_time)
    for setting, value in found.target.by_setting.items():
        bounds = asked.bounds.get(setting, Range())
        moved = value != asked.current[setting]
        assert not moved or (bounds.min or value) <= value <= (bounds.max or value)
        exact = {bounds.min, bounds.max, asked.objective.max_detection_time, asked.most_session}
        assert not moved or value in exact or value % seconds(0.5) == seconds(0)


@slowly
@given(tame)
def test_a_change_is_no_trifle(asked: Question) -> None:
    """Neither S nor M moves by less than a second, or 5 %, on its own."""
    found = answer(asked)
    assume(found.verdict is Verdict.CHANGE)
    assert found.target is not None
    before, after = asked.current, found.target
    if dataclasses.replace(after, session_timeout=before.session_timeout) == before:
        assert not smallest_changes.too_small(before.session_timeout, after.session_timeout)
    if after.max_poll_interval != before.max_poll_interval:
        assert before.max_poll_interval is not None
        assert after.max_poll_interval is not None
        gap = seconds(1.3 * (asked.largest_poll_gap_s or 0.0))
        raised = before.max_poll_interval < gap
        assert raised or abs(after.max_poll_interval - before.max_poll_interval) >= seconds(1)


@slowly
@given(tame)
def test_asking_again_changes_nothing(asked: Question) -> None:
    """Who got what was asked for, and has a clean record since, is left alone.

    What danger asked for may cost more than the best: when it is over, it may be taken back.
    """
    found = goal(asked)
    assume(found.reason is Reason.CHEAPER)
    assert found.target is not None
    again = goal(dataclasses.replace(asked, current=found.target))
    assert again.target is None
    assert again.verdict is Verdict.HEALTHY or (again.verdict is Verdict.INFEASIBLE and found.objective_met is False)


@slowly
@given(tame, st.sampled_from([1e-3, 1e-6, 1.0]))
def test_infeasible_is_what_no_values_are_expected_to_meet(asked: Question, per_month: float) -> None:
    """No H, S or M within the rules; unless the group's own record shows that what is expected is too little."""
    rules, prices = tuning.rules_and_costs(dataclasses.replace(asked, evictions=0))
    choice = search.choose(prices, rules, per_month)
    floor, ceiling = rules.poll()
    if isinstance(choice, Choice | Unsure) or floor.value > ceiling.value:
        return
    for limit in poll_limits.where_none_is_safe(asked.profile, rules, per_month):
        by_interval = search.tables(prices, rules, limit)
        for table in [] if isinstance(by_interval, Infeasible) else by_interval:
            assert not (table.within & (table.expected <= per_month)).any()


@slowly
@given(tame)
def test_a_change_that_may_miss_the_objective_lowers_nothing_and_evicts_no_more(asked: Question) -> None:
    """Strictly better, and the answer does not vouch for it."""
    found = answer(asked)
    assume(found.reason is Reason.CHEAPER and found.new is not None)
    assert found.target is not None
    assert found.now is not None
    assert found.new is not None
    per_month = asked.objective.max_false_evictions_per_month
    if found.new.evictions_upper <= per_month:
        return
    assert found.only_recommend or found.objective_met is False
    assert not guard_tightens(asked.current, found.target)
    assert found.new.evictions_upper <= found.now.evictions_upper
    assert found.new.evictions_per_month <= found.now.evictions_per_month


@slowly
@given(mixed)
def test_one_step_at_most_halves_a_timeout(asked: Question) -> None:
    """Neither S nor M, whatever a group is like, unless a ceiling asks for it."""
    found = answer(asked)
    assume(found.target is not None)
    assert found.target is not None
    most = [asked.bounds.get(item, Range()).max for item in (Setting.SESSION_TIMEOUT, Setting.MAX_POLL_INTERVAL)]
    ceiling = min(asked.objective.max_detection_time, asked.most_session, most[0] or allowed_values.LONGEST)
    assert found.target.session_timeout >= min(asked.current.session_timeout / 2, ceiling)
    was, limit = asked.current.max_poll_interval, found.target.max_poll_interval
    if was is not None and limit is not None:
        assert limit >= min(was / 2, most[1] or allowed_values.LONGEST)


@slowly
@given(mixed)
def test_the_band_holds_the_target(asked: Question) -> None:
    """Its lower end is not above, its upper end not below."""
    found = answer(asked)
    assert (found.lower is None) is (found.upper is None)
    if found.lower is not None and found.upper is not None:
        assert found.lower <= found.upper
        assert found.target is None or found.lower <= found.target.session_timeout <= found.upper


@slowly
@given(mixed, st.sampled_from([1.0, 3.0]), st.sampled_from([1.5, 10.0]))
def test_a_looser_objective_never_asks_for_a_longer_session(asked: Question, interval_s: float, more: float) -> None:
    """With the same H and M: what is safe for less is safe for more."""
    fixed = Range(seconds(interval_s), seconds(interval_s))
    asked = dataclasses.replace(
        asked, bounds={Setting.HEARTBEAT_INTERVAL: fixed}, largest_poll_gap_s=None, broker_interval=Range()
    )
    rules = tuning._rules(asked)
    prices = CostCache(asked.profile, rules)
    strict, loose = (search.choose(prices, rules, per_month) for per_month in (0.5, 0.5 * more))
    if isinstance(strict, Choice):
        assert isinstance(loose, Choice)
        least = max(strict.point.settings.session_timeout, asked.current.session_timeout)
        assert loose.point.settings.session_timeout <= least


@slowly
@given(mixed, st.integers(3, 1_000))
def test_more_evictions_seen_never_give_a_shorter_session(asked: Question, evictions: int) -> None:
    """A record of danger is no ground for tightening."""
    asked = dataclasses.replace(asked, evictions=0, largest_poll_gap_s=None)
    # Fewer than the objective allows are no danger; they only make the tail a little heavier.
    assume(guard.endangered(evictions, asked.evictions_days, asked.objective.max_false_evictions_per_month))
    calm, evicted = answer(asked), answer(dataclasses.replace(asked, evictions=evictions))
    if evicted.verdict is Verdict.INFEASIBLE or session_of(asked, evicted) >= session_of(asked, calm):
        return
    # A longer session may be free as long as nothing outlasts it; what evicts outlasts it, and makes it dear.
    assert session_of(asked, evicted) >= asked.current.session_timeout
    assert evicted.new is not None
    assert evicted.now is not None
    per_month = asked.objective.max_false_evictions_per_month
    if evicted.new.evictions_upper > per_month:
        # Nothing is surely within the objective at a price that may be paid: then what is likely to be, with room, or
        # what saves as much as any change has to, and evicts fewer.
        saved = evicted.now.net_per_day - evicted.new.net_per_day
        is_likely = evicted.new.evictions_per_month <= economics.EXPECTED_SHARE * per_month
        assert is_likely or saved > guard.IMPROVEMENT * evicted.now.net_per_day
        assert evicted.new.evictions_per_month <= (1 - economics.RELIEF) * evicted.now.evictions_per_month


@slowly
@given(mixed, st.integers(1, 400))
def test_nothing_comes_out_of_unknowns(asked: Question, evictions: int) -> None:
    """Whatever else is known."""
    for missing in ({"largest_absence_s": None}, {"watched_days": 0.0}, {"member_days": 0.0}):
        found = answer(dataclasses.replace(asked, evictions=evictions, **missing))
        assert (found.verdict, found.target, found.objective_met) == (Verdict.UNKNOWN, None, None)


@slowly
@given(tame)
def test_a_change_is_better_or_safer(asked: Question) -> None:
    """Never worse: cheaper by 5 %; for its objective or in danger, dearer by 10 % at most and with fewer evictions."""
    found = answer(asked)
    assume(found.verdict is Verdict.CHANGE)
    assert found.now is not None
    assert found.new is not None
    saved = found.new.net_per_day < 0.95 * found.now.net_per_day - 1e-9
    if not saved:
        is_danger = found.reason is Reason.DANGER
        left = 0.7 if is_danger else 0.5
        assert is_danger or found.now.evictions_per_month > asked.objective.max_false_evictions_per_month
        assert found.new.net_per_day <= 1.1 * found.now.net_per_day
        assert found.new.evictions_per_month <= left * found.now.evictions_per_month
    if found.target is not None and guard_tightens(asked.current, found.target):
        assert asked.watched_days >= 1
        assert found.only_recommend is (asked.watched_days < 7)


def guard_tightens(now: LivenessSettings, then: LivenessSettings) -> bool:
    """Whether S or M falls."""
    limits = (now.max_poll_interval, then.max_poll_interval)
    lower = limits[0] is not None and limits[1] is not None and limits[1] < limits[0]
    return then.session_timeout < now.session_timeout or lower


@pytest.mark.parametrize("members", [2, 10**9])
def test_what_never_happens_costs_nothing(members: int) -> None:
    """And asks for nothing."""
    never = happening(0.0, 1.0)
    history = Profile(
        client="java",
        rebalancing=Rebalancing.EAGER,
        members=members,
        partitions=members,
        static=False,
        pauses=never,
        node_pauses=never,
        node_members=1,
        outages=never,
        delivery=Delivery.LATE,
        crashes=never,
        restarts=never,
        surge=False,
        hangs=never,
        handlers=Law.constant(0.1),
        slow_handlers=never,
        settle_s=0.5,
    )
    assert answer(question(history)).verdict is Verdict.HEALTHY
