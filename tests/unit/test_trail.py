"""What the random schedules conclude from the audit log."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.api.applied import ANNOTATION
from sandbox.audit import Write
from tests.schedules.schedule import PLAYED_ALWAYS, Act, drawn, kinds
from tests.schedules.trail import Trail

A, B, CONTROLLER = "operator-a", "operator-b", "deployment-controller"
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def write(at_s: float, user: str, resource: str = "deployments", **fields: Any) -> Write:
    """Return a write at a time; `asked` and `stored` are versions, `holder` is a lease's."""
    subresource = "status" if resource == "consumergrouppolicies" else ""
    sent: dict[str, Any] = {"metadata": {"uid": "u", "resourceVersion": fields.get("asked", "")}}
    if resource == "leases":
        sent = {"spec": {"holderIdentity": fields.get("holder", f"{user}-1")}}
    return Write(
        user=user,
        verb="patch",
        resource=resource,
        subresource=subresource,
        namespace="red",
        name=fields.get("name", "red-000"),
        time=BEGAN + timedelta(seconds=at_s),
        code=fields.get("code", 200),
        user_agent="",
        sent=sent,
        stored={
            "metadata": {
                "uid": fields.get("uid", "u"),
                "resourceVersion": fields.get("stored", ""),
                "annotations": {ANNOTATION: fields.get("note", "")},
            }
        },
    )


def test_a_write_needs_the_lease_of_its_moment() -> None:
    """After another's claim, and after one's own release, nothing may be written; what was refused is no write."""
    late = write(3, A, asked="1", stored="4")
    released = write(6, B, "consumergrouppolicies")
    trail = Trail.of(
        A,
        [
            released,
            late,
            write(1, A, asked="1", stored="2"),
            write(2, B, "leases"),
            write(3.5, A, code=409),
            write(3.6, A, "events"),
            write(4, B, asked="2", stored="5"),
            write(5, B, "leases", holder=""),
        ],
    )
    assert trail.without_lease() == [late, released]
    assert trail.late_events() == 1
    assert trail.last_holder == ""
    assert trail.refused() == 1


def test_leadership_changes_are_counted_by_identity() -> None:
    """A replica that was killed and leads again is another one; a release is no change by itself."""
    claims = [
        write(1, A, "leases"),
        write(2, A, "leases"),
        write(3, A, "leases", holder="operator-a-2"),
        write(4, A, "leases", holder=""),
        write(5, B, "leases"),
    ]
    trail = Trail.of(A, claims)
    assert trail.changes() == 2
    assert trail.claimed_since(A, BEGAN + timedelta(seconds=3.5))
    assert not trail.claimed_since(A, BEGAN + timedelta(seconds=4.5))


@pytest.mark.parametrize("resource", ["deployments", "consumergrouppolicies"])
def test_a_write_rests_on_the_newest_version(resource: str) -> None:
    """One that skips a version, names none, or names another object is stale; new objects rest on none."""
    fresh = write(1, A, resource, asked="10", stored="11")
    skips = write(3, A, resource, asked="11", stored="13")
    naive = write(4, A, resource, stored="14")
    foreign = write(5, A, resource, asked="14", stored="15", uid="another")
    others = [write(2, CONTROLLER, resource, stored="12"), write(6, CONTROLLER, resource, name="red-001", stored="10")]
    trail = Trail.of(A, [fresh, skips, naive, foreign, *others, write(7, A, "events", stored="16")])
    assert trail.stale() == [skips, naive, foreign]


def test_applies_are_counted_by_deployment() -> None:
    """Only the replicas' own ones that were not refused."""
    trail = Trail.of(
        A,
        [
            write(1, A),
            write(2, B),
            write(3, A, code=409),
            write(4, CONTROLLER),
            write(5, A, "consumergrouppolicies"),
            write(6, A, name="red-001"),
        ],
    )
    assert trail.applies() == {("red", "red-000"): 2, ("red", "red-001"): 1}
    assert trail.applied_between() == (BEGAN + timedelta(seconds=1), BEGAN + timedelta(seconds=6))


def test_an_apply_without_an_answer_shows_in_the_note_that_the_next_version_bears() -> None:
    """Of two that were lost one was done; one that was done twice has left two notes."""
    lost = write(1, A, code=504, asked="1")
    lost_again = write(2, A, code=504)
    trail = Trail.of(A, [lost, lost_again, write(3, CONTROLLER, stored="3", note="first")])
    assert trail.applies() == {("red", "red-000"): 1}
    assert trail.unanswered() == 2
    assert trail.stale() == [lost_again]
    twice = Trail.of(A, [*trail.writes, write(4, B, asked="3", stored="4", note="second")])
    assert twice.applies() == {("red", "red-000"): 2}


def test_what_may_have_been_written_needs_the_lease_too() -> None:
    """A lost answer is no excuse; a claim whose answer was lost gives no right."""
    lost = write(3, B, code=504)
    assert Trail.of(A, [write(1, B, "leases", code=504), lost]).without_lease() == [lost]


def test_what_cannot_have_been_written_needs_no_lease() -> None:
    """Without an answer, and another's was done on the same version, or had replaced that version before it came."""
    claim = write(1, B, "leases")
    lost = write(3, A, code=504, asked="10")
    after, before = write(4, B, asked="10", stored="11"), write(2, CONTROLLER, stored="11")
    for proof in (after, before):
        trail = Trail.of(A, [claim, lost, proof])
        assert trail.without_lease() == []
        assert trail.lost_on_the_way() == 1
    no_proofs = [
        write(4, B, asked="11", stored="12"),
        write(4, CONTROLLER, stored="11"),
        write(4, B, asked="10", code=409),
        write(2, CONTROLLER, name="red-001", stored="11"),
    ]
    assert Trail.of(A, [claim, lost, *no_proofs]).without_lease() == [lost]
    done = write(3, A, asked="10", stored="11")
    report = Trail.of(A, [claim, done, after])
    assert report.without_lease() == [done]
    assert report.account().splitlines() == [
        "12:00:01 operator-b 200 patch leases red-000 operator-b-1",
        "12:00:03 operator-a 200 patch deployments red-000",
    ]


def test_a_pause_of_who_writes_all_the_time_is_the_longest() -> None:
    """Of that writer, to Deployments."""
    notes = [write(at_s, CONTROLLER) for at_s in (1.0, 1.25, 2.0, 2.25)]
    trail = Trail.of(A, [*notes, write(1.5, A), write(9, CONTROLLER, "leases")])
    assert trail.longest_pause_s(CONTROLLER) == 0.75
    assert trail.longest_pause_s(A) == 0.0


def test_a_seed_is_one_schedule() -> None:
    """The same each time, in the order of time; fifty of them differ, and leave no act out."""
    for seed in range(1, 51):
        events = drawn(seed)
        assert events == drawn(seed)
        assert 4 <= len(events) <= 8
        assert [event.at_s for event in events] == sorted(event.at_s for event in events)
    assert len({drawn(seed) for seed in range(1, 51)}) == 50
    assert {event.act for seed in range(1, 51) for event in drawn(seed)} == set(Act)


def test_the_few_schedules_of_every_run_try_what_a_dozen_try() -> None:
    """Else CI is quicker because it looks at less."""
    dozen = frozenset().union(*(kinds(drawn(seed)) for seed in range(1, 13)))
    few = frozenset().union(*(kinds(drawn(seed)) for seed in PLAYED_ALWAYS))
    assert dozen <= few
    assert len(dozen) == 39
