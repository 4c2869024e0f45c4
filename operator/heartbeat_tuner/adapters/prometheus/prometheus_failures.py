"""What can go wrong with one request to Prometheus, sorted by what may be done about it.

A `Failure` is a sentence without the query, with the server's own words apart, since those may repeat what must not
be told on, and with a `SettingsFix` that each audience has its own `SettingsWords` for: `prometheus` makes the
`MetricsUnavailableError` of it.
"""

import dataclasses
import email.utils
import enum
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
from heartbeat_tuner.domain.sentences import Reading, Sentence, say

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

_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""What OpenSSL says of an answer that is plain HTTP; which of them depends on its version."""

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


class SettingsFix(enum.Enum):
    """What a person may do about a failure."""

    CHECK_TLS = enum.auto()
    DROP_TLS = enum.auto()
    CHECK_CREDENTIALS = enum.auto()
    SET_URL = enum.auto()
    FOLLOW_REDIRECT = enum.auto()
    ALLOW_LONGER_ANSWERS = enum.auto()
    MOUNT_AGAIN = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class SettingsWords:
    """How an audience calls the settings that a failure is about.

    Attributes:
        settings: whose they are, after their names.
        url: the one with the address.
        longest_answer: the one that limits answers, as the end of a sentence; empty where nobody can set it.
        clock: whose clock Prometheus' is compared with.
    """

    settings: str
    url: str
    longest_answer: str
    clock: str

    def of(self, fix: SettingsFix | None) -> str:
        """Return the end of a sentence that says what to do."""
        return {
            None: "",
            SettingsFix.CHECK_TLS: f": check url and tls {self.settings}",
            SettingsFix.DROP_TLS: f": begin {self.url} with http://, or give the port that has TLS",
            SettingsFix.CHECK_CREDENTIALS: f": check the credentials and the headers {self.settings}",
            SettingsFix.SET_URL: f": set {self.url} to the address to which /api/v1/query is to be appended",
            SettingsFix.FOLLOW_REDIRECT: f": set {self.url} to the address it leads to",
            SettingsFix.ALLOW_LONGER_ANSWERS: self.longest_answer,
            SettingsFix.MOUNT_AGAIN: ": mount it again",
        }[fix]


OPERATOR: Final = SettingsWords(
    settings="of the operator's prometheus settings",
    url="prometheus.url",
    longest_answer=" (prometheus.maxAnswerBytes)",
    clock="the operator's",
)
"""The words of the operator's configuration file."""

_FIXES: Final = {
    HTTPStatus.UNAUTHORIZED: SettingsFix.CHECK_CREDENTIALS,
    HTTPStatus.FORBIDDEN: SettingsFix.CHECK_CREDENTIALS,
    HTTPStatus.NOT_FOUND: SettingsFix.SET_URL,
}


class Failure(Exception):  # noqa: N818 - it never leaves the adapter; what does is an Error
    """One request brought no data.

    Attributes:
        cause: what kind of failure.
        sentence: what happened, in our words.
        reply: what the server said; shown in parentheses after the sentence.
        fix: what to do; None where nobody can tell.
        again_after_s: how long to wait at least before the same is asked again; None if that is of no use.
    """

    def __init__(
        self,
        cause: MetricsCause,
        sentence: str,
        *,
        reply: str = "",
        fix: SettingsFix | None = None,
        again_after_s: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.cause = cause
        self.sentence = sentence
        self.reply = reply
        self.fix = fix
        self.again_after_s = again_after_s
        self._hidden: list[str] = []

    def hide(self, texts: Iterable[str]) -> None:
        """Let the server's words not repeat these: a query names other people's groups, a password is one."""
        self._hidden += texts

    def problem(self, words: SettingsWords) -> Sentence:
        """Return all of it in one line, in the words of who will read it.

        The server's own words may be others each time: they have numbers of the moment, or of the request.
        """
        reply = _shown(self.reply, self._hidden)
        server = say(" ({server})", server=Reading(reply)) if reply else ""
        return say("{sentence}{server}{fix}", sentence=self.sentence, server=server, fix=words.of(self.fix))


def of_status(status: int, headers: Mapping[str, str], body: str, *, now: datetime) -> Failure:
    """Return what an answer means whose status is not 200.

    Args:
        status: the HTTP status.
        headers: of the answer, whatever their case.
        body: its beginning at least.
        now: our time.
    """
    if status in range(300, 400):
        location, sentence = headers.get("Location", "").partition("?")[0], f"Prometheus answered {status}, a redirect"
        return Failure(MetricsCause.REFUSED, sentence, reply=location, fix=SettingsFix.FOLLOW_REDIRECT)
    other = MetricsCause.REFUSED if status in range(400, 500) else MetricsCause.FAILED
    return Failure(
        _BY_STATUS.get(HTTPStatus(status), other) if status in _KNOWN else other,
        f"Prometheus answered {status}",
        reply=_error_of(body),
        fix=_FIXES.get(HTTPStatus(status)) if status in _KNOWN else None,
        again_after_s=_retry_after_s(headers, now) if status in _PASSING else None,
    )


def of_transport(error: Exception) -> Failure:
    """Return what it means that no whole answer came."""
    links = _chain(error)
    if any(isinstance(link, ssl.SSLError) and getattr(link, "reason", None) in _NOT_TLS for link in links):
        sentence = "Prometheus did not answer (https was spoken to a port without TLS)"
        return Failure(MetricsCause.REFUSED, sentence, fix=SettingsFix.DROP_TLS)
    for types, cause, words in _BY_EXCEPTION:
        link = next((link for link in links if isinstance(link, types)), None)
        if link is not None:
            return Failure(
                cause,
                f"Prometheus did not answer ({words}{_reason_of(link)})",
                fix=SettingsFix.CHECK_TLS if cause is MetricsCause.REFUSED else None,
                again_after_s=0 if words == _BROKEN else None,
            )
    return Failure(MetricsCause.UNREACHABLE, "Prometheus did not answer (connection failed)")


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and those that it came from; the libraries wrap the one that says something, or hold it."""
    links: list[BaseException] = []
    left: list[object] = [error]
    while left:
        link = left.pop()
        if isinstance(link, BaseException) and link not in links:
            links.append(link)
            left += [link.__cause__, link.__context__, *link.args]
    return links


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
    text = document.get("error") if isinstance(document, dict) else None
    return text if isinstance(text, str) else body


def _shown(sentence: str, hidden: Iterable[str]) -> str:
    """Return the server's words in one line of bounded length, without what they must not repeat."""
    for secret in filter(None, hidden):
        for written in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
            sentence = sentence.replace(written, "…").replace(html.escape(written), "…")
    printable = "".join(character if character.isprintable() else " " for character in sentence)
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
