"""Grants of groups to namespaces: names and beginnings, as in Kafka's ACLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain import grants
from heartbeat_tuner.domain.grants import Grant

NAMES = st.text("ab-.*(", max_size=4)


@pytest.mark.parametrize(
    ("pattern", "group_id", "covers"),
    [
        ("orders", "orders", True),
        ("orders", "orders-2", False),
        ("orders-*", "orders-2", True),
        ("orders-*", "orders-", True),
        ("orders-*", "orders", False),
        ("*", "anything", True),
        (".*", "orders", False),
        ("order.", "orders", False),
    ],
)
def test_a_pattern_is_a_name_or_a_beginning(pattern: str, group_id: str, *, covers: bool) -> None:
    """Nothing else in it has a meaning."""
    assert Grant(("shop",), (pattern,)).covers("shop", group_id) is covers


def test_namespaces_are_named_in_full_or_are_all() -> None:
    """The beginning of a name is none."""
    assert Grant(("*",), ("a",)).covers("shop", "a")
    assert not Grant(("sho", "shop-2", "sho*"), ("a",)).covers("shop", "a")


def test_grants_are_of_one_cluster() -> None:
    """Group ids of two clusters have nothing to do with each other."""
    given_ = {"main": (Grant(("bank",), ("*",)), Grant(("shop",), ("a",)))}
    assert grants.covered(given_, cluster="main", namespace="shop", group_id="a")
    assert not grants.covered(given_, cluster="main", namespace="shop", group_id="b")
    assert not grants.covered(given_, cluster="other", namespace="shop", group_id="a")


@given(patterns=st.lists(NAMES, max_size=3), group_id=NAMES)
def test_only_what_begins_so_is_covered(patterns: list[str], group_id: str) -> None:
    """Whatever the names hold: a grant never covers more than its patterns' plain beginnings."""
    covered = Grant(("shop",), tuple(patterns)).covers("shop", group_id)
    plain = [pattern.removesuffix("*") for pattern in patterns if pattern.endswith("*")]
    assert covered == (
        group_id in [pattern for pattern in patterns if not pattern.endswith("*")] or group_id.startswith(tuple(plain))
    )
