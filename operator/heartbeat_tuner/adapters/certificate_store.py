"""Where the webhook's certificate is kept, and how the API server comes to trust it.

All replicas share one Secret: who finds none makes one, and of two at a time one is refused and reads. The bundle goes
into the `MutatingWebhookConfiguration` by server-side apply of that field alone, never forced: where somebody else
provides it, theirs stays.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.adapters import certificates, kubernetes_api
from heartbeat_tuner.adapters.certificates import Certificates
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.ports import Clock

FIELD_MANAGER: Final = "heartbeat-tuner-webhook"
_KEYS: Final = ("ca.crt", "ca.key", "tls.crt", "tls.key")
_REGISTRATION: Final = "admissionregistration.k8s.io/v1"


class CertificateStore:
    """One Secret, and one `MutatingWebhookConfiguration`.

    Args:
        api: one API server.
        namespace: of the Secret.
        secret: its name.
        configuration: name of the `MutatingWebhookConfiguration`.
        names: host names and addresses under which the API server calls the webhook.
        clock: says whether a certificate is due.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        secret: str,
        configuration: str,
        names: Sequence[str],
        clock: Clock,
    ) -> None:
        self._api = api
        self._folder = f"/api/v1/namespaces/{namespace}/secrets"
        self._namespace = namespace
        self._secret = secret
        self._configuration = configuration
        self._names = names
        self._clock = clock

    async def current(self) -> Certificates:
        """Return the certificates that all replicas share; made, or made anew, where that is due.

        Raises:
            WriteConflictError: another replica made some at this moment; ask again.
            ApiServerError: anything else.
        """
        stored = await self._api.get(f"{self._folder}/{self._secret}")
        old = None if stored is None else _read(stored)
        due = certificates.renewed(old, self._names, now=self._clock.now())
        if due != old:
            await self._store(stored, due)
        return due

    async def trust(self, bundle: bytes) -> None:
        """Have the API server trust what `bundle` signed.

        Raises:
            FieldOwnedError: somebody else says whom it trusts.
            ApiServerError: there is no such configuration, or anything else.
        """
        path = f"/apis/{_REGISTRATION}/mutatingwebhookconfigurations/{self._configuration}"
        stored = await self._api.get(path)
        if stored is None:
            raise ApiServerError(
                f"there is no MutatingWebhookConfiguration {self._configuration}; apply docs/how-to/webhook.yaml"
            )
        text = base64.b64encode(bundle).decode()
        hooks = stored.get("webhooks") or []
        if all(one["clientConfig"].get("caBundle") == text for one in hooks):
            return
        document = {
            "apiVersion": _REGISTRATION,
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._configuration, "uid": stored["metadata"]["uid"]},
            "webhooks": [{"name": one["name"], "clientConfig": {"caBundle": text}} for one in hooks],
        }
        await self._api.write("PATCH", path, document, content_type=kubernetes_api.APPLY, fieldManager=FIELD_MANAGER)

    async def _store(self, stored: Mapping[str, Any] | None, made: Certificates) -> None:
        pems = (made.bundle, made.authority_key, made.server, made.server_key)
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._secret, "namespace": self._namespace} if stored is None else stored["metadata"],
            "data": {key: base64.b64encode(pem).decode() for key, pem in zip(_KEYS, pems, strict=True)},
        }
        method, path = ("POST", self._folder) if stored is None else ("PUT", f"{self._folder}/{self._secret}")
        answer = await self._api.write(method, path, document, fieldManager=FIELD_MANAGER)
        if answer is None and stored is None:
            raise ApiServerError(
                f"there is no namespace {self._namespace} for the Secret {self._secret}; create it, or set "
                f"certificate.namespace to one that exists"
            )
        if answer is None:
            raise WriteConflictError(f"Secret {self._namespace}/{self._secret} is gone")


def _read(secret: Mapping[str, Any]) -> Certificates | None:
    data = secret.get("data") or {}
    try:
        return certificates.read(*(base64.b64decode(data[key]) for key in _KEYS))
    except (KeyError, ValueError):
        return None
