"""Which slot a pod gets that is being created."""

import dataclasses

import pytest

from heartbeat_tuner.membership.claiming import claim
from heartbeat_tuner.membership.values import (
    Claimed,
    Promise,
    Refused,
    Slot,
    SlotPod,
    SlotPool,
    SlotRecord,
    SlotRefusal,
    View,
    Write,
)
from tests.unit.membership.shapes import at, edited, free, held, kip848, pod, pool, resting, view

LEAVING = pod("old", 0, deleted_s=-5)
CLOSED = pod("old", 0, gone=True, exit_code=0)
KILLED = pod("old", 0, gone=True, exit_code=137)


def ask(seen: View, pool: SlotPool, *, may_gate: bool = True, now_s: float = 0) -> Claimed | Refused:
    """Ask for a slot for the pod `new`."""
    return claim("new", seen, pool, may_gate=may_gate, now=at(now_s))


def got(seen: View, pool: SlotPool) -> int | SlotRefusal:
    """Return the number that `new` may use at once, or why it has none."""
    found = ask(seen, pool)
    if isinstance(found, Refused):
        return found.reason
    assert not found.gated
    return found.number


def test_the_first_pod_makes_the_first_lease() -> None:
    """A slot without a Lease is free."""
    assert ask(view(), pool()) == Claimed(0, gated=False, write=Write(0, None, SlotRecord(since=at(0), holder="new")))


def test_the_lowest_free_slot_is_taken() -> None:
    """Low numbers first, so that a pool that shrinks has its high ones free."""
    seen = view([free(3), held(0, "a"), free(2), free(1)], [pod("a", 0)])
    assert ask(seen, pool(4)) == Claimed(1, gated=False, write=Write(1, "v1", SlotRecord(since=at(0), holder="new")))


def test_a_live_slot_is_never_taken() -> None:
    """Two pods, two slots, no third."""
    assert got(view([held(0, "a"), held(1, "b")], [pod("a", 0), pod("b", 1)]), pool()) is SlotRefusal.ALL_HELD


def test_slots_beyond_the_pool_are_not_given() -> None:
    """After a scale-in they are only kept by who has them."""
    assert got(view([held(0, "a"), free(1)], [pod("a", 0)]), pool(1)) is SlotRefusal.ALL_HELD


def test_a_pool_of_any_size_is_answered_at_once() -> None:
    """A tenant may ask for more pods than anybody can count; two slots are looked at, and a pod's that has no Lease."""
    seen = view([held(0, "a"), held(1, "b")], [pod("a", 0), pod("b", 1), pod("c", 2)])
    assert got(seen, pool(2**31 + 2**31)) == 3


def test_there_is_nothing_in_an_empty_pool() -> None:
    """Static membership is off, or there are no replicas."""
    assert got(view([free(0)]), pool(0)) is SlotRefusal.NO_POOL


@pytest.mark.parametrize("promised", [False, True])
def test_the_same_token_gets_the_same_answer(*, promised: bool) -> None:
    """However often it is asked, and though a lower slot is free."""
    slot = held(1, "old", promised="new") if promised else held(1, "new", since_s=-3)
    assert ask(view([free(0), slot]), pool()) == Claimed(1, gated=promised, write=None)


def test_a_token_that_a_pod_has_is_not_taken_from_another() -> None:
    """A template that was made from a running pod carries its token to all its pods."""
    assert ask(view([held(0, "new", since_s=-3)], [pod("new", 0)]), pool()) == Refused(SlotRefusal.COPIED)


@pytest.mark.parametrize(("age_s", "is_copied"), [(74, False), (75, True)])
def test_a_token_that_was_given_long_ago_is_a_copy(age_s: float, *, is_copied: bool) -> None:
    """No creation takes so long."""
    found = ask(view([held(0, "new", since_s=-age_s)]), pool())
    assert found == (Refused(SlotRefusal.COPIED) if is_copied else Claimed(0, gated=False, write=None))


@pytest.mark.parametrize(
    "over",
    [
        pytest.param(pod("old", 0, gone=True), id="deleted"),
        pytest.param(pod("old", 0, phase="Failed", containers_ended=True), id="evicted"),
        pytest.param(pod("old", 0, phase="Succeeded", containers_ended=True), id="done"),
    ],
)
def test_the_slot_of_a_pod_that_is_over_is_free_at_once_in_a_classic_group(over: SlotPod) -> None:
    """Nobody has to settle it first."""
    found = ask(view([held(0, "old")], [over]), pool(1))
    expected = SlotRecord(since=at(0), holder="new", former="old")
    assert found == Claimed(0, gated=False, write=Write(0, "v0", expected))


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(pod("old", 0, phase="Failed"), id="failed by the collector of pods, containers unknown"),
        pytest.param(pod("old", 0, phase="Pending"), id="not started"),
        pytest.param(pod("old", 0, containers_ended=True), id="containers ended, to be started again"),
    ],
)
def test_the_slot_of_a_pod_that_is_not_surely_over_is_kept(there: SlotPod) -> None:
    """What may run holds its slot."""
    assert got(view([held(0, "old")], [there]), pool(1)) is SlotRefusal.ALL_HELD


@pytest.mark.parametrize(("as_of_s", "answer"), [(64, SlotRefusal.ALL_HELD), (65, 0)])
def test_a_claim_whose_pod_was_not_seen_is_kept_until_it_must_have_been(
    as_of_s: float, answer: int | SlotRefusal
) -> None:
    """It may be on its way to the store, or to the cache."""
    assert got(view([held(0, "old", since_s=-10)], as_of_s=as_of_s), pool(1)) == answer


def test_a_claim_whose_pod_was_stored_with_another_id_is_free() -> None:
    """Two replicas answered the same pod, and the API server took the other one's answer."""
    for protocol in (pool(1), kip848(1)):
        assert got(view([held(0, "old", since_s=-1)], [pod("old", 1)]), protocol) == 0


@pytest.mark.parametrize(
    ("former", "answer"),
    [
        (CLOSED, 0),
        (pod("old", 0, gone=True, exit_code=143), 0),
        (KILLED, SlotRefusal.RESTING),
        (pod("old", 0, gone=True), SlotRefusal.RESTING),
        (pod("old", 0, gone=True, bound=False), 0),
        (pod("old", 0, gone=True, exit_code=0, restarted=True, ran_s=50), SlotRefusal.RESTING),
        (pod("old", 0, gone=True, exit_code=0, restarted=True, ran_s=55), 0),
    ],
    ids=["closed", "ended by SIGTERM", "killed", "unknown", "never had a node", "closed a run refused", "closed"],
)
def test_under_kip_848_only_who_closed_makes_room_at_once(former: SlotPod, answer: int | SlotRefusal) -> None:
    """The coordinator refuses the newer of two members of one id."""
    assert got(view([held(0, "old")], [former]), kip848(1)) == answer


def test_which_exit_codes_close_is_for_the_caller_to_say() -> None:
    """They depend on the client and are to be measured."""
    careful = dataclasses.replace(kip848(1), closing_exit_codes=frozenset({137}))
    assert got(view([held(0, "old")], [CLOSED]), careful) is SlotRefusal.RESTING
    assert got(view([held(0, "old")], [KILLED]), careful) == 0


def test_a_claim_nobody_took_up_rests_under_kip_848() -> None:
    """Its pod may have come and gone unseen."""
    assert got(view([held(0, "old")]), kip848(1)) is SlotRefusal.RESTING


@pytest.mark.parametrize(
    ("slot", "pods", "answer"),
    [
        (resting(0, 1), [], SlotRefusal.RESTING),
        (resting(0, 0), [], 0),
        (resting(0, 1), [CLOSED], SlotRefusal.RESTING),
        (resting(0, 1, former="old"), [CLOSED], 0),
        (resting(0, 1, former="old"), [KILLED], SlotRefusal.RESTING),
        (resting(0, 0, promised="other"), [], SlotRefusal.RESTING),
        (edited(0), [], SlotRefusal.RESTING),
    ],
    ids=["rests", "rested", "another closed", "it closed", "it was killed", "promised", "edited"],
)
def test_a_resting_slot_is_given_when_it_has_rested(slot: Slot, pods: list[SlotPod], answer: int | SlotRefusal) -> None:
    """Until then it is nobody's, unless somebody saw the holder close."""
    assert got(view([slot], pods), kip848(1)) == answer


@pytest.mark.parametrize(("as_of_s", "answer"), [(-1, SlotRefusal.RESTING), (0, 0)])
def test_a_slot_of_an_unknown_holder_has_rested_when_a_view_would_show_it(
    as_of_s: float, answer: int | SlotRefusal
) -> None:
    """The clock alone proves nothing."""
    assert got(view([resting(0, 0, former="")], as_of_s=as_of_s), pool(1)) == answer


@pytest.mark.parametrize("slots", [[], [free(0)]], ids=["no Lease", "free"])
@pytest.mark.parametrize("token", ["other", ""])
def test_a_slot_whose_id_a_pod_has_is_not_given_whatever_its_lease_says(slots: list[Slot], token: str) -> None:
    """The pod has its id in its env, with or without a token."""
    assert got(view(slots, [pod(token, 0)]), pool(1)) in {SlotRefusal.ALL_HELD, SlotRefusal.RESTING}


@pytest.mark.parametrize(("as_of_s", "answer"), [(4, 0), (5, SlotRefusal.RESTING)])
def test_who_was_seen_to_end_by_another_replica_does_not_keep_its_slot(
    as_of_s: float, answer: int | SlotRefusal
) -> None:
    """A view that is older than its end shows it running."""
    seen = view([free(0, former="old", since_s=0)], [pod("old", 0)], as_of_s=as_of_s)
    assert got(seen, pool(1)) == answer


def test_the_slot_of_a_terminating_pod_is_promised() -> None:
    """A rollout with maxSurge 0 goes on with the same ids."""
    found = ask(view([held(0, "old")], [LEAVING]), pool(1))
    promised = SlotRecord(since=at(-3600), holder="old", promise=Promise("new", at(0)))
    assert found == Claimed(0, gated=True, write=Write(0, "v0", promised))


@pytest.mark.parametrize("protocol", [pool(3), kip848(3)], ids=["classic", "KIP-848"])
@pytest.mark.parametrize("lowest", [[free(0)], [], [held(0, "gone", since_s=-100)]], ids=["free", "new", "just over"])
def test_a_promise_is_better_than_a_free_slot(lowest: list[Slot], protocol: SlotPool) -> None:
    """Under another id the successor is one member more, and who ends is waited for until its session is over."""
    leaving = pod("old", 1, deleted_s=-5)
    seen = view([*lowest, held(1, "old"), free(2)], [leaving, pod("gone", 0, gone=True, exit_code=0)])
    found = ask(seen, protocol)
    assert isinstance(found, Claimed)
    assert (found.number, found.gated) == (1, True)
    assert got(seen, dataclasses.replace(protocol, size=1)) == 0  # beyond the pool nothing is promised


def test_while_nobody_lifts_gates_a_free_slot_is_given() -> None:
    """Rather than none."""
    found = ask(view([held(0, "old"), free(1)], [LEAVING]), pool(), may_gate=False)
    assert isinstance(found, Claimed)
    assert (found.number, found.gated) == (1, False)


@pytest.mark.parametrize(("freed_s", "answer"), [(-44, 2), (-45, 1)], ids=["within its session", "after it"])
def test_of_free_slots_one_whose_member_may_be_parked_comes_first(freed_s: float, answer: int) -> None:
    """Its holder was gone before the successor was created; who has the id now gets the partitions at once."""
    freed = Slot(2, "v2", SlotRecord(since=at(freed_s), former="old"))
    assert got(view([held(0, "a"), free(1), freed], [pod("a", 0)]), pool(3)) == answer


def test_of_two_slots_whose_members_may_be_parked_the_one_that_was_left_last_comes_first() -> None:
    """Sessions may be shorter than is known: a scale-in after a rollout leaves one that is over and one that is not."""
    slots = [Slot(number, "v", SlotRecord(since=at(ago), former="old")) for number, ago in ((0, -30), (1, -1), (2, -2))]
    assert got(view(slots), pool(3)) == 1


def test_a_slot_whose_holder_is_over_comes_before_one_that_is_long_free() -> None:
    """Before anybody has settled it."""
    seen = view([free(0), held(1, "old")], [pod("old", 1, gone=True)])
    assert got(seen, pool()) == 1


def test_who_should_end_first_is_promised_first() -> None:
    """The new pod waits less."""
    pods = [pod("a", 0, deleted_s=-1), pod("b", 1, deleted_s=-9)]
    found = ask(view([held(0, "a"), held(1, "b")], pods), pool())
    assert isinstance(found, Claimed)
    assert (found.number, found.gated) == (1, True)


def test_a_slot_is_promised_to_one_pod_only() -> None:
    """Seen or not."""
    waiting = pod("other", 0, gated=True)
    slot = held(0, "old", promised="other")
    assert got(view([slot], [LEAVING, waiting]), pool(1)) is SlotRefusal.ALL_HELD
    assert got(view([slot], [LEAVING]), pool(1)) is SlotRefusal.ALL_HELD  # it may still come


@pytest.mark.parametrize(
    ("pods", "as_of_s"),
    [([pod("other", 0, gated=True, gone=True)], 0), ([pod("other", 1)], 0), ([], 75)],
    ids=["gone", "has another slot", "never came"],
)
def test_a_promise_nobody_can_take_up_is_given_anew(pods: list[SlotPod], as_of_s: float) -> None:
    """In one write: a second rollout deletes the pods of the first while they wait."""
    found = ask(view([held(0, "old", promised="other")], [LEAVING, *pods], as_of_s=as_of_s), pool(1))
    assert isinstance(found, Claimed)
    assert found.gated
    assert found.write is not None
    assert found.write.record.promise == Promise("new", at(0))


@pytest.mark.parametrize(
    ("grace_s", "gone_s", "answer"),
    [(30, 39, True), (30, 40, False), (600, 129, True), (600, 130, False)],
    ids=["within its grace", "beyond it", "within a long grace", "too long a grace"],
)
def test_nothing_is_promised_of_a_pod_that_does_not_go(grace_s: float, gone_s: float, *, answer: bool) -> None:
    """So the successor of a pod that was replaced for it is not made to wait again."""
    found = ask(view([held(0, "old")], [pod("old", 0, deleted_s=-gone_s, grace_s=grace_s)]), pool(1))
    assert isinstance(found, Claimed) is answer


def test_nothing_is_promised_while_nobody_lifts_gates() -> None:
    """The pod starts as a dynamic member."""
    assert ask(view([held(0, "old")], [LEAVING]), pool(1), may_gate=False) == Refused(SlotRefusal.GATES_OFF)


def test_nothing_is_promised_where_a_second_pod_has_the_id() -> None:
    """It will have the slot when the first is gone."""
    assert got(view([held(0, "old")], [LEAVING, pod("second", 0)]), pool(1)) is SlotRefusal.ALL_HELD
