"""How soon a status follows `kubectl patch`: edits one after the other, timed by the API server's audit log."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from sandbox import audit
from sandbox.environment import OPERATOR_USER
from sandbox.processes import wait_until
from tests.e2e.replicas import edit
from tests.e2e.teams import Team

POLL_S: Final = 0.05


class Reactions:
    """The statuses of a team's policy, as they follow its edits.

    Args:
        team: whose policy has a status of its newest spec.
    """

    def __init__(self, team: Team) -> None:
        self._team = team
        self._generation: int = team.policy(team.name)["metadata"]["generation"]
        self._log = audit.Tail(team.sandbox.control_plane.audit_log)
        self._followed: dict[int, datetime] = {}

    def after_edits(self, count: int, *, timeout_s: float) -> Iterator[float]:
        """Edit the policy so often, each time when the status has followed; yield how many seconds that took.

        From the moment in which kubectl is started to that in which the API server got a status with the new
        `observedGeneration`.
        """
        for number in range(count):
            began = datetime.now(UTC)
            edit(self._team, number)
            self._generation += 1
            wait_until(
                self._has_followed,
                part=self._team.name,
                what=f"the status of edit {number + 1} of {count}",
                timeout_s=timeout_s,
                poll_s=POLL_S,
            )
            yield (self._followed[self._generation] - began).total_seconds()

    def _has_followed(self) -> bool:
        for write in self._log.writes():
            whose = (write.user, write.namespace, write.subresource)
            if write.succeeded and whose == (OPERATOR_USER, self._team.namespace, "status"):
                self._followed.setdefault(write.stored["status"].get("observedGeneration", 0), write.time)
        return self._generation in self._followed
