"""Which failures of slices end a task, and how each is told."""

from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError

GIVE_UP_AFTER: Final = 2
"""So many slices of a task in turn that got no answer: then the rest of them is not asked for."""

NO_ANSWER: Final = frozenset({MetricsCause.UNREACHABLE, MetricsCause.TIMEOUT, MetricsCause.OVERLOADED})

NEVER: Final = frozenset({MetricsCause.REFUSED, MetricsCause.CLOCK})
"""Causes that are no slice's own: of the latter one is enough."""

SHOWN_QUERY: Final = 300
"""Characters of a query that a sentence repeats: it may name hundreds of pods."""

_WORDS: Final = MappingProxyType(
    {
        " of the operator's prometheus settings": " that were given",
        "the operator's": "this machine's",
        "set prometheus.url": "set the url",
        "prometheus.maxAnswerBytes": "maxAnswerBytes",
    }
)
"""What the adapter says of the operator's settings, in words of who has options."""


class Trouble:
    """Remembers how often in turn there was no answer, so that a Prometheus that is away is not asked on and on."""

    def __init__(self) -> None:
        self._in_turn = 0
        self._last: MetricsUnavailableError | None = None

    def check(self) -> None:
        """Raise the last failure anew if there is no use in asking."""
        if self._last is not None and (self._last.cause in NEVER or self._in_turn >= GIVE_UP_AFTER):
            raise MetricsUnavailableError(str(self._last), cause=self._last.cause)

    def add(self, error: MetricsUnavailableError) -> None:
        """Note a failure."""
        self._in_turn = self._in_turn + 1 if error.cause in NO_ANSWER else 0
        self._last = error

    def clear(self) -> None:
        """Note an answer."""
        self._in_turn, self._last = 0, None


def shown(error: MetricsUnavailableError) -> str:
    """Return a failure in words of who has options, with the beginning of its query."""
    told, _, query = str(error).partition("; tried ")
    for theirs, ours in _WORDS.items():
        told = told.replace(theirs, ours)
    return f"{told}; tried {query if len(query) <= SHOWN_QUERY else query[: SHOWN_QUERY - 1] + '…'}"
