"""Keeps the certificate good: looks after it again and again, and shows a new one without a restart.

Trust comes first: a certificate is shown once the API server was told to trust who signed it. Where that cannot be
told, it is shown all the same, since somebody else may have told it.
"""

import asyncio
import ssl
from typing import Final, Protocol

import structlog

from heartbeat_tuner.adapters.certificate.certificates import Certificates
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry

EACH_S: Final = 60.0
"""Between two looks."""

SOON_S: Final = 2.0
"""Before the next look after one that failed."""

_log = structlog.get_logger()


class Store(Protocol):
    """Where the certificate is, and who is told to trust it."""

    async def current(self) -> Certificates:
        """Return the certificates that all replicas share."""
        ...

    async def trust(self, bundle: bytes) -> None:
        """Have the API server trust what `bundle` signed."""
        ...


class Keeper:
    """The certificate that a server shows.

    Args:
        store: where it is kept.
        context: of the server.
        telemetry: tells until when it is good.
        soon_s: before the next look after one that failed.
    """

    def __init__(
        self, store: Store, context: ssl.SSLContext, telemetry: WebhookTelemetry, *, soon_s: float = SOON_S
    ) -> None:
        self._store = store
        self._context = context
        self._telemetry = telemetry
        self._soon_s = soon_s
        self._shown: Certificates | None = None
        self.trusted = False

    @property
    def shows(self) -> bool:
        """Whether there is a certificate to show."""
        return self._shown is not None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            well = await self.look()
            await asyncio.sleep(EACH_S if well else self._soon_s)

    async def look(self) -> bool:
        """Show the certificate that all replicas share now; return whether all went well."""
        try:
            certificates = await self._store.current()
        except TunerError as error:
            _log.warning("certificate not read", error=str(error))
            return False
        try:
            await self._store.trust(certificates.bundle)
            self.trusted = True
        except TunerError as error:
            self.trusted = False
            _log.warning("the certificate could not be registered with the API server", error=str(error))
        if certificates != self._shown:
            try:
                certificates.load_into(self._context)
            except (OSError, ValueError) as error:  # the last one is shown on
                _log.warning("certificate not loaded", error=str(error))
                return False
            self._shown = certificates
            self._telemetry.certificate_loaded(certificates.ends)
            _log.info("certificate loaded", ends=certificates.ends.isoformat())
        return self.trusted
