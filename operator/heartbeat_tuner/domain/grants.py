"""Which namespaces may see and tune which groups by the operator's configuration, whatever members they have.

Patterns are those of Kafka's ACLs: a name, or the beginning of names followed by `*`. No regular expressions: who reads
a grant has to see at once what it grants.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

EVERY: Final = "*"


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """Some groups for some namespaces.

    Attributes:
        namespaces: names; `*` is every namespace.
        groups: names, or beginnings of names with a `*` at their end.
    """

    namespaces: tuple[str, ...]
    groups: tuple[str, ...]

    def covers(self, namespace: str, group_id: str) -> bool:
        """Whether it gives the group to the namespace."""
        return not {namespace, EVERY}.isdisjoint(self.namespaces) and any(
            group_id.startswith(group.removesuffix(EVERY)) if group.endswith(EVERY) else group_id == group
            for group in self.groups
        )


Grants = Mapping[str, tuple[Grant, ...]]
"""By the name of the Kafka cluster; of one that is not there nothing is granted."""


def covered(grants: Grants, *, cluster: str, namespace: str, group_id: str) -> bool:
    """Whether any grant of the cluster gives the group to the namespace."""
    return any(grant.covers(namespace, group_id) for grant in grants.get(cluster, ()))
