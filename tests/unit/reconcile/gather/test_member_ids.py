"""Member ids between cycles: what was an eviction, and what was not."""

import dataclasses
import itertools
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.reconcile.gather import member_ids
from heartbeat_tuner.reconcile.gather.member_ids import Ledger
from tests.support import worlds
from tests.support.worlds import NOW, member

A, B = worlds.pod(0), worlds.pod(1)
RESTARTED = dataclasses.replace(A, restarts=1, started=NOW)
LONG_AGO = NOW - timedelta(hours=1)

Look = tuple[Sequence[Pod], Sequence[Member]]


def seen(*looks: Look) -> Ledger:
    """Return the ledger after several looks, a minute apart from now on."""
    ledger = Ledger()
    for number, (pods, members) in enumerate(looks):
        now = NOW + timedelta(minutes=number)
        ledger = member_ids.observe(ledger, pods, members, now=now, keep_since=LONG_AGO)
    return ledger


def changes(*looks: Look) -> int:
    """Return how many ids changed over several looks."""
    return len(seen(*looks).changes)


def test_a_living_pod_with_a_new_id_was_evicted() -> None:
    """A member keeps its id until the coordinator removes it."""
    assert changes(([A, B], [member(A), member(B)]), ([A, B], [member(A, 1), member(B)])) == 1


def test_each_change_counts_at_its_time() -> None:
    """The record counts from its own start."""
    ledger = seen(*(([A], [member(A, number)]) for number in range(4)))
    assert ledger.changes == tuple(MemberChange(NOW + number * timedelta(minutes=1), A.name) for number in (1, 2, 3))


def test_an_ipv6_address_is_one_however_it_is_written() -> None:
    """Java writes it in full, Kubernetes in short."""
    pod = dataclasses.replace(A, ip="2001:db8::1")
    long = [Member(f"client-{number}", "2001:db8:0:0:0:0:0:1") for number in range(2)]
    assert changes(([pod], long[:1]), ([pod], long[1:])) == 1


def test_the_first_look_is_no_change() -> None:
    """An operator that starts knows nothing of before."""
    assert changes(([A, B], [member(A), member(B)])) == 0


def test_same_ids_are_no_change() -> None:
    """Nothing happened."""
    assert changes(*[([A, B], [member(A), member(B)])] * 3) == 0


def test_a_new_pod_is_no_change() -> None:
    """It brings its own id, and the gone one took its along."""
    assert changes(([A], [member(A)]), ([B], [member(B)])) == 0


def test_a_restarted_container_is_no_change() -> None:
    """Its process is another one, though pod and address stay."""
    assert changes(([A], [member(A)]), ([RESTARTED], [member(A, 1)])) == 0


def test_the_id_of_a_dead_process_is_not_the_new_ones() -> None:
    """The broker shows a crashed member until its session ends; the restarted process never lost it."""
    assert (
        changes(
            ([A], [member(A)]),
            ([RESTARTED], [member(A)]),
            ([RESTARTED], [member(A)]),
            ([RESTARTED], [member(A, 1)]),
        )
        == 0
    )


def test_the_id_of_a_gone_pod_is_not_that_of_who_got_its_address() -> None:
    """Addresses are handed out again, sometimes within a session."""
    heir = dataclasses.replace(B, ip=A.ip)
    assert changes(([A], [member(A)]), ([heir], [member(A)]), ([heir], [member(A, 1)])) == 0


def test_an_eviction_after_a_restart_counts() -> None:
    """The new process has an id to lose, too."""
    assert changes(([A], [member(A)]), ([RESTARTED], [member(A), member(A, 1)]), ([RESTARTED], [member(A, 2)])) == 1


def test_a_restart_that_kafka_shows_first_is_no_change() -> None:
    """A clean leave, or a static member: the old id is gone when Kubernetes still tells of the old process."""
    restarted = dataclasses.replace(RESTARTED, started=NOW + timedelta(seconds=50))
    assert (
        changes(
            ([A], [member(A)]),
            ([A], [member(A, 1)]),
            ([restarted], [member(A, 1)]),
            ([restarted], [member(A, 1)]),
        )
        == 0
    )


def test_an_eviction_before_a_restart_stays_one() -> None:
    """It was seen before the new process began."""
    later = dataclasses.replace(RESTARTED, started=NOW + timedelta(seconds=90))
    assert changes(([A], [member(A)]), ([A], [member(A, 1)]), ([later], [member(A, 2)])) == 1


def test_an_eviction_of_a_pod_that_is_gone_stays_one() -> None:
    """Its members were removed while it lived, whoever came after it."""
    heir = dataclasses.replace(B, started=NOW)
    assert changes(([A], [member(A)]), ([A], [member(A, 1)]), ([heir], [member(heir)])) == 1


def test_a_static_member_in_a_new_pod_is_no_change() -> None:
    """Its instance id comes back with another member id, from another address, while the old pod may still end."""
    old, new = (Member(f"slot-0-{number}", pod.ip, instance_id="slot-0") for number, pod in enumerate((A, B)))
    assert changes(([A], [old]), ([A, B], [new]), ([B], [new])) == 0


def test_a_static_member_that_was_removed_counts() -> None:
    """Having an instance id keeps nobody from being evicted: it comes back under another member id."""
    before, after = (Member(f"slot-0-{number}", A.ip, instance_id="slot-0") for number in range(2))
    assert changes(([A], [before]), ([A], []), ([A], [after])) == 1


def test_a_coordinator_that_moves_is_no_change() -> None:
    """The new one reads the members from the log, though it may show none of them while it does."""
    members = [member(A), member(B)]
    assert changes(([A, B], members), ([A, B], []), ([A, B], members)) == 0


def test_a_short_absence_keeps_the_id() -> None:
    """A member that is back under its old id was never removed."""
    assert changes(([A], [member(A)]), ([A], []), ([A], [member(A)])) == 0


def test_an_eviction_seen_in_two_steps_counts_once() -> None:
    """First the old id is gone, then the new one is there."""
    assert changes(([A], [member(A)]), ([A], []), ([A], [member(A, 1)])) == 1


def test_a_second_consumer_in_a_pod_is_no_change() -> None:
    """One more id, none gone."""
    assert changes(([A], [member(A)]), ([A], [member(A), member(A, 1)])) == 0


def test_pods_that_share_an_address_cannot_be_told_apart() -> None:
    """On the host's network a neighbour's new id is not mine."""
    neighbour, heir = dataclasses.replace(B, ip=A.ip), dataclasses.replace(worlds.pod(2), ip=A.ip)
    assert (
        changes(
            ([A, neighbour], [member(A), member(A, 1)]),
            ([A, heir], [member(A), member(A, 2)]),
        )
        == 0
    )


def test_members_elsewhere_are_nobodys() -> None:
    """A member at an address that is no pod's is not counted for one."""
    stranger = Member("stranger", "192.0.2.1")
    assert changes(([A], [member(A)]), ([A], [member(A), stranger])) == 0


def test_old_changes_are_forgotten() -> None:
    """The ledger does not grow for ever."""
    old, new = (MemberChange(NOW - age, A.name) for age in (timedelta(hours=2), timedelta(minutes=5)))
    before = Ledger(changes=(old, new))
    after = member_ids.observe(before, [], [], now=NOW, keep_since=LONG_AGO)
    assert after.changes == (new,)


looks = st.lists(
    st.tuples(
        st.sampled_from([[A], [A, B], [RESTARTED, B], [B]]),
        st.lists(st.sampled_from([member(pod, number) for pod in (A, B) for number in range(4)]), unique=True),
    ),
    min_size=1,
    max_size=8,
)


@given(looks)
def test_there_are_never_more_changes_than_new_ids(history: list[Look]) -> None:
    """Each change needs an id that was not there at the look before."""
    fresh = 0
    for (_, earlier), (_, later) in itertools.pairwise(history):
        fresh += len({item.member_id for item in later} - {item.member_id for item in earlier})
    assert changes(*history) <= fresh


@given(looks)
def test_ids_are_remembered_only_of_living_pods(history: list[Look]) -> None:
    """A ledger is no archive."""
    pods, members = history[-1]
    ledger = seen(*history)
    assert set(ledger.ids) == {(pod.uid, pod.restarts) for pod in pods}
    assert ledger.bygone <= {member.member_id for member in members}
