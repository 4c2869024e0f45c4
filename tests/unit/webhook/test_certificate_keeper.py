"""The certificate is shown when it is trusted, and renewed without a restart."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

from heartbeat_tuner.adapters.certificate.certificates import Certificates
from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, TunerError
from heartbeat_tuner.webhook import certificate_keeper
from heartbeat_tuner.webhook.certificate_keeper import Keeper
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry
from sandbox.network import LOOPBACK, free_ports
from tests.support import certified
from tests.support.electors import until


class FakeStore:
    """A Secret and a registration."""

    def __init__(self, made: Certificates) -> None:
        self.made = made
        self.trusted = b""
        self.looks = 0
        self.unread: TunerError | None = None
        self.untrusted: TunerError | None = None

    async def current(self) -> Certificates:
        """Return what all share."""
        self.looks += 1
        if self.unread is not None:
            raise self.unread
        return self.made

    async def trust(self, bundle: bytes) -> None:
        """Note whom the API server trusts."""
        if self.untrusted is not None:
            raise self.untrusted
        self.trusted = bundle


async def shown(context: ssl.SSLContext, bundle: bytes) -> bytes:
    """Return the certificate that a client of a server meets, which it trusts."""
    (port,) = free_ports(1)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), LOOPBACK, port, ssl=context)
    _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=certified.trusting(bundle))
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    server.close()
    await server.wait_closed()
    return ssl.DER_cert_to_PEM_cert(found).encode()


def keeper(
    store: FakeStore, *, soon_s: float = certificate_keeper.SOON_S
) -> tuple[Keeper, ssl.SSLContext, WebhookTelemetry]:
    """Return a keeper and what it works on."""
    context, telemetry = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), WebhookTelemetry()
    return Keeper(store, context, telemetry, soon_s=soon_s), context, telemetry


async def test_a_new_certificate_is_shown_from_the_next_connection_on() -> None:
    """By the same server, to clients that trust the same authority."""
    store = FakeStore(certified.fresh(now=datetime.now(UTC) - timedelta(days=80)))
    old = store.made
    stored, context, telemetry = keeper(store)
    assert not stored.shows
    assert await stored.look()
    assert stored.shows
    assert (store.trusted, await shown(context, old.bundle)) == (old.bundle, old.server)

    store.made = certified.fresh(old)
    assert store.made.server != old.server
    assert await stored.look()
    assert await shown(context, old.bundle) == store.made.server
    ends = telemetry.registry.get_sample_value("heartbeat_tuner_certificate_end_time_seconds")
    assert ends == store.made.ends.timestamp()


async def test_what_cannot_be_read_leaves_the_old_one() -> None:
    """It is asked for again soon."""
    store = FakeStore(certified.fresh())
    stored, context, _ = keeper(store)
    await stored.look()
    store.unread = ApiServerError("down")
    assert not await stored.look()
    assert await shown(context, store.made.bundle) == store.made.server


async def test_where_somebody_else_says_whom_to_trust_it_is_shown_all_the_same() -> None:
    """They may have said the same."""
    store = FakeStore(certified.fresh())
    store.untrusted = FieldOwnedError("cert-manager")
    stored, context, _ = keeper(store)
    assert not await stored.look()
    assert not stored.trusted
    assert await shown(context, store.made.bundle) == store.made.server


async def test_it_is_looked_after_again_and_again() -> None:
    """Sooner after a failure."""
    store = FakeStore(certified.fresh())
    store.untrusted = ApiServerError("no configuration yet")
    stored, _, _ = keeper(store, soon_s=0.0)
    running = asyncio.create_task(stored.run())
    await until(lambda: store.looks > 2)
    store.untrusted = None
    await until(lambda: stored.trusted)
    running.cancel()
    await asyncio.wait([running])
