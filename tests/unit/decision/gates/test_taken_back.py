"""What somebody took back, by what stands in the workload."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.policies import Application, Intent, Policy, TakenBack
from heartbeat_tuner.domain.verifications import MOST_FAILED, FailedValues, Outcome
from tests.support import worlds
from tests.support.worlds import NOW

CURED = worlds.settings("30s", "1s", "1s")
ENTRIES = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}
LATER = NOW + timedelta(minutes=1)
SESSION = "KAFKA_SESSION_TIMEOUT_MS"


def application(**changes: Any) -> Application:
    """Return our last write."""
    made = Application(CURED, worlds.STORM, NOW, "workload-1", "app", ENTRIES)
    return dataclasses.replace(made, **changes)


NEWER = application(at=LATER, entries={SESSION: "45000"})


def policy(**changes: Any) -> Policy:
    """Return a policy that was looked at under its present spec, and has written."""
    return worlds.policy(**{"application": application(), "observed_generation": 1, **changes})


def held(standing: dict[str, str | None] | None, **changes: Any) -> Holdings:
    """Return a look at the workload."""
    made = Holdings({}, {}, {}, standing, {}, {}, "workload-1", 5)
    return dataclasses.replace(made, **changes)


def seen(policy: Policy, look: Holdings) -> Policy:
    """Return what is known of the policy after a look."""
    return taken_back.seen(policy, look, now=LATER)


@pytest.mark.parametrize(
    "standing",
    [
        {},
        {**ENTRIES, SESSION: "31000"},
        {**ENTRIES, SESSION: None},
        {name: text for name, text in ENTRIES.items() if name != SESSION},
    ],
)
def test_what_stands_otherwise_or_not_at_all_was_taken_back(standing: dict[str, str | None]) -> None:
    """One entry is enough: who undoes part of a change does not want the rest of it again."""
    found = seen(policy(), held(standing))
    assert found.taken_back == TakenBack(application(), LATER, generation=1)
    assert found.forbidden == found.taken_back


def test_who_has_the_value_now_is_named() -> None:
    """It is whom to talk to."""
    found = seen(policy(), held({**ENTRIES, SESSION: "6000"}, values_of={SESSION: "flux"}))
    assert found.taken_back is not None
    assert found.taken_back.by == "flux"
    assert "were taken back by flux, seen at" in taken_back.finding(found, found.taken_back).message
    nobody = dataclasses.replace(found.taken_back, by="")
    assert "were taken back, seen at" in taken_back.finding(found, nobody).message


@pytest.mark.parametrize(
    ("policy", "look"),
    [
        (policy(), held({**ENTRIES, "OTHER": "1"})),
        (policy(application=None), held({})),
        (policy(), held({}, uid="workload-2")),
        (policy(application=application(container="old")), held({})),
        (policy(), held(None)),
        (policy(), held({SESSION: "45000"}, applications={"app": NEWER})),
    ],
    ids=["as-written", "never-wrote", "another-object", "another-container", "no-container", "written-again"],
)
def test_what_is_no_take_back(policy: Policy, look: Holdings) -> None:
    """Our values stand, or what is looked at was never written."""
    assert seen(policy, look).taken_back is None


def test_a_note_outlives_the_workloads_own() -> None:
    """A rollback takes the annotation away, or brings an older one: the status has the newest."""
    older = application(at=NOW - timedelta(hours=1), entries={SESSION: "20000"})
    found = seen(policy(), held({SESSION: "20000"}, applications={"app": older}))
    assert found.taken_back == TakenBack(application(), LATER, generation=1)


def test_a_veto_lasts_until_the_policy_is_edited_whatever_stands_there() -> None:
    """Who puts the values back by hand has not said that others may be written."""
    noted = TakenBack(application(), NOW, generation=1)
    taken_out: dict[str, str | None] = {}
    put_back: dict[str, str | None] = dict(ENTRIES)
    for standing in (taken_out, put_back):
        found = seen(policy(taken_back=noted), held(standing))
        assert (found.taken_back, found.forbidden) == (noted, noted)


def test_a_veto_is_of_what_was_asked_for_whatever_the_generation() -> None:
    """To suspend a policy and resume it, or to edit a cooldown, is no wish for the same values."""
    found = seen(policy(spec="asked"), held({}))
    assert found.taken_back == TakenBack(application(), LATER, generation=1, spec="asked")
    for other in (found, dataclasses.replace(found, generation=3)):
        assert seen(other, held({})).forbidden == found.taken_back
    edited = dataclasses.replace(found, spec="something else", generation=4)
    assert seen(edited, held({})).forbidden is None


def test_an_older_versions_veto_is_of_its_generation() -> None:
    """It noted nothing else."""
    noted = TakenBack(application(), NOW, generation=2)
    assert policy(taken_back=noted, spec="asked", generation=2).forbidden == noted
    assert policy(taken_back=noted, spec="asked", generation=3).forbidden is None


def test_a_new_policy_that_asks_for_something_is_not_bound_either() -> None:
    """As below, by what it asks for: a fingerprint of its own must not become the veto."""
    new = policy(application=None, observed_generation=None, spec="asked")
    found = seen(new, held({}, applications={"app": application()}))
    assert found.taken_back is not None
    assert found.forbidden is None
    assert seen(dataclasses.replace(found, observed_generation=1), held({})).forbidden is None


def test_an_edited_policy_is_free_and_does_not_take_the_same_for_a_new_one() -> None:
    """What was taken back then is over and done with; what is written next counts again."""
    noted = TakenBack(application(), NOW, generation=1)
    edited = policy(taken_back=noted, generation=2)
    found = seen(edited, held({}))
    assert (found.taken_back, found.forbidden) == (noted, None)
    again = application(at=LATER)
    stands = seen(edited, held(dict(ENTRIES), applications={"app": again}))
    assert (stands.application, stands.taken_back) == (again, None)
    gone = seen(dataclasses.replace(edited, application=again), held({}))
    assert gone.forbidden == TakenBack(again, LATER, generation=2)


def test_a_new_policy_is_not_bound_by_what_was_taken_back_before_it() -> None:
    """It knows of the write by the workload's note alone; whoever made the policy asks for values."""
    found = seen(policy(application=None, observed_generation=None), held({}, applications={"app": application()}))
    assert found.taken_back == TakenBack(application(), LATER, generation=0)
    assert found.forbidden is None
    assert seen(dataclasses.replace(found, observed_generation=1), held({})).forbidden is None


def test_a_policy_that_only_announced_a_write_is_not_new() -> None:
    """Its author died before the first status: the announcement is all that there is."""
    fresh = policy(application=None, observed_generation=None, intent=Intent(application(), 5))
    found = seen(fresh, held({}, revision=7, applications={"app": application()}))
    assert found.forbidden == TakenBack(application(), LATER, generation=1)


def test_an_older_versions_note_counts_by_what_it_changed() -> None:
    """It does not say which entries it left behind; those that changed it surely wrote."""
    old = application(entries={}, values=worlds.settings("30s", "333ms", "5s"))
    assert seen(policy(application=old), held({SESSION: "30000"})).taken_back is None
    assert seen(policy(application=old), held({})).forbidden is not None


@pytest.mark.parametrize(
    ("look", "done"),
    [
        (held({}, revision=5), None),
        (held({}, revision=6), False),
        (held({}, revision=7), True),
        (held(dict(ENTRIES), revision=6), True),
        (held({}, revision=6, applications={"app": application(at=NOW)}), True),
        (held({}, revision=9, template_at=NOW - timedelta(minutes=6)), False),
        (held({}, revision=9, template_at=NOW - timedelta(minutes=4)), True),
        (held({}, revision=5, template_at=NOW - timedelta(minutes=6)), None),
        (held({}, revision=7, uid="workload-2"), False),
        (held(None, revision=7), None),
        (held({}, revision=None), None),
    ],
    ids=[
        "not-yet",
        "somebody-elses",
        "done-and-rolled-back",
        "stands",
        "noted",
        "scaled-since",
        "scaled-since-and-clocks-may-differ",
        "under-way",
        "another-object",
        "no-container",
        "not-seen-by-its-controller",
    ],
)
def test_a_write_that_was_about_to_be_done(look: Holdings, done: bool | None) -> None:  # noqa: FBT001 - a table's column
    """Its author died, or was not answered: what is left says whether it was done, or that nobody knows yet."""
    intent = Intent(application(), 5)
    found = seen(policy(application=None, intent=intent), look)
    assert found.intent == (intent if done is None else None)
    assert (found.application is not None) == bool(done)
    if done and not look.standing:
        assert found.forbidden is not None


@given(
    standing=st.dictionaries(st.sampled_from([*ENTRIES, "OTHER"]), st.sampled_from(["1000", "30000", "31000", None])),
    generation=st.integers(1, 3),
    noted=st.none() | st.integers(1, 3),
)
def test_values_that_do_not_stand_are_never_free_under_the_same_spec(
    standing: dict[str, str | None], generation: int, noted: int | None
) -> None:
    """Whatever was noted before: either all of our last write stands, or it is known as taken back."""
    before = None if noted is None else TakenBack(application(), NOW, noted)
    found = seen(policy(generation=generation, taken_back=before), held(standing))
    stands = all(standing.get(name) == text for name, text in ENTRIES.items())
    assert stands or found.taken_back is not None
    assert stands or found.forbidden is not None or (noted is not None and noted != generation)


def test_a_write_before_the_policy_is_no_veto_for_it() -> None:
    """An earlier policy's note may stand, and the new one's first write be announced and refused."""
    old = application()
    made = policy(application=None, created=LATER, observed_generation=None, intent=Intent(NEWER, 5))
    taken_out: dict[str, str | None] = {}
    found = seen(made, held(taken_out, applications={"app": old}))
    assert found.forbidden is None


def test_notes_of_times_to_come_do_not_push_out_what_failed() -> None:
    """Who may edit the workload may forge them: the values that crash would be tried in each of its canaries."""
    real = FailedValues(CURED, worlds.STORM, NOW, Outcome.ROLLOUT_FAILED, "exit code 7", "spec")
    forged = tuple(dataclasses.replace(real, at=LATER + timedelta(days=days + 1)) for days in range(MOST_FAILED))
    noted = dataclasses.replace(real, at=NOW - timedelta(days=1))
    look = held(dict(ENTRIES), failed={"app": (noted, *forged)})
    assert seen(policy(failed=(real,)), look).failed == (noted, real)
    assert seen(policy(application=application(failed=forged), failed=(real,)), held(dict(ENTRIES))).failed == (real,)
