"""What an answer or an exception means."""

import html
import http.client
import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
import requests
import urllib3

from heartbeat_tuner.adapters.prometheus import prometheus_failures as failures
from heartbeat_tuner.adapters.prometheus.prometheus_failures import OPERATOR, Failure, SettingsFix
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.domain.errors import MetricsCause
from heartbeat_tuner.domain.sentences import identity

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)

LIMITS: Final = {
    "Prometheus": "query processing would load too many samples into memory in query execution",
    "Mimir": "the query exceeded the maximum number of chunks (limit: 2000000 chunks) (err-mimir-max-chunks-per-query)",
    "Thanos": "expand series: exceeded series limit: limit 10 violated (got 20)",
    "VictoriaMetrics": "cannot select more than -search.maxSamplesPerQuery=1000000000 samples; possible solutions: ...",
}


def _error(kind: str, sentence: str) -> str:
    return json.dumps({"status": "error", "errorType": kind, "error": sentence})


@pytest.mark.parametrize("server", LIMITS)
def test_limits_of_the_known_servers_are_too_much(server: str) -> None:
    """All of them say 422, and are never asked the same again: it would cost them as much again."""
    found = failures.of_status(422, {}, _error("execution", LIMITS[server]), now=NOW)
    assert (found.cause, found.reply, found.again_after_s) == (MetricsCause.TOO_MUCH, LIMITS[server], None)


@pytest.mark.parametrize(
    ("status", "cause", "again"),
    [
        (301, MetricsCause.REFUSED, False),
        (400, MetricsCause.REFUSED, False),
        (401, MetricsCause.REFUSED, False),
        (403, MetricsCause.REFUSED, False),
        (404, MetricsCause.REFUSED, False),
        (408, MetricsCause.UNREACHABLE, True),
        (413, MetricsCause.TOO_MUCH, False),
        (422, MetricsCause.TOO_MUCH, False),
        (429, MetricsCause.OVERLOADED, True),
        (499, MetricsCause.REFUSED, False),
        (500, MetricsCause.FAILED, False),
        (502, MetricsCause.UNREACHABLE, True),
        (503, MetricsCause.OVERLOADED, True),
        (504, MetricsCause.UNREACHABLE, True),
        (520, MetricsCause.FAILED, False),
        (204, MetricsCause.FAILED, False),
    ],
)
def test_statuses(status: int, cause: MetricsCause, again: bool) -> None:  # noqa: FBT001 - a column of the table
    """Those that nobody has given a name, too."""
    found = failures.of_status(status, {}, "words", now=NOW)
    assert (found.cause, found.again_after_s is not None) == (cause, again)
    assert str(status) in found.problem(OPERATOR)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("-7", 0),
        ("Thu, 01 Jan 2026 00:00:09 GMT", 9),
        ("Thu, 01 Jan 2026 00:00:09 -0000", 9),
        ("Wed, 31 Dec 2025 23:59:00 GMT", 0),
        ("soon", 0),
        ("9" * 400, 0),
        ("9" * 5_000, 0),
    ],
)
def test_when_to_ask_again(text: str, seconds: float) -> None:
    """Seconds, or a date, or nothing that can be read."""
    assert failures.of_status(503, {"Retry-After": text}, "", now=NOW).again_after_s == seconds
    assert failures.of_status(500, {"Retry-After": text}, "", now=NOW).again_after_s is None


def test_a_message_is_one_short_line() -> None:
    """It goes into a status and a log."""
    found = failures.of_status(500, {}, "one\r\n\x1b[31mtwo\x00 " + "x" * 5_000, now=NOW)
    problem = found.problem(OPERATOR)
    assert problem.startswith("Prometheus answered 500 (one [31mtwo xxx")
    assert problem.isprintable()
    assert len(problem) == len("Prometheus answered 500 ()") + failures.SHOWN_CHARACTERS


SECRET: Final = '"<s3cr3t>&é' * 20


@pytest.mark.parametrize(
    "written",
    [SECRET, json.dumps(SECRET), json.dumps(SECRET, ensure_ascii=False), html.escape(SECRET)],
    ids=["plain", "json", "json in UTF-8", "html"],
)
def test_what_is_hidden_is_not_told(written: str) -> None:
    """Also where it begins before the end of what is shown, and ends after it."""
    found = failures.of_status(500, {}, "x" * 200 + written, now=NOW)
    found.hide([SECRET, ""])
    assert "s3cr3t" not in found.problem(OPERATOR)
    assert found.problem(OPERATOR).startswith("Prometheus answered 500 (")


def test_a_query_is_hidden_as_go_writes_it() -> None:
    """VictoriaMetrics repeats the query in quotes."""
    query = 'up{group_id=~"orders|payments"}[1m]'
    found = failures.of_status(422, {}, _error("422", f"cannot evaluate {json.dumps(query)}: no"), now=NOW)
    found.hide([query])
    assert found.problem(OPERATOR) == 'Prometheus answered 422 (cannot evaluate "…": no)'


def _raised(error: Exception, *came_from: Exception) -> Exception:
    """Return an exception with those that it came from, the first one the last."""
    for outer, inner in zip((error, *came_from), came_from, strict=False):
        outer.__context__ = inner
    return error


_CONNECTION: Final = urllib3.connection.HTTPConnection("prometheus")


@pytest.mark.parametrize(
    ("error", "cause", "words", "again"),
    [
        (
            _raised(requests.ConnectionError(), urllib3.exceptions.ProtocolError(), http.client.RemoteDisconnected("")),
            MetricsCause.UNREACHABLE,
            "connection broken",
            True,
        ),
        (
            requests.exceptions.SSLError(urllib3.exceptions.SSLError(ssl.SSLEOFError(8, "EOF occurred"))),
            MetricsCause.UNREACHABLE,
            "connection broken",
            True,
        ),
        (
            _raised(requests.exceptions.SSLError(), ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] no")),
            MetricsCause.REFUSED,
            "TLS failed: ",
            False,
        ),
        (
            _raised(
                requests.ConnectionError(), urllib3.exceptions.NameResolutionError("a", _CONNECTION, socket.gaierror())
            ),
            MetricsCause.UNREACHABLE,
            "its name is not known",
            False,
        ),
        (
            _raised(requests.exceptions.ProxyError(), urllib3.exceptions.ProxyError("a", OSError())),
            MetricsCause.UNREACHABLE,
            "the proxy failed",
            False,
        ),
        (_raised(requests.ConnectTimeout(), TimeoutError()), MetricsCause.TIMEOUT, "timed out", False),
        (requests.exceptions.InvalidURL("http://"), MetricsCause.UNREACHABLE, "connection failed", False),
    ],
)
def test_exceptions(error: Exception, cause: MetricsCause, words: str, again: bool) -> None:  # noqa: FBT001 - likewise
    """The libraries wrap them in each other; the innermost says what it was."""
    found = failures.of_transport(error)
    assert (found.cause, found.again_after_s is not None) == (cause, again)
    assert f"Prometheus did not answer ({words}" in found.problem(OPERATOR)


def test_a_wait_of_an_hour_is_an_hour() -> None:
    """Whether that is too long, who waits decides."""
    after = (NOW + timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert failures.of_status(429, {"Retry-After": after}, "", now=NOW).again_after_s == 3600


OF_ANSWER: Final = Failure(
    MetricsCause.TOO_MUCH, "Prometheus' answer is longer than 9 bytes", fix=SettingsFix.ALLOW_LONGER_ANSWERS
)
OF_TLS: Final = failures.of_transport(ssl.SSLError("no"))


@pytest.mark.parametrize(
    ("failure", "operator", "command_line"),
    [
        (
            failures.of_status(401, {}, "", now=NOW),
            "answered 401: check the credentials and the headers of the operator's prometheus settings",
            "answered 401: check the credentials and the headers that you gave",
        ),
        (
            failures.of_status(404, {}, "", now=NOW),
            "answered 404: set prometheus.url to the address to which /api/v1/query is to be appended",
            "answered 404: set --prometheus to the address to which /api/v1/query is to be appended",
        ),
        (
            failures.of_status(302, {"Location": "https://here/?token=1"}, "", now=NOW),
            "a redirect (https://here/): set prometheus.url to the address it leads to",
            "a redirect (https://here/): set --prometheus to the address it leads to",
        ),
        (OF_ANSWER, "longer than 9 bytes (prometheus.maxAnswerBytes)", "longer than 9 bytes"),
        (OF_TLS, ": check url and tls of the operator's prometheus settings", ": check url and tls that you gave"),
        (failures.of_status(500, {}, "", now=NOW), "Prometheus answered 500", "Prometheus answered 500"),
    ],
    ids=["credentials", "url", "redirect", "length", "tls", "nothing to do"],
)
def test_each_audience_reads_its_own_words(failure: Failure, operator: str, command_line: str) -> None:
    """Who gave options has no configuration of the operator's to look into."""
    assert failure.problem(OPERATOR).endswith(operator)
    assert failure.problem(prometheus_options.WORDS).endswith(command_line)


def test_what_the_server_says_of_the_moment_makes_no_failure_another() -> None:
    """It counts what it was asked for, and a status must not be written for that."""
    first, second, other = (
        failures.of_status(status, {}, f"{count} samples are too many", now=NOW).problem(OPERATOR)
        for status, count in ((422, 50_123), (422, 50_124), (500, 50_123))
    )
    assert first != second
    assert identity(first) == identity(second)
    assert identity(first) != identity(other)
