"""What a cycle gets done, for the probe: one that moves is alive, however long it takes."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime

from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.ports.metrics_source import MetricsSource

Moved = Callable[[], None]
"""Called whenever a cycle has done a part of its work: an answer was read, or a policy decided on or written."""


def nobody_looks() -> None:
    """Take no note of it."""


@dataclasses.dataclass(frozen=True)
class MovingMetrics:
    """A source of metrics whose every answer is progress, and so is every error: a request that hangs has neither.

    Attributes:
        source: what is asked.
        moved: called after each answer.
    """

    source: MetricsSource
    moved: Moved

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the source does.

        Raises:
            MetricsUnavailableError: the source does.
        """
        try:
            return await self.source.instant(query, at=at)
        finally:
            self.moved()
