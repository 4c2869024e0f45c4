"""Tickets of canaries as Leases: the newest that was taken, and by whom. Each write rests on the version that was read.

The Lease stands beside those of slots, is marked as they are, and belongs to its policy.
"""

from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.leases import API_VERSION
from heartbeat_tuner.adapters.slots.slot_leases import FIELD_MANAGER
from heartbeat_tuner.api import canary_notes, slot_names
from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import KIND
from heartbeat_tuner.domain.errors import WriteConflictError

TRIES: Final = 5
"""Each conflict means that another replica was first, and then there is nothing left to take."""


class KubernetesTickets:
    """Tickets through the API server.

    Args:
        api: where the Leases are.
    """

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def take(self, ticket: CanaryTicket, taker: str) -> bool:
        """Take a ticket; return whether the taker has it. A Lease that somebody else wrote gives none away.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        path = api_paths.item(api_paths.LEASES, ticket.lease.name, ticket.lease.namespace)
        for _ in range(TRIES):
            lease = await self._api.get(path)
            if lease is not None and not _is_free(lease, ticket):
                return _taken(lease) == ticket.text and (lease.get("spec") or {}).get("holderIdentity") == taker
            document = _document(ticket, taker, lease)
            method, where = "PUT", path
            if lease is None:
                method, where = "POST", api_paths.collection(api_paths.LEASES, ticket.lease.namespace)
            try:
                if await self._api.write(method, where, document, fieldManager=FIELD_MANAGER) is not None:
                    return True
            except WriteConflictError:
                continue
        return False


def _is_free(lease: Mapping[str, Any], ticket: CanaryTicket) -> bool:
    """Whether no ticket as new as this was taken, as far as the policy's own Lease says."""
    owners = lease["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == ticket.owner.uid for owner in owners) and bool(ticket.is_newer_than(_taken(lease)))


def _taken(lease: Mapping[str, Any]) -> str:
    """Return the newest ticket that was taken; empty where the Lease does not say it."""
    return str((lease["metadata"].get("annotations") or {}).get(canary_notes.TICKET_ANNOTATION, ""))


def _document(ticket: CanaryTicket, taker: str, lease: Mapping[str, Any] | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": ticket.lease.name,
        "namespace": ticket.lease.namespace,
        "labels": {slot_names.SLOT_LABEL: str(canary_notes.SLOT_NUMBER)},
        "annotations": {canary_notes.TICKET_ANNOTATION: ticket.text},
        "ownerReferences": [
            {
                "apiVersion": fields.API_VERSION,
                "kind": KIND,
                "name": ticket.owner.name,
                "uid": ticket.owner.uid,
                "controller": True,
            }
        ],
    }
    if lease is not None:
        metadata |= {"resourceVersion": lease["metadata"]["resourceVersion"], "uid": lease["metadata"]["uid"]}
    return {"apiVersion": API_VERSION, "kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": taker}}
