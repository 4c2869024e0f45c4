"""One decision for each policy of a cycle: by itself, and then with what all of its Kafka cluster may take.

What was answered before is remembered from cycle to cycle.
"""

import asyncio
import dataclasses
from collections.abc import Collection, Mapping
from typing import Final

from heartbeat_tuner.decision import derived, workload_parts
from heartbeat_tuner.decision.optimize import heartbeat_budget
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.optimize.heartbeat_budget import Beating
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import WHOLE, Shard
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.reconcile.gather.gathering import Gathered
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Result, UnexpectedFailure

CACHED_ANSWERS: Final = 20_000
"""Answers that are kept: one for each of 10,000 policies, and the one before."""


class Decider:
    """Decides, during one leadership.

    Args:
        heartbeat_budgets: requests a second that the heartbeats of a Kafka cluster's groups may take, by its name.
        moved: called after each policy.
        shard: whose policies they are; it has its part of each budget.
    """

    def __init__(self, heartbeat_budgets: Mapping[str, float], moved: Moved, shard: Shard = WHOLE) -> None:
        self._budgets = {cluster: shard.per_s(per_s) for cluster, per_s in heartbeat_budgets.items()}
        self._shards = shard.shards
        self._moved = moved
        self._answers = AnswerCache(CACHED_ANSWERS)
        self._healthy: Mapping[ObjectKey, Decided] = {}
        self._beating: dict[str, dict[ObjectKey, Decided]] = {cluster: {} for cluster in self._budgets}

    @property
    def healthy(self) -> Collection[ObjectKey]:
        """The policies with whose values all is well, by the last decision, so that nothing waits to be written."""
        return self._healthy.keys()

    async def decided(self, gathered: Mapping[ObjectKey, Gathered], *, early: bool = False) -> dict[ObjectKey, Result]:
        """Return what is to be done for each policy; nothing is written here.

        What was decided on an input that all is well with is not decided again: it is the same object.

        Args:
            gathered: what is known of each.
            early: these are some of all policies. The others' heartbeats count as they were decided on last, each by
                itself, and nothing else is decided for them.
        """
        results: dict[ObjectKey, Result] = {}
        turns = Turns()
        for key, inputs in gathered.items():
            before = self._healthy.get(key)
            results[key] = before if before is not None and before.inputs is inputs else self._decided(inputs)
            self._moved()
            await turns.give()  # thousands of decisions take seconds, and probes have to be answered meanwhile
        for cluster, per_s in self._budgets.items():
            decided = {
                key: result
                for key, result in results.items()
                if isinstance(result, Decided) and result.inputs.policy.cluster == cluster
            }
            others = {key: known for key, known in self._beating[cluster].items() if early and key not in gathered}
            self._beating[cluster] = everyone = {**others, **decided}
            results |= await self._held(everyone, per_s, cluster, of_keys=gathered.keys())
        others_well = {key: known for key, known in self._healthy.items() if early and key not in gathered}
        self._healthy = others_well | {
            key: result for key, result in results.items() if isinstance(result, Decided) and result.is_well
        }
        return results

    def stands(self, outcome: Decided, group: Group) -> bool:
        """Whether the same would be written if the group had been as it is seen by now.

        Not whether it is the same: in a group that needs it most members come and go all the time.
        """
        seen = outcome.inputs.group
        if group == seen:
            return True
        if (group.consumer_protocol, group.kind, group.config) != (seen.consumer_protocol, seen.kind, seen.config):
            return False  # what is in force is the broker's, and was taken from there
        again = self._decided(dataclasses.replace(outcome.inputs, group=group))
        if not isinstance(again, Decided):
            return False
        now, before = again.decision, outcome.decision
        return (now.to_apply, now.to_alter) == (before.to_apply, before.to_alter)

    def _decided(self, gathered: Gathered) -> Result:
        """Decide on one policy; a surprise costs this policy this pass."""
        if isinstance(gathered, UnexpectedFailure | NotRead):
            return gathered
        if isinstance(gathered, Finding):
            return Blocked(gathered)
        try:
            answers = self._answers
            decision = decide(gathered, answer=answers.answer, expected=answers.expected, advise=answers.static_advice)
            missing = workload_parts.missing(gathered.workload)
            return Blocked(missing) if missing == decision.finding else Decided(gathered, decision)
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return UnexpectedFailure(error)

    async def _held(
        self, decided: Mapping[ObjectKey, Decided], per_s: float, cluster: str, *, of_keys: Collection[ObjectKey]
    ) -> dict[ObjectKey, Result]:
        """Decide again on those of some whom a budget of heartbeats leaves no shorter interval, or not as short a one.

        Args:
            decided: the policies of the cluster, each by itself.
            per_s: the budget.
            cluster: its name.
            of_keys: those that are decided on again.
        """
        wanted = heartbeat_budget.demand(_beating(result) for result in decided.values())
        if not wanted.exceeds(per_s):
            return {}
        results: dict[ObjectKey, Result] = {}
        slopes = {}
        for wish in wanted.wishes:
            try:
                slopes[wish.key] = self._slope(decided[wish.key])
            except Exception as error:  # noqa: BLE001 - likewise
                if wish.key in of_keys:
                    results[wish.key] = UnexpectedFailure(error)
            self._moved()
            await asyncio.sleep(0)
        limits = heartbeat_budget.limits(wanted, slopes, per_s, cluster=cluster, shards=self._shards)
        for key, limit in ((key, limit) for key, limit in limits.items() if key in of_keys):
            results.setdefault(key, self._decided(dataclasses.replace(decided[key].inputs, held=limit)))
            self._moved()
            await asyncio.sleep(0)
        return results

    def _slope(self, decided: Decided) -> float:
        """Return what a second between heartbeats costs a group that other values were recommended to."""
        record, current, target = decided.inputs.record, decided.current, decided.decision.target
        if isinstance(record, Unknown) or current is None or target is None:
            return 0.0
        asked = derived.question_of(decided.inputs, record, current)
        return 0.0 if isinstance(asked, Unfitted) else self._answers.slope(asked, target)


def _beating(outcome: Decided) -> Beating:
    inputs = outcome.inputs
    members = len(inputs.group.members)
    return Beating(inputs.policy, members, outcome.current, inputs.record, inputs.period, outcome.decision)
