"""What every exporter's way to name things says of itself.

A `Convention` is data: which metric is which quantity in which unit, which labels tell member and group, and what is
withheld. Names alone do not tell one exporter from another (three of them have a `kafka_consumer_heartbeat_total`, in
two units): the labels that its series always and never carry do.
"""

import dataclasses
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.metrics.vocabulary import Quantity

THREADS_CONSUMER: Final = "-consumer"
"""What the `client.id` of a stream thread's consumer has behind the thread's name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One quantity as an exporter has it.

    Attributes:
        quantity: what it is.
        names: what it is called; several where releases or settings of one exporter differ.
        unit_s: what a value of 1 is in seconds, where it is a time. Never guessed from a value.
        matchers: further labels that select it, and their values.
        thread_label: the label that carries the stream thread whose consumer it is about, where it has no `client.id`;
            empty for all but Kafka Streams' own.
    """

    quantity: Quantity
    names: tuple[str, ...]
    unit_s: float = 1.0
    matchers: tuple[tuple[str, str], ...] = ()
    thread_label: str = ""

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a series of one of its names is it."""
        return all(labels.get(name) == value for name, value in self.matchers)


@dataclasses.dataclass(frozen=True, eq=False)
class Convention:
    """One exporter's way to name things.

    Attributes:
        name: as `metrics.convention` of a policy calls it.
        title: as sentences call it.
        libraries: whose consumers are exported so, first the client that all of them run; empty for what is not a
            consumer's.
        metrics: what it has.
        client_label: the label that carries the consumer's `client.id`; empty if none does.
        group_label: the label that carries the group; empty if none does.
        with_labels: labels without which a series is not of it.
        without_labels: labels with which a series is not of it.
        passing_labels: labels that a series may get while it lives: with and without them it is the same.
        needed: what a consumer exports from its start: without one of these, nothing can be said of it.
        withheld: what it has not, though others have, and the shortest way to get it, as a sentence.
        lingers: whether a number may be shown for minutes after it ceased to be one: it is pushed, what is no number is
            not sent, and a collector goes on showing the last one.
    """

    name: str
    title: str
    libraries: tuple[str, ...]
    metrics: tuple[Metric, ...]
    client_label: str = ""
    group_label: str = ""
    with_labels: frozenset[str] = frozenset()
    without_labels: frozenset[str] = frozenset()
    passing_labels: frozenset[str] = frozenset()
    needed: tuple[Quantity, ...] = ()
    withheld: Mapping[Quantity, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    lingers: bool = False

    @functools.cached_property
    def by_quantity(self) -> Mapping[Quantity, Metric]:
        """Its metrics, by what they are."""
        return MappingProxyType({metric.quantity: metric for metric in self.metrics})

    @functools.cached_property
    def by_name(self) -> Mapping[str, tuple[Metric, ...]]:
        """Its metrics, by each of their names; matchers tell those of one name apart."""
        metrics: dict[str, tuple[Metric, ...]] = {}
        for metric in self.metrics:
            for name in metric.names:
                metrics[name] = (*metrics.get(name, ()), metric)
        return MappingProxyType(metrics)

    def carries(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels can be of it."""
        threads = self.thread_labels.get(labels.get("__name__", ""))
        with_labels = self.with_labels if threads is None else threads
        return with_labels <= set(labels) and self.without_labels.isdisjoint(labels)

    @functools.cached_property
    def thread_labels(self) -> Mapping[str, frozenset[str]]:
        """The label of its stream threads by the names of the metrics that have one."""
        return MappingProxyType(
            {
                name: frozenset({metric.thread_label})
                for metric in self.metrics
                for name in metric.names
                if metric.thread_label
            }
        )

    def client_id(self, labels: Mapping[str, str]) -> str:
        """Return the `client.id` of the consumer that a series is about; empty if none is told.

        Args:
            labels: of the series, `__name__` among them.
        """
        (thread_label,) = self.thread_labels.get(labels.get("__name__", ""), ("",))
        if not thread_label:
            return labels.get(self.client_label, "")
        thread = labels.get(thread_label, "")
        return f"{thread}{THREADS_CONSUMER}" if thread else ""

    def metric_of(self, labels: Mapping[str, str]) -> Metric | None:
        """Return which of its metrics a series is, by its labels, `__name__` among them; None if it is none."""
        named = self.by_name.get(labels.get("__name__", ""), ())
        if not named or not self.carries(labels):
            return None
        return next((metric for metric in named if metric.selects(labels)), None)

    def missing(self, quantity: Quantity, group_id: str, tried: str) -> Sentence:
        """Return a sentence that says what a group lacks, and how to get it.

        Args:
            quantity: of which there is no series.
            group_id: of the group.
            tried: the query that found none.
        """
        metric, advice = self.by_quantity.get(quantity), self.withheld.get(quantity)
        if metric:
            lacks = say("no series {names} of group {group} found", names=" or ".join(metric.names), group=group_id)
        else:
            phrase = "{exporter} does not tell {quantity} of group {group}"
            lacks = say(phrase, exporter=self.title, quantity=quantity.title, group=group_id)
        phrase = "{lacks}: {advice}; tried {query}" if advice else "{lacks}; tried {query}"
        return say(phrase, lacks=lacks, advice=advice, query=tried)
