"""A metrics source as tests want it: with short times, and closed at the end."""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.prometheus.prometheus_access import PrometheusAccess
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.ports.wall_clock import Clock


@contextlib.contextmanager
def reading(
    url: str, *, timeout_s: float = 5.0, max_answer_bytes: int = 2**20, clock: Clock | None = None, **access: Any
) -> Iterator[PrometheusSource]:
    """Give a source; `access` is what `PrometheusAccess` takes beside the address."""
    source = PrometheusSource(
        PrometheusAccess(url, **access),
        timeout=timedelta(seconds=timeout_s),
        max_answer_bytes=max_answer_bytes,
        clock=clock or SystemClock(),
    )
    try:
        yield source
    finally:
        source.close()
