"""Transitions of one cycle as people see them: each by itself, or as one where many policies make the same.

When Prometheus goes down, ten thousand policies change in one cycle. An Event for each would drown what else happens in
a namespace, and take the API server as long as the statuses do. So a namespace is told once, with their number and the
first names: its own and nobody else's. The log folds over all namespaces, since it is the operator's alone. Pure.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ConditionType
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.reconcile.status.transitions import Announcement

MOST_ALONE: Final = 20
"""Policies that may make the same transition in one cycle, each with an Event of its own; more are folded."""

MOST_NAMED: Final = 5
"""Policies that a folded Event names: a name may be a quarter of its message."""

Told = tuple[Mapping[str, Any], Announcement]
"""A policy, and what is announced of it."""

_Kind = tuple[ConditionType, ConditionStatus | None, ConditionStatus, Reason]


@dataclasses.dataclass(slots=True)
class _SameTransition:
    """The policies of a namespace that made one transition: how many, and the first of them."""

    count: int = 0
    first: list[Told] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One transition as the log tells it.

    Attributes:
        count: policies that made it.
        namespaces: of them.
        policies: the first of them.
        announcement: of the first.
    """

    count: int
    namespaces: int
    policies: tuple[str, ...]
    announcement: Announcement


class Transitions:
    """What happened in one cycle; of many that are alike it holds no more than is shown."""

    def __init__(self) -> None:
        self._same: dict[tuple[str, _Kind], _SameTransition] = {}

    def add(self, body: Mapping[str, Any], announcement: Announcement) -> None:
        """Note a transition of a policy."""
        kind = (announcement.type, announcement.before, announcement.status, announcement.reason)
        same = self._same.setdefault((parsing.key_of(body).namespace, kind), _SameTransition())
        same.count += 1
        if len(same.first) < MOST_ALONE:
            same.first.append((body, announcement))

    def events(self) -> Iterator[Told]:
        """Yield what each Event is about, and what it says."""
        for same in self._same.values():
            if same.count <= MOST_ALONE:
                yield from same.first
            else:
                yield same.first[0][0], _folded(same)

    def lines(self) -> Iterator[Line]:
        """Yield what the log says."""
        by_kind: dict[_Kind, list[_SameTransition]] = {}
        for (_, kind), same in self._same.items():
            by_kind.setdefault(kind, []).append(same)
        for sames in by_kind.values():
            count = sum(same.count for same in sames)
            first = [entry for same in sames for entry in same.first[:MOST_ALONE]][:MOST_ALONE]
            if count <= MOST_ALONE:
                yield from (Line(1, 1, (_name(body),), announcement) for body, announcement in first)
            else:
                yield Line(count, len(sames), tuple(_name(body) for body, _ in first), first[0][1])


def _folded(same: _SameTransition) -> Announcement:
    """Return one announcement for many policies of a namespace: the number first, since a message may be cut."""
    names = [parsing.key_of(body).name for body, _ in same.first[:MOST_NAMED]]
    sample = same.first[0][1]
    message = (
        f"{same.count} policies of this namespace made the same transition, to {sample.type} {sample.status} "
        f"({sample.reason}): {', '.join(names)} and {same.count - len(names)} more. Of {names[0]}: {sample.message}"
    )
    return dataclasses.replace(sample, message=message, count=same.count)


def _name(body: Mapping[str, Any]) -> str:
    return str(parsing.key_of(body))
