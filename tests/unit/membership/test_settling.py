"""What is written into the Leases, apart from claims."""

import pytest

from heartbeat_tuner.membership.claiming import claim
from heartbeat_tuner.membership.settling import settle
from heartbeat_tuner.membership.values import Claimed, Promise, Remove, Slot, SlotPod, SlotPool, SlotRecord, View, Write
from tests.unit.membership.shapes import LONG_AGO_S, SESSION_S, at, edited, free, held, kip848, pod, pool, resting, view

KILLED = pod("old", 0, gone=True, exit_code=137)
WAITING = pod("next", 0, created_s=-10, gated=True)


def settled(seen: View, pool: SlotPool) -> list[Write | Remove]:
    """Return what is written now."""
    return list(settle(seen, pool, now=at(0)))


def record(seen: View, pool: SlotPool) -> SlotRecord:
    """Return the one record that is written, into slot 0."""
    [write] = settled(seen, pool)
    assert isinstance(write, Write)
    assert (write.number, write.version) == (0, "v0")
    return write.record


@pytest.mark.parametrize(
    ("slot", "pods"),
    [
        (held(0, "a"), [pod("a", 0)]),
        (held(0, "a"), [pod("a", 0, deleted_s=-1000)]),
        (held(0, "a", promised="next"), [pod("a", 0, deleted_s=-5), WAITING]),
        (held(0, "a", promised="next"), [pod("a", 0, deleted_s=-5)]),
        (held(0, "a", since_s=-10), []),
        (free(0), []),
        (resting(0, 1), []),
        (resting(0, 1, promised="next"), [WAITING]),
    ],
    ids=["held", "Terminating", "promised", "promised and not seen", "claimed", "free", "resting", "resting, promised"],
)
def test_what_is_settled_stays(slot: Slot, pods: list[SlotPod]) -> None:
    """Asking again costs no write."""
    assert settled(view([slot], pods), pool()) == []


def test_a_holder_that_is_gone_makes_room() -> None:
    """In a classic group for anybody, at once."""
    assert record(view([held(0, "old")], [KILLED]), pool()) == SlotRecord(since=at(0), former="old")


def test_a_claim_nobody_took_up_makes_room() -> None:
    """Its creation was refused, or was a dry run."""
    assert record(view([held(0, "old", since_s=-75)]), pool()) == SlotRecord(since=at(0), former="old")


def test_the_slot_goes_to_who_was_promised_it() -> None:
    """In one write: it is never free between."""
    expected = SlotRecord(since=at(0), holder="next", former="old")
    assert record(view([held(0, "old", promised="next")], [KILLED, WAITING]), pool()) == expected


def test_under_kip_848_the_slot_rests_first() -> None:
    """For the session, the last beats on their way and what clocks differ."""
    expected = SlotRecord(since=at(0), promise=Promise("next", at(0)), rests_until=at(55), former="old")
    assert record(view([held(0, "old", promised="next")], [KILLED, WAITING]), kip848()) == expected


def test_under_kip_848_it_does_not_rest_after_who_closed() -> None:
    """The id can be taken at once: measured."""
    closed = pod("old", 0, gone=True, exit_code=0)
    expected = SlotRecord(since=at(0), holder="next", former="old")
    assert record(view([held(0, "old", promised="next")], [closed, WAITING]), kip848()) == expected


def test_a_rested_slot_goes_to_who_was_promised_it() -> None:
    """Which is then let go."""
    expected = SlotRecord(since=at(0), holder="next", former="gone")
    assert record(view([resting(0, 0, promised="next")], [WAITING]), kip848()) == expected


def test_a_rested_slot_is_free() -> None:
    """For anybody, and since its holder was gone: by the end of a rest its session is over."""
    assert record(view([resting(0, 0)]), kip848()) == SlotRecord(since=at(-3600), former="gone")


def test_a_rest_ends_early_for_who_saw_the_holder_close() -> None:
    """A replica that did not see it had laid the slot to rest."""
    closed = pod("gone", 0, gone=True, exit_code=0)
    assert record(view([resting(0, 40)], [closed]), kip848()) == SlotRecord(since=at(-3600), former="gone")


@pytest.mark.parametrize(
    ("slot", "pods"),
    [(held(0, "old", promised="next"), [pod("old", 0)]), (resting(0, 40, promised="next"), [])],
    ids=["held", "resting"],
)
def test_a_promise_to_a_pod_that_is_gone_is_taken_back(slot: Slot, pods: list[SlotPod]) -> None:
    """Nothing else of the slot changes."""
    gone = pod("next", 0, gated=True, gone=True)
    found = record(view([slot], [*pods, gone]), kip848())
    assert slot.record is not None
    assert (found.promise, found.since) == (None, at(LONG_AGO_S))
    assert (found.holder, found.rests_until) == (slot.record.holder, slot.record.rests_until)


def test_free_slots_beyond_the_pool_are_given_up() -> None:
    """Held ones stay, and who rests may still be in the way."""
    slots = [free(0), held(1, "b"), free(2), resting(3, 1), free(4)]
    assert settled(view(slots, [pod("b", 1)]), pool(1)) == [Remove(2, "v2"), Remove(4, "v4")]


@pytest.mark.parametrize(("since_s", "stays"), [(-SESSION_S + 1, True), (-SESSION_S, False)])
def test_a_slot_beyond_the_pool_is_kept_while_partitions_are_parked_under_its_id(
    since_s: float, *, stays: bool
) -> None:
    """Who is scaled away and comes back within the session has them at once, by the same id."""
    seen = view([free(0), free(2, former="a", since_s=since_s)])
    assert settled(seen, pool(1)) == ([] if stays else [Remove(2, "v2")])
    again = claim("new", seen, pool(3), may_gate=True, now=at(0))
    assert isinstance(again, Claimed)
    assert again.number == (2 if stays else 0)


@pytest.mark.parametrize("protocol", [pool(), kip848()])
def test_an_edited_slot_rests(protocol: SlotPool) -> None:
    """A pod of it may be on its way."""
    assert record(view([edited(0)]), protocol) == SlotRecord(since=at(0), rests_until=at(75))


def test_an_edited_slot_of_a_long_session_rests_for_that() -> None:
    """And the holder nobody knows may have just been killed."""
    long = SlotPool(2, kip848().protocol, at(300) - at(0))
    assert record(view([edited(0)]), long).rests_until == at(310)


@pytest.mark.parametrize("slot", [edited(0), free(0), held(0, "old"), resting(0, 40)])
@pytest.mark.parametrize("protocol", [pool(), kip848()])
def test_a_slot_follows_the_pod_that_runs_with_its_id(slot: Slot, protocol: SlotPool) -> None:
    """What is in an env cannot be taken back."""
    seen = view([slot], [KILLED, pod("there", 0)])
    assert record(seen, protocol) == SlotRecord(since=at(0), holder="there")


def test_a_lease_that_was_deleted_is_made_anew_for_the_pod_that_runs() -> None:
    """The older one, if there are two."""
    seen = view([], [pod("a", 1, created_s=-5), pod("b", 1, created_s=-9), pod("c", 0, gated=True), pod("", 2)])
    assert settled(seen, pool()) == [Write(1, None, SlotRecord(since=at(0), holder="b"))]


def test_a_slot_does_not_follow_who_has_no_token_or_waits() -> None:
    """A pod with an id of its own is left alone; one that waits is replaced."""
    for stranger in (pod("", 0), pod("waiting", 0, gated=True)):
        assert settled(view([free(0)], [stranger]), pool()) == []


def test_an_old_view_does_not_give_a_slot_back_to_its_former_holder() -> None:
    """It would have to be freed again."""
    seen = view([free(0, former="old", since_s=-1)], [pod("old", 0)])
    assert settled(seen, pool()) == []
