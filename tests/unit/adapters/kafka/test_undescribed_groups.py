"""Groups that librdkafka calls dead, at a broker of our own that answers in Kafka's protocol, or does not."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from heartbeat_tuner.adapters.kafka import undescribed_groups
from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers
from heartbeat_tuner.adapters.kafka.undescribed_groups import UndescribedGroups
from heartbeat_tuner.adapters.kafka.wire import wire_format
from heartbeat_tuner.adapters.kafka.wire.wire_format import number, text, varint
from heartbeat_tuner.domain.kafka_groups import Group, GroupState, Member, UnreadableGroup
from tests.support.odd_broker import Bodies, OddBroker

MEMBER = Member("m-1", "10.0.0.7", "app", None, 0)


def array(*items: bytes) -> bytes:
    """Return an array."""
    return varint(len(items) + 1) + b"".join(items)


def coordinator(group_id: str, port: int, error: int = 0) -> bytes:
    """Return who coordinates a group."""
    there = text(group_id) + number(1, 4) + text("127.0.0.1") + number(port, 4) + number(error, 2) + b"\0\0"
    return b"\0" + number(0, 4) + array(there) + b"\0"


def share(state: str, error: int = 0) -> bytes:
    """Return the description of the share group `orders`."""
    member = text("m-1") + b"\0" + number(1, 4) + text("app") + text("/10.0.0.7") + array() + array() + b"\0\0"
    head = number(error, 2) + b"\0" + text("orders") + text(state) + bytes(8) + text("simple")
    return b"\0" + number(0, 4) + array(head + array(member) + number(0, 4) + b"\0") + b"\0"


def usual(key: int, port: int) -> bytes:
    """Answer as a broker of 4.1 with one share group."""
    missing = number(69, 2) + b"\0" + text("orders") + b"\x01" + bytes(8) + b"\xff" + array() + number(0, 4) + b"\0"
    return {
        10: coordinator("orders", port),
        18: number(0, 2) + number(2, 4) + number(77, 2) + number(1, 4) + number(89, 2) + number(0, 2) + number(1, 2),
        89: b"\0" + number(0, 4) + array(missing) + b"\0",
        77: share("Stable"),
    }[key]


@pytest.fixture
def broker_with() -> Iterator[Callable[[Bodies], OddBroker]]:
    """Return a function that makes a broker, closed after the test."""
    with contextlib.ExitStack() as closes:

        def make(body: Bodies) -> OddBroker:
            broker = OddBroker(body)
            closes.callback(broker.close)
            return broker

        yield make


def look(broker: OddBroker, known: UndescribedGroups | None = None, within_s: float = 5.0) -> object:
    """Return what a look shows of the group `orders`."""
    properties = {"bootstrap.servers": f"127.0.0.1:{broker.port}", "security.protocol": "PLAINTEXT"}
    groups = UndescribedGroups(ClusterAnswers("main")) if known is None else known
    return groups.filled_in(properties, {"orders": None}, within_s=within_s)["orders"]


def test_a_group_of_another_kind_is_shown_with_its_members(broker_with: Callable[[Bodies], OddBroker]) -> None:
    """Who are its members proves whose it is; which broker describes it shows when the coordinator moves."""
    group = Group(
        *("orders", GroupState.STABLE, (MEMBER,)),
        consumer_protocol=True,
        assignor="simple",
        kind="share",
        coordinator=1,
    )
    assert look(broker_with(usual)) == group


def test_a_group_that_is_not_there_is_not_asked_for_again_at_once(broker_with: Callable[[Bodies], OddBroker]) -> None:
    """Groups are read in many lots a minute."""

    def gone(key: int, port: int) -> bytes:
        return share("", error=69) if key == 77 else usual(key, port)

    broker, known = broker_with(gone), UndescribedGroups(ClusterAnswers("main"))
    assert look(broker, known) is None
    asked = list(broker.asked)
    assert asked == [10, 18, 89, 77]
    assert look(broker, known) is None
    assert broker.asked == asked


def test_a_broker_that_knows_no_such_groups_has_none(broker_with: Callable[[Bodies], OddBroker]) -> None:
    """Before 4.1: it is asked which requests it has, and for nothing more."""
    broker = broker_with(lambda key, port: bytes(6) if key == 18 else usual(key, port))
    assert look(broker) is None
    assert broker.asked == [10, 18]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda _key, _port: b"", "an answer ends where"),
        (lambda key, port: usual(key, port) + b"\0" if key == 77 else usual(key, port), "1 bytes too many"),
        (lambda _key, _port: bytes(wire_format.MOST_BYTES), "where 1 to 16777216 are read"),
        (lambda key, port: coordinator("orders", 1) if key == 10 else usual(key, port), "Connection refused"),
        (lambda key, port: coordinator("others", port) if key == 10 else usual(key, port), "who coordinates it"),
        (lambda key, port: coordinator("orders", port, 15) if key == 10 else usual(key, port), "Coordinator not avail"),
        (lambda key, port: bytes(7) if key == 89 else usual(key, port), "left it out"),
    ],
)
def test_what_is_no_answer_is_told_and_is_no_missing_group(
    broker_with: Callable[[Bodies], OddBroker], body: Bodies, words: str
) -> None:
    """A group that is said to be gone would be shown as such."""
    group = look(broker_with(body))
    assert isinstance(group, UnreadableGroup)
    assert words in group.message


@pytest.mark.parametrize(("error", "words"), [(30, "the right Describe on group orders"), (29, "on the topics of")])
def test_a_missing_right_is_told(broker_with: Callable[[Bodies], OddBroker], error: int, words: str) -> None:
    """With the command that grants it."""
    group = look(broker_with(lambda key, port: share("", error) if key == 77 else usual(key, port)))
    assert isinstance(group, UnreadableGroup)
    assert words in group.message


def test_a_broker_that_says_nothing_is_not_waited_for(broker_with: Callable[[Bodies], OddBroker]) -> None:
    """And with no time left nobody is asked: the next look begins with the group."""
    hung = threading.Event()

    def silent(_key: int, _port: int) -> bytes:
        hung.wait(30)
        return b""

    broker = broker_with(silent)
    group = look(broker, within_s=0.6)
    assert isinstance(group, UnreadableGroup)
    assert "timed out" in group.message
    late = look(broker, within_s=0.1)
    hung.set()
    assert isinstance(late, UnreadableGroup)
    assert late.unread


def test_more_groups_than_are_asked_for_at_once_are_unread(broker_with: Callable[[Bodies], OddBroker]) -> None:
    """Not gone; and they are the first to be asked for at the next look."""
    names = [f"orders-{number}" for number in range(undescribed_groups.MOST_AT_ONCE + 1)]
    broker = broker_with(lambda _key, _port: b"")
    properties = {"bootstrap.servers": f"127.0.0.1:{broker.port}", "security.protocol": "PLAINTEXT"}
    known = UndescribedGroups(ClusterAnswers("main"))
    for unread in (names[-1:], names[-2:-1]):
        found = known.filled_in(properties, dict.fromkeys(names), within_s=5.0)
        left = [name for name, group in found.items() if isinstance(group, UnreadableGroup) and group.unread]
        assert left == unread
