"""Who owns a namespace that several installations of the operator look after."""

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import Installation
from heartbeat_tuner.ports.other_installations import InstallationLease
from heartbeat_tuner.reconcile.installations.namespace_owners import (
    ABANDONED_AFTER,
    MOST_PER_NAMESPACE,
    LeaseLook,
    OtherOwner,
    StatusClaim,
    UnreadableLease,
    Why,
    by_namespace,
    others_to_read,
    owners,
)
from tests.support import worlds

MINE: Final = Installation("tuner/mine", names_namespaces=False)
OTHER: Final = Installation("tuner/other", names_namespaces=False)
NAMING_OTHER: Final = Installation("tuner/other", names_namespaces=True)
NAMING: Final = Installation("tuner/mine", names_namespaces=True)
DURATION: Final = timedelta(seconds=15)
LONG_AGO: Final = DURATION + ABANDONED_AFTER + timedelta(seconds=1)
REFUSED: Final = UnreadableLease("the API server refused it")


def lease(*namespaces: str, ago: timedelta = timedelta(seconds=2)) -> InstallationLease:
    """Return a Lease that was renewed a while ago, of an installation that names namespaces; of all without any."""
    return InstallationLease(namespaces or None, worlds.NOW - ago, DURATION)


def claim(installation: Installation, name: str, *, created: str = "1", namespace: str = "shop") -> StatusClaim:
    """Return what the status of a policy says."""
    return StatusClaim(ObjectKey(namespace, name), created, installation)


def owner(mine: Installation, claims: list[StatusClaim], look: LeaseLook) -> OtherOwner | None:
    """Return who else owns the namespace."""
    return owners(by_namespace(claims), mine, {OTHER.name: look}, now=worlds.NOW).get("shop")


@pytest.mark.parametrize(
    ("mine", "other", "look", "expected"),
    [
        (MINE, OTHER, lease(), OtherOwner(OTHER.name, Why.FIRST)),
        (MINE, OTHER, lease(ago=DURATION + ABANDONED_AFTER), OtherOwner(OTHER.name, Why.FIRST)),
        (MINE, OTHER, lease(ago=-LONG_AGO), OtherOwner(OTHER.name, Why.FIRST)),
        (MINE, OTHER, lease(ago=LONG_AGO), None),
        (MINE, OTHER, None, None),
        (MINE, OTHER, InstallationLease(None, None, DURATION), OtherOwner(OTHER.name, Why.FIRST)),
        (MINE, NAMING_OTHER, lease("shop"), OtherOwner(OTHER.name, Why.NAMED)),
        (MINE, NAMING_OTHER, lease("billing"), None),
        (MINE, OTHER, REFUSED, OtherOwner(OTHER.name, Why.UNREADABLE, REFUSED.problem)),
        (NAMING, OTHER, lease(), None),
        (NAMING, OTHER, REFUSED, None),
        (NAMING, NAMING_OTHER, lease("shop"), OtherOwner(OTHER.name, Why.FIRST)),
        (NAMING, NAMING_OTHER, REFUSED, OtherOwner(OTHER.name, Why.UNREADABLE, REFUSED.problem)),
        (NAMING, OTHER, lease("shop"), OtherOwner(OTHER.name, Why.FIRST)),
    ],
)
def test_another_owns_what_it_wrote_while_it_runs_and_looks_after_it(
    mine: Installation, other: Installation, look: LeaseLook, expected: OtherOwner | None
) -> None:
    """An upgrade outlasts its Lease for minutes; what its Lease says now counts more than what it wrote once."""
    assert owner(mine, [claim(other, "orders")], look) == expected


@pytest.mark.parametrize(("mine_created", "expected"), [("1", MINE), ("3", OTHER)])
def test_of_two_alike_the_one_on_the_oldest_policy_stays(mine_created: str, expected: Installation) -> None:
    """A race of two on a new namespace ends in the same way for both."""
    claims = [claim(OTHER, "orders", created="2"), claim(MINE, "payments", created=mine_created)]
    ours = owners(by_namespace(claims), MINE, {OTHER.name: lease()}, now=worlds.NOW)
    theirs = owners(by_namespace(claims), OTHER, {MINE.name: lease()}, now=worlds.NOW)
    assert [not ours, not theirs] == [expected == MINE, expected == OTHER]


def test_one_that_is_gone_hides_no_other_that_runs() -> None:
    """After an uninstall the next in line is the owner, not whoever looks first."""
    gone = Installation("tuner/gone", names_namespaces=True)
    claims = [claim(gone, "a", created="0"), claim(OTHER, "b", created="1"), claim(MINE, "c", created="2")]
    looks = {gone.name: None, OTHER.name: lease()}
    assert owners(by_namespace(claims), MINE, looks, now=worlds.NOW) == {"shop": OtherOwner(OTHER.name, Why.FIRST)}


def test_namespaces_are_owned_one_by_one() -> None:
    """What is claimed in one says nothing of another."""
    claims = by_namespace([claim(OTHER, "orders"), claim(MINE, "orders", namespace="billing")])
    assert set(owners(claims, MINE, {OTHER.name: lease()}, now=worlds.NOW)) == {"shop"}


def test_forged_claims_cost_few_looks_and_hide_no_owner() -> None:
    """Who may write statuses of one namespace names others in it at will; those in most namespaces are read first."""
    forged = [
        claim(Installation(f"t/{index}", names_namespaces=False), f"f{index}", namespace="evil") for index in range(50)
    ]
    claims = by_namespace([*forged, claim(OTHER, "a"), claim(OTHER, "b", namespace="billing"), claim(MINE, "c")])
    names = others_to_read(claims, MINE)
    assert names[0] == OTHER.name
    assert len(names) == 1 + MOST_PER_NAMESPACE
    assert MINE.name not in names
    unread = owners(claims, MINE, {OTHER.name: lease()}, now=worlds.NOW)["evil"]
    assert unread.why is Why.UNREADABLE


INSTALLATIONS: Final = [Installation(f"tuner/{number}", names_namespaces=number < 2) for number in range(4)]


@given(
    st.permutations(INSTALLATIONS),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.integers(min_value=1, max_value=4),
)
def test_all_that_run_name_the_same_owner(order: list[Installation], run: list[bool], count: int) -> None:
    """So two that see the same statuses and Leases never write the same ones, and one that runs always does."""
    there = order[:count]
    claims = by_namespace(claim(item, f"p{place}", created=str(place)) for place, item in enumerate(there))
    looks: dict[str, LeaseLook] = {
        item.name: lease(*(["shop"] if item.names_namespaces else []), ago=timedelta(0) if runs else LONG_AGO)
        for item, runs in zip(order, run, strict=True)
    }
    running = [item for item, runs in zip(order, run, strict=True) if runs and item in there]
    named = [
        found.name if (found := owners(claims, item, looks, now=worlds.NOW).get("shop")) is not None else item.name
        for item in running
    ]
    assert len(set(named)) == min(len(running), 1)
