"""Writes at brokers follow each other in a cluster, and a cluster without an answer is asked once in a cycle."""

import asyncio
import dataclasses

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.reconcile.at_broker import cluster_turns
from heartbeat_tuner.reconcile.outcomes import Decided, Result, UnexpectedFailure
from tests.support import worlds

SILENT = Finding(Reason.CLUSTER_UNREACHABLE, "Kafka cluster main did not answer")


def outcome(name: str, cluster: str = "main") -> Decided:
    """Return what was decided for a policy."""
    inputs = worlds.situation()
    policy = dataclasses.replace(inputs.policy, key=ObjectKey("shop", name), cluster=cluster)
    inputs = dataclasses.replace(inputs, policy=policy)
    return Decided(inputs, Decision(Verdict.CHANGE, Finding(Reason.DANGER, "evictions"), at_broker=True))


def test_outcomes_of_a_cluster_are_together() -> None:
    """A cluster that is down keeps no other waiting."""
    first, other, second = outcome("a"), outcome("b", "other"), outcome("c")
    assert cluster_turns.by_cluster([first, other, second]) == [[first, second], [other]]


async def test_a_cluster_that_gives_no_answer_is_asked_once() -> None:
    """Hundreds of its groups are due in an outage, and each timeout would hold up all other policies."""
    asked: list[str] = []

    async def write(due: Decided) -> Result:
        asked.append(due.key.name)
        return due if due.key.name == "a" else dataclasses.replace(due, failure=SILENT)

    due = [outcome(name) for name in "abcd"]
    done = await cluster_turns.in_turn(due, write, lambda: None)
    assert asked == ["a", "b"]
    failures = [result.failure for result in done.values() if isinstance(result, Decided)]
    assert failures == [None, SILENT, SILENT, SILENT]
    assert all(isinstance(result, Decided) and result.group_write is None for result in done.values())


async def test_what_concerns_one_group_ends_no_others_turn() -> None:
    """A refusal or a surprise is no outage."""

    async def write(due: Decided) -> Result:
        await asyncio.sleep(0)
        if due.key.name == "a":
            return UnexpectedFailure(ValueError())
        return dataclasses.replace(due, failure=Finding(Reason.GROUP_CONFIG_REFUSED, "no"))

    done = await cluster_turns.in_turn([outcome(name) for name in "abc"], write, lambda: None)
    refused = [result.failure.reason for result in done.values() if isinstance(result, Decided) and result.failure]
    assert refused == [Reason.GROUP_CONFIG_REFUSED] * 2
