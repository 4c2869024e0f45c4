"""The groups of one cycle that may tell that something hit a whole broker: by what policies' statuses say of them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.verification import witnesses
from heartbeat_tuner.verification.witnesses import WitnessGroup, WitnessRing


class WitnessPool:
    """All groups with a history, by Kafka cluster. Those of a cluster are looked at when the first asks for them.

    Args:
        policies: of this cycle.
    """

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._policies: dict[str, list[Policy]] = defaultdict(list)
        self._rings: dict[str, WitnessRing] = {}
        for policy in policies:
            self._policies[policy.cluster].append(policy)

    def chosen(self, policy: Policy, written: datetime) -> Sequence[Sequence[float]]:
        """Return the evictions of those that witness for a change of a policy's group."""
        ring = self._rings.get(policy.cluster)
        if ring is None:
            groups = [
                WitnessGroup(
                    other.key,
                    other.group_id,
                    None if other.application is None else other.application.at,
                    other.history,
                )
                for other in self._policies[policy.cluster]
                if other.history is not None
            ]
            ring = self._rings[policy.cluster] = WitnessRing(groups)
        return witnesses.chosen(policy.key, policy.group_id, ring, written)
