"""Who is of the workload, and who is not, by the addresses that the broker and Kubernetes show."""

import dataclasses
from typing import Any

import pytest

from heartbeat_tuner.decision.evictions import outsiders
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import worlds

OURS = tuple(worlds.member(pod) for pod in worlds.pods())
OTHERS = tuple(Member(f"m-{number}", f"10.9.0.{number}", f"batch-{number}") for number in range(5))


def disturbed(seen: Record, others: tuple[Member, ...] = OTHERS[:1]) -> DecisionInput:
    """Return a group with members of another workload."""
    return dataclasses.replace(worlds.situation(seen=seen), group=worlds.group([*OURS, *others]))


def rebalanced(**changes: Any) -> Record:
    """Return the record of a quarter of an hour in which the group rebalanced 106 times, in no time each."""
    seen = worlds.record(span=worlds.seconds(914), rebalances=106.0, share=0.01)
    return dataclasses.replace(seen, **changes)


def test_members_are_told_by_their_address() -> None:
    """Whatever their client calls itself."""
    assert outsiders.outsiders([*OTHERS[:2], *OURS], worlds.pods()) == OTHERS[:2]
    assert outsiders.outsiders(OURS, worlds.pods()) == ()


def test_an_address_is_the_same_however_it_is_written() -> None:
    """Brokers write IPv6 in full."""
    pod = dataclasses.replace(worlds.pod(), ip="fd00::1")
    ours = Member("m", "fd00:0:0:0:0:0:0:1")
    assert outsiders.outsiders([ours, OTHERS[0]], [pod]) == (OTHERS[0],)


def test_a_pod_of_both_families_is_known_by_either_address() -> None:
    """A client may connect over IPv6, and Kubernetes names the IPv4 address first."""
    pod = dataclasses.replace(worlds.pod(), ip="10.0.0.1", more_ips=("fd00::1",))
    assert outsiders.outsiders([Member("m", "fd00:0:0:0:0:0:0:1"), OTHERS[0]], [pod]) == (OTHERS[0],)


def test_behind_a_gateway_nobody_can_be_told_apart() -> None:
    """Where no member has a pod's address, all come through something else."""
    assert outsiders.outsiders(OTHERS, worlds.pods()) == ()
    assert outsiders.outsiders([Member("m", "")], worlds.pods()) == ()
    assert outsiders.outsiders([], worlds.pods()) == ()


def test_a_sentence_names_a_few_and_counts_the_rest() -> None:
    """However many there are, and however long or odd their names."""
    assert outsiders.described(OTHERS[:1]) == "batch-0 at 10.9.0.0"
    assert outsiders.described(OTHERS) == "batch-0 at 10.9.0.0, batch-1 at 10.9.0.1, batch-2 at 10.9.0.2 and 2 more"
    assert outsiders.described([Member("m", "10.9.0.1", "a\n" + "b" * 90)]) == f"a?{'b' * 58}… at 10.9.0.1"
    assert outsiders.described([Member("m", "10.9.0.1")]) == "a client without an id at 10.9.0.1"


@pytest.mark.parametrize("changes", [{}, {"rebalancing_share": None}, {"rebalances": 4.0, "rebalancing_share": 0.2}])
def test_a_group_that_others_rebalance_is_not_healthy_and_not_cured(changes: dict[str, Any]) -> None:
    """Whether it shows in how often, or in how long: nothing of ours is changed."""
    decision = decide(disturbed(rebalanced(**changes)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.REBALANCED_BY_OTHERS)
    assert (decision.target, decision.to_apply) == (None, None)


def test_others_that_disturb_nobody_are_no_finding() -> None:
    """Two Deployments may share a group."""
    assert decide(disturbed(worlds.record(rebalances=2.0))).finding.reason is Reason.TOO_EARLY


def test_our_own_evictions_are_cured_whoever_else_is_there() -> None:
    """What removes our members is our own matter."""
    decision = decide(disturbed(rebalanced(evictions=9, counted_evictions=9)))
    assert (decision.finding.reason, decision.verdict) == (Reason.DANGER, Verdict.CHANGE)


def test_a_rate_of_rebalances_is_no_health_whoever_causes_it() -> None:
    """Without evictions and without others, nobody knows what to change."""
    decision = decide(worlds.situation(seen=rebalanced()))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert decision.target is None


def test_a_rate_with_evictions_that_the_objective_allows_is_cured_as_instability_is() -> None:
    """They show that sessions end."""
    policy = worlds.policy(objective=dataclasses.replace(worlds.policy().objective, max_false_evictions_per_month=1e6))
    inputs = dataclasses.replace(worlds.situation(seen=rebalanced(evictions=3, counted_evictions=3), policy=policy))
    decision = decide(inputs)
    assert (decision.finding.reason, decision.verdict) == (Reason.UNSTABLE, Verdict.CHANGE)


@pytest.mark.parametrize(
    ("rebalances", "reason"), [(8.5, Reason.TOO_EARLY), (8.6, Reason.UNSTABLE), (2.9, Reason.TOO_EARLY)]
)
def test_what_is_too_often_follows_from_the_beat(rebalances: float, reason: Reason) -> None:
    """Members hear of a rebalance with their next beat: at 5 s, one in 100 s costs 5 % of the time."""
    assert decide(worlds.situation(seen=rebalanced(rebalances=rebalances))).finding.reason is reason
