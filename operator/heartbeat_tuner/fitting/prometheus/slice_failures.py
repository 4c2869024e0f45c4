"""Which failures of slices end a task, and how each is told."""

from typing import Final

from heartbeat_tuner.adapters.prometheus.prometheus_failures import SettingsWords
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError

GIVE_UP_AFTER: Final = 2
"""So many slices of a task in turn that got no answer: then the rest of them is not asked for."""

NO_ANSWER: Final = frozenset({MetricsCause.UNREACHABLE, MetricsCause.TIMEOUT, MetricsCause.OVERLOADED})

NEVER: Final = frozenset({MetricsCause.REFUSED, MetricsCause.CLOCK})
"""Causes that are no slice's own: of the latter one is enough."""

SHOWN_QUERY: Final = 300
"""Characters of a query that a sentence repeats: it may name hundreds of pods."""

WORDS: Final = SettingsWords(
    settings="that were given", url="the url", longest_answer=" (maxAnswerBytes)", clock="this machine's"
)
"""The words of who has options for what else the operator's settings say."""


class SliceTroubles:
    """Remembers how often in turn there was no answer, so that a Prometheus that is away is not asked on and on."""

    def __init__(self) -> None:
        self._in_turn = 0
        self._last: MetricsUnavailableError | None = None

    def check(self) -> None:
        """Raise the last failure again if there is no use in asking."""
        if self._last is not None and (self._last.cause in NEVER or self._in_turn >= GIVE_UP_AFTER):
            raise MetricsUnavailableError(self._last.problem, tried=self._last.tried, cause=self._last.cause)

    def add(self, error: MetricsUnavailableError) -> None:
        """Note a failure."""
        self._in_turn = self._in_turn + 1 if error.cause in NO_ANSWER else 0
        self._last = error

    def clear(self) -> None:
        """Note an answer."""
        self._in_turn, self._last = 0, None


def shown(error: MetricsUnavailableError) -> str:
    """Return a failure with the beginning of its query."""
    query = error.tried
    return f"{error.problem}; tried {query if len(query) <= SHOWN_QUERY else query[: SHOWN_QUERY - 1] + '…'}"
