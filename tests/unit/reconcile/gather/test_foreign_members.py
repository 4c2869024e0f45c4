"""Who disturbs a group is in it for moments only, and is remembered; a pod that is gone was ours."""

from datetime import timedelta

from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.reconcile.gather import foreign_members
from heartbeat_tuner.reconcile.gather.foreign_members import MOST, MOST_ADDRESSES, ForeignMembers
from tests.support import worlds
from tests.support.worlds import NOW

MINUTE = timedelta(minutes=1)
PODS = worlds.pods()
OURS = [worlds.member(pod) for pod in PODS]
OTHER = Member("m-1", "10.9.0.1", "batch")


def look(
    known: ForeignMembers, members: list[Member], *, minute: int = 0, pods: tuple[object, ...] = PODS
) -> ForeignMembers:
    """Look at the group once more, and keep what was seen in the last ten minutes."""
    now = NOW + minute * MINUTE
    running = tuple(pod for pod in PODS if pod in pods)
    return foreign_members.observe(known, running, members, now=now, keep_since=now - 10 * MINUTE)


def test_a_stranger_is_remembered_while_the_group_does_not_show_it() -> None:
    """For so long, and no longer."""
    seen = look(ForeignMembers(), [*OURS, OTHER])
    assert seen.members == (OTHER,)
    assert look(seen, OURS, minute=10).members == (OTHER,)
    assert look(seen, OURS, minute=11).members == ()


def test_a_member_of_a_pod_that_is_gone_is_no_stranger() -> None:
    """The coordinator shows it until its session ends."""
    before = look(ForeignMembers(), OURS)
    assert look(before, OURS, minute=1, pods=PODS[1:]).members == ()
    assert look(ForeignMembers(), OURS, pods=PODS[1:]).members == (OURS[0],)


def test_an_address_that_becomes_a_pod_s_is_ours() -> None:
    """What was taken for a stranger was a pod that Kubernetes showed later."""
    early = look(ForeignMembers(), OURS, pods=PODS[1:])
    assert look(early, OURS, minute=1).members == ()


def test_what_is_remembered_is_bounded() -> None:
    """However many come and go."""
    many = [Member(f"m-{number}", f"10.9.{number // 250}.{number % 250}") for number in range(3 * MOST)]
    assert len(look(ForeignMembers(), [*OURS, *many]).members) == MOST
    crowd = ForeignMembers(ours={str(number): NOW for number in range(2 * MOST_ADDRESSES)})
    assert len(look(crowd, OURS).ours) == MOST_ADDRESSES
