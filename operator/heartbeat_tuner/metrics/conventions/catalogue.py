"""All conventions that are known, and which of them a client library's consumers may follow."""

import functools
from collections.abc import Iterable
from typing import Final

from heartbeat_tuner.metrics.conventions import java, kafkajs, librdkafka
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity

CONVENTIONS: Final[tuple[Convention, ...]] = (
    *java.CONVENTIONS,
    *kafkajs.CONVENTIONS,
    *librdkafka.CONVENTIONS,
)

OF_GROUPS: Final = tuple(one for one in CONVENTIONS if one.libraries and (one.group_label or one.client_label))
"""Those of consumers whose group can be told: the others say nothing of one."""

LIBRARIES: Final = ("java", "kafkajs", "spring")
"""The client libraries whose consumers can be measured well enough to be tuned; of the others only the physics are
known."""


@functools.cache
def of_library(name: str) -> tuple[Convention, ...]:
    """Return the conventions that a library's consumers may be exported in."""
    return tuple(one for one in CONVENTIONS if name in one.libraries)


def measured_as(name: str) -> str:
    """Return the library whose client a library's consumers are measured as: those of Spring run the Java client.

    Args:
        name: one of `LIBRARIES`.
    """
    return of_library(name)[0].libraries[0]


def names(conventions: Iterable[Convention], quantity: Quantity) -> tuple[str, ...]:
    """Return all names under which these conventions have a quantity, sorted."""
    found = (one.by_quantity[quantity].names for one in conventions if quantity in one.by_quantity)
    return tuple(sorted({name for several in found for name in several}))


def matchers(conventions: Iterable[Convention], quantity: Quantity) -> tuple[tuple[str, str], ...]:
    """Return the label values that select a quantity in all these conventions that have it, sorted."""
    found = [set(one.by_quantity[quantity].matchers) for one in conventions if quantity in one.by_quantity]
    return tuple(sorted(set.intersection(*found))) if found else ()
