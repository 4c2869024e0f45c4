"""Which `ConsumerGroupModel` objects of a list are kept: those that policies ask for, and a few more.

Anybody who may write objects in a namespace may write any number of them. What is kept of a namespace is bounded by its
own policies, so that a flood costs nobody else memory. Only what is kept is parsed, since parsing takes the time.
"""

import heapq
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, TypeVar

from heartbeat_tuner.api import model_documents

PER_GROUP: Final = 4
"""Newest models of one group that are kept: there may be one for each Kafka cluster that a fit was run for."""

SPARE: Final = 100
"""Newest models of each namespace that are kept beside those that policies ask for: a policy may come any minute."""

Held = TypeVar("Held")

_Ranked = tuple[tuple[str, str, str], int, Held]


class ModelChoice(Generic[Held]):
    """The newest models of each namespace, by what they say of themselves.

    Args:
        asked: namespace and group of every policy.
        hold: an object to what is held of it as long as it is among them.
    """

    def __init__(self, asked: Collection[tuple[str, str]], hold: Callable[[Mapping[str, Any]], Held]) -> None:
        self._asked = frozenset(asked)
        self._hold = hold
        self._of_groups: dict[tuple[str, str], list[_Ranked[Held]]] = {}
        self._spare: dict[str, list[_Ranked[Held]]] = {}
        self._seen: dict[str, int] = {}
        self._number = 0

    def add(self, document: Mapping[str, Any]) -> None:
        """Keep an object, or leave out the oldest for it; one that names no group is none."""
        spec, namespace = document.get("spec"), model_documents.key_of(document).namespace
        if not isinstance(spec, Mapping) or not isinstance(spec.get("groupId"), str):
            return
        self._number += 1  # no two are of one rank: what is held cannot be ordered
        self._seen[namespace] = self._seen.get(namespace, 0) + 1
        place = (namespace, spec["groupId"])
        held, most = (
            (self._of_groups.setdefault(place, []), PER_GROUP)
            if place in self._asked
            else (self._spare.setdefault(namespace, []), SPARE)
        )
        newest = (str(spec.get("until")), str(spec.get("fitTime")), model_documents.key_of(document).name)
        if len(held) == most and newest < held[0][0]:
            return  # it would be the first to go
        heapq.heappush(held, (newest, self._number, self._hold(document)))
        if len(held) > most:
            heapq.heappop(held)

    @property
    def kept(self) -> list[Held]:
        """What is held of the objects that are kept."""
        return [ranked[2] for held in (*self._of_groups.values(), *self._spare.values()) for ranked in held]

    @property
    def left_out(self) -> dict[str, int]:
        """How many objects of each namespace are not kept, where some are not."""
        count = {namespace: len(self._spare.get(namespace, ())) for namespace in self._seen}
        for (namespace, _), held in self._of_groups.items():
            count[namespace] += len(held)
        return {namespace: seen - count[namespace] for namespace, seen in self._seen.items() if seen > count[namespace]}
