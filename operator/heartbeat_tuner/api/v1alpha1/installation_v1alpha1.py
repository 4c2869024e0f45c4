"""`ConsumerGroupPolicy` v1alpha1: which installation of the operator writes the status."""

from typing import Annotated, Final

from pydantic import Field

from heartbeat_tuner.api.v1alpha1.fields import Model
from heartbeat_tuner.domain.shards import Installation

NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
"""Namespace and name of the Lease that the installation's replicas compete for."""

NAMED_NAMESPACES: Final = "Namespaces"
"""Scope of an installation whose configuration names the namespaces that it looks after."""

WHOLE_CLUSTER: Final = "Cluster"
"""Scope of one that looks after all namespaces."""


class InstallationStatus(Model):
    """Installation of the operator that writes this status. Any other installation then writes nothing."""

    name: Annotated[
        str, Field(max_length=317, description="Namespace and name of the installation's Lease, separated by a slash.")
    ]
    scope: Annotated[
        str,
        Field(
            max_length=64,
            description="Cluster: it watches all namespaces. Namespaces: its configuration names the namespaces.",
        ),
    ]


def noted(installation: Installation) -> InstallationStatus:
    """Return an installation as a status has it."""
    scope = NAMED_NAMESPACES if installation.names_namespaces else WHOLE_CLUSTER
    return InstallationStatus(name=installation.name, scope=scope)
