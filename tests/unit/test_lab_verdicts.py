"""What `check` says of settings, against what real consumers did with them."""

import pytest

from heartbeat_tuner.clients import catalogue
from sandbox.request_log import UNKNOWN_MEMBER_ID, Heartbeat, JoinGroup, Record
from tests.lab import verdicts
from tests.lab.verdicts import Found, Verdict

FOUND = verdicts.load()
GROUP = "group"
MEASURED = {name for name, card in catalogue.CLIENTS.items() if card.measured is not None}
"""All but those whose card itself says that nobody measured them: no such consumer can be built here."""


@pytest.mark.parametrize("found", FOUND, ids=[f"{item.trial.client}, {item.trial.name}" for item in FOUND])
def test_check_says_what_a_consumer_did(found: Found) -> None:
    """Errors where it was removed again and again, or did not start; none where it held."""
    assert found.trial.said() is found.verdict, found.trial.checked()


def test_each_library_was_tried_with_settings_that_hold_and_with_bad_ones() -> None:
    """A rule that nobody tried may be wrong; what is at the broker is tried as of `java` and `streams`, too."""
    assert len(FOUND) >= 60
    assert {item.trial.client for item in FOUND} == MEASURED
    for client in [name for name in MEASURED if not catalogue.CLIENTS[name].protocols[0].is_at_broker]:
        seen = {item.verdict for item in FOUND if item.trial.client == client}
        assert Verdict.HOLDS in seen, client
        assert len(seen) > 1, client


def test_all_that_was_found_is_still_tried() -> None:
    """What the file has of settings that nobody tries any more, nobody would measure again."""
    planned = {(trial.client, trial.text, trial.protocol) for trial in verdicts.TRIALS}
    assert {(item.trial.client, item.trial.text, item.trial.protocol) for item in FOUND} <= planned
    assert {trial.client for trial in verdicts.TRIALS} == MEASURED


def joined(at_s: float, generation: int) -> JoinGroup:
    """Return an accepted join."""
    return JoinGroup(at_s, at_s, GROUP, GROUP, f"member-{generation}", generation, 0)


def beat(at_s: float, generation: int = 1, error_code: int = 0) -> Heartbeat:
    """Return a heartbeat; generation 0 joins a group of the consumer protocol."""
    return Heartbeat(at_s, GROUP, GROUP, f"member-{generation}", generation, error_code)


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ([joined(1, 1), beat(2), beat(3)], Verdict.HOLDS),
        ([joined(1, 1), beat(6, error_code=UNKNOWN_MEMBER_ID), joined(6.1, 2)], Verdict.STORM),
        ([joined(1, 1), beat(6, error_code=UNKNOWN_MEMBER_ID)], Verdict.STORM),
        ([joined(1, 1), joined(1.3, 2), beat(2, 2), beat(3, 2)], Verdict.HOLDS),
        ([joined(1, 1), beat(2), joined(5, 2)], Verdict.STORM),
        ([beat(1, 0), beat(2), beat(3)], Verdict.HOLDS),
        ([beat(1, 0), beat(2), beat(6, 0)], Verdict.STORM),
        ([], Verdict.REFUSED),
        ([JoinGroup(1, 1, GROUP, GROUP, "", -1, 26)], Verdict.REFUSED),
    ],
)
def test_a_verdict_is_what_the_coordinator_saw(records: list[Record], verdict: Verdict) -> None:
    """In groups of both protocols."""
    assert verdicts.see(records, GROUP, 0, 10).verdict is verdict


def test_the_period_is_of_beats_and_not_of_joins() -> None:
    """In the consumer protocol both are one request."""
    seen = verdicts.see([beat(1, 0), beat(6), beat(7), beat(9)], GROUP, 0, 10)
    assert (seen.joins, seen.beats, seen.median_s, seen.max_s) == (1, 3, 1.5, 2)
