"""Where the webhook's certificate is kept, and how the API server comes to trust it.

All replicas share one Secret: who finds none makes one, and of two at a time one is refused and reads. The bundle goes
into the `MutatingWebhookConfiguration` by server-side apply of that field alone, never forced: where somebody else
provides it, theirs stays.
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.adapters.certificate import certificates
from heartbeat_tuner.adapters.certificate.certificates import Certificates, UnusableError
from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.ports.wall_clock import Clock

FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(hours=1)
"""Before a Secret that was spoiled again is written again: twice as long each time, up to this."""

_log = structlog.get_logger()

FIELD_MANAGER: Final = "heartbeat-tuner-webhook"
_KEYS: Final = ("ca.crt", "ca.key", "tls.crt", "tls.key")
_REGISTRATION: Final = api_paths.WEBHOOKS.api_version


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
        self._folder = api_paths.collection(api_paths.SECRETS, namespace)
        self._path = api_paths.item(api_paths.SECRETS, secret, namespace)
        self._namespace = namespace
        self._secret = secret
        self._configuration = configuration
        self._names = names
        self._clock = clock
        self._good: Certificates | None = None
        self._again_at = datetime.min.replace(tzinfo=UTC)
        self._pause = FIRST_PAUSE

    async def current(self) -> Certificates:
        """Return the certificates that all replicas share; made, or replaced, where that is due.

        Raises:
            WriteConflictError: another replica made some at this moment; ask again.
            ApiServerError: anything else.
        """
        stored, now = await self._api.get(self._path), self._clock.now()
        try:
            old = None if stored is None else _read(stored)
        except UnusableError as error:
            return await self._replaced(stored, str(error), now)
        due = certificates.renewed(old, self._names, now=now)
        if due != old:
            await self._store(stored, due)
        self._good = due
        if now > self._again_at + self._pause:
            self._pause = FIRST_PAUSE
        return due

    async def _replaced(self, stored: Mapping[str, Any] | None, why: str, now: datetime) -> Certificates:
        """Return what is shown in place of something unusable.

        That is a new one by the same authority, so that the other replicas stay trusted. Where somebody spoils the
        Secret again and again, the last good one is shown, and the Secret is left as it is for longer and longer.
        """
        secret = f"{self._namespace}/{self._secret}"
        good = self._good
        if good is not None and now < self._again_at and certificates.renewed(good, self._names, now=now) == good:
            return good
        made = certificates.renewed(good, self._names, now=now, force=True)
        await self._store(stored, made)
        _log.warning("certificate replaced", secret=secret, why=why, not_again_for=durations.show(self._pause))
        self._good, self._again_at = made, now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return made

    async def trust(self, bundle: bytes) -> None:
        """Have the API server trust what `bundle` signed.

        Raises:
            FieldOwnedError: somebody else says whom it trusts.
            ApiServerError: there is no such configuration, or anything else.
        """
        path = api_paths.item(api_paths.WEBHOOKS, self._configuration)
        stored = await self._api.get(path)
        if stored is None:
            raise ApiServerError(
                f"there is no MutatingWebhookConfiguration {self._configuration}; apply docs/how-to/webhook.yaml"
            )
        text = base64.b64encode(bundle).decode()
        hooks = stored.get("webhooks") or []
        if all(hook["clientConfig"].get("caBundle") == text for hook in hooks):
            return
        document = {
            "apiVersion": _REGISTRATION,
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._configuration, "uid": stored["metadata"]["uid"]},
            "webhooks": [{"name": hook["name"], "clientConfig": {"caBundle": text}} for hook in hooks],
        }
        await self._api.write("PATCH", path, document, content_type=kubernetes_api.APPLY, fieldManager=FIELD_MANAGER)

    async def _store(self, stored: Mapping[str, Any] | None, made: Certificates) -> None:
        pems = (made.bundle, made.authority_key, made.server, made.server_key)
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._secret, "namespace": self._namespace} if stored is None else stored["metadata"],
            "type": "Opaque" if stored is None else stored.get("type", "Opaque"),
            "data": {key: base64.b64encode(pem).decode() for key, pem in zip(_KEYS, pems, strict=True)},
        }
        method, path = ("POST", self._folder) if stored is None else ("PUT", self._path)
        answer = await self._api.write(method, path, document, fieldManager=FIELD_MANAGER)
        if answer is None and stored is None:
            raise ApiServerError(
                f"there is no namespace {self._namespace} for the Secret {self._secret}; create it, or set "
                f"certificate.namespace to one that exists"
            )
        if answer is None:
            raise WriteConflictError(f"Secret {self._namespace}/{self._secret} is gone")


def _read(secret: Mapping[str, Any]) -> Certificates:
    """Return what a Secret holds.

    Raises:
        UnusableError: it is of no use.
    """
    data = secret.get("data") or {}
    missing = [key for key in _KEYS if key not in data]
    if missing:
        raise UnusableError(f"it has no {missing[0]}")
    return certificates.read(*(base64.b64decode(data[key]) for key in _KEYS))
