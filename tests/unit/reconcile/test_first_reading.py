"""What a first cycle asks for, when nothing is known of how large namespaces are."""

from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.reconcile.series.reading_plan import LONGEST_S, READ, REQUEST_WEIGHT, Size
from heartbeat_tuner.reconcile.series.spans import Span

FLEET = {(f"team-{number:02}", f"group-{group}") for number in range(20) for group in range(500)}
MISSING = {namespace: {quantity: Span(0.0, LONGEST_S) for quantity in READ} for namespace, _ in FLEET}


def test_namespaces_of_a_large_fleet_are_read_whole_from_the_first_cycle_on() -> None:
    """Where the share of a cycle does not last, some records are whole: not one quantity of each."""
    sizes = reading_plan.guessed(FLEET, {})
    asks = reading_plan.asks(MISSING, sizes, most=REQUEST_WEIGHT, first=(), last=())
    half = {name for ask in asks[: len(asks) // 2] for name in ask.namespaces}
    read = {name: {ask.quantity for ask in asks[: len(asks) // 2] if name in ask.namespaces} for name in half}
    assert sum(quantities == set(READ) for quantities in read.values()) >= len(MISSING) // 2 - 2


def test_what_was_read_is_not_guessed() -> None:
    """One quantity is enough to know how many pods there are."""
    known = {(Quantity.HEARTBEATS, "team-00"): Size(7, 1.0)}
    guessed = reading_plan.guessed(FLEET, known)
    assert {namespace for _, namespace in guessed} == {namespace for namespace, _ in FLEET} - {"team-00"}
