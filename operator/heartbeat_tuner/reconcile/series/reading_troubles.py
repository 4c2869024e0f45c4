"""What was not read in one cycle, and why.

Prometheus is down, a query failed, a namespace has more series than can be read, or what a cycle may ask for was spent.
"""

import dataclasses
from typing import Final

from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.reconcile.series.reading_plan import READ, Ask

GIVE_UP: Final = frozenset(
    {MetricsCause.UNREACHABLE, MetricsCause.TIMEOUT, MetricsCause.OVERLOADED, MetricsCause.REFUSED, MetricsCause.CLOCK}
)
"""Causes for which the next query would fare no better, or do harm."""


@dataclasses.dataclass(frozen=True, slots=True)
class Trouble:
    """Why something was not read.

    Attributes:
        reason: for the condition.
        problem: what happened, as a sentence without the query.
        is_due: whether the query is still to be tried.
    """

    reason: Reason
    problem: str
    is_due: bool = False

    def told_to(self, policy: Policy, quantity: Quantity) -> Unknown:
        """Return it for one policy: with its own query, since others' names are not its business and would not fit."""
        phrase = "{problem}; it will try {query}" if self.is_due else "{problem}; tried {query}"
        query = reading_plan.whole_query(quantity, policy)
        return Unknown(self.reason, say(phrase, problem=self.problem, query=query))


class ReadingTroubles:
    """What went wrong in one cycle.

    Attributes:
        outage: why Prometheus is asked nothing more in this cycle; None while it answers.
        flooding: namespaces with more series than can be read at once.
        left: namespaces whose turn did not come.
    """

    def __init__(self) -> None:
        self.outage: Trouble | None = None
        self.flooding: set[str] = set()
        self.left: set[str] = set()
        self._by_query: dict[tuple[Quantity, str], Trouble] = {}

    def has(self, quantity: Quantity, namespace: str) -> bool:
        """Whether a query for a namespace failed, so that it is not asked for again."""
        return (quantity, namespace) in self._by_query

    def why(self, quantity: Quantity, namespace: str) -> Trouble:
        """Return why a quantity of a namespace was not read."""
        return self._by_query.get((quantity, namespace)) or self.outage or _not_yet(namespace)

    def fail(self, ask: Ask, error: MetricsUnavailableError) -> None:
        """Note what went wrong with a query."""
        reason = Reason.PARTIAL_DATA if error.cause is MetricsCause.PARTIAL else Reason.PROMETHEUS_UNREACHABLE
        trouble = Trouble(reason, error.problem)
        if error.cause in GIVE_UP:
            self.outage = trouble
        else:
            self._by_query |= {(ask.quantity, namespace): trouble for namespace in ask.namespaces}

    def flood(self, namespace: str, problem: str) -> None:
        """Ask nothing more about a namespace in this cycle, and no more than its shortest stretch first in the next."""
        sentence = say(
            "namespace {namespace} has more series under these names than can be read at once: {problem}",
            namespace=namespace,
            problem=problem,
        )
        self.flooding.add(namespace)
        self._by_query |= {(quantity, namespace): Trouble(Reason.TOO_MANY_SERIES, sentence) for quantity in READ}


def _not_yet(namespace: str) -> Trouble:
    sentence = (
        f"what the operator asks of Prometheus in one cycle was spent before namespace {namespace} was read; the "
        f"next begins with it"
    )
    return Trouble(Reason.NOT_READ_YET, sentence, is_due=True)
