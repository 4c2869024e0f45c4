"""All conventions that are known, and which of them a client library's consumers may follow."""

import functools
from collections.abc import Iterable
from typing import Final

from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, librdkafka_metrics, watched_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity

CONVENTIONS: Final[tuple[Convention, ...]] = (
    *java_metrics.CONVENTIONS,
    *kafkajs_metrics.CONVENTIONS,
    librdkafka_metrics.COUNTERS,
    *watched_groups.CONVENTIONS,
    *librdkafka_metrics.CONVENTIONS,
)

READ: Final = (*CONVENTIONS, java_metrics.SHARE_CONSUMER)
"""Those that may be read. A share consumer's is of no group that a policy's `metrics` could describe."""

OF_GROUPS: Final = tuple(
    convention
    for convention in CONVENTIONS
    if convention.libraries
    and (convention.group_label or convention.client_label)
    and convention not in watched_groups.CONVENTIONS
)
"""Those whose metrics name the group. What the operator itself counts of every group is not among them: it does not
show which library a group's consumers run."""

LIBRARIES: Final = tuple(sorted(("java", "kafkajs", "spring", "streams", *librdkafka_metrics.LIBRARIES)))
"""The client libraries whose consumers can export enough to be tuned by it."""

TUNED: Final = tuple(
    convention
    for convention in OF_GROUPS
    if convention not in librdkafka_metrics.CONVENTIONS and not set(convention.libraries).isdisjoint(LIBRARIES)
)
"""The conventions that tell enough for that."""

IN_POLICIES: Final = tuple(sorted({*LIBRARIES, *watched_groups.LIBRARIES, *watched_groups.WITHOUT_EXPORTER}))
"""Those that a policy may name: the operator itself counts the evictions of consumers that export none. Connect's
workers export theirs, and are not tuned by it: what a rebalance costs their tasks is not known."""


@functools.cache
def of_library(name: str) -> tuple[Convention, ...]:
    """Return the conventions that a library's consumers may be exported in."""
    return tuple(convention for convention in CONVENTIONS if name in convention.libraries)


@functools.cache
def read_for(name: str) -> tuple[Convention, ...]:
    """Return the conventions whose metrics are read for a library's consumers: its own, and the group watcher's.

    The group watcher's come last, and count only where nothing of the others is there.
    """
    if name in watched_groups.WITHOUT_EXPORTER:
        return (*of_library(name), watched_groups.GROUP_WATCHER)
    return of_library(name)


@functools.cache
def asked_for(name: str) -> tuple[Convention, ...]:
    """Return the conventions that are asked for to know a library's groups of any kind."""
    shares = (java_metrics.SHARE_CONSUMER,) if name in java_metrics.SHARE_CONSUMER.libraries else ()
    return (*read_for(name), *shares)


def measured_as(name: str) -> str:
    """Return the library whose client a library's consumers are measured as: those of Spring run the Java client.

    Args:
        name: one of `IN_POLICIES`.
    """
    own = () if name in watched_groups.LIBRARIES else of_library(name)
    return own[0].libraries[0] if own else name


def names(conventions: Iterable[Convention], quantity: Quantity) -> tuple[str, ...]:
    """Return all names under which these conventions have a quantity, sorted."""
    lists = (convention.by_quantity[quantity].names for convention in conventions if quantity in convention.by_quantity)
    return tuple(sorted({name for several in lists for name in several}))


def matchers(conventions: Iterable[Convention], quantity: Quantity) -> tuple[tuple[str, str], ...]:
    """Return the label values that select a quantity in all these conventions that have it, sorted."""
    matcher_sets = [
        set(convention.by_quantity[quantity].matchers)
        for convention in conventions
        if quantity in convention.by_quantity
    ]
    return tuple(sorted(set.intersection(*matcher_sets))) if matcher_sets else ()
