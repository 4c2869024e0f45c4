"""Other installations of the operator, which may look after the same namespaces: what their Leases say."""

import dataclasses
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class InstallationLease:
    """The Lease of an installation.

    Attributes:
        namespaces: those that its configuration names; None where it looks after all.
        renewed: when its leader wrote it last, by that replica's clock; None where that cannot be read.
        duration: for how long the leader holds it without a renewal.
    """

    namespaces: Collection[str] | None
    renewed: datetime | None
    duration: timedelta

    def watches(self, namespace: str) -> bool:
        """Whether the installation looks after a namespace."""
        return self.namespaces is None or namespace in self.namespaces


class InstallationLeases(Protocol):
    """The Leases of installations, read by the name of the installation."""

    async def read(self, name: str) -> InstallationLease | None:
        """Return the Lease of an installation; None if no Lease has the name, or if it belongs to something else.

        Args:
            name: of the installation: namespace and name of its Lease, with a slash between them.

        Raises:
            ApiServerError: it cannot be read.
        """
        ...
