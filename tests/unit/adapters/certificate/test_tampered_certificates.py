"""Whatever stands in the Secret, a server is shown that its clients believe."""

import base64
import copy
import dataclasses
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.certificate import certificate_store, certificates
from heartbeat_tuner.adapters.certificate.certificate_store import CertificateStore
from heartbeat_tuner.adapters.certificate.certificates import Certificates, UnusableError
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import WriteConflictError
from sandbox.network import LOOPBACK
from tests.support import certified, forgery
from tests.support.forgery import FORGERIES
from tests.support.slots import FakeClock

MADE = certified.fresh()
FIELDS = [field.name for field in dataclasses.fields(Certificates)]


def _read(parts: Certificates) -> Certificates | None:
    """Read what somebody stored; only one kind of error may come of it."""
    try:
        return certificates.read(parts.bundle, parts.authority_key, parts.server, parts.server_key)
    except UnusableError:
        return None


def _serves(parts: Certificates) -> bool:
    """Whether a server can show it to a client."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = certified.trusting(parts.bundle).wrap_bio(back, there, server_hostname=LOOPBACK)
    server = certified.serving(parts).wrap_bio(there, back, server_side=True)
    for end in (client, server, client, server):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return client.version() is not None


@given(
    st.sampled_from(FIELDS),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 40)), min_size=1, max_size=4),
)
def test_what_is_read_can_be_shown(field: str, cuts: list[tuple[int, bytes, int]]) -> None:
    """However the PEM was cut, garbled or filled up."""
    pem: bytes = getattr(MADE, field)
    for where, put, gone in cuts:
        at = where % (len(pem) + 1)
        pem = pem[:at] + put + pem[at + gone :]
    found = _read(dataclasses.replace(MADE, **{field: pem}))
    assert found is None or _serves(found)


def test_a_forgery_without_a_fault_is_good() -> None:
    """So each of the others is refused for its own fault."""
    assert _read(forgery.forged())


@pytest.mark.parametrize("forged", FORGERIES.values(), ids=FORGERIES)
def test_what_a_tamperer_makes_is_of_no_use(forged: Callable[[], Certificates]) -> None:
    """Though each of it is good PEM."""
    assert _read(forged()) is None


def test_what_was_added_to_the_pem_is_left_out() -> None:
    """Text between the blocks, other names for a block: the API server takes none of it in a bundle."""
    talkative = dataclasses.replace(MADE, bundle=b"hello\n" + MADE.bundle, server=MADE.server + b"\nhello")
    assert _read(talkative) == MADE


def test_one_whose_time_has_not_come_is_renewed() -> None:
    """Nobody would believe it now."""
    early = certified.fresh(now=datetime.now(UTC) + timedelta(days=2))
    assert certificates.renewed(early, [LOOPBACK], now=datetime.now(UTC)).server != early.server


class FakeApi:
    """One Secret.

    Attributes:
        secret: as it is stored.
        writes: how many there were.
        refuses: what the next write meets.
    """

    name = "s"

    def __init__(self) -> None:
        self.secret: dict[str, Any] | None = None
        self.writes = 0
        self.refuses: Exception | None = None

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return it."""
        assert path.endswith("/secrets/s")
        return copy.deepcopy(self.secret)

    async def write(self, _method: str, _path: str, body: dict[str, Any], **_query: str) -> dict[str, Any]:
        """Store it."""
        if self.refuses is not None:
            error, self.refuses = self.refuses, None
            raise error
        self.writes += 1
        self.secret = body
        return body

    def spoil(self, key: str = "tls.crt", value: bytes = b"junk") -> None:
        """Write something into it."""
        assert self.secret is not None
        self.secret["data"][key] = base64.b64encode(value).decode()


def _replica(api: FakeApi, clock: FakeClock) -> CertificateStore:
    return CertificateStore(
        cast("KubernetesApi", api), namespace="n", secret=FakeApi.name, configuration="c", names=[LOOPBACK], clock=clock
    )


async def test_a_spoiled_secret_is_written_anew_by_the_same_authority() -> None:
    """So that who still shows the old certificate is trusted."""
    api, clock = FakeApi(), FakeClock()
    store = _replica(api, clock)
    first = await store.current()
    assert await store.current() == first
    api.spoil()
    second = await store.current()
    assert second.server != first.server
    assert (second.bundle, api.writes) == (first.bundle, 2)
    assert await _replica(api, clock).current() == second


async def test_who_starts_with_a_spoiled_secret_makes_a_new_one() -> None:
    """With an authority of its own: nothing of the old is believed; a key that is not there is told, too."""
    api, clock = FakeApi(), FakeClock()
    first = await _replica(api, clock).current()
    assert api.secret is not None
    api.secret["type"] = "kubernetes.io/tls"
    del api.secret["data"]["ca.key"]
    second = await _replica(api, clock).current()
    assert second.bundle != first.bundle
    assert api.secret["type"] == "kubernetes.io/tls"


async def test_who_spoils_it_again_and_again_rotates_nothing() -> None:
    """The last good one is shown, and the Secret is left for longer and longer; two replicas do not fight."""
    api, clock = FakeApi(), FakeClock()
    replicas = [_replica(api, clock) for _ in range(2)]
    bundles = {(await replica.current()).bundle for replica in replicas}
    for _ in range(240):
        api.spoil()
        bundles |= {(await replica.current()).bundle for replica in replicas}
        clock.time += timedelta(minutes=1)
    assert len(bundles) == 1
    assert api.writes <= 24
    for _ in range(2):
        clock.time += 3 * certificate_store.LONGEST_PAUSE
        await replicas[0].current()
    api.spoil()
    writes = api.writes
    await replicas[0].current()
    assert api.writes == writes + 1


async def test_of_two_replicas_one_writes() -> None:
    """The other is refused, and reads what the first made."""
    api, clock = FakeApi(), FakeClock()
    first, second = _replica(api, clock), _replica(api, clock)
    await first.current()
    await second.current()
    api.spoil()
    api.refuses = WriteConflictError("the other was first")
    with pytest.raises(WriteConflictError):
        await second.current()
    made = await first.current()
    assert await second.current() == made


def test_a_name_that_is_not_among_its_own_gets_a_new_certificate() -> None:
    """One that was made out to somebody else, by the same authority, is replaced."""
    other = certificates.renewed(MADE, ["evil.example"], now=datetime.now(UTC))
    assert _read(other) == other
    assert certificates.renewed(other, [LOOPBACK], now=datetime.now(UTC)).serves([LOOPBACK])
