"""Which edited policies are looked at before the next cycle, and when. Pure but for what it remembers.

Who edits a policy wants to see what comes of it. An edit waits for a moment, since others may follow it, and is then
looked at together with all that came meanwhile. Such a look is cheaper than a cycle, but not free: all policies are
still compared with each other. So early looks take no more than half of the time, and each namespace pays for its part
of them from an account that fills slowly. The edits of a namespace that has spent its account wait for the next cycle,
and nobody waits for them.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from heartbeat_tuner.domain.policies import ObjectKey

SETTLING_S: Final = 0.3
"""After the last edit: `kubectl apply` of a folder sends one after the other."""

LONGEST_SETTLING_S: Final = 1.0
"""After the first edit, however many follow."""

MOST: Final = 100
"""Policies in one look: the lease, and the next cycle, wait for no longer look."""

BURST_S: Final = 10.0
"""What a namespace may spend after a while without edits, in seconds of looks: in a small fleet a hundred edits one by
one, with 10,000 policies about twenty."""

SHARE: Final = 0.2
"""Of the time: what a namespace may spend in the long run. In a small fleet that is an edit a second."""


class EarlyLooks:
    """Says when edits are looked at early; of one shard, in one process."""

    def __init__(self) -> None:
        self._waiting: Mapping[ObjectKey, int] = {}
        self._first_s = self._last_s = math.inf
        self._free_from_s = -math.inf
        self._accounts: dict[str, tuple[float, float]] = {}

    def due(self, edited: Mapping[ObjectKey, int], *, now_s: float) -> frozenset[ObjectKey]:
        """Return the policies that are to be looked at now; empty while it is not time.

        Args:
            edited: what was edited and not looked at since, with the version that came last, in the order of edits.
            now_s: a monotonic clock, in seconds.
        """
        waiting = {key: version for key, version in edited.items() if self._left_s(key.namespace, now_s) > 0}
        if not waiting:
            self._waiting, self._first_s = {}, math.inf
            return frozenset()
        if waiting != self._waiting:
            self._waiting, self._last_s = waiting, now_s
            self._first_s = min(self._first_s, now_s)
        settled_s = min(self._last_s + SETTLING_S, self._first_s + LONGEST_SETTLING_S)
        return self._chosen(now_s) if now_s >= max(settled_s, self._free_from_s) else frozenset()

    def looked(self, keys: Collection[ObjectKey], length_s: float, *, now_s: float) -> None:
        """Take note of the end of a look, by the same clock; each namespace pays by the number of its policies."""
        self._free_from_s = now_s + length_s
        left = {key: version for key, version in self._waiting.items() if key not in keys}
        self._waiting = left
        if not left:
            self._first_s = math.inf
        for namespace, count in Counter(key.namespace for key in keys).items():
            left_s = self._left_s(namespace, now_s) - length_s * count / len(keys)
            self._accounts[namespace] = (max(left_s, -BURST_S), now_s)
        # Who has all of it again is like everybody else: no more is remembered than was spent lately.
        self._accounts = {
            namespace: account
            for namespace, account in self._accounts.items()
            if self._left_s(namespace, now_s) < BURST_S
        }

    def _left_s(self, namespace: str, now_s: float) -> float:
        """Return what a namespace has in its account."""
        left_s, at_s = self._accounts.get(namespace, (BURST_S, now_s))
        return min(BURST_S, left_s + SHARE * (now_s - at_s))

    def _chosen(self, now_s: float) -> frozenset[ObjectKey]:
        """Return one policy of each namespace, then a second one of each; who has spent least comes first."""
        places, counts = dict[ObjectKey, int](), Counter[str]()
        for key in self._waiting:
            places[key] = counts[key.namespace]
            counts[key.namespace] += 1
        in_turn = sorted(places, key=lambda key: (places[key], -self._left_s(key.namespace, now_s), key))
        return frozenset(in_turn[:MOST])
