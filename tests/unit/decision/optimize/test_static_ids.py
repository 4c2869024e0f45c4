"""Whether static ids pay: beside plays, over fleets, and where nobody can say."""

import dataclasses
import math
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import fleets, known_groups
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.optimize import guard, static_ids
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.optimize.static_ids import BACK_SHARE, StaticIdCosts, advise, static_id_costs
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.verdicts import Worth
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.simulation.play import simulate
from heartbeat_tuner.tails.law import Law
from tests.support import questions
from tests.support.questions import NEVER, happening, question, seconds

JAVA = catalogue.client("java")


def restarting(median_s: float, **changes: Any) -> Profile:
    """Return a group that is replaced every fourth day, and back after so long."""
    return questions.profile(**{"restarts": happening(0.25, median_s, 0.3), **changes})


def worth(profile: Profile, **fields: Any) -> Worth:
    """Return whether static ids pay for a group."""
    return advise(catalogue.client(profile.client), question(profile, **fields)).worth


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (restarting(5.0), Worth.PAYS),
        (restarting(20.0), Worth.PAYS),
        (restarting(60.0), Worth.COSTS),
        (restarting(60.0, members=30, partitions=120), Worth.CLOSE),
        (restarting(20.0, surge=True), Worth.PAYS),
        (restarting(20.0, rebalancing=Rebalancing.COOPERATIVE), Worth.COSTS),
        (restarting(5.0, rebalancing=Rebalancing.COOPERATIVE), Worth.CLOSE),
        (restarting(5.0, client="java-kip848", rebalancing=Rebalancing.CONSUMER), Worth.COSTS),
        (restarting(20.0, members=1, partitions=4), Worth.COSTS),
        (questions.profile(restarts=NEVER, crashes=NEVER), Worth.COSTS),
    ],
    ids=[
        *("quick", "usual", "slow", "not-covered", "surge", "cooperative", "quick-cooperative", "kip-848", "alone"),
        "never",
    ],
)
def test_it_pays_where_restarts_are_quick_and_the_group_stands_still(profile: Profile, expected: Worth) -> None:
    """Of an eager group, that is; where only those stand still who move, hardly ever."""
    assert worth(profile) is expected


@pytest.mark.parametrize("profile", [restarting(20.0), restarting(60.0), restarting(20.0, surge=True)])
def test_whoever_has_ids_already_gets_the_same_advice(profile: Profile) -> None:
    """Both are computed, whichever is so: else it would flap."""
    assert static_id_costs(question(profile)) == static_id_costs(question(dataclasses.replace(profile, static=True)))


@pytest.mark.parametrize("rebalancing", [Rebalancing.EAGER, Rebalancing.COOPERATIVE])
@pytest.mark.parametrize("median_s", [8.0, 20.0])
def test_the_saving_is_that_of_groups_played_out(rebalancing: Rebalancing, median_s: float) -> None:
    """The same restarts, with ids and without; nobody is scaled away in a play."""
    truth = known_groups.group(restarts=FailureProcess(80 / 6, Law.lognormal(median_s, 0.4)), rebalancing=rebalancing)
    set_here = known_groups.settings(session_s=45)
    static, dynamic = (
        simulate(dataclasses.replace(truth, static=item), set_here, days=20, seed=1).gross_per_day
        for item in (True, False)
    )
    found = static_id_costs(question(truth, current=set_here))
    left_over = truth.restarts.per_day * found.one_away
    assert found.dynamic == pytest.approx(dynamic, rel=0.1)
    assert found.static - left_over == pytest.approx(static, rel=0.1)
    assert (found.static - left_over < found.dynamic) == (static < dynamic)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", fleets.NAMES)
def test_in_a_fleet_it_pays_for_half_of_the_eager_groups_and_hardly_any_other(name: str) -> None:
    """At their libraries' defaults. Where S is free, and so chosen for each, it was four of ten, and 3 %."""
    found: dict[bool, Counter[Worth]] = {True: Counter(), False: Counter()}
    for item in fleets.fleet(name, 150):
        client = catalogue.client(item.truth.client)
        if client.static_membership.holds:
            asked = question(item.truth, current=client.defaults)
            found[item.truth.rebalancing is Rebalancing.EAGER][static_id_costs(asked).worth] += 1
    eager, others = (found[item][Worth.PAYS] / found[item].total() for item in (True, False))
    assert 0.35 <= eager <= 0.7
    assert others <= 0.08


@given(
    quick_s=st.floats(2.0, 100.0),
    longer=st.floats(1.05, 4.0),
    surge=st.booleans(),
    members=st.integers(2, 40),
    rebalancing=st.sampled_from([Rebalancing.EAGER, Rebalancing.COOPERATIVE]),
)
@settings(deadline=None, max_examples=40)
def test_slower_restarts_never_speak_for_ids(
    *, quick_s: float, longer: float, surge: bool, members: int, rebalancing: Rebalancing
) -> None:
    """Each second away is m partitions more that nobody reads."""

    def costs(median_s: float) -> StaticIdCosts:
        group = restarting(median_s, surge=surge, members=members, partitions=4 * members, rebalancing=rebalancing)
        return static_id_costs(question(dataclasses.replace(group, crashes=NEVER)))

    quick, slow = costs(quick_s), costs(quick_s * longer)
    assert slow.static >= quick.static * (1 - 1e-6)
    assert slow.back_share <= quick.back_share + 1e-9
    assert slow.covering_s >= quick.covering_s


@given(share=st.floats(0.0, 2.0), back=st.floats(0.0, 1.0), dynamic=st.floats(0.0, 1e4))
def test_what_begins_them_is_apart_from_what_ends_them(share: float, back: float, dynamic: float) -> None:
    """In between nothing is switched, so figures that move a little switch nothing."""
    found = dataclasses.replace(_WEIGHED, dynamic=dynamic, static=share * dynamic, back_share=back)
    if found.worth is Worth.PAYS:
        assert found.static < (1 - guard.UNMEASURED_IMPROVEMENT) * dynamic
        assert back >= BACK_SHARE
    assert (found.worth is Worth.COSTS) == (found.static >= dynamic)


_WEIGHED = static_id_costs(question(restarting(20.0)))


def test_who_is_scaled_away_is_charged_for() -> None:
    """One for each rollout, whose surge leaves an id over; each parks its partitions until its session is over."""
    history = dataclasses.replace(restarting(20.0), crashes=NEVER)
    without, surging = (static_id_costs(question(dataclasses.replace(history, surge=item))) for item in (False, True))
    period_s = JAVA.period(JAVA.defaults, Circumstances()).usual.total_seconds()
    assert without.one_away == pytest.approx(history.share * (45.0 - period_s / 2), rel=0.02)
    parked = static_ids._left_over(history, question(history), np.array([45.0]))[0]
    assert without.static == pytest.approx(_restarts(history) + 0.25 * parked, rel=1e-6)
    assert surging.static > without.static  # its id comes and goes, too


def _restarts(profile: Profile) -> float:
    found = static_ids._costs(dataclasses.replace(profile, static=True), question(profile), np.array([45.0]))
    return float(found.terms["restarts"][0])


def test_a_session_that_does_not_cover_restarts_is_told() -> None:
    """With the one that would, and what it would cost, if it may be set at all."""
    asked = question(restarting(60.0, members=30, partitions=120))
    assert "they need one of 1m40s, which covers 95%;" in advise(JAVA, asked).message
    longer = dataclasses.replace(asked, objective=Objective(seconds(120), 1.0))
    assert ", which covers 95%, and would cost " in advise(JAVA, longer).message
    set_so = dataclasses.replace(longer.current, session_timeout=seconds(100))
    assert advise(JAVA, dataclasses.replace(longer, current=set_so)).worth is Worth.PAYS


def test_the_sentence_has_the_numbers() -> None:
    """What it costs both ways, what it needs, what it risks."""
    assert advise(JAVA, question(restarting(20.0))).message == (
        "static ids pay: restarts and crashes cost 250 stalled partition-seconds a day with them, and 480 without; "
        "100% of restarts are back within sessionTimeout 45s; each pod that is scaled away parks its partitions: 170 "
        "partition-seconds more; a rebalance waits for a member that is away, for 45s at most"
    )


@pytest.mark.parametrize(
    ("poll", "session", "longest"), [("5m", "45s", "45s"), ("1m", "4m", "1m")], ids=["session", "poll-limit"]
)
def test_nobody_waits_for_a_member_that_is_away_longer_than_r(poll: str, session: str, longest: str) -> None:
    """R is the poll limit of a Java member; in a group of the consumer protocol nobody waits at all."""
    spans = {"5m": timedelta(minutes=5), "1m": timedelta(minutes=1), "45s": seconds(45), "4m": timedelta(minutes=4)}
    current = dataclasses.replace(JAVA.defaults, max_poll_interval=spans[poll], session_timeout=spans[session])
    assert static_id_costs(question(restarting(20.0), current=current)).wait_s == spans[longest].total_seconds()
    consumer = restarting(20.0, client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    asked = question(consumer, current=current)
    assert static_id_costs(asked).wait_s == 0.0
    assert "waits" not in advise(catalogue.client("java-kip848"), asked).message


@pytest.mark.parametrize("name", ["kafkajs", "kafka-node", "kafka-go", "platformatic", "aiokafka", "connect"])
def test_libraries_that_make_no_good_use_of_ids_are_refused(name: str) -> None:
    """Whatever the cost: they ignore the id, leave all the same, or steal it from each other for ever."""
    client = catalogue.client(name)
    found = advise(client, question(restarting(5.0)))
    assert found.worth is Worth.REFUSED
    assert found.message == f"no static ids: with {client.title} static membership is {client.static_membership}"


def test_without_a_model_nobody_knows() -> None:
    """Nor where the cost is beyond all that can be computed."""
    found = advise(JAVA, Unfitted("no ConsumerGroupModel names the group"))
    assert (found.worth, found.message[-37:]) == (Worth.UNKNOWN, "no ConsumerGroupModel names the group")
    endless = FailureProcess(math.inf, Law.lognormal(20.0, 0.3))
    assert advise(JAVA, _of(endless)).worth is Worth.UNKNOWN


def _of(restarts: FailureProcess) -> Question:
    return question(questions.profile(restarts=restarts))
