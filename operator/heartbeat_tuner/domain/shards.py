"""Who looks after a policy: its shard, with its part of each fleet-wide limit, and the installation. Pure.

A policy's shard follows from its namespace alone, since a policy reaches only workloads of its own namespace, policies
conflict only within one, and metrics are read namespace by namespace. So a namespace is never split.

The hash is consistent (rendezvous): each shard draws a number for a namespace, and the highest wins. All replicas
agree without asking, and with one shard more only those namespaces move whose highest number is the new shard's.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from typing import Final

MOST_SHARDS: Final = 16
"""Each replica looks at every shard's lease all the time, so more would cost the API server more than they bring."""

_CACHED: Final = 2**16
"""Namespaces whose shard is not worked out again with each cycle."""

Within = Callable[[str], bool]
"""Whether policies of a namespace are looked at."""


def everywhere(_namespace: str) -> bool:
    """Take every namespace."""
    return True


@functools.lru_cache(_CACHED)
def shard_of(namespace: str, shards: int) -> int:
    """Return the number of the shard, from 0, that a namespace belongs to; the same in every process."""

    def drawn(shard: int) -> bytes:
        return hashlib.sha256(f"{shard}/{namespace}".encode()).digest()

    return max(range(shards), key=drawn)


@dataclasses.dataclass(frozen=True, slots=True)
class Shard:
    """One of the parts into which the fleet is divided.

    Attributes:
        number: from 0.
        shards: how many there are; of one shard everything is.
    """

    number: int = 0
    shards: int = 1

    def holds(self, namespace: str) -> bool:
        """Whether policies of a namespace belong to this shard."""
        return self.shards == 1 or shard_of(namespace, self.shards) == self.number

    def rollouts(self, limit: int) -> int:
        """Return how many of the fleet's rollouts this shard may have; those of all shards together are the limit."""
        return limit // self.shards + (self.number < limit % self.shards)

    def per_s(self, budget: float) -> float:
        """Return this shard's part of a budget of requests a second."""
        return budget / self.shards

    def __str__(self) -> str:
        return f"shard {self.number} of {self.shards}"


WHOLE: Final = Shard()
"""The fleet, undivided."""


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """One installation of the operator, whichever of its replicas leads: it claims a policy in the policy's status.

    Attributes:
        name: namespace and name of the Lease that its replicas compete for, with a slash between them.
        names_namespaces: whether its configuration names the namespaces that it looks after; else it looks after all.
    """

    name: str
    names_namespaces: bool
