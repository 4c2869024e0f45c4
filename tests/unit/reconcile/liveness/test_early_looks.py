"""When edited policies are looked at before the next cycle, by a clock of the test's own."""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.reconcile.liveness.early_looks import (
    BURST_S,
    LONGEST_SETTLING_S,
    MOST,
    SETTLING_S,
    SHARE,
    EarlyLooks,
)
from heartbeat_tuner.reconcile.loop import ASK_EVERY_S

Edit = tuple[float, str]
"""When a policy is edited, and its namespace and name."""

SOON_S = SETTLING_S + 2 * ASK_EVERY_S


@dataclasses.dataclass(frozen=True)
class Looked:
    """One early look, and when it began."""

    began_s: float
    keys: frozenset[ObjectKey]

    def namespaces(self) -> set[str]:
        """Return whose policies it looked at."""
        return {key.namespace for key in self.keys}


def key(name: str) -> ObjectKey:
    """Return the key of a policy by `namespace/name`."""
    namespace, _, policy = name.partition("/")
    return ObjectKey(namespace, policy)


def played(edits: Sequence[Edit], *, length_s: float, until_s: float, cycle_every_s: float = 1e9) -> list[Looked]:
    """Return the early looks, if each takes so long, and cycles take no time."""
    early, looks, waiting = EarlyLooks(), list[Looked](), dict[ObjectKey, int]()
    to_come, now_s, cycle_s = sorted(edits), 0.0, cycle_every_s
    while now_s < until_s:
        now_s += ASK_EVERY_S
        for number, (at_s, name) in enumerate(to_come):
            if at_s > now_s:
                to_come = to_come[number:]
                break
            waiting[key(name)] = waiting.get(key(name), 0) + 1
        else:
            to_come = []
        if now_s >= cycle_s:
            waiting, cycle_s = {}, cycle_s + cycle_every_s
        keys = early.due(waiting, now_s=now_s)
        if keys:
            looks.append(Looked(now_s, keys))
            waiting = {edited: version for edited, version in waiting.items() if edited not in keys}
            now_s += length_s
            early.looked(keys, length_s, now_s=now_s)
    return looks


def test_an_edit_is_looked_at_soon() -> None:
    """A moment later, and once."""
    (look,) = played([(10.0, "shop/orders")], length_s=0.1, until_s=60)
    assert look.keys == {key("shop/orders")}
    assert SETTLING_S <= look.began_s - 10.0 <= SOON_S


def test_without_an_edit_there_is_no_look() -> None:
    """The interval is the interval."""
    assert played([], length_s=0.1, until_s=60) == []


def test_a_look_waits_for_what_follows_an_edit() -> None:
    """`kubectl apply` of a folder is looked at together, whoever else edits at the same time."""
    edits = [(10.0, "shop/orders"), (10.2, "shop/bills"), (10.4, "team/a")]
    (look,) = played(edits, length_s=0.1, until_s=60)
    assert look.keys == {key(name) for _, name in edits}
    assert SETTLING_S <= look.began_s - 10.4 <= SOON_S


def test_it_does_not_wait_for_ever() -> None:
    """Somebody who types and saves all the time sees what comes of it, too."""
    edits = [(10.0 + 0.1 * number, "shop/orders") for number in range(30)]
    first, *_ = played(edits, length_s=0.1, until_s=60)
    assert first.began_s - 10.0 <= LONGEST_SETTLING_S + 2 * ASK_EVERY_S


def test_what_a_cycle_has_seen_is_not_looked_at() -> None:
    """It looks at all that was edited before it began."""
    assert played([(9.9, "shop/orders")], length_s=0.1, until_s=20, cycle_every_s=10.0) == []


def test_fifty_edits_in_a_minute_are_looked_at_one_by_one() -> None:
    """Who tries values out has each of them seen; a look in a small fleet takes a fifth of a second at most."""
    edits = [(10.0 + 1.2 * number, "shop/orders") for number in range(50)]
    looks = played(edits, length_s=0.2, until_s=90)
    assert len(looks) == 50
    assert all(look.began_s - at_s <= SOON_S for look, (at_s, _) in zip(looks, edits, strict=True))


def test_a_storm_of_edits_takes_a_part_of_the_time() -> None:
    """What comes over that waits for the cycle."""
    edits = [(0.5 * number, f"shop/p{number}") for number in range(1200)]
    looks = played(edits, length_s=1.0, until_s=600, cycle_every_s=60.0)
    assert len(looks) <= BURST_S + SHARE * 600 + 1


def test_a_storm_of_edits_holds_up_nobody_else() -> None:
    """Another namespace's edit is looked at as soon as a look that is under way has ended, and the pause after it."""
    storm = [(0.05 * number, f"storm/p{number % 500}") for number in range(6000)]
    edits = [(at_s, "shop/orders") for at_s in (0.2, 31.0, 127.3, 250.9)]
    looks = [look for look in played([*storm, *edits], length_s=1.0, until_s=300) if "shop" in look.namespaces()]
    assert len(looks) == len(edits)
    assert all(
        look.began_s - at_s <= LONGEST_SETTLING_S + 2.0 + 2 * ASK_EVERY_S
        for look, (at_s, _) in zip(looks, edits, strict=True)
    )


def test_of_more_than_one_look_takes_each_namespace_has_its_part() -> None:
    """Whoever made thousands of policies comes no sooner by that; the next look goes on."""
    crowd = [(10.0, f"crowd/p{number:04}") for number in range(3 * MOST)]
    few = [(10.0, f"few/p{number}") for number in range(MOST // 4)]
    first, second, *_ = played([*crowd, *few], length_s=0.5, until_s=30)
    assert {key(name) for _, name in few} <= first.keys
    assert len(first.keys) == len(second.keys) == MOST
    assert first.keys.isdisjoint(second.keys)
    assert second.began_s - first.began_s <= 1.0 + 2 * ASK_EVERY_S


def test_who_shares_a_look_pays_for_a_part_of_it() -> None:
    """By the number of its policies."""
    early = EarlyLooks()
    crowd = frozenset(ObjectKey("crowd", f"p{number}") for number in range(99))
    early.looked(crowd | {key("shop/orders")}, 30.0, now_s=0.0)
    assert early.due({key("crowd/p0"): 1}, now_s=40.0) == frozenset()
    early.due({key("shop/orders"): 1}, now_s=40.0)
    assert early.due({key("shop/orders"): 1}, now_s=41.0) == {key("shop/orders")}


def test_a_slow_look_is_paid_off_in_a_known_time() -> None:
    """A broker that did not answer for a minute costs no namespace its edits for an hour."""
    early = EarlyLooks()
    early.looked([key("shop/orders")], 60.0, now_s=0.0)
    paid_s = BURST_S / SHARE
    assert early.due({key("shop/orders"): 1}, now_s=paid_s - 1) == frozenset()
    early.due({key("shop/orders"): 1}, now_s=paid_s + 11)
    assert early.due({key("shop/orders"): 1}, now_s=paid_s + 12) == {key("shop/orders")}


NAMES = st.sampled_from(["storm/a", "storm/b", "shop/a", "bills/a", "team/a"])


@given(st.lists(st.tuples(st.floats(0, 100), NAMES), max_size=80), st.floats(0.05, 8))
def test_early_looks_take_no_more_than_half_of_the_time(edits: list[Edit], length_s: float) -> None:
    """However many edit; and every edit is either looked at or waits for want of its own namespace's account."""
    looks = played(edits, length_s=length_s, until_s=120)
    assert all(later.began_s - look.began_s >= 2 * length_s for look, later in pairwise(looks))


@given(st.lists(st.tuples(st.floats(0, 100), st.just("storm/a")), max_size=80), st.floats(0, 100), st.floats(0.05, 4))
def test_no_edit_starves(storm: list[Edit], at_s: float, length_s: float) -> None:
    """A namespace that seldom edits is looked at within a bound that another one cannot move."""
    looks = played([*storm, (at_s, "shop/a")], length_s=length_s, until_s=130)
    (mine,) = [look for look in looks if "shop" in look.namespaces()]
    assert mine.began_s - at_s <= LONGEST_SETTLING_S + 2 * length_s + 3 * ASK_EVERY_S
