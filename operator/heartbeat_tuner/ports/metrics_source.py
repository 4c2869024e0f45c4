"""Where samples of metrics are read: a Prometheus, or what speaks its query API."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from heartbeat_tuner.metrics.raw.samples import Series


@dataclasses.dataclass(slots=True)
class Spent:
    """What a metrics source was asked and gave since it was made; who wants one cycle's part takes a difference.

    Attributes:
        requests: sent, with those that were sent again.
        samples: received.
    """

    requests: int = 0
    samples: int = 0


class MetricsSource(Protocol):
    """A Prometheus, or anything that speaks its query API."""

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the raw samples that a range selector selects at a time.

        Raises:
            MetricsUnavailableError: no answer, an error, or a partial answer; the message names the query.
        """
        ...
