"""Reading from Prometheus, or from anything else that speaks its query API.

`prometheus_access` says where it is and who we are, `prometheus_http` sends one request, `prometheus_answers` and
`prometheus_matrices` read what came back, `prometheus_failures` sorts what can go wrong. Here it is put together:
worker threads (the library blocks), how many requests at a time, how long all of it may take, and when the same is
asked again. Every failure names the query, so that a person can try it.
"""

import asyncio
import contextlib
import dataclasses
import email.utils
import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final, TypeVar

from heartbeat_tuner.adapters.prometheus import prometheus_answers as answers
from heartbeat_tuner.adapters.prometheus import prometheus_failures as failures
from heartbeat_tuner.adapters.prometheus.prometheus_access import PrometheusAccess
from heartbeat_tuner.adapters.prometheus.prometheus_failures import OPERATOR, Failure, SettingsWords
from heartbeat_tuner.adapters.prometheus.prometheus_http import Exchange, Form, Reply, Transport
from heartbeat_tuner.adapters.prometheus.prometheus_matrices import MatrixReader
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.ports.metrics_source import Spent
from heartbeat_tuner.ports.wall_clock import Clock

CONCURRENT_QUERIES: Final = 4
"""Prometheus serves 20 queries at once by default, shared with dashboards and rules."""

DRIP_FACTOR: Final = 2
"""How many timeouts a whole answer may take, and all that is asked again for it."""

BACKOFF_S: Final = (0.5, 1.5)
"""How long to wait at least before the same is asked for the second and the third time, the last one."""

CLOCKS_APART: Final = timedelta(seconds=60)
"""How far our clock may be from Prometheus': its samples are as old as both together say."""

_Found = TypeVar("_Found")


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """What is asked.

    Attributes:
        path: of the API's endpoint.
        form: its parameters.
        tried: what a person would try.
        text: what of it the server may repeat.
    """

    path: str
    form: Form
    tried: str
    text: Sequence[str]


class PrometheusSource:
    """The metrics source that a Prometheus is.

    Args:
        access: where it is, and who we are.
        timeout: for connecting and for each wait for data; twice that is all the time that one call has.
        max_answer_bytes: a longer answer is not read to its end.
        clock: what Prometheus' clock is compared with.
        words: of who reads what goes wrong.

    Attributes:
        spent: what all calls so far have cost.
    """

    def __init__(
        self,
        access: PrometheusAccess,
        *,
        timeout: timedelta,
        max_answer_bytes: int,
        clock: Clock,
        words: SettingsWords = OPERATOR,
    ) -> None:
        self.spent = Spent()
        self._words = words
        self._access = access
        self._timeout = timeout
        self._patience_s = DRIP_FACTOR * timeout.total_seconds()
        self._clock = clock
        self._transport = Transport(access, timeout_s=timeout.total_seconds(), max_bytes=max_answer_bytes)
        self._turns = asyncio.Semaphore(CONCURRENT_QUERIES)
        self._threads = ThreadPoolExecutor(CONCURRENT_QUERIES, thread_name_prefix="prometheus")
        self._exchanges: set[Exchange] = set()
        # Reading takes ten times an answer's length in memory, and the interpreter does one at a time anyway.
        self._reading = threading.Lock()
        self._matrices = MatrixReader()

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the raw samples that a range selector selects at a time.

        Raises:
            MetricsUnavailableError: no answer, an error, or a partial answer; the message names the query.
        """
        return self._counted(await self._ask(self._query(query, at), self._matrices.read))

    async def vector(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the elements of an instant vector at a time, each with its one sample, or none if it is no number.

        Raises:
            MetricsUnavailableError: no answer, an error, or a partial answer; the message names the query.
        """
        return self._counted(
            await self._ask(self._query(query, at), lambda body: answers.vector(answers.document(body)))
        )

    async def series(
        self, selectors: Sequence[str], *, start: datetime, end: datetime, limit: int
    ) -> Sequence[Mapping[str, str]]:
        """Return the label sets of all series that one of the selectors selects and that have samples in a time.

        Raises:
            MetricsUnavailableError: no answer, an error, a partial answer, or more than `limit` series; the message
                names the selectors.
        """
        times = [("start", _time(start)), ("end", _time(end)), ("limit", str(limit + 1))]  # one more tells that it cuts
        form = [*(("match[]", selector) for selector in selectors), *times]
        question = _Question("/api/v1/series", form, f"the series of {' or '.join(selectors)}", tuple(selectors))
        return await self._ask(question, lambda body: answers.label_sets(answers.document(body), limit=limit))

    def close(self) -> None:
        """Wait for no answer any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for exchange in tuple(self._exchanges):
            exchange.abort()
        self._transport.close()

    def _query(self, query: str, at: datetime) -> _Question:
        # Its own timeout, so that a query that nobody waits for any more does not go on behind a gateway.
        form = [("query", query), ("time", _time(at)), ("timeout", f"{self._patience_s:g}")]
        return _Question("/api/v1/query", form, query, (query,))

    def _counted(self, series: Sequence[Series]) -> Sequence[Series]:
        self.spent.samples += sum(len(entry.samples) for entry in series)
        return series

    async def _ask(self, question: _Question, read: Callable[[bytes], _Found]) -> _Found:
        """Ask, and ask again what may go better soon, while there is time."""
        async with self._turns:  # waiting for a turn is not Prometheus' time
            loop, pauses = asyncio.get_running_loop(), iter(BACKOFF_S)
            until = loop.time() + self._patience_s
            while True:
                try:
                    return await self._ask_once(question, read, until)
                except Failure as failure:
                    pause_s = next(pauses, None)
                    after_s = failure.again_after_s
                    if pause_s is None or after_s is None or loop.time() + max(pause_s, after_s) >= until:
                        failure.hide(question.text)
                        problem = failure.problem(self._words)
                        raise MetricsUnavailableError(problem, tried=question.tried, cause=failure.cause) from failure
                await asyncio.sleep(max(pause_s, after_s))

    async def _ask_once(self, question: _Question, read: Callable[[bytes], _Found], until: float) -> _Found:
        exchange = Exchange()
        self._exchanges.add(exchange)
        self.spent.requests += 1
        answer = asyncio.get_running_loop().run_in_executor(self._threads, self._exchange, question, read, exchange)
        try:
            async with asyncio.timeout_at(until):
                return await answer
        except TimeoutError as error:
            raise Failure(MetricsCause.TIMEOUT, "Prometheus did not answer (too slowly)") from error
        finally:
            exchange.abort()  # of an exchange that is over nothing is left to abort
            self._exchanges.discard(exchange)

    def _exchange(self, question: _Question, read: Callable[[bytes], _Found], exchange: Exchange) -> _Found:
        """Send one request and read its answer; in a worker thread."""
        credentials = self._access.credentials()
        try:
            reply = self._transport.post(question.path, question.form, credentials, exchange)
            if reply.status != HTTPStatus.OK:
                body = reply.body.decode(errors="replace")
                raise failures.of_status(reply.status, reply.headers, body, now=self._clock.now())
            self._check_clock(reply)
            with self._reading, _no_collection():
                return read(reply.body)
        except Failure as failure:
            failure.hide(credentials.secrets)
            raise

    def _check_clock(self, reply: Reply) -> None:
        """Refuse an answer whose `Date` is far from our time: asked for the wrong moment, old samples look fresh."""
        ours = self._clock.now()
        try:
            theirs = email.utils.parsedate_to_datetime(reply.headers.get("Date", ""))
        except ValueError:
            return  # a server need not say
        if theirs.tzinfo is None:  # `-0000` stands for UTC of unknown origin
            theirs = theirs.replace(tzinfo=UTC)
        if abs(theirs - ours) > CLOCKS_APART + DRIP_FACTOR * self._timeout:
            sentence = say(
                "Prometheus' clock says {theirs:%Y-%m-%dT%H:%M:%SZ}, {whose} {ours:%Y-%m-%dT%H:%M:%SZ}: set the wrong "
                "one",
                theirs=Reading(theirs),
                whose=self._words.clock,
                ours=Reading(ours),
            )
            raise Failure(MetricsCause.CLOCK, sentence)


def _time(moment: datetime) -> str:
    return f"{moment.timestamp():.3f}"


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector of cycles from looking at everything again and again while a large answer is read.

    There are none in it, and looking takes twice as long as reading (measured: 10,000 members). One thread reads at a
    time, so nobody else turns it on meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
