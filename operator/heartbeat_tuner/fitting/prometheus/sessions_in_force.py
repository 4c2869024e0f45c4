"""Which session timeout was set in a group at a time, as the operator's own metrics tell.

The operator exports what is set in each policy's pods (`heartbeat_tuner_policy_session_timeout_seconds`), and which
group the policy names (`heartbeat_tuner_policy_info`). Where Prometheus scrapes the operator, an eviction of weeks ago
so has the session that it ended. Where it does not, nothing is known, and nothing is assumed.

A policy speaks for groups of its own namespace only. Where several name one group, and while a value changes, the
shortest counts: an absence surely outlasted that.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from heartbeat_tuner.domain.exposed import INFO, SESSION_TIMEOUT, ValuesLabel
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.resolver import GroupKey
from heartbeat_tuner.metrics.raw.samples import Series

NAMES: Final = (INFO.full_name, SESSION_TIMEOUT.full_name)
"""The metrics that are asked for."""

STALE_S: Final = 900.0
"""What was exported so long before still counts: a rollout, and two replicas that take turns, fit into it."""


class SessionsInForce:
    """What the operator exported of the groups of a window.

    Args:
        series: its metrics, as Prometheus gave them.
    """

    def __init__(self, series: Iterable[Series]) -> None:
        groups: dict[tuple[str, str], set[str]] = {}
        shown: dict[tuple[str, str], list[Series]] = {}
        self._clients: dict[GroupKey, str] = {}
        for entry in series:
            labels = entry.labels
            policy = labels.get(queries.NAMESPACE_LABEL, ""), labels.get("policy", "")
            if labels.get(queries.NAME_LABEL) == INFO.full_name:
                group = labels.get("group", "")
                groups.setdefault(policy, set()).add(group)
                self._clients[policy[0], group] = labels.get("client", "")
            elif labels.get("values") == ValuesLabel.SET:
                shown.setdefault(policy, []).append(entry)
        self._shown: Mapping[GroupKey, list[Series]] = {
            (policy[0], group): [
                entry
                for other, several in shown.items()
                if group in groups.get(other, ()) and other[0] == policy[0]
                for entry in several
            ]
            for policy, names in groups.items()
            for group in names
        }

    def client(self, group: GroupKey) -> str:
        """Return the library that a policy says of a group's consumers; empty where none says it."""
        return self._clients.get(group, "")

    def at(self, group: GroupKey, time_s: float) -> float | None:
        """Return the shortest session that was set in a group around a time, in seconds; None where nothing tells.

        Args:
            group: namespace and `group.id`.
            time_s: in Unix seconds.
        """
        values = [
            value
            for series in self._shown.get(group, ())
            for value in series.samples.between(time_s - STALE_S, time_s).values
            if value > 0
        ]
        return min(values, default=None)
