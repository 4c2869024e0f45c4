"""Who witnesses of a cycle's policies."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.verifications import EvictionHistory
from heartbeat_tuner.reconcile.witness_pool import WitnessPool
from tests.support import worlds
from tests.support.worlds import NOW


def policy(name: str, *, cluster: str = "main", watched: bool = True) -> Policy:
    """Return a policy whose group had an episode today, at a second that its name tells."""
    history = EvictionHistory(NOW - timedelta(days=10), worlds.settings(), (NOW.timestamp() + ord(name),))
    changed = dataclasses.replace(worlds.policy(), key=ObjectKey(f"of-{name}", name), group_id=name, cluster=cluster)
    return dataclasses.replace(changed, history=history if watched else None)


def witnesses(policies: Sequence[Policy], own: Policy) -> str:
    """Return the names of those that testify about a change of now."""
    return "".join(sorted(chr(int(at_s - NOW.timestamp())) for (at_s,) in WitnessPool(policies).chosen(own, NOW)))


def test_groups_of_the_same_cluster_with_a_history_testify() -> None:
    """What happened to another broker says nothing of this one."""
    own = policy("a")
    others = [policy("b"), policy("c", cluster="other"), policy("d", watched=False), policy("e")]
    assert witnesses([own, *others], own) == "be"
    assert witnesses([own, *others], policy("f", cluster="third")) == ""


def test_a_group_whose_values_were_changed_lately_does_not() -> None:
    """By its last change."""
    values = worlds.settings()
    change = Application(values, values, NOW - timedelta(hours=1), "workload-1", "app", {}, {})
    lately = dataclasses.replace(policy("b"), application=change)
    before = dataclasses.replace(policy("c"), application=dataclasses.replace(change, at=NOW - timedelta(days=2)))
    assert witnesses([lately, before], policy("a")) == "c"
