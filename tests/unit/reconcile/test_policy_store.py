"""Policies as the watch last showed them."""

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from tests.support import manifests

KEY = ObjectKey("shop", "orders")


def store_of(*versions: int) -> PolicyStore:
    """Return a store that was given these versions, in this order."""
    store = PolicyStore()
    for version in versions:
        store.put(manifests.policy(resourceVersion=str(version)))
    return store


def test_the_newer_version_stays() -> None:
    """Our own write comes back through the watch later, and by then may be old."""
    for versions in ((9, 10), (10, 9), (10, 10)):
        (body,) = store_of(*versions).snapshot()
        assert body["metadata"]["resourceVersion"] == "10"


def test_a_deleted_policy_is_gone() -> None:
    """Nothing is done for it any more, and nobody minds hearing it twice."""
    store = store_of(9)
    store.remove(KEY)
    store.remove(KEY)
    assert store.snapshot() == []


def test_policies_come_in_the_order_of_their_keys() -> None:
    """A pass looks at them in the same order as the last one did."""
    store = PolicyStore()
    for name in ("c", "a", "b"):
        store.put(manifests.policy(name))
    assert [body["metadata"]["name"] for body in store.snapshot()] == ["a", "b", "c"]


def test_our_own_write_is_remembered() -> None:
    """The next cycle decides on the status that stands."""
    store = store_of(9)
    store.refresh(manifests.policy(resourceVersion="11"))
    assert store.snapshot()[0]["metadata"]["resourceVersion"] == "11"


def test_our_own_write_does_not_bring_a_deleted_policy_back() -> None:
    """Its answer may arrive after the watch has shown the deletion."""
    store = store_of(9)
    store.remove(KEY)
    store.refresh(manifests.policy(resourceVersion="11"))
    assert store.snapshot() == []


def test_our_own_write_does_not_touch_a_namesake() -> None:
    """A policy that was deleted and created again is another one."""
    store = PolicyStore()
    store.put(manifests.policy(resourceVersion="9", uid="second"))
    store.refresh(manifests.policy(resourceVersion="11", uid="first"))
    assert store.snapshot()[0]["metadata"]["uid"] == "second"
