"""What the log says of what went wrong with policies."""

import structlog.testing

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.reconcile.status.troubles import MOST_NAMED, Troubles

EVENT = "status not written"


def key(number: int) -> ObjectKey:
    """Return a policy."""
    return ObjectKey("shop", f"orders-{number}")


def surprise(number: int) -> Exception:
    """Return an error as it is after it was raised, with words of its own."""
    try:
        return [KeyError()][number + 1]
    except IndexError as error:
        return error


def test_many_are_one_line() -> None:
    """With their number and the first names, and one of the errors."""
    troubles = Troubles()
    for number in range(10_000):
        troubles.add(EVENT, key(number), ApiServerError(f"no answer to PUT orders-{number}"))
    with structlog.testing.capture_logs() as report:
        troubles.tell()
    (line,) = report
    assert (line["event"], line["log_level"], line["count"]) == (EVENT, "warning", 10_000)
    assert line["error"] == "no answer to PUT orders-0"
    assert line["policies"] == [f"shop/orders-{number}" for number in range(MOST_NAMED)]


def test_a_surprise_has_a_traceback_once() -> None:
    """However many policies it meets; two of different places are two."""
    troubles = Troubles()
    for number in range(50):
        troubles.add("policy skipped", key(number), surprise(number))
    troubles.add("policy skipped", key(1), IndexError("elsewhere"))
    with structlog.testing.capture_logs() as report:
        troubles.tell()
    assert [line["count"] for line in report] == [50, 1]
    assert report[0]["log_level"] == "error"
    assert report[0]["exc_info"].__traceback__ is not None


def test_what_lasts_is_told_when_it_begins_and_when_it_changes() -> None:
    """And again when it comes back."""
    troubles, lines = Troubles(), list[int]()
    for failing in (2, 2, 3, 3, 0, 3):
        for number in range(failing):
            troubles.add(EVENT, key(number), ApiServerError("no answer"))
        with structlog.testing.capture_logs() as report:
            troubles.tell()
        lines.append(len(report))
    assert lines == [1, 0, 1, 0, 0, 1]
