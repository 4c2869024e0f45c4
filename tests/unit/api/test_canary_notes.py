"""Canaries in a status, and the tickets of their pods."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import canary_notes, parsing
from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.slot_names import Owner
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase, CanaryRules, Outcome, PromisedRate
from tests.support import manifests, worlds
from tests.support.worlds import NOW

CANARY = Canary(
    since=NOW,
    until=NOW + timedelta(days=1),
    values=worlds.settings("20s"),
    previous=worlds.settings("30s"),
    entries={"KAFKA_SESSION_TIMEOUT_MS": "20000"},
    pods=2,
    workload_uid="workload-1",
    template="t",
    spec="s",
    ticket=2,
)
FULL = dataclasses.replace(
    CANARY,
    phase=CanaryPhase.FAILED,
    message="pods crash",
    outcome=Outcome.ROLLOUT_FAILED,
    replaced="uid-1",
    replaced_at=NOW + timedelta(minutes=1),
    landed=NOW + timedelta(minutes=2),
    exposed=timedelta(seconds=61),
    seen_until=NOW + timedelta(minutes=3),
    hits_s=(NOW.timestamp() + 100.0,),
    others_s=(NOW.timestamp() + 200.0, NOW.timestamp() + 2_000.0),
    again=NOW + timedelta(days=2),
    promise=PromisedRate(0.5, is_trade=True),
)


@pytest.mark.parametrize("canary", [CANARY, FULL], ids=["at first", "with all"])
def test_what_is_noted_is_read_again(canary: Canary) -> None:
    """A new leader goes on by it."""
    assert canary_notes.canary_of(canary_notes.canary_status(canary)) == canary


@pytest.mark.parametrize(
    "changes",
    [
        {"hits": "1 x"},
        {"others": "-5"},
        {"since": "0001-01-01T00:00:00Z"},
        {"again": "9999-12-31T00:00:00Z"},
    ],
)
def test_what_cannot_be_ours_is_no_canary(changes: dict[str, str]) -> None:
    """Somebody may edit a status."""
    noted = canary_notes.canary_status(FULL).model_copy(update=changes)
    assert canary_notes.canary_of(noted) is None


def test_it_outlives_a_word_of_another_version() -> None:
    """The rest of the status may be unreadable: what holds back writes is read alone."""
    noted = canary_notes.canary_status(CANARY).model_dump(mode="json", by_alias=True, exclude_none=True)
    body = manifests.policy(status={"verdict": "NeverHeardOf", "canary": noted})
    assert parsing.policy_of(body).canary == CANARY


@given(
    old=st.tuples(st.integers(0, 10**9), st.integers(0, 99)), new=st.tuples(st.integers(0, 10**9), st.integers(1, 99))
)
def test_tickets_are_taken_in_their_order(old: tuple[int, int], new: tuple[int, int]) -> None:
    """By the canary first, then by number."""
    ticket = CanaryTicket(Owner("orders", "u"), ObjectKey("shop", "l"), *new)
    assert ticket.is_newer_than(f"{old[0]}/{old[1]}") is (new > old)


@pytest.mark.parametrize("text", ["", "1", "1/", "/1", "x/1", "1/2/3", "1/-2", "9" * 11 + "/1", "٣/1"])
def test_what_is_no_ticket_is_not_compared(text: str) -> None:
    """A Lease that somebody edited gives nothing away."""
    ticket = canary_notes.ticket_of(CANARY, Owner("orders", "0123456789"), ObjectKey("shop", "orders-consumer"))
    assert ticket.is_newer_than(text) is None


def test_a_tickets_lease_stands_beside_those_of_slots() -> None:
    """Under a name that no slot of the policy has, and of a length that a Lease can have."""
    ticket = canary_notes.ticket_of(CANARY, Owner("orders", "0123456789"), ObjectKey("shop", "o" * 253))
    assert ticket.lease.name == f"{'o' * 193}.canary-01234567-0"
    assert ticket.text == f"{int(NOW.timestamp())}/2"


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ({}, CanaryRules(0.25, timedelta(hours=1))),
        ({"canary": {"share": "0%"}}, CanaryRules(0.0, timedelta(hours=1))),
        ({"canary": {"share": "50%", "duration": "10s"}}, CanaryRules(0.5, timedelta(seconds=10))),
    ],
)
def test_a_policy_says_how_values_are_tried(spec: dict[str, object], rules: CanaryRules) -> None:
    """A quarter of the pods for an hour, unless it says otherwise."""
    assert parsing.policy_of(manifests.policy(spec={"rollout": spec})).canary_rules == rules


@pytest.mark.parametrize(
    ("canary", "sentence"),
    [
        ({"share": "51%"}, "spec.rollout.canary.share: must be a whole share"),
        ({"share": "25"}, "spec.rollout.canary.share: must be a whole share"),
        ({"share": "٢٥%"}, "spec.rollout.canary.share: must be a whole share"),
        ({"duration": "9s"}, "spec.rollout.canary.duration: duration must be 10s to 12h"),
        ({"duration": "13h"}, "spec.rollout.canary.duration: duration must be 10s to 12h"),
    ],
)
def test_what_cannot_be_tried_is_refused(canary: dict[str, str], sentence: str) -> None:
    """With the field, the value and the rule."""
    with pytest.raises(InvalidPolicyError, match=sentence):
        parsing.policy_of(manifests.policy(spec={"rollout": {"canary": canary}}))


@pytest.mark.parametrize(
    ("share", "wanted", "pods"), [(0.25, 8, 2), (0.25, 4, 1), (0.25, 3, 0), (0.0, 8, 0), (0.01, 8, 1), (0.5, 5, 2)]
)
def test_a_share_is_of_pods(share: float, wanted: int, pods: int) -> None:
    """One at least, and none of fewer than four."""
    assert CanaryRules(share).pods(wanted) == pods
