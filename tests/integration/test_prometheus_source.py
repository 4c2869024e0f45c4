"""The metrics source on a real Prometheus that wants TLS, a certificate, a user and a password, under a prefix."""

import asyncio
import contextlib
import json
import ssl
import time
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import trustme
import yaml

from heartbeat_tuner.adapters.prometheus.prometheus_access import BasicAuth, ClientCertificate
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from sandbox.binaries import Binaries
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import Process, wait_until
from tests.support.sources import reading

pytestmark = pytest.mark.timeout(300)

NAME: Final = "prometheus.sandbox"
USER: Final = "operator"
PASSWORD: Final = "open sesame"  # noqa: S105 - of a server on loopback, for as long as this test
HASH: Final = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"
"""The password as Prometheus wants it, by bcrypt."""

MAX_SAMPLES: Final = 1_000
BEGAN: Final = int(time.time()) - 300
"""When the first sample was taken; one each second follows."""


class Secured:
    """A Prometheus that lets in only who proves itself twice.

    Attributes:
        url: of its API, with the prefix.
        access: what `Access` needs to be let in.
        folder: where its files are.
    """

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        authority = trustme.CA()
        server, client = authority.issue_cert(NAME), authority.issue_cert(USER)
        authority.cert_pem.write_to_path(str(folder / "ca.crt"))
        trustme.CA().cert_pem.write_to_path(str(folder / "other-ca.crt"))
        for name, issued in (("server", server), ("client", client)):
            issued.cert_chain_pems[0].write_to_path(str(folder / f"{name}.crt"))
            issued.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        (folder / "password").write_text(PASSWORD)
        (folder / "wrong-password").write_text("guessed")
        tls = {"cert_file": "server.crt", "key_file": "server.key", "client_ca_file": "ca.crt"}
        web = {
            "tls_server_config": {**tls, "client_auth_type": "RequireAndVerifyClientCert"},
            "basic_auth_users": {USER: HASH},
        }
        (folder / "web.yml").write_text(yaml.safe_dump(web))
        (folder / "prometheus.yml").write_text("{}")
        (port,) = free_ports(1)
        self.url = f"https://{LOOPBACK}:{port}/prometheus"
        self.access: dict[str, Any] = {
            "ca_file": folder / "ca.crt",
            "client_certificate": ClientCertificate(folder / "client.crt", folder / "client.key"),
            "basic_auth": BasicAuth(USER, folder / "password"),
            "server_name": NAME,
        }
        self.process = Process(
            "prometheus",
            [
                program,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={LOOPBACK}:{port}",
                f"--web.config.file={folder / 'web.yml'}",
                "--web.route-prefix=/prometheus",
                "--web.enable-otlp-receiver",
                f"--query.max-samples={MAX_SAMPLES}",
                "--log.level=warn",
            ],
            log=folder / "prometheus.log",
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.process.start()
        wait_until(self._answers, part="prometheus", what="an answer", process=self.process)

    def write(self, *metrics: Mapping[str, Any]) -> None:
        """Store OTLP metrics."""
        body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": list(metrics)}]}]}).encode()
        self._send("/api/v1/otlp/v1/metrics", body)

    def _answers(self) -> bool:
        try:
            self._send("/-/ready", None)
        except OSError:
            return False
        return True

    def _send(self, path: str, body: bytes | None) -> None:
        """Send a request by other means than those under test."""
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        context.check_hostname = False
        context.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
        passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
        passwords.add_password(None, self.url, USER, PASSWORD, is_authenticated=True)
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPBasicAuthHandler(passwords)
        )
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})  # noqa: S310 - https
        with opener.open(request, timeout=10):
            pass


def gauge(name: str, values: list[float], **labels: str) -> dict[str, Any]:
    """Return an OTLP gauge with a sample each second from `BEGAN` on."""
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]
    points = [
        {"timeUnixNano": str((BEGAN + number) * 10**9), "asDouble": value, "attributes": attributes}
        for number, value in enumerate(values)
    ]
    return {"name": name, "gauge": {"dataPoints": points}}


def native_histogram(name: str) -> dict[str, Any]:
    """Return an OTLP exponential histogram, which Prometheus stores as a native one."""
    point = {
        "timeUnixNano": str(BEGAN * 10**9),
        "count": "3",
        "sum": 6.0,
        "scale": 0,
        "zeroCount": "0",
        "positive": {"offset": 0, "bucketCounts": ["1", "2"]},
    }
    return {"name": name, "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [point]}}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Secured]:
    """The Prometheus, with something in it."""
    started = Secured(tmp_path_factory.mktemp("secured"), binaries.path("prometheus"))
    try:
        started.start()
        started.write(
            gauge("few", [1, 2, 3], pod="a"),
            gauge("few", [4, 5, 6], pod="b"),
            *(gauge("many", [1.5] * 100, pod=str(number)) for number in range(MAX_SAMPLES // 100 + 1)),
            native_histogram("spread"),
        )
        yield started
    finally:
        started.process.stop()


@pytest.fixture
def source(secured: Secured) -> Iterator[PrometheusSource]:
    """A source that is let in."""
    with reading(secured.url, timeout_s=10, **secured.access) as found:
        yield found


@contextlib.contextmanager
def refused(cause: MetricsCause, words: str) -> Iterator[None]:
    """Expect an error with its cause and words, and with nothing secret."""
    with pytest.raises(MetricsUnavailableError) as caught:
        yield
    assert caught.value.cause is cause
    assert words in str(caught.value)
    assert PASSWORD not in str(caught.value)


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


async def test_raw_samples(source: PrometheusSource) -> None:
    """With their own times."""
    found = await source.instant("few[2h]", at=now())
    samples = {item.labels["pod"]: [(sample.time_s, sample.value) for sample in item.samples] for item in found}
    assert samples == {
        "a": [(BEGAN, 1), (BEGAN + 1, 2), (BEGAN + 2, 3)],
        "b": [(BEGAN, 4), (BEGAN + 1, 5), (BEGAN + 2, 6)],
    }
    assert (source.spent.requests, source.spent.samples) == (1, 6)


async def test_raw_samples_of_the_past(source: PrometheusSource) -> None:
    """A backfill goes back in slices."""
    found = await source.instant("few[2h]", at=datetime.fromtimestamp(BEGAN + 1, UTC))
    assert [len(item.samples) for item in found] == [2, 2]


async def test_an_instant_vector(source: PrometheusSource) -> None:
    """As the resolver counts names."""
    found = await source.vector(
        'count by (__name__) ({__name__=~"few|many"})', at=datetime.fromtimestamp(BEGAN + 2, UTC)
    )
    assert {item.labels["__name__"]: item.samples[0].value for item in found} == {"few": 2, "many": 11}


async def test_label_sets(source: PrometheusSource) -> None:
    """Of all selectors, each once; more than are asked for are an error, not a part."""
    times = {"start": now() - timedelta(hours=1), "end": now()}
    found = await source.series(["few", 'few{pod="a"}'], **times, limit=2)
    assert sorted(item["pod"] for item in found) == ["a", "b"]
    with refused(MetricsCause.TOO_MUCH, "more than 5 series; tried the series of few or many"):
        await source.series(["few", "many"], **times, limit=5)


async def test_infos_are_no_warnings(source: PrometheusSource, secured: Secured) -> None:
    """Prometheus says that a gauge may be no counter; its data are whole."""
    found = await source.vector("rate(few[2h])", at=now())
    assert len(found) == 2
    assert secured.process.alive()


async def test_native_histograms_are_passed_over(source: PrometheusSource) -> None:
    """They come without the key that all other series have."""
    assert await source.vector("count(spread)", at=datetime.fromtimestamp(BEGAN + 1, UTC))
    assert await source.instant("spread[2h]", at=now()) == []


async def test_too_many_samples_are_too_much(source: PrometheusSource) -> None:
    """By Prometheus' limit; asked once."""
    with refused(MetricsCause.TOO_MUCH, "answered 422 (query processing would load too many samples"):
        await source.instant("many[2h]", at=now())
    assert source.spent.requests == 1


async def test_too_long_an_answer_is_too_much(secured: Secured) -> None:
    """By ours; Prometheus packs it."""
    with reading(secured.url, timeout_s=10, max_answer_bytes=5_000, **secured.access) as source:
        with refused(MetricsCause.TOO_MUCH, "longer than 5000 bytes"):
            await source.instant('many{pod=~"."}[2h]', at=now())
        assert len(await source.instant('many{pod="7"}[2h]', at=now())) == 1


async def test_a_query_that_is_none_is_refused(source: PrometheusSource) -> None:
    """Our bug; asked once, and told in Prometheus' words."""
    with refused(MetricsCause.REFUSED, "answered 400 (invalid parameter"):
        await source.instant("few[", at=now())
    assert source.spent.requests == 1


async def test_an_instant_vector_where_samples_are_asked_for(source: PrometheusSource) -> None:
    """It repeats old samples as if they were new."""
    with refused(MetricsCause.MALFORMED, "something that is no matrix (vector); tried few"):
        await source.instant("few", at=now())


async def test_a_long_query(source: PrometheusSource) -> None:
    """Of hundreds of groups."""
    names = "|".join(f"group-{number}" for number in range(10_000))
    assert len(await source.instant(f'few{{pod=~"a|{names}"}}[2h]', at=now())) == 1


@pytest.mark.parametrize(
    ("changes", "cause", "words"),
    [
        ({"basic_auth": None}, MetricsCause.REFUSED, "answered 401 (Unauthorized): check the credentials"),
        ({"basic_auth": "wrong-password"}, MetricsCause.REFUSED, "answered 401 (Unauthorized): check the credentials"),
        ({"ca_file": "other-ca.crt"}, MetricsCause.REFUSED, "its certificate is not trusted: "),
        ({"ca_file": None}, MetricsCause.REFUSED, "its certificate is not trusted: "),
        ({"server_name": None}, MetricsCause.REFUSED, "its certificate is not trusted: "),
        ({"server_name": "other.sandbox"}, MetricsCause.REFUSED, "its certificate is not trusted: "),
    ],
    ids=["no user", "wrong password", "other authority", "no authority", "no name", "other name"],
)
async def test_who_does_not_prove_itself(
    secured: Secured, changes: dict[str, Any], cause: MetricsCause, words: str
) -> None:
    """Neither side talks to one that it does not know."""
    for name, value in changes.items():
        if value == "wrong-password":
            changes[name] = BasicAuth(USER, secured.folder / value)
        elif name == "ca_file" and value is not None:
            changes[name] = secured.folder / value
    with reading(secured.url, timeout_s=10, **(secured.access | changes)) as source, refused(cause, words):
        await source.instant("few[2h]", at=now())


async def test_who_has_no_certificate(secured: Secured) -> None:
    """Told after the handshake, as TLS 1.3 does; the connection may break before it is read."""
    access = secured.access | {"client_certificate": None}
    with reading(secured.url, timeout_s=10, **access) as source, pytest.raises(MetricsUnavailableError) as caught:
        await source.instant("few[2h]", at=now())
    report = {
        MetricsCause.REFUSED: "TLS failed: tlsv13 alert certificate required",
        MetricsCause.UNREACHABLE: "connection broken",
    }
    assert report[caught.value.cause] in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("/prometheus", "/elsewhere"), "answered 404 (404 page not found): set prometheus.url"),
        (("https:", "http:"), "answered 400"),
    ],
)
async def test_another_address(secured: Secured, change: tuple[str, str], words: str) -> None:
    """The prefix belongs to it, and the scheme."""
    url = secured.url.replace(*change)
    with reading(url, timeout_s=10, **secured.access) as source, refused(MetricsCause.REFUSED, words):
        await source.instant("few[2h]", at=now())


async def test_a_restart_breaks_no_query_after_it(secured: Secured, source: PrometheusSource) -> None:
    """The connections of before are dead, and nobody has told us."""
    ask = [source.instant("few[2h]", at=now()) for _ in range(4)]
    assert [len(found) for found in await asyncio.gather(*ask)] == [2] * 4
    secured.process.stop()
    with refused(MetricsCause.UNREACHABLE, "did not answer (connection refused)"):
        await source.instant("few[2h]", at=now())
    secured.start()  # in this thread, with which it ends
    ask = [source.instant("few[2h]", at=now()) for _ in range(4)]
    assert [len(found) for found in await asyncio.gather(*ask)] == [2] * 4


async def test_a_password_that_changes(secured: Secured, tmp_path: Path) -> None:
    """Its file is read for each request."""
    path = tmp_path / "password"
    path.write_text("not yet")
    with reading(secured.url, timeout_s=10, **(secured.access | {"basic_auth": BasicAuth(USER, path)})) as source:
        with refused(MetricsCause.REFUSED, "answered 401"):
            await source.instant("few[2h]", at=now())
        path.write_text(PASSWORD)
        assert len(await source.instant("few[2h]", at=now())) == 2
        path.unlink()
        with refused(MetricsCause.REFUSED, f"the password file {path} cannot be read"):
            await source.instant("few[2h]", at=now())
