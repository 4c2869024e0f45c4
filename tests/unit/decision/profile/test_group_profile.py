"""From a fitted model to a profile: what is the group's own, and what is assumed."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.profile import delay_laws, group_facts, group_profile
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import Group, GroupState
from heartbeat_tuner.models.failure_profile import Delivery, Profile, Rebalancing
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails.law import TIMES_S
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from heartbeat_tuner.tails.pool import Pool
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.support import fitted, worlds
from tests.support.pipelines import facts

FACTS = Facts(client="java", rebalancing=Rebalancing.EAGER, members=3, partitions=12, static=False)
BAD = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")


def model(**quantities: QuantityModel) -> GroupModel:
    """Return a model of absences, and of what is said."""
    return fitted.model(quantities={"absence": fitted.quantity(median_s=0.1), **quantities})


def profile(model: GroupModel, **changes: Any) -> Profile:
    """Return the profile of a model that has one."""
    assert group_facts.unfit(model) is None
    return group_profile.profile(model, dataclasses.replace(FACTS, **changes))


def test_a_model_of_absences_alone_is_a_profile_of_assumptions() -> None:
    """Pauses are the group's own; every other number says that it is not."""
    found = profile(model())
    assert found.pauses.per_day == pytest.approx(960.0)
    assert found.pauses.upper_per_day is not None
    assert found.outages is group_profile.USUAL_OUTAGES
    assert found.crashes is group_profile.USUAL_CRASHES
    assert found.restarts is group_profile.USUAL_RESTARTS
    assert found.hangs is group_profile.USUAL_HANGS
    assert found.slow_handlers is None
    assert found.settle_s == group_profile.USUAL_SETTLE_S
    assert found.handlers.quantile(0.5) == pytest.approx(0.4, rel=0.02)
    assert [item.split(":")[0] for item in group_profile.assumed(model(), surge=False)] == [
        "hung handlers",
        "outages",
        "crashes",
        "restarts",
        "handlers",
        "joining",
    ]


def test_a_model_of_everything_leaves_little_to_assume() -> None:
    """Hung handlers alone: nothing that is measured shows them."""
    seen = fitted.quantity(median_s=0.3, rate=Rate(0.2, 0.5), duration=Duration(3.0, 0.4, 8.0))
    names = ("outage", "crashDowntime", "restartDowntime", "pollGap", "rebalanceLatency")
    assert [item.split(":")[0] for item in group_profile.assumed(model(**dict.fromkeys(names, seen)), surge=False)] == [
        "hung handlers"
    ]


def test_facts_go_through_as_they_are() -> None:
    """Who is asked about is not for a model to say."""
    found = profile(model(), members=5, partitions=40, static=True, surge=False)
    assert (found.client, found.rebalancing, found.members, found.partitions) == ("java", Rebalancing.EAGER, 5, 40)
    assert (found.static, found.surge) == (True, False)
    assert found.node_pauses.per_day == 0


@pytest.mark.parametrize(
    ("quantities", "why"),
    [
        ({}, "says nothing of absences"),
        ({"absence": fitted.quantity(member_days=0.0)}, "no time in which members were watched"),
    ],
    ids=["none", "not watched"],
)
def test_without_absences_there_is_no_profile(quantities: dict[str, QuantityModel], why: str) -> None:
    """And the sentence says whose, and why."""
    found = group_facts.unfit(fitted.model(quantities=quantities))
    assert found is not None
    assert "group orders" in found.message
    assert why in found.message


def test_restarts_and_crashes_are_as_often_and_as_long_as_the_fit_says() -> None:
    """The doubt in the law of a duration is part of the law: it is wider than what was seen."""
    few = fitted.quantity(tail=BAD, values=3, rate=Rate(0.2, 0.5), duration=Duration(3.0, 0.4, 8.0))
    found = profile(model(restartDowntime=few, crashDowntime=few), surge=False)
    for event in (found.restarts, found.crashes):
        assert event.per_day == 0.2
        assert event.upper_per_day is not None
        assert event.upper_per_day[0] == pytest.approx(0.5)
        assert event.law.quantile(0.5) == pytest.approx(np.exp(3.0), rel=0.02)
        assert event.law.sf(np.exp(3.0 + 2 * 0.4)) > 0.0228 * 1.1


def test_a_rate_without_times_is_of_the_usual_length() -> None:
    """No group of the fleet crashed: it is known how rarely, not for how long."""
    never = fitted.quantity(tail=BAD, values=0, largest_s=None, rate=Rate(1e-4, 5e-5))
    found = profile(model(crashDowntime=never)).crashes
    assert found.per_day == 1e-4
    assert found.law is group_profile.USUAL_CRASHES.law
    assert found.upper_per_day is not None
    assert found.upper_per_day[0] == pytest.approx(1e-4)
    assert any(
        item.startswith("crashes: back after") for item in group_profile.assumed(model(crashDowntime=never), surge=True)
    )


def test_outages_are_the_groups_and_last_a_second_at_least() -> None:
    """Answers that took milliseconds are no outage of anything."""
    quick = fitted.tail(threshold_s=0.05, share=0.01, shape=0.3, log_scale=np.log(0.05))
    quantity = fitted.quantity(tail=quick, values=13_440, median_s=0.004, largest_s=3.0)
    found = profile(model(outage=quantity)).outages
    assert found.per_day == pytest.approx(960 * float(quick.sf(1.0)[0]), rel=0.02)
    assert found.law.sf(0.9) == pytest.approx(1.0)
    assert profile(model(outage=fitted.quantity(group_days=0.0))).outages is group_profile.USUAL_OUTAGES


def test_a_rejected_tail_of_absences_leaves_the_largest_and_nobody_knows() -> None:
    """No law is no reason to know nothing: once in all values as long as the largest, and beyond it a heavy tail."""
    pauses = profile(fitted.model(quantities={"absence": fitted.quantity(tail=BAD, median_s=0.1)})).pauses
    largest_s = fitted.quantity().largest_s
    assert largest_s is not None
    assert pauses.upper_per_day is not None
    beyond = np.interp([2 * largest_s, 20 * largest_s], TIMES_S, pauses.upper_per_day)
    assert beyond[1] == pytest.approx(beyond[0] / 10**2.5, rel=0.05)
    assert pauses.per_day * pauses.law.sf(largest_s) == pytest.approx(1 / 42.0, rel=0.05)
    assert pauses.per_day * pauses.law.sf(2 * largest_s) <= beyond[0]


def test_where_no_absence_showed_three_may_have_been_missed() -> None:
    """The rule of three: after so many member-days without one, and a session must bear it."""
    none = fitted.quantity(tail=BAD, values=0, largest_s=None, member_days=60.0)
    pauses = profile(fitted.model(quantities={"absence": none})).pauses
    assert pauses.upper_per_day is not None
    assert pauses.upper_per_day[0] == pytest.approx(3.0 / 60.0)
    assert pauses.per_day == pytest.approx(0.5 / 60.0)
    assert pauses.law.sf(50.0) == pytest.approx(10**-2.5, rel=0.05)


def test_what_waits_for_handlers_has_slow_turns_and_no_pauses() -> None:
    """Missing beats of KafkaJS do not tell them apart, and who handles messages works on."""
    found = profile(model(), client="kafkajs")
    assert found.pauses.per_day == 0
    assert found.slow_handlers is not None
    assert found.slow_handlers.per_day == pytest.approx(960.0)


@pytest.mark.parametrize("client", sorted(catalogue.CLIENTS))
def test_delays_that_show_are_of_beats_that_came(client: str) -> None:
    """An outage is measured by requests that were answered: those of librdkafka, too, came late."""
    assert profile(model(), client=client).delivery is Delivery.LATE


def test_handlers_are_usual_and_slow_ones_a_tail() -> None:
    """What blocks show most, and what they rarely show."""
    found = profile(model(pollGap=fitted.quantity(median_s=2.0)))
    assert 0.3 < found.handlers.quantile(0.5) < 0.7
    assert found.slow_handlers is not None
    assert found.slow_handlers.per_day == pytest.approx(960.0)
    assert found.slow_handlers.law.sf(5.0) == pytest.approx(float(fitted.TAIL.sf(5.0)[0]), rel=0.02)
    unwatched = profile(model(pollGap=fitted.quantity(median_s=2.0, member_days=0.0)))
    assert unwatched.slow_handlers is None


def test_a_library_whose_beat_waits_for_handlers_has_turns() -> None:
    """Its loop is slower than a poll where nothing is known of it."""
    assert profile(model(), client="kafkajs").handlers.quantile(0.5) == pytest.approx(1.2, rel=0.02)


def test_a_join_is_measured_with_the_wait_for_the_others() -> None:
    """Three members at a beat each 3 s wait two thirds of that for the last, and for its handler."""
    quantity = fitted.quantity(tail=BAD, median_s=4.0, values=9)
    found = profile(model(rebalanceLatency=quantity), period_s=3.0)
    assert 0.6 < found.settle_s < 4.0 - 3.0 * 2 / 3
    alone = profile(model(rebalanceLatency=quantity), members=1)
    assert alone.settle_s == 4.0
    by_broker = profile(model(rebalanceLatency=quantity), rebalancing=Rebalancing.CONSUMER)
    assert by_broker.settle_s == 4.0
    quick = profile(model(rebalanceLatency=quantity), period_s=30.0)
    assert quick.settle_s == 0.2
    assert profile(model(rebalanceLatency=quantity)).settle_s == pytest.approx(found.settle_s, abs=0.1)  # Java's P: 3 s


def test_of_many_members_the_slowest_handler_is_waited_for() -> None:
    """Whose beats come all the time: what is left of the latency is less by the end of the last handler."""
    slow = {
        "pollGap": fitted.quantity(median_s=20.0),
        "rebalanceLatency": fitted.quantity(tail=BAD, median_s=60.0),
    }
    few, many = (profile(model(**slow), members=members, period_s=0.001).settle_s for members in (2, 40))
    assert 1.0 < 60.0 - few < 15.0
    assert 60.0 - many > 2.0 * (60.0 - few)


def test_facts_are_those_of_the_moment() -> None:
    """An eager group of three pods, KafkaJS at its defaults: P is 5 s."""
    pods = worlds.pods(3)
    members = [dataclasses.replace(worlds.member(pod), partitions=4) for pod in pods]
    found = facts(dataclasses.replace(worlds.situation(), group=worlds.group(members)))
    assert found == Facts(
        client="kafkajs",
        rebalancing=Rebalancing.EAGER,
        members=3,
        partitions=12,
        static=False,
        surge=True,
        period_s=5.0,
    )


@pytest.mark.parametrize(
    ("changes", "rebalancing"),
    [
        ({"assignor": "cooperative-sticky"}, Rebalancing.COOPERATIVE),
        ({"assignor": "range"}, Rebalancing.EAGER),
        ({"assignor": "my-own"}, Rebalancing.EAGER),
        ({"assignor": "uniform", "consumer_protocol": True}, Rebalancing.CONSUMER),
    ],
)
def test_who_stands_still_follows_from_the_assignor(changes: dict[str, Any], rebalancing: Rebalancing) -> None:
    """Who is not known to be cooperative is eager."""
    members = [dataclasses.replace(worlds.member(pod), partitions=4, instance_id=pod.name) for pod in worlds.pods(2)]
    group = dataclasses.replace(worlds.group(members), **changes)
    workload = dataclasses.replace(worlds.workload(), current=None)
    found = facts(dataclasses.replace(worlds.situation(), group=group, workload=workload))
    assert isinstance(found, Facts)
    assert found.rebalancing is rebalancing
    assert found.static
    assert found.period_s is None


@pytest.mark.parametrize(
    "group",
    [worlds.group([worlds.member(worlds.pod())], rebalancing=True), Group("orders", GroupState.EMPTY, ())],
    ids=["moving", "empty"],
)
def test_partitions_that_cannot_be_counted_are_no_facts(group: Group) -> None:
    """While they move nobody has any."""
    found = facts(dataclasses.replace(worlds.situation(), group=group))
    assert isinstance(found, Unknown)
    assert "orders" in found.message


POOL = Pool(1e9, 20, (3.0, 60.0), (0.5, 0.05), (1.0, 1.0))


def test_freezes_that_the_fleet_knows_count_in_every_group() -> None:
    """Also where missing beats are slow turns, and where the group has no value at all; after 42 member-days."""
    unseen = 1 / (1 / 0.05 + 42)
    for quantity in (fitted.quantity(pool=POOL), fitted.quantity(tail=BAD, values=0, largest_s=None, pool=POOL)):
        pauses = profile(fitted.model(quantities={"absence": quantity})).pauses
        turns = profile(fitted.model(quantities={"absence": quantity}), client="kafkajs").slow_handlers
        assert turns is not None
        for found in (pauses, turns):
            assert found.per_day * float(found.law.sf(60.0)) == pytest.approx(unseen, rel=0.1)
            assert found.upper_per_day is not None
            assert np.interp(60.0, TIMES_S, found.upper_per_day) >= 2.9 * unseen


def test_the_fleet_lowers_a_groups_bound_only_where_long_absences_show_in_full() -> None:
    """Short gaps between polls do; those of slow handlers and missing beats tell nothing of what outlasts a session."""
    absence = fitted.quantity(pool=Pool(1e9, 20, (3.0, 60.0), (1e-3, 1e-4), (0.1, 0.1)), largest_s=10.0)
    beats = profile(model(absence=absence)).pauses.upper_per_day
    polls, handlers = (
        profile(model(absence=absence, pollGap=fitted.quantity(median_s=median_s))).pauses.upper_per_day
        for median_s in (0.3, 4.0)
    )
    assert handlers is not None
    alone = profile(model(absence=fitted.quantity(largest_s=10.0))).pauses.upper_per_day
    assert beats is not None
    assert polls is not None
    assert alone is not None
    assert np.interp(20.0, TIMES_S, polls) < np.interp(20.0, TIMES_S, beats)
    assert np.interp(20.0, TIMES_S, handlers) == np.interp(20.0, TIMES_S, beats)
    assert np.interp(20.0, TIMES_S, beats) >= np.interp(20.0, TIMES_S, alone)


def test_where_long_absences_hide_no_fewer_are_expected_than_the_groups_own_law_says() -> None:
    """The others tell how fast they become rarer; that this group saw none there says nothing."""
    rare = Pool(1e9, 20, (3.0, 60.0), (1e-4, 1e-6), (0.1, 0.1))
    polls = fitted.quantity()
    own = profile(model(absence=fitted.quantity(largest_s=10.0))).pauses
    hiding, showing = (
        profile(model(absence=fitted.quantity(pool=pool, largest_s=10.0), pollGap=polls)).pauses
        for pool in (dataclasses.replace(rare, hides_from_s=8.0), rare)
    )
    at_12_s = [process.per_day * float(process.law.sf(12.0)) for process in (own, hiding, showing)]
    assert at_12_s[1] >= at_12_s[0]
    assert at_12_s[2] < 0.5 * at_12_s[0]


def test_outages_that_only_others_saw_are_no_assumption() -> None:
    """They weigh by days of the group, 14; and beside a fleet's own account nobody needs a made one."""
    none = model(outage=fitted.quantity(tail=BAD, values=0, largest_s=None, pool=POOL))
    assert profile(none).outages.per_day == pytest.approx(1 / (1 / 0.5 + 14), rel=0.03)
    assert not any(item.startswith("outages") for item in group_profile.assumed(none, surge=True))
    some = profile(model(outage=fitted.quantity(pool=POOL))).outages
    assert some.per_day * some.law.sf(60.0) == pytest.approx(1 / (1 / 0.05 + 14), rel=0.05)


def test_where_new_members_come_first_a_restart_has_no_downtime() -> None:
    """What is measured of it is next to nothing, and says nothing of how long both are there."""
    at_once = model(restartDowntime=fitted.quantity(rate=Rate(0.3, 0.5), duration=Duration(-2.0, 0.4, 60.0)))
    surging, in_turn = (profile(at_once, surge=surge).restarts for surge in (True, False))
    assert (surging.per_day, in_turn.per_day) == (0.3, 0.3)
    assert surging.law.quantile(0.5) == pytest.approx(22.0, rel=0.02)
    assert in_turn.law.quantile(0.5) == pytest.approx(np.exp(-2.0), rel=0.05)
    assert surging.upper_per_day is not None
    assert surging.upper_per_day[0] == pytest.approx(0.5)
    assert any("both" in item for item in group_profile.assumed(at_once, surge=True))


def test_what_joining_takes_is_what_is_left_of_it_without_the_wait_for_the_last() -> None:
    """Drawn: 20 members whose next beats lie anywhere in 3 s, handlers of 0.4 s, half a second to settle."""
    rng = np.random.default_rng(3)
    handlers = delay_laws.handlers(2.0)
    residual = np.interp(rng.random((20_000, 19)), handlers.integrals / handlers.integrals[-1], TIMES_S)
    waited_s = float(np.median((rng.uniform(0.0, 3.0, residual.shape) + residual).max(axis=1)))
    known = model(
        pollGap=fitted.quantity(median_s=2.0), rebalanceLatency=fitted.quantity(tail=BAD, median_s=waited_s + 0.5)
    )
    assert profile(known, members=20, period_s=3.0).settle_s == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("days", [5e-324, 1e-300, 9e-7])
def test_days_of_less_than_a_moment_are_none(days: float) -> None:
    """A model may hold the least number there is, and a rate over it is beyond all bounds."""
    absences = dataclasses.replace(fitted.quantity(), member_days=days)
    assert group_facts.unfit(model(absence=absences)) is not None


def test_members_are_absent_at_least_as_often_as_they_were_evicted() -> None:
    """A law of thousands of short absences passes by a few dozen long ones, and so does a pool that saw none."""
    evicted = QuantityModel(
        values=84, member_days=42.0, group_days=14.0, largest_s=28.0, tail=BAD, median_s=27.5, rate=Rate(2.0, 2.4)
    )
    pool = Pool(1_000.0, 20, (3.0, 30.0), (0.1, 1e-6), (1.0, 1.0))
    absences = fitted.quantity(median_s=0.1, pool=pool)
    quiet = profile(fitted.model(quantities={"absence": absences}), client="kafkajs").slow_handlers
    found = profile(fitted.model(quantities={"absence": absences, "eviction": evicted}), client="kafkajs").slow_handlers
    assert quiet is not None
    assert found is not None
    assert found.upper_per_day is not None
    assert quiet.per_day * float(quiet.law.sf(27.0)) < 0.01
    assert 1.6 < found.per_day * float(found.law.sf(27.0)) <= 2.0, "no less than 84 allow, whatever others have"
    assert float(np.interp(27.0, TIMES_S, found.upper_per_day)) > 2.0


@pytest.mark.parametrize("count", [1, 3])
def test_a_few_evictions_are_weighed_by_what_others_of_the_kind_have(count: int) -> None:
    """One evicted node of three members in a fortnight was taken for three a fortnight, and no values were left."""
    evicted = QuantityModel(
        values=count, member_days=112.0, group_days=14.0, largest_s=44.0, tail=BAD, median_s=43.5, rate=Rate(0.01, 0.04)
    )
    pool = Pool(5_000.0, 40, (3.0, 43.5, 90.0), (0.1, 2e-3, 2e-4), (1.0, 1.0, 1.0))
    absences = QuantityModel(values=0, member_days=112.0, group_days=14.0, largest_s=None, tail=BAD, pool=pool)
    found = profile(fitted.model(quantities={"absence": absences, "eviction": evicted})).pauses
    mean, upper = found.per_day * float(found.law.sf(43.5)) * 112.0, found.upper_per_day
    assert upper is not None
    assert count / 10 < mean < 0.6 * count
    assert float(np.interp(43.5, TIMES_S, upper)) * 112.0 > count, "the bound rests on what was counted"


def test_evictions_under_several_sessions_count_by_half() -> None:
    """Half of them outlasted the middle one; of the others nobody knows it."""
    some = QuantityModel(
        values=84, member_days=42.0, group_days=14.0, largest_s=90.0, tail=BAD, median_s=27.5, rate=Rate(2.0, 2.4)
    )
    found = profile(model(eviction=some), client="kafkajs").slow_handlers
    assert found is not None
    assert found.per_day * float(found.law.sf(27.0)) == pytest.approx(1.0, rel=0.03)
