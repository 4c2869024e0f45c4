"""Policies as the watch and the lists last showed them."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import WHOLE, Shard
from heartbeat_tuner.ports.stored_policies import ListPage
from heartbeat_tuner.reconcile.policy_store import PolicyStore, StorePart
from heartbeat_tuner.reconcile.relisting import Mended, Mending
from tests.support import manifests

KEY = ObjectKey("shop", "orders")


def policy(version: int, name: str = "orders", uid: str = "first") -> dict[str, Any]:
    """Return a policy in a version."""
    return manifests.policy(name, resourceVersion=str(version), uid=uid)


def store_of(*versions: int) -> PolicyStore:
    """Return a store whose watch showed these versions, in this order."""
    store = PolicyStore()
    for version in versions:
        store.show(policy(version))
    return store


def versions(store: PolicyStore) -> dict[str, int]:
    """Return what is known, by name."""
    return {body["metadata"]["name"]: int(body["metadata"]["resourceVersion"]) for body in store.snapshot()}


def mend(store: PolicyStore, bodies: Sequence[dict[str, Any]], *, moment: int, at_s: float = 0) -> Mended:
    """Take in a list, one object a page; return what it corrected."""
    mending = Mending(store)
    for page in [[body] for body in bodies] or [[]]:
        mending.take(ListPage(page, moment))
    return mending.finish(at_s=at_s)


def test_the_newer_version_stays() -> None:
    """Our own write comes back through the watch later, and by then may be old."""
    for order in ((9, 10), (10, 9), (10, 10)):
        assert versions(store_of(*order)) == {"orders": 10}


def test_a_deleted_policy_is_gone() -> None:
    """Nothing is done for it any more, and nobody minds hearing it twice."""
    store = store_of(9)
    store.remove(policy(10))
    store.remove(policy(10))
    assert store.snapshot() == []


def test_policies_come_in_the_order_of_their_keys() -> None:
    """A pass looks at them in the same order as the last one did."""
    store = PolicyStore()
    for name in ("c", "a", "b"):
        store.show(policy(1, name))
    assert list(versions(store)) == ["a", "b", "c"]


def test_our_own_write_is_remembered() -> None:
    """The next cycle decides on the status that stands."""
    store = store_of(9)
    store.refresh(policy(11))
    assert versions(store) == {"orders": 11}


def test_our_own_write_does_not_bring_a_deleted_policy_back() -> None:
    """Its answer may arrive after the watch has shown the deletion."""
    store = store_of(9)
    store.remove(policy(12))
    store.refresh(policy(11))
    assert store.snapshot() == []


def test_our_own_write_does_not_touch_a_namesake() -> None:
    """A policy that was deleted and created again is another one."""
    store = PolicyStore()
    store.show(policy(9, uid="second"))
    store.refresh(policy(11, uid="first"))
    assert store.snapshot()[0]["metadata"]["uid"] == "second"


def test_a_list_mends_what_the_watch_missed() -> None:
    """New, changed and deleted ones."""
    store = PolicyStore()
    for name, version in (("changed", 1), ("deleted", 2), ("known", 3)):
        store.show(policy(version, name))
    mended = mend(store, [policy(11, "changed"), policy(3, "known"), policy(12, "new")], moment=12)
    assert versions(store) == {"changed": 11, "known": 3, "new": 12}
    assert mended.missed == (ObjectKey("shop", "changed"), ObjectKey("shop", "new"))
    assert mended.gone == (ObjectKey("shop", "deleted"),)


def test_a_policy_younger_than_the_list_stays() -> None:
    """The watch may be ahead of a list that took its time."""
    store = store_of(13)
    assert mend(store, [], moment=12).gone == ()
    assert versions(store) == {"orders": 13}


def test_a_list_older_than_a_deletion_does_not_bring_it_back() -> None:
    """A ghost would be tuned until the next list."""
    store = store_of(9)
    store.remove(policy(13))
    assert mend(store, [policy(9)], moment=12).missed == ()
    assert store.snapshot() == []
    assert store.watch_behind_s(1_000) == 0


def test_an_older_list_does_not_bring_back_what_a_newer_one_took_away() -> None:
    """The list of a new leader and the regular one may overtake each other."""
    store = store_of(9)
    mend(store, [], moment=15)
    mend(store, [policy(9)], moment=12, at_s=1)
    assert store.snapshot() == []


def test_a_namesake_made_after_a_deletion_is_taken() -> None:
    """Through the watch, and through a list."""
    for take in ("watch", "list"):
        store = store_of(9)
        store.remove(policy(13))
        body = policy(14, uid="second")
        if take == "watch":
            store.show(body)
        else:
            mend(store, [body], moment=14)
        assert versions(store) == {"orders": 14}


def test_a_late_deletion_does_not_take_a_namesake_away() -> None:
    """A list may show the new one before the watch shows the end of the old one."""
    store = store_of(9)
    mend(store, [policy(14, uid="second")], moment=14)
    store.remove(policy(13))
    assert versions(store) == {"orders": 14}


def test_a_watch_that_does_not_follow_is_behind() -> None:
    """Counted from the first list that showed what it did not, though the store is repaired at once."""
    store = store_of(9)
    mend(store, [policy(11)], moment=11, at_s=100)
    mend(store, [policy(12)], moment=12, at_s=400)
    assert versions(store) == {"orders": 12}
    assert store.watch_behind_s(410) == 310


def test_a_watch_that_follows_is_not_behind() -> None:
    """A change, a deletion, or what a list does not show any more."""
    follows: list[Callable[[PolicyStore], object]] = [
        lambda store: store.show(policy(11)),
        lambda store: store.remove(policy(12)),
        lambda store: mend(store, [], moment=12, at_s=2),
    ]
    for follow in follows:
        store = store_of(9)
        mend(store, [policy(11)], moment=11, at_s=1)
        follow(store)
        assert store.watch_behind_s(1_000) == 0


def test_our_own_write_is_not_shown_by_the_watch() -> None:
    """A silent watch must not hide behind our status writes."""
    store = store_of(9)
    store.refresh(policy(11))
    mend(store, [policy(11)], moment=11, at_s=100)
    assert store.watch_behind_s(300) == 200


def test_an_edit_is_one_of_the_spec() -> None:
    """A status that was written is no edit, and a cycle that has begun sees all there was until then."""
    store = PolicyStore()
    first = policy(1)
    again = {**policy(2), "status": {"verdict": "Healthy"}}
    edited = policy(3)
    edited["metadata"] = {**edited["metadata"], "generation": 2}
    seen = []
    for body in (first, again, edited, policy(2)):
        store.begin_cycle()
        store.show(body)
        seen.append(store.edited())
    assert seen == [{KEY: 1}, {}, {KEY: 3}, {}]


def test_an_edit_of_another_shard_is_none_of_this_one() -> None:
    """Nor does its cycle take it for seen."""
    store = PolicyStore()
    store.show(policy(1))
    parts = [StorePart(store, Shard(number, 2)) for number in range(2)]
    theirs, other = sorted(parts, key=lambda part: not part.edited())
    other.begin_cycle()
    assert (theirs.edited(), other.edited()) == ({KEY: 1}, {})
    theirs.begin_cycle()
    assert theirs.edited() == {}


def test_a_deleted_policy_is_not_edited_by_its_past() -> None:
    """Watches repeat what was before."""
    store = store_of(5)
    store.remove(policy(6))
    store.begin_cycle()
    store.show(policy(4))
    assert store.edited() == {}


def test_a_policy_that_is_made_again_is_edited() -> None:
    """Its generation begins again, and the watch may not have shown the deletion."""
    store = store_of(5)
    store.begin_cycle()
    store.show(policy(7, uid="second"))
    assert store.edited() == {KEY: 7}


def test_nobody_waits_for_a_look_at_what_is_gone() -> None:
    """A deletion is no edit, and ends those before it."""
    store = store_of(5)
    store.show(policy(6, uid="second"))
    store.remove(policy(7, uid="second"))
    assert store.edited() == {}


def test_our_own_write_is_no_edit() -> None:
    """Nor is what the watch shows of it."""
    store = store_of(5)
    store.begin_cycle()
    written = {**policy(6), "status": {"verdict": "Healthy"}}
    store.refresh(written)
    store.show(written)
    assert store.edited() == {}


def test_an_early_look_takes_its_own_edits_for_seen() -> None:
    """Others wait, and so does what is edited meanwhile."""
    store = PolicyStore()
    part = StorePart(store, WHOLE)
    for name in ("orders", "bills"):
        store.show(policy(1, name))
    part.begin_look([KEY])
    assert part.edited() == {ObjectKey("shop", "bills"): 1}
    edited = policy(2)
    edited["metadata"] = {**edited["metadata"], "generation": 2}
    store.show(edited)
    assert part.edited() == {ObjectKey("shop", "bills"): 1, KEY: 2}


def test_each_shard_sees_its_own_namespaces_whole() -> None:
    """Together they see all, none sees another's, and what one writes is there for all."""
    names = [(f"team-{number}", policy) for number in range(40) for policy in ("a", "b")]
    store = PolicyStore()
    for namespace, name in names:
        store.show(manifests.policy(name, namespace=namespace, resourceVersion="1", spec={"groupId": name}))
    parts = [StorePart(store, Shard(number, 3)) for number in range(3)]
    shown = [[(body["metadata"]["namespace"], body["metadata"]["name"]) for body in part.snapshot()] for part in parts]
    assert all(item == sorted(item) for item in shown)
    assert sorted(key for item in shown for key in item) == sorted(names)
    namespaces = [{namespace for namespace, _ in item} for item in shown]
    assert all(len(namespace) > 1 for namespace in namespaces)
    assert not namespaces[0] & namespaces[1] | namespaces[1] & namespaces[2] | namespaces[0] & namespaces[2]
    assert [part.groups() for part in parts] == [frozenset(item) for item in shown]
    body = parts[0].snapshot()[0]
    parts[0].refresh({**body, "metadata": {**body["metadata"], "resourceVersion": "2"}})
    assert store.snapshot()[0]["metadata"]["resourceVersion"] in {"1", "2"}
    assert parts[0].snapshot()[0]["metadata"]["resourceVersion"] == "2"


def test_what_nobody_reads_is_not_held() -> None:
    """Managed fields and annotations of thousands of policies are a third of them."""
    body = policy(9)
    body["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "annotations": {"note": "x" * 1_000}, "labels": {}}
    body["status"] = {"observedGeneration": 1}
    store = PolicyStore()
    store.show(body)
    (held,) = store.snapshot()
    assert held == {"metadata": policy(9)["metadata"], "spec": body["spec"], "status": body["status"]}
    with pytest.raises(KeyError):
        held["kind"]


def test_held_are_texts() -> None:
    """As dictionaries they take several times as much, and the garbage collector walks through all of them."""
    store = store_of(9)
    (held,) = store.snapshot()
    assert gc.is_tracked(policy(9)["spec"])
    assert not any(map(gc.is_tracked, (*held["metadata"].values(), held["metadata"])))
    assert held["spec"] == held["spec"]
    assert held["spec"] is not held["spec"]


def test_a_list_that_breaks_off_takes_nothing_away() -> None:
    """What its pages showed is news nevertheless."""
    store = store_of(9)
    Mending(store).take(ListPage([policy(11, "new")], 12))
    assert versions(store) == {"orders": 9, "new": 11}
    assert Mending(store).finish(at_s=0).gone == ()
    assert versions(store) == {"orders": 9, "new": 11}


def test_of_several_lists_the_earliest_moment_counts() -> None:
    """Lists of several namespaces come one after the other: what was made between them is not gone."""
    store = store_of(13)
    mending = Mending(store)
    for moment in (12, 15):
        mending.take(ListPage([], moment))
    assert mending.finish(at_s=0).gone == ()
