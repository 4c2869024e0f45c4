"""The groups of one cycle that may tell that something hit a whole broker: by what policies' statuses say of them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.verification import witnesses
from heartbeat_tuner.verification.witnesses import WitnessGroup


class WitnessPool:
    """All groups with a history, by Kafka cluster.

    Args:
        policies: of this cycle.
    """

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._groups: dict[str, list[WitnessGroup]] = defaultdict(list)
        for policy in policies:
            if policy.history is not None:
                changed = None if policy.application is None else policy.application.at
                group = WitnessGroup(policy.key, policy.group_id, changed, policy.history)
                self._groups[policy.cluster].append(group)

    def chosen(self, policy: Policy, written: datetime) -> Sequence[Sequence[float]]:
        """Return the evictions of those that witness for a change of a policy's group."""
        return witnesses.chosen(policy.key, policy.group_id, self._groups[policy.cluster], written)
