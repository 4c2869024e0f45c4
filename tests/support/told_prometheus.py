"""A Prometheus in memory, read as the adapter reads a real one: from the JSON that it answers.

Every series carries the time at which it became visible, so that samples can come late. Faults are JSON that is wrong,
or what the adapter raises.
"""

import dataclasses
import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from heartbeat_tuner.adapters.prometheus import prometheus_answers
from heartbeat_tuner.adapters.prometheus.prometheus_failures import OPERATOR, Failure
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.metrics.raw.samples import Series
from tests.support import counters
from tests.support.counters import Asked

Fault = Callable[[str, bytes], bytes]
"""What becomes of the answer to a query; it may raise what the adapter raises."""


def raising(cause: MetricsCause) -> Fault:
    """Return a fault that is no answer at all."""

    def fail(query: str, _body: bytes) -> bytes:
        raise MetricsUnavailableError(f"Prometheus did not answer ({cause.name})", tried=query, cause=cause)

    return fail


def _changed(change: Callable[[dict[str, Any]], object]) -> Fault:
    def fault(_query: str, body: bytes) -> bytes:
        document: dict[str, Any] = json.loads(body)
        change(document)
        return json.dumps(document).encode()

    return fault


def _doubled(document: dict[str, Any]) -> None:
    for item in document["data"]["result"]:
        item["values"] = [pair for pair in item["values"] for _ in range(2)]


def _shuffled(document: dict[str, Any]) -> None:
    for item in document["data"]["result"]:
        random.Random(0).shuffle(item["values"])  # noqa: S311 - disorder, no secret


FAILURES: Final[Mapping[str, Fault]] = {
    **{cause.name.lower(): raising(cause) for cause in MetricsCause},
    "html": lambda _query, _body: b"<html><body>log in</body></html>",
    "truncated": lambda _query, body: body[: len(body) // 2],
    "warned": _changed(lambda document: document.update(warnings=["one store is away"])),
    "error": _changed(lambda document: document.update(status="error", error="no")),
    "vector": _changed(lambda document: document["data"].update(resultType="vector")),
}
"""Answers that are none."""

DISORDERS: Final[Mapping[str, Fault]] = {"duplicates": _changed(_doubled), "out-of-order": _changed(_shuffled)}
"""Answers that are good, in a bad shape."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One request that was made."""

    query: str
    asked: Asked
    at: datetime


class ToldPrometheus:
    """Answers from series that are known for all time.

    Args:
        series: as exporters give them.
        visible_s: from when on a sample is there, by its series and time; the sample's time itself unless said.

    Attributes:
        requests: what was asked.
        fault: what becomes of each answer; a test may set another one at any time.
        most_samples: an answer with more is too much; None if there is no limit.
    """

    def __init__(self, series: Sequence[Series], *, visible_s: Callable[[Series, float], float] | None = None) -> None:
        self.series = list(series)
        self.requests: list[Request] = []
        self.fault: Fault | None = None
        self.most_samples: int | None = None
        self.now_s: float | None = None
        self._visible_s = visible_s

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the query selects, as far as it is visible now."""
        asked = counters.asked(query)
        self.requests.append(Request(query, asked, at))
        found = [self._shown(item) for item in asked.of(self.series, at)]
        if self.most_samples is not None and sum(len(item.samples) for item in found) > self.most_samples:
            raise MetricsUnavailableError("Prometheus answered 422", tried=query, cause=MetricsCause.TOO_MUCH)
        result = [{"metric": item.labels, "values": [[t, str(v)] for t, v in item.samples]} for item in found]
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        try:
            body = body if self.fault is None else self.fault(query, body)
            return prometheus_answers.matrix(prometheus_answers.document(body))
        except Failure as failure:
            raise MetricsUnavailableError(failure.problem(OPERATOR), tried=query, cause=failure.cause) from failure

    def _shown(self, series: Series) -> Series:
        if self._visible_s is None or self.now_s is None:
            return series
        pairs = ((t, v) for t, v in series.samples if self._visible_s(series, t) <= self.now_s)
        return Series.from_raw(series.labels, pairs)


def newest_s(body: bytes) -> float | None:
    """Return the time of the newest sample of an answer; None if it holds none."""
    result = json.loads(body)["data"]["result"]
    return max((float(item["values"][-1][0]) for item in result if item["values"]), default=None)
