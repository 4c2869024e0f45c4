"""What can go wrong with one request to Prometheus, sorted by what may be done about it.

A `Failure` is a sentence without the query and with the server's own words apart, since those may repeat what must not
be told on: `prometheus` makes the `MetricsUnavailableError` of it.
"""

import email.utils
import html
import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import urllib3

from heartbeat_tuner.domain.errors import MetricsCause

SHOWN_CHARACTERS: Final = 300
"""How much of the server's own words a message repeats."""

_BY_STATUS: Final = {
    HTTPStatus.REQUEST_TIMEOUT: MetricsCause.UNREACHABLE,
    HTTPStatus.BAD_GATEWAY: MetricsCause.UNREACHABLE,
    HTTPStatus.GATEWAY_TIMEOUT: MetricsCause.UNREACHABLE,
    HTTPStatus.TOO_MANY_REQUESTS: MetricsCause.OVERLOADED,
    HTTPStatus.SERVICE_UNAVAILABLE: MetricsCause.OVERLOADED,
    # Prometheus, Thanos, Mimir and VictoriaMetrics answer 422 when a limit on samples, series or chunks is exceeded.
    HTTPStatus.UNPROCESSABLE_ENTITY: MetricsCause.TOO_MUCH,
    # Mimir, when parts of an answer are larger than its messages; a gateway, when the query is.
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: MetricsCause.TOO_MUCH,
}

_PASSING: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)

_KNOWN: Final = frozenset(HTTPStatus)

_BROKEN: Final = "connection broken"

_BY_EXCEPTION: Final = (
    (ssl.SSLCertVerificationError, MetricsCause.REFUSED, "its certificate is not trusted"),
    # Before the other errors of TLS: what ends under TLS ends as it would without.
    ((ssl.SSLEOFError, ssl.SSLZeroReturnError), MetricsCause.UNREACHABLE, _BROKEN),
    ((ConnectionResetError, ConnectionAbortedError, BrokenPipeError), MetricsCause.UNREACHABLE, _BROKEN),
    (ssl.SSLError, MetricsCause.REFUSED, "TLS failed"),
    (ConnectionRefusedError, MetricsCause.UNREACHABLE, "connection refused"),
    (urllib3.exceptions.NameResolutionError, MetricsCause.UNREACHABLE, "its name is not known"),
    ((urllib3.exceptions.TimeoutError, TimeoutError), MetricsCause.TIMEOUT, "timed out"),
    (urllib3.exceptions.ProxyError, MetricsCause.UNREACHABLE, "the proxy failed"),
    (http.client.HTTPException, MetricsCause.MALFORMED, "what came is no HTTP"),
)
"""What an exception, or one of those that it came from, means; the first that fits."""

_TLS_FIX: Final = ": check url and tls of the operator's prometheus settings"

_FIXES: Final = {
    HTTPStatus.UNAUTHORIZED: ": check the credentials and the headers of the operator's prometheus settings",
    HTTPStatus.FORBIDDEN: ": check the credentials and the headers of the operator's prometheus settings",
    HTTPStatus.NOT_FOUND: ": set prometheus.url to the address to which /api/v1/query is to be appended",
}


class Failure(Exception):  # noqa: N818 - it never leaves the adapter; what does is an Error
    """One request brought no data.

    Attributes:
        cause: what kind of failure.
        sentence: what happened, in our words.
        told: what the server said; shown in parentheses after the sentence.
        fix: what to do; empty where nobody can tell.
        again_after_s: how long to wait at least before the same is asked again; None if that is of no use.
    """

    def __init__(
        self,
        cause: MetricsCause,
        sentence: str,
        *,
        told: str = "",
        fix: str = "",
        again_after_s: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.cause = cause
        self.sentence = sentence
        self.told = told
        self.fix = fix
        self.again_after_s = again_after_s
        self._hidden: list[str] = []

    def hide(self, texts: Iterable[str]) -> None:
        """Let the server's words not repeat these: a query names other people's groups, a password is one."""
        self._hidden += texts

    def message(self, tried: str) -> str:
        """Return all of it in one line; `tried` is what a person would try."""
        told = _shown(self.told, self._hidden)
        return f"{self.sentence}{f' ({told})' if told else ''}{self.fix}; tried {tried}"


def of_status(status: int, headers: Mapping[str, str], body: str, *, now: datetime) -> Failure:
    """Return what an answer means whose status is not 200.

    Args:
        status: the HTTP status.
        headers: of the answer, whatever their case.
        body: its beginning at least.
        now: our time.
    """
    if status in range(300, 400):
        told, fix = headers.get("Location", ""), ": set prometheus.url to the address it leads to"
        return Failure(
            MetricsCause.REFUSED, f"Prometheus answered {status}, a redirect", told=told.partition("?")[0], fix=fix
        )
    other = MetricsCause.REFUSED if status in range(400, 500) else MetricsCause.FAILED
    return Failure(
        _BY_STATUS.get(HTTPStatus(status), other) if status in _KNOWN else other,
        f"Prometheus answered {status}",
        told=_error_of(body),
        fix=_FIXES.get(HTTPStatus(status), "") if status in _KNOWN else "",
        again_after_s=_retry_after_s(headers, now) if status in _PASSING else None,
    )


def of_transport(error: Exception) -> Failure:
    """Return what it means that no whole answer came."""
    links = _chain(error)
    for types, cause, words in _BY_EXCEPTION:
        link = next((one for one in links if isinstance(one, types)), None)
        if link is not None:
            return Failure(
                cause,
                f"Prometheus did not answer ({words}{_reason_of(link)})",
                fix=_TLS_FIX if cause is MetricsCause.REFUSED else "",
                again_after_s=0 if words == _BROKEN else None,
            )
    return Failure(MetricsCause.UNREACHABLE, "Prometheus did not answer (connection failed)")


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and those that it came from; the libraries wrap the one that says something, or hold it."""
    found: list[BaseException] = []
    left: list[object] = [error]
    while left:
        link = left.pop()
        if isinstance(link, BaseException) and link not in found:
            found.append(link)
            left += [link.__cause__, link.__context__, *link.args]
    return found


def _reason_of(link: BaseException) -> str:
    """Return what TLS says of its failure: the one kind whose own words help, and are the same each time."""
    match link:
        case ssl.SSLCertVerificationError():
            return f": {link.verify_message}"
        case ssl.SSLError() if not isinstance(link, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return f": {(getattr(link, 'reason', None) or str(link)).lower().replace('_', ' ')}"
        case _:
            return ""


def _error_of(body: str) -> str:
    """Return the sentence in an error's body: of the query API's own form, else the body."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    found = document.get("error") if isinstance(document, dict) else None
    return found if isinstance(found, str) else body


def _shown(told: str, hidden: Iterable[str]) -> str:
    """Return the server's words in one line of bounded length, without what they must not repeat."""
    for secret in filter(None, hidden):
        for written in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
            told = told.replace(written, "…").replace(html.escape(written), "…")
    printable = "".join(one if one.isprintable() else " " for one in told)
    return " ".join(printable.split())[:SHOWN_CHARACTERS]


def _retry_after_s(headers: Mapping[str, str], now: datetime) -> float:
    """Return how long the server wants to be left alone; 0 if it does not say."""
    text = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(int(text)))
    except (ValueError, OverflowError):
        pass
    try:
        until = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())
