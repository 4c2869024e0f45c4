"""Who the operator says it is, and that its secrets are told to nobody else."""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_access import BasicAuth, ClientCertificate
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from tests.support.scripted_server import Handler, answer, respond, serving
from tests.support.sources import reading


async def _ask(source: PrometheusSource, query: str = "up[1m]") -> Any:
    return await source.instant(query, at=datetime.now(UTC))


async def test_a_token_is_read_anew_for_each_request(tmp_path: Path) -> None:
    """The kubelet changes a projected token under its path well before the old one expires."""
    path = tmp_path / "token"
    with serving() as server, reading(server.url, bearer_token_file=path) as source:
        for token in ("first", "second\n"):
            path.write_text(token)
            await _ask(source)
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer second"]


async def test_user_and_password_are_sent_in_utf_8(tmp_path: Path) -> None:
    """As RFC 7617 asks for."""
    path = tmp_path / "password"
    path.write_text("pässwörd:1\n")
    with serving() as server, reading(server.url, basic_auth=BasicAuth("operator", path)) as source:
        await _ask(source)
    kind, _, pair = server.requests[0].headers["Authorization"].partition(" ")
    assert (kind, base64.b64decode(pair).decode()) == ("Basic", "operator:pässwörd:1")


async def test_nothing_is_sent_by_who_has_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what a `.netrc` in somebody's home says, either."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving() as server, reading(server.url) as source:
        await _ask(source)
    assert "Authorization" not in server.requests[0].headers


async def test_headers_and_the_address_prefix_are_sent() -> None:
    """Mimir's tenant is a header and its API has a prefix; a slash at its end is nobody's mistake."""

    def mimir(handler: Handler) -> None:
        body = answer({"resultType": "matrix", "result": []})
        found = handler.path == "/prometheus/api/v1/query" and handler.headers["X-Scope-OrgID"] == "team-a"
        respond(handler, body if found else b"no org id", status=200 if found else 401)

    headers = {"X-Scope-OrgID": "team-a"}
    with serving(mimir) as server:
        for prefix in ("/prometheus", "/prometheus/"):
            with reading(server.url + prefix, headers=headers) as source:
                assert await _ask(source) == []
        with reading(server.url + "/prometheus") as source, pytest.raises(MetricsUnavailableError, match="no org id"):
            await _ask(source)


async def test_what_is_asked_stands_in_the_body() -> None:
    """Addresses have length limits, and queries of hundreds of groups."""
    query = 'up{group_id=~"' + "|".join(f"group-{number}" for number in range(20_000)) + '"}[1m]'
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with serving() as server, reading(server.url, timeout_s=10) as source:
        await source.instant(query, at=at)
        await source.series(["a", "b"], start=at, end=at, limit=7)
    asked, listed = server.requests
    assert (asked.path, listed.path) == ("/api/v1/query", "/api/v1/series")
    assert asked.form == {"query": [query], "time": ["1767225600.000"], "timeout": ["20"]}
    assert listed.form == {
        "match[]": ["a", "b"],
        "start": ["1767225600.000"],
        "end": ["1767225600.000"],
        "limit": ["8"],  # one more than may be: not every server says that it cut
    }


UNUSABLE: Final[Mapping[str, tuple[Callable[[Path], dict[str, Any]], str]]] = {
    "token gone": (lambda at: {"bearer_token_file": at / "gone"}, "bearer token file {}/gone cannot be read (No such"),
    "token a folder": (lambda at: {"bearer_token_file": at}, "file {} cannot be read (Is a directory)"),
    "token empty": (lambda at: {"bearer_token_file": at / "empty"}, "file {}/empty is empty"),
    "token of two lines": (lambda at: {"bearer_token_file": at / "two"}, "file {}/two holds more than one line"),
    "token of bytes": (lambda at: {"bearer_token_file": at / "bytes"}, "file {}/bytes is no text in UTF-8"),
    "token not in ASCII": (lambda at: {"bearer_token_file": at / "utf8"}, "file {}/utf8 holds characters that are not"),
    "password gone": (lambda at: {"basic_auth": BasicAuth("a", at / "gone")}, "password file {}/gone cannot be read"),
    "password empty": (lambda at: {"basic_auth": BasicAuth("a", at / "empty")}, "password file {}/empty is empty"),
    "authority gone": (lambda at: {"ca_file": at / "gone"}, "TLS file {}/gone cannot be read"),
    "certificate gone": (
        lambda at: {"client_certificate": ClientCertificate(at / "gone", at / "two")},
        "TLS file {}/gone cannot be read",
    ),
    "key gone": (
        lambda at: {"client_certificate": ClientCertificate(at / "two", at / "gone")},
        "TLS file {}/gone cannot be read",
    ),
}


@pytest.mark.parametrize(("access", "words"), UNUSABLE.values(), ids=UNUSABLE)
async def test_a_file_that_cannot_be_used_is_told_and_nothing_is_sent(
    tmp_path: Path, access: Callable[[Path], dict[str, Any]], words: str
) -> None:
    """It may be mounted again a moment later; without it nobody is to be asked."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "two").write_text("hidden-one\nhidden-two\n")
    (tmp_path / "bytes").write_bytes(b"hidden-\xff")
    (tmp_path / "utf8").write_text("hidden-ö")
    with serving() as server, reading(server.url, **access(tmp_path)) as source:
        with pytest.raises(MetricsUnavailableError) as caught:
            await _ask(source)
        assert not server.requests
    report = str(caught.value)
    assert report.startswith("Prometheus was not asked: ")
    assert words.format(tmp_path) in report
    assert report.endswith(": mount it again; tried up[1m]")
    assert "hidden" not in report
    assert caught.value.cause is MetricsCause.REFUSED


async def test_secrets_and_other_people_s_names_are_not_repeated(tmp_path: Path) -> None:
    """A proxy may show the request that it refuses; the message goes into a tenant's status."""
    path = tmp_path / "password"
    path.write_text('p"ss/wörd')
    query = 'up{group_id=~"orders|payments"}[1m]'

    def mirror(handler: Handler) -> None:
        sent = {"query": query, "password": 'p"ss/wörd', "authorization": handler.headers["Authorization"]}
        body = f"{json.dumps(sent)} {json.dumps(sent, ensure_ascii=False)} {sent} refused" + "x" * 1_000
        respond(handler, body.encode(), status=403)

    with (
        serving(mirror) as server,
        reading(server.url, basic_auth=BasicAuth("operator", path)) as source,
        pytest.raises(MetricsUnavailableError) as caught,
    ):
        await _ask(source, query)
    report = str(caught.value).removesuffix(f"; tried {query}")
    pair = base64.b64encode('operator:p"ss/wörd'.encode()).decode()
    for secret in (pair, "ss/w", "orders", "payments"):
        assert secret not in report
    assert len(report) < 500
