import dataclasses
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Group, Member
from heartbeat_tuner.metrics.group_events import member_changes
from heartbeat_tuner.metrics.group_events.group_event import (
    Certainty,
    Doubt,
    GroupEvent,
    GroupView,
    Rejoin,
    SeenRebalance,
    Timeouts,
)
from heartbeat_tuner.metrics.group_events.member_changes import WatchedGroup
from tests.support import worlds
from tests.support.worlds import NOW

PODS = worlds.pods(2)
M = timedelta(minutes=5)


class Watch:
    """Descriptions of a group of two pods, five seconds apart unless said otherwise."""

    def __init__(
        self, *, poll_limit: timedelta | None = None, session: timedelta | None = None, kind: str | None = None
    ) -> None:
        self.watched = WatchedGroup()
        self.kind = kind
        self.at = NOW
        self.timeouts = Timeouts(session, poll_limit)
        self.events: list[GroupEvent] = []

    def see(
        self,
        members: Sequence[Member],
        *,
        pods: Sequence[Pod] = PODS,
        after_s: float = 5.0,
        rebalancing: bool = False,
        coordinator: int = 1,
        disturbed: bool = False,
    ) -> list[GroupEvent]:
        """Take one more description; return what it shows."""
        self.at += timedelta(seconds=after_s)
        group = dataclasses.replace(worlds.group(members, rebalancing=rebalancing), coordinator=coordinator)
        if self.kind is not None:
            group = dataclasses.replace(group, consumer_protocol=True, kind=self.kind)
        view = GroupView(self.at, group, tuple(pods), disturbed)
        self.watched, events = member_changes.observe(self.watched, view, timeouts=self.timeouts)
        self.events += events
        return list(events)

    @property
    def rejoins(self) -> list[Rejoin]:
        """The members that came back so far."""
        return [event for event in self.events if isinstance(event, Rejoin)]

    @property
    def doubts(self) -> frozenset[Doubt]:
        """Those of the only one."""
        (new,) = self.rejoins
        return new.doubts


FIRST, SECOND = (worlds.member(pod, 0) for pod in PODS)
BACK = worlds.member(PODS[0], 1)


def paused(watch: Watch, *, away_s: float = 5.0) -> Watch:
    """Show a member of the first pod that is gone for a while, and is back under another id."""
    watch.see([FIRST, SECOND])
    watch.see([SECOND])
    watch.see([BACK, SECOND], after_s=away_s)
    return watch


def test_a_member_that_was_out_of_the_group_and_is_back_was_evicted() -> None:
    """Its process did not restart, so nothing else had it leave."""
    watch = paused(Watch())
    assert [(new.pod, new.certainty) for new in watch.rejoins] == [(PODS[0].name, Certainty.CERTAIN)]


def test_another_id_from_one_description_to_the_next_was_not_seen_to_be_evicted() -> None:
    """A consumer that was closed and made again shows the same."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([BACK, SECOND])
    assert watch.doubts == {Doubt.REOPENED}
    assert watch.rejoins[0].certainty is Certainty.UNSEEN


@pytest.mark.parametrize(
    ("away_s", "certainty"),
    [
        (0.5, Certainty.UNSEEN),
        (1.0, Certainty.UNSEEN),
        (1.1, Certainty.CERTAIN),
        (5.0, Certainty.CERTAIN),
        (15.0, Certainty.CERTAIN),
        (60.0, Certainty.CERTAIN),
    ],
)
def test_who_is_out_of_the_group_for_a_moment_may_have_been_closed_and_made_again(
    away_s: float, certainty: Certainty
) -> None:
    """A description a moment later shows it; where that comes late or never, the member was out of its group."""
    watch = paused(Watch(), away_s=away_s)
    assert [new.certainty for new in watch.rejoins] == [certainty]


def test_who_is_missing_in_a_follow_up_too_was_out_of_the_group() -> None:
    """The first description without it counts, and not the last: an eviction stays what it is."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([SECOND])
    watch.see([SECOND], after_s=0.5)
    watch.see([BACK, SECOND], after_s=0.6)
    assert [new.certainty for new in watch.rejoins] == [Certainty.CERTAIN]


def test_a_moment_says_nothing_of_members_that_keep_their_ids() -> None:
    """Who is made again there has another id: who is back under its own was fenced."""
    assert not missing(Watch(kind="consumer"), away_s=0.5).doubts


@pytest.mark.parametrize("doubt", [doubt for doubt in Doubt if doubt is not Doubt.REOPENED])
def test_any_other_doubt_makes_it_doubtful(doubt: Doubt) -> None:
    """Descriptions may have missed an eviction only where nothing else explains the new id."""
    for doubts in ({doubt}, {doubt, Doubt.REOPENED}):
        assert Rejoin(NOW, "orders-0", frozenset(doubts)).certainty is Certainty.DOUBTFUL


def test_a_poll_limit_makes_only_an_old_id_doubtful() -> None:
    """A member polls before it has an id: it cannot have gone without a poll for longer than it had that."""
    watch = Watch(poll_limit=M)
    watch.see([SECOND])
    assert not paused(watch).doubts
    watch = Watch(poll_limit=M)
    watch.see([SECOND])
    for _ in range(2):
        watch.see([FIRST, SECOND], after_s=150)
    assert paused_later(watch) == {Doubt.POLL_LIMIT}


def test_an_id_is_as_old_as_it_may_be() -> None:
    """It was made any time since the last description without it; in the first one, since its process began."""
    assert paused(Watch(poll_limit=M)).doubts == {Doubt.POLL_LIMIT}
    watch = Watch(poll_limit=M)
    watch.see([SECOND])
    watch.see([FIRST, SECOND], after_s=150)
    watch.see([SECOND], after_s=148)  # the description may be a second old
    watch.see([BACK, SECOND])
    assert not watch.doubts
    watch = Watch(poll_limit=M)
    watch.see([SECOND])
    watch.see([FIRST, SECOND], after_s=150)
    watch.see([SECOND], after_s=149)
    watch.see([BACK, SECOND])
    assert watch.doubts == {Doubt.POLL_LIMIT}
    young = [dataclasses.replace(pod, started=NOW) for pod in PODS]
    watch = Watch(poll_limit=M)
    for members in ([FIRST, SECOND], [SECOND], [BACK, SECOND]):
        watch.see(members, pods=young)
    assert not watch.doubts


@pytest.mark.parametrize(
    ("session_s", "doubts"), [(10.0, frozenset()), (11.0, frozenset()), (11.5, frozenset({Doubt.YOUNG}))]
)
def test_nobody_is_silent_for_a_session_that_is_longer_than_the_time_in_the_group(
    session_s: float, doubts: frozenset[Doubt]
) -> None:
    """A client that leaves when its handler fails, and joins again, may be in the group for some seconds each time."""
    watch = Watch(session=timedelta(seconds=session_s))
    watch.see([SECOND])
    assert paused(watch).doubts == doubts  # it can have been there for ten seconds, and for one more on the way here


def test_an_id_of_before_the_first_description_may_be_as_old_as_its_process() -> None:
    """Nothing says that it was young."""
    assert not paused(Watch(session=timedelta(seconds=30))).doubts


def paused_later(watch: Watch) -> frozenset[Doubt]:
    """Show the same after the id was seen for five minutes."""
    watch.see([SECOND], after_s=150)
    watch.see([BACK, SECOND])
    return watch.doubts


def test_a_rollout_and_a_scale_step_show_no_eviction() -> None:
    """Each id belongs to one life of a process."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    young = [worlds.pod(number, started=watch.at) for number in (2, 3, 4)]
    watch.see([SECOND, worlds.member(young[0])], pods=[PODS[1], young[0]])
    watch.see([worlds.member(pod) for pod in young], pods=young)
    watch.see([worlds.member(young[0])], pods=young[:1])
    assert not watch.rejoins


def test_a_container_that_restarted_is_no_eviction_though_its_dead_id_stays_until_the_session_ends() -> None:
    """The coordinator shows both ids meanwhile."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    again = dataclasses.replace(PODS[0], restarts=1, started=watch.at)
    for members in ([FIRST, BACK, SECOND], [BACK, SECOND]):
        watch.see(members, pods=[again, PODS[1]])
    assert not watch.rejoins


def test_a_pod_that_began_after_the_description_has_no_member_in_it() -> None:
    """Its address was another's: Kubernetes is looked at later than Kafka."""
    watch = Watch()
    later = dataclasses.replace(PODS[0], uid="later", started=NOW + timedelta(minutes=1))
    watch.see([FIRST, SECOND], pods=[later, PODS[1]])
    watch.see([FIRST, SECOND], pods=[later, PODS[1]], after_s=120)
    assert not watch.rejoins


@pytest.mark.parametrize(("coordinator", "disturbed"), [(2, False), (1, True)])
def test_a_coordinator_that_moved_or_gave_no_answer_explains_rejoins(coordinator: int, *, disturbed: bool) -> None:
    """Members join again then, whatever their session."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([SECOND], coordinator=coordinator, disturbed=disturbed)
    watch.see([BACK, SECOND], coordinator=coordinator)
    assert watch.doubts == {Doubt.COORDINATOR}


def test_all_members_that_were_seen_out_of_the_group_were_evicted() -> None:
    """A node that stood still evicts all of them, and the coordinator described the group all the while."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([])
    watch.see([worlds.member(pod, 1) for pod in PODS])
    assert [new.certainty for new in watch.rejoins] == [Certainty.CERTAIN, Certainty.CERTAIN]


def test_all_members_swapped_between_two_descriptions_are_a_mass_rejoin() -> None:
    """The first time; a second time within minutes it is a storm."""
    watch = Watch()
    for number in range(3):
        watch.see([worlds.member(pod, number) for pod in PODS])
    assert [Doubt.MASS_REJOIN in new.doubts for new in watch.rejoins] == [True, True, False, False]


def test_a_gap_is_a_gap() -> None:
    """What a member did while nobody looked is not known."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([SECOND])
    watch.see([BACK, SECOND], after_s=200)
    assert watch.doubts == {Doubt.GAP}


def test_who_was_away_for_long_had_rather_been_closed() -> None:
    """An application may close its consumer between two jobs."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    for _ in range(6):
        watch.see([SECOND], after_s=120)
    watch.see([BACK, SECOND], after_s=120)
    assert watch.doubts == {Doubt.LONG_AWAY}


def test_a_static_member_has_a_new_id_whenever_it_joins() -> None:
    """So its new id shows no eviction."""
    watch = Watch()
    watch.see([dataclasses.replace(FIRST, instance_id="a")])
    watch.see([])
    watch.see([dataclasses.replace(BACK, instance_id="a")])
    assert watch.doubts == {Doubt.STATIC}


def test_members_at_shared_addresses_are_nobodys() -> None:
    """On the host's network, or through a proxy, whose a member is cannot be known."""
    shared = [dataclasses.replace(pod, ip="10.0.0.9", on_host_network=True) for pod in PODS]
    watch = Watch()
    for members in ([FIRST], [], [BACK]):
        watch.see([dataclasses.replace(member, host="10.0.0.9") for member in members], pods=shared)
    assert not watch.rejoins


def missing(watch: Watch, *, away_s: float = 5.0, member: Member = FIRST) -> Watch:
    """Show a member of the first pod that is gone for a while, and is back under its own id."""
    watch.see([member, SECOND])
    watch.see([SECOND])
    watch.see([member, SECOND], after_s=away_s)
    return watch


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_a_member_that_keeps_its_id_was_fenced_while_no_description_showed_it(kind: str) -> None:
    """Each absence counts. A static member keeps its id, too, while its process lives."""
    watch = missing(Watch(kind=kind))
    assert [(rejoin.pod, rejoin.certainty) for rejoin in watch.rejoins] == [(PODS[0].name, Certainty.CERTAIN)]
    watch.see([SECOND])
    watch.see([FIRST, SECOND])
    assert len(watch.rejoins) == 2
    assert not missing(Watch(kind=kind), member=dataclasses.replace(FIRST, instance_id="a")).doubts


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_another_id_is_another_consumer_where_a_client_keeps_its_own(kind: str) -> None:
    """It was closed, and made again in its process."""
    watch = paused(Watch(kind=kind))
    watch.see([BACK, SECOND])
    assert not watch.rejoins


def test_a_member_of_a_classic_group_is_never_back_under_the_same_id() -> None:
    """The coordinator gives each id once: a description without it was wrong."""
    assert not missing(Watch()).rejoins


def test_doubts_of_a_member_that_keeps_its_id() -> None:
    """It may have left because it did not poll, or by itself, or the coordinator was disturbed."""
    assert missing(Watch(kind="share", poll_limit=M)).doubts == {Doubt.POLL_LIMIT}
    young = Watch(kind="consumer", session=timedelta(seconds=20))
    young.see([SECOND])
    assert missing(young).doubts == {Doubt.YOUNG}
    assert missing(Watch(kind="consumer"), away_s=700).doubts == {Doubt.LONG_AWAY, Doubt.GAP}
    disturbed = Watch(kind="consumer")
    disturbed.see([FIRST, SECOND])
    disturbed.see([SECOND], disturbed=True)
    disturbed.see([FIRST, SECOND])
    assert disturbed.doubts == {Doubt.COORDINATOR}


def test_a_member_that_is_back_is_as_old_as_its_last_absence() -> None:
    """It polled to join, so what came before that is no time without a poll."""
    watch = missing(Watch(kind="consumer", poll_limit=M))
    watch.see([FIRST, SECOND], after_s=150)
    watch.see([SECOND])
    watch.see([FIRST, SECOND])
    assert [rejoin.doubts for rejoin in watch.rejoins] == [{Doubt.POLL_LIMIT}, frozenset()]


@pytest.mark.parametrize("kind", [None, "consumer"])
def test_who_was_missing_while_the_coordinator_was_disturbed_is_doubtful_whenever_it_is_back(kind: str | None) -> None:
    """A client that goes on beating to the old coordinator is removed for that, and may be back long after."""
    watch = Watch(kind=kind)
    watch.see([FIRST, SECOND])
    watch.see([FIRST, SECOND], coordinator=2)
    watch.see([SECOND], after_s=50, coordinator=2)
    watch.see([BACK if kind is None else FIRST, SECOND], after_s=60, coordinator=2)
    assert watch.doubts == {Doubt.COORDINATOR}


def test_a_member_that_is_seen_at_another_address_is_in_its_group() -> None:
    """Behind a proxy for a while, or while Kubernetes shows no address of its pod."""
    watch = Watch(kind="consumer")
    watch.see([FIRST, SECOND])
    watch.see([dataclasses.replace(FIRST, host="10.0.0.99"), SECOND])
    watch.see([FIRST, SECOND])
    watch.see([FIRST, SECOND], pods=[dataclasses.replace(PODS[0], ip=""), PODS[1]])
    watch.see([FIRST, SECOND])
    assert not watch.rejoins


def test_all_members_missing_at_once_are_a_storm_only_the_second_time() -> None:
    """An outage between all pods and the broker removes everybody for a silence that was no member's own."""
    watch = Watch(kind="consumer")
    watch.see([FIRST, SECOND])
    for _ in range(2):
        watch.see([SECOND])
        watch.see([])
        watch.see([FIRST])
        watch.see([FIRST, SECOND])
    first, second, *again = [rejoin.doubts for rejoin in watch.rejoins]
    assert first == second == {Doubt.MASS_REJOIN}
    assert again == [frozenset(), frozenset()]
    alone = Watch(kind="consumer")
    for members in ([FIRST], [], [FIRST]):
        alone.see(members)
    assert not alone.doubts


def test_a_group_of_kafka_streams_protocol_shows_nothing() -> None:
    """Its own metrics show each fencing."""
    group = dataclasses.replace(worlds.group([FIRST]), consumer_protocol=True, kind="streams")
    assert member_changes.observe(WatchedGroup(), GroupView(NOW, group, PODS), timeouts=Timeouts()) == (
        WatchedGroup(),
        (),
    )


def test_a_rebalance_lasts_from_the_first_description_that_shows_it_to_the_last() -> None:
    """At most it lasts between those around it."""
    watch = Watch()
    watch.see([FIRST, SECOND])
    watch.see([FIRST, SECOND], rebalancing=True)
    watch.see([FIRST, SECOND], rebalancing=True)
    assert watch.see([FIRST, SECOND]) == [SeenRebalance(watch.at, timedelta(seconds=5), timedelta(seconds=15))]


def test_a_new_member_alone_shows_a_rebalance_that_no_description_caught() -> None:
    """Nobody joins a classic group without one; its length is not known."""
    watch = Watch()
    watch.see([FIRST])
    watch.see([FIRST, SECOND])
    assert watch.see([FIRST, SECOND]) == [SeenRebalance(watch.at, timedelta(0), timedelta(seconds=10))]


looks = st.lists(
    st.tuples(st.lists(st.integers(0, 4), max_size=2), st.booleans(), st.floats(1, 400), st.integers(0, 1)), max_size=20
)


@given(looks, st.sampled_from([None, M]))
def test_no_more_evictions_than_ids_that_are_gone(
    seen: list[tuple[list[int], bool, float, int]], limit: timedelta | None
) -> None:
    """Each eviction took one id that was shown before, and the same descriptions twice show nothing more."""
    watch = Watch(poll_limit=limit)
    shown: set[str] = set()
    for numbers, rebalancing, after_s, restarts in seen:
        pod = dataclasses.replace(PODS[0], restarts=restarts)
        members = [worlds.member(pod, number) for number in set(numbers)]
        before = watch.watched
        watch.see(members, pods=[pod], after_s=after_s, rebalancing=rebalancing)
        again = GroupView(watch.at, worlds.group(members), (pod,))
        assert member_changes.observe(watch.watched, again, timeouts=Timeouts(poll_limit=limit)) == (watch.watched, ())
        assert watch.watched.at == watch.at != before.at
        shown |= {member.member_id for member in members}
    appearances = sum(len(set(numbers)) for numbers, *_ in seen)
    assert len(watch.rejoins) <= max(0, appearances - 1)
    assert len(watch.rejoins) == 0 or len(shown) > 1


@given(looks)
def test_processes_that_restart_at_every_description_are_never_evicted(
    seen: list[tuple[list[int], bool, float, int]],
) -> None:
    """Whatever ids come and go."""
    watch = Watch()
    for restarts, (numbers, rebalancing, after_s, _) in enumerate(seen):
        pod = dataclasses.replace(PODS[0], restarts=restarts)
        watch.see(
            [worlds.member(pod, number) for number in set(numbers)],
            pods=[pod],
            after_s=after_s,
            rebalancing=rebalancing,
        )
    assert not watch.rejoins


def test_group_ids_of_any_script_pass() -> None:
    """Nothing is read from names."""
    group = Group("группа" * 41, worlds.group([FIRST]).state, (FIRST,))
    _, events = member_changes.observe(WatchedGroup(), GroupView(NOW, group, PODS), timeouts=Timeouts())
    assert events == ()
