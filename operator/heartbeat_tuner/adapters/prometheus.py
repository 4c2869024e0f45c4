"""Reading from Prometheus, through prometheus-api-client with its gaps closed.

Queries go as a form body (a URL has length limits), in worker threads (the library blocks) with a connection each
(its session is not shared between threads), with a timeout; warnings are read, because partial data shows only there.
Every failure names the query, so that a person can try it.
"""

import asyncio
import email.utils
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import requests
from prometheus_api_client import PrometheusConnect
from urllib3.util.retry import Retry

from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.metrics.samples import Series

CONCURRENT_QUERIES: Final = 4
"""Prometheus serves 20 queries at once by default, shared with dashboards and rules."""

DRIP_FACTOR: Final = 2
"""How many timeouts a whole answer may take, since the library's own timeout is for each wait between two bytes."""

CLOCKS_APART: Final = timedelta(seconds=60)
"""How far our clock may be from Prometheus': its samples are as old as both together say."""

SHOWN_BODY: Final = 300
"""Characters of an error's body that a message repeats."""


class _FormConnection(PrometheusConnect):
    """The library's connection, with POST as Prometheus documents it."""

    def post_query(self, query: str, *, at: datetime) -> requests.Response:
        """Ask for an instant query with the parameters in the body."""
        response: requests.Response = self._session.post(
            f"{self.url}/api/v1/query",
            data={"query": query, "time": f"{at.timestamp():.3f}"},
            headers=self.headers,
            auth=self.auth,
            timeout=self._timeout,
        )
        return response


class PrometheusSource:
    """The metrics source that a Prometheus is, or anything else that speaks its query API.

    Args:
        url: base address, to which `/api/v1/query` is appended.
        timeout: for connecting and for each wait for data; an answer that drips in is given up after twice that.
    """

    def __init__(self, url: str, *, timeout: timedelta) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._turns = asyncio.Semaphore(CONCURRENT_QUERIES)
        self._threads = ThreadPoolExecutor(CONCURRENT_QUERIES, thread_name_prefix="prometheus")
        self._local = threading.local()

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the raw samples that a range selector selects at a time.

        Raises:
            MetricsUnavailableError: no answer, an error, or a partial answer; the message names the query.
        """
        async with self._turns:  # waiting for a turn is not Prometheus' time
            answer = asyncio.get_running_loop().run_in_executor(self._threads, self._instant, query, at)
            try:
                return await asyncio.wait_for(answer, timeout=DRIP_FACTOR * self._timeout.total_seconds())
            except TimeoutError as error:
                raise MetricsUnavailableError(f"Prometheus did not answer (too slowly); tried {query}") from error

    def close(self) -> None:
        """Wait for no answer any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _instant(self, query: str, at: datetime) -> list[Series]:
        try:
            response = self._connection().post_query(query, at=at)
        except requests.RequestException as error:
            raise MetricsUnavailableError(f"Prometheus did not answer ({_cause(error)}); tried {query}") from error
        if not response.ok:
            body = response.text.strip()[:SHOWN_BODY]
            raise MetricsUnavailableError(f"Prometheus answered {response.status_code} ({body}); tried {query}")
        self._check_clock(response, query, at)
        return _series(_document(response, query), query)

    def _check_clock(self, response: requests.Response, query: str, at: datetime) -> None:
        """Refuse an answer whose `Date` is far from our time: asked for the wrong moment, old samples look fresh."""
        try:
            theirs = email.utils.parsedate_to_datetime(response.headers.get("Date", ""))
        except ValueError:
            return  # a server need not say
        if theirs.tzinfo is None:  # `-0000` stands for UTC of unknown origin
            theirs = theirs.replace(tzinfo=UTC)
        if abs(theirs - at) > CLOCKS_APART + DRIP_FACTOR * self._timeout:
            raise MetricsUnavailableError(
                f"Prometheus' clock says {theirs:%Y-%m-%dT%H:%M:%SZ}, the operator's {at:%Y-%m-%dT%H:%M:%SZ}: set the "
                f"wrong one; tried {query}"
            )

    def _connection(self) -> _FormConnection:
        connection: _FormConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            # No retries of its own: the next cycle asks again, and a cycle must not hang on a source that is down.
            connection = _FormConnection(
                url=self._url, retry=Retry(total=0), timeout=self._timeout.total_seconds(), method="POST"
            )
            self._local.connection = connection
        return connection


def _document(response: requests.Response, query: str) -> dict[str, Any]:
    try:
        document = response.json()
    except requests.JSONDecodeError as error:
        raise MetricsUnavailableError(f"Prometheus answered with something that is no JSON; tried {query}") from error
    if not isinstance(document, dict) or document.get("status") != "success":
        raise MetricsUnavailableError(f"Prometheus answered without success; tried {query}")
    return document


def _series(document: dict[str, Any], query: str) -> list[Series]:
    """Return the series of a matrix answer.

    Raises:
        MetricsUnavailableError: the answer carries warnings, or is no matrix.
    """
    warnings = document.get("warnings")
    if warnings:
        sentence = f"Prometheus has only part of the data ({warnings[0]}); tried {query}"
        raise MetricsUnavailableError(sentence, partial=True)
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if not isinstance(data, dict) or kind != "matrix":
        raise MetricsUnavailableError(f"Prometheus answered with {kind or 'no data'}, not a matrix; tried {query}")
    try:
        return [
            Series.from_raw(one["metric"], ((float(time_s), float(value)) for time_s, value in one.get("values", ())))
            for one in data["result"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MetricsUnavailableError(f"Prometheus answered with a matrix that is none; tried {query}") from error


def _cause(error: requests.RequestException) -> str:
    """Return what went wrong in a few words: the exceptions' own texts are nests of object representations."""
    match error:
        case requests.Timeout():
            return "timed out"
        case requests.ConnectionError():
            return "connection failed"
        case _:
            return type(error).__name__
