"""What the schedules that disturb everybody at once are, and what they conclude from the audit log beside the rest."""

import dataclasses
import json
from datetime import timedelta
from typing import Any

from sandbox.audit import Write
from tests.schedules.at_once import SEEDS, Beside, Deed, drawn_at_once, persons_alone
from tests.schedules.results import added, seeds_left
from tests.schedules.schedule import Act, Event
from tests.schedules.trail import Trail
from tests.unit.test_trail import BEGAN, A, write

PERSONS = {Deed.PAUSE, Deed.RESUME, Deed.REVERT}


def workload(at_s: float, *entries: dict[str, Any], user: str = A) -> Write:
    """Return a write of a Deployment with so many entries in the environment of its container."""
    spec = {"template": {"spec": {"containers": [{"name": "app", "env": list(entries)}]}}}
    made = write(at_s, user)
    return dataclasses.replace(made, stored={**made.stored, "spec": spec})


def status(at_s: float, session: str = "", applied: str = "True") -> Write:
    """Return a write of a status that calls a session applied, or not; without one, that no entry is left."""
    made = write(at_s, A, "consumergrouppolicies")
    return dataclasses.replace(
        made,
        stored={
            **made.stored,
            "spec": {"workloadRef": {"name": "red-000"}},
            "status": {
                "applied": {"entries": {"KAFKA_SESSION_TIMEOUT_MS": session} if session else {}},
                "conditions": [{"type": "Applied", "status": applied}],
            },
        },
    )


def session_entry(value: str) -> dict[str, Any]:
    """Return the entry of a session."""
    return {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": value}


def test_a_seed_is_one_schedule_at_once() -> None:
    """The same each time, in the order of time; each outage ends, and persons do the same in each."""
    for seed in SEEDS:
        events = drawn_at_once(seed)
        assert events == drawn_at_once(seed)
        assert [event.at_s for event in events] == sorted(event.at_s for event in events)
        deeds = [event.deed for event in events if isinstance(event, Beside)]
        assert sorted((deed for deed in deeds if deed in PERSONS), key=str) == sorted(PERSONS, key=str)
        for outage in ("PROMETHEUS", "BROKER"):
            assert deeds.count(Deed[f"{outage}_CUT"]) == deeds.count(Deed[f"{outage}_BACK"])
        assert deeds.index(Deed.PAUSE) < deeds.index(Deed.RESUME)
    assert {event.deed for event in persons_alone()} == PERSONS


def test_two_hundred_schedules_leave_nothing_out() -> None:
    """A deed or an act that no seed draws would be proven by nobody."""
    events = [event for seed in SEEDS for event in drawn_at_once(seed)]
    assert len(SEEDS) == 200
    assert {event.deed for event in events if isinstance(event, Beside)} == set(Deed)
    assert {event.act for event in events if isinstance(event, Event)} == set(Act)


def test_an_entry_without_a_value_is_seen() -> None:
    """Whatever else the container has; an entry that takes its value from elsewhere has one."""
    empty = workload(1, session_entry("31000"), {"name": "KAFKA_MAX_WAIT_TIME_MS", "value": ""})
    bare = workload(2, {"name": "KAFKA_MAX_WAIT_TIME_MS"})
    good = workload(3, session_entry("31000"), {"name": "SECRET", "valueFrom": {"secretKeyRef": {}}})
    assert Trail.of(A, [empty, bare, good]).empty_entries() == [empty, bare]


def test_applied_is_true_only_of_what_a_workload_has() -> None:
    """Or had a moment before: what a status rests on was read before it was written."""
    applied, reverted = workload(1, session_entry("31000")), workload(10, user="person")
    soon, late = status(11, "31000"), status(20, "31000")
    other, modest = status(5, "32000"), status(20, "31000", applied="False")
    trail = Trail.of(A, [applied, reverted, status(2, "31000"), soon, late, other, modest])
    assert trail.untrue(within_s=3) == [other, late]
    assert trail.untrue(within_s=0.5) == [other, soon, late]
    never = status(1, "31000")
    assert Trail.of(A, [never]).untrue(within_s=3) == [never]
    assert BEGAN + timedelta(seconds=1) == never.time


def test_after_a_revert_a_workload_may_have_no_entry() -> None:
    """Values of a ConfigMap are then called applied; while an entry is left they are not."""
    applied, reverted = workload(1, session_entry("31000")), workload(10)
    early, right = status(5), status(20)
    assert Trail.of(A, [applied, early, reverted, right]).untrue(within_s=3) == [early]


def test_a_campaign_goes_on_with_the_seeds_that_are_left() -> None:
    """One that did harm is played again; of another operator nothing counts, and a whole campaign is begun again."""
    text = added("", "this", {"seed": 1003, "ok": True})
    text = added(text, "this", {"seed": 1001, "ok": False})
    assert json.loads(text)["failed"] == [1001]
    assert seeds_left("", "this") == list(SEEDS)
    assert seeds_left(text, "this") == [seed for seed in SEEDS if seed != 1003]
    assert seeds_left(text, "other") == list(SEEDS)
    assert seeds_left(added("", "this+", {"seed": 1003, "ok": True}), "this+") == list(SEEDS)
    for seed in SEEDS:
        text = added(text, "this", {"seed": seed, "ok": True})
    result = json.loads(text)
    assert (result["played"], result["of"], result["failed"]) == (200, 200, [])
    assert seeds_left(text, "this") == list(SEEDS)
