"""Classic groups in few requests, at brokers of our own; whatever is no plain description is left to librdkafka."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pytest

from heartbeat_tuner.adapters.kafka import batched_groups
from heartbeat_tuner.adapters.kafka.batched_groups import BatchedGroups
from heartbeat_tuner.adapters.kafka.kafka_access import Keys
from heartbeat_tuner.adapters.kafka.wire.wire_format import AnswerReader, number, text, varint
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, GroupState, Member, UnreadableGroup
from tests.support.odd_broker import OddBroker

VERSIONS, FIND, DESCRIBE = 18, 10, 15
HEADER: Final = 26
TAGS: Final = b"\0"
OFTEN: Final = 3


def array(*items: bytes) -> bytes:
    """Return an array."""
    return varint(len(items) + 1) + b"".join(items)


def described(name: str, error: int = 0, state: str = "Stable", kind: str = "consumer", member: bytes = b"") -> bytes:
    """Return the description of a group."""
    members = array(member) if member else array()
    return number(error, 2) + text(name) + text(state) + text(kind) + text("range") + members + number(0, 4) + TAGS


class Brokers:
    """Two brokers, and who coordinates which group; a group is described as usual unless `odd` says how.

    Attributes:
        at: the number of the broker that coordinates a group; the first where nothing is said.
        odd: what a coordinator says of a group.
        versions: of requests that the brokers have.
    """

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.odd: dict[str, bytes] = {}
        self.refused: frozenset[str] = frozenset()
        self.versions: Mapping[int, tuple[int, int]] = {FIND: (0, 6), DESCRIBE: (0, 6)}
        self.gone = False
        self.both = [OddBroker(self._body), OddBroker(self._body)]

    def asked(self) -> list[int]:
        """Return and forget which requests came, those of both brokers."""
        kinds = [key for broker in self.both for key in broker.asked]
        for broker in self.both:
            broker.asked.clear()
        return kinds

    def _body(self, key: int, port: int) -> bytes:
        (number_of,) = [place for place, broker in enumerate(self.both) if broker.port == port]
        if key == VERSIONS:
            kinds = [number(k, 2) + number(low, 2) + number(high, 2) for k, (low, high) in self.versions.items()]
            return number(0, 2) + number(len(kinds), 4) + b"".join(kinds)
        reader = AnswerReader(self.both[number_of].request[HEADER + (key == FIND) :])
        names = reader.array(reader.text)
        if key == FIND:
            return TAGS + number(0, 4) + array(*(self._coordinator(name) for name in names)) + TAGS
        if self.gone and number_of == 1:
            raise ConnectionResetError
        return TAGS + number(0, 4) + array(*(self._described(name, number_of) for name in names)) + TAGS

    def _coordinator(self, name: str) -> bytes:
        place, error = self.at.get(name, 0), 30 if name in self.refused else 0
        where = number(place + 1, 4) + text("127.0.0.1") + number(self.both[place].port, 4)
        return text(name) + where + number(error, 2) + b"\0" + TAGS

    def _described(self, name: str, at: int) -> bytes:
        if self.at.get(name, 0) != at:
            return described(name, error=16, state="")
        return self.odd.get(name, described(name))


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    """Two brokers, closed after the test."""
    both = Brokers()
    yield both
    for broker in both.both:
        broker.close()


@pytest.fixture
def looks(brokers: Brokers) -> Iterator["Looks"]:
    """Looks at their groups."""
    made = Looks(brokers)
    yield made
    made.batched.close()


class Looks:
    """One `BatchedGroups`, with a clock that tests set forward."""

    def __init__(self, brokers: Brokers) -> None:
        self.later_s = 0.0
        self.batched = BatchedGroups("main", monotonic=lambda: time.monotonic() + self.later_s)
        servers = f"127.0.0.1:{brokers.both[0].port}"
        self.keys = Keys({"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}, ())

    def look(self, *names: str) -> dict[str, Group]:
        """Return the groups that are described."""
        return self.batched.described(self.keys, names, within_s=10.0)


def group(name: str, node: int = 1) -> Group:
    """Return the usual group."""
    return Group(name, GroupState.STABLE, (), assignor="range", coordinator=node)


def test_a_thousand_groups_take_ten_requests_and_their_coordinators_two(brokers: Brokers, looks: Looks) -> None:
    """The second time only the ten; an answer says which broker it is of."""
    names = [f"group-{number}" for number in range(1_000)]
    assert looks.look(*names) == {name: group(name) for name in names}
    assert brokers.asked() == [VERSIONS, FIND, FIND] + 10 * [DESCRIBE]
    assert len(looks.look(*names)) == 1_000
    assert brokers.asked() == 10 * [DESCRIBE]


def test_a_group_of_connects_workers_is_described(brokers: Brokers, looks: Looks) -> None:
    """Refused by librdkafka; here it is of a kind of its own, and without partitions."""
    worker = text("m") + b"\0" + text("connect-1") + text("/10.0.0.7") + b"\x01" + b"\x03\0\1" + TAGS
    brokers.odd["workers"] = described("workers", kind="connect", member=worker)
    member = Member("m", "10.0.0.7", client_id="connect-1")
    workers = Group("workers", GroupState.STABLE, (member,), assignor="range", kind=WORKERS, coordinator=1)
    assert looks.look("workers", "a") == {"workers": workers, "a": group("a")}


@pytest.mark.parametrize("of_another_kind", [True, False])
def test_a_group_that_librdkafka_refuses_is_asked_for_again(
    brokers: Brokers,
    looks: Looks,
    *,
    of_another_kind: bool,
) -> None:
    """A group of workers that start was not there before. Other groups stay with librdkafka for a minute."""
    brokers.odd["workers"] = described("workers", state="Dead")
    assert looks.look("workers") == {}
    brokers.odd["workers"] = described("workers", kind="connect")
    refused = UnreadableGroup("it is no consumer group (connect)", of_another_kind=of_another_kind)
    looks.batched.ask_again({"workers": refused, "a": group("a"), "b": None})
    assert list(looks.look("workers")) == (["workers"] if of_another_kind else [])


@pytest.mark.parametrize(
    "odd",
    [
        described("odd", state="Dead"),
        described("odd", error=69, state=""),
        described("odd", error=30, state=""),
        described("odd", error=15, state=""),
        described("odd", state="Unheard"),
        described("odd", kind="sr"),
        described("odd", member=text("m") + b"\0" + text("app") + text("/10.0.0.7") + b"\x01" + b"\x02\0" + TAGS),
        described("another"),
    ],
)
def test_a_group_that_is_not_plainly_described_is_left_out_and_leaves_the_others(
    brokers: Brokers, looks: Looks, odd: bytes
) -> None:
    """Missing, of another kind, denied, or malformed: librdkafka says what it is, and is asked for a minute."""
    brokers.odd["odd"] = odd
    names = ("a", "odd", "b")
    assert looks.look(*names) == {"a": group("a"), "b": group("b")}
    brokers.odd = {}
    looks.later_s = batched_groups.LEFT_S + 1
    assert set(looks.look(*names)) == set(names)


def test_it_serves_where_nearly_all_groups_are_described(brokers: Brokers, looks: Looks) -> None:
    """More looks are made then; each of those that are left to librdkafka costs as much as ever."""
    names = [f"group-{number}" for number in range(10)]
    brokers.odd = {names[0]: described(names[0], state="Dead")}
    looks.look(*names)
    assert looks.batched.serves
    brokers.odd = {name: described(name, state="Dead") for name in names[:2]}
    looks.look(*names)
    assert not looks.batched.serves


def test_who_is_left_out_is_not_asked_for_at_once(brokers: Brokers, looks: Looks) -> None:
    """Who has no right for a thousand groups would cost a thousand lookups a second."""
    brokers.refused, brokers.odd = frozenset({"denied"}), {"dead": described("dead", state="Dead")}
    assert looks.look("denied", "dead") == {}
    brokers.asked()
    for _ in range(OFTEN):
        assert looks.look("denied", "dead") == {}
    assert brokers.asked() == []


def test_a_group_that_spoils_its_answer_costs_the_others_nothing(brokers: Brokers, looks: Looks) -> None:
    """As one too large to be read does: the request is halved until it stands alone, and that only once a minute."""
    brokers.odd["huge"] = b"\xff"
    names = [*(f"group-{number}" for number in range(40)), "huge", *(f"group-{number}" for number in range(40, 90))]
    assert set(looks.look(*names)) == {*names} - {"huge"}
    brokers.asked()
    assert set(looks.look(*names)) == {*names} - {"huge"}
    assert brokers.asked() == [DESCRIBE]


def test_a_coordinator_that_is_none_any_more_is_looked_up_in_the_same_look(brokers: Brokers, looks: Looks) -> None:
    """And another group of it stays where it was."""
    assert set(looks.look("moving", "staying")) == {"moving", "staying"}
    brokers.asked()
    brokers.at["moving"] = 1
    assert looks.look("moving", "staying") == {"moving": group("moving", node=2), "staying": group("staying")}
    assert sorted(brokers.asked()) == sorted([DESCRIBE, FIND, VERSIONS, DESCRIBE])


def test_a_coordinator_that_ends_is_looked_up_in_the_same_look(brokers: Brokers, looks: Looks) -> None:
    """By then another one may have its groups."""
    brokers.at["moving"] = 1
    assert looks.look("moving", "staying")["moving"] == group("moving", node=2)
    brokers.gone = True
    brokers.at["moving"] = 0
    assert looks.look("moving", "staying") == {"moving": group("moving"), "staying": group("staying")}


def test_a_coordinator_that_is_away_before_brokers_know_is_looked_up_a_minute_later(
    brokers: Brokers, looks: Looks
) -> None:
    """Librdkafka is asked meanwhile."""
    brokers.at["moving"], brokers.gone = 1, True
    assert looks.look("moving", "staying") == {"staying": group("staying")}
    brokers.at["moving"] = 0
    assert looks.look("moving", "staying") == {"staying": group("staying")}
    looks.later_s = batched_groups.LEFT_S + 1
    assert looks.look("moving", "staying") == {"moving": group("moving"), "staying": group("staying")}


def test_a_silent_coordinator_is_left_alone_for_a_minute(brokers: Brokers, looks: Looks) -> None:
    """Waiting for it would take the time of the others in each lot."""
    brokers.at["far"], brokers.gone = 1, True
    assert looks.look("far", "near") == {"near": group("near")}
    tries = brokers.both[1].asked.count(DESCRIBE)
    for _ in range(OFTEN):
        assert looks.look("far", "near") == {"near": group("near")}
    assert brokers.both[1].asked.count(DESCRIBE) == tries
    brokers.gone, looks.later_s = False, batched_groups.LEFT_S + 1
    assert set(looks.look("far", "near")) == {"far", "near"}


@pytest.mark.parametrize("lacking", [{FIND: (0, 3), DESCRIBE: (0, 5)}, {FIND: (0, 4), DESCRIBE: (0, 4)}, {}])
def test_an_old_broker_is_asked_for_no_groups(
    brokers: Brokers, looks: Looks, lacking: Mapping[int, tuple[int, int]]
) -> None:
    """It is asked which requests it has, and not again for ten minutes."""
    brokers.versions = lacking
    assert looks.look("orders") == {}
    assert DESCRIBE not in brokers.asked()
    looks.later_s = batched_groups.LEFT_S + 1
    assert looks.look("orders") == {}
    assert brokers.asked() == []
    looks.batched.close()  # as a broker does that is replaced
    brokers.versions, looks.later_s = {FIND: (0, 4), DESCRIBE: (5, 6)}, batched_groups.LEFT_TO_OLD_S + 1
    assert set(looks.look("orders")) == {"orders"}


def test_a_connection_that_was_closed_meanwhile_is_made_again(brokers: Brokers, looks: Looks) -> None:
    """As brokers close those that are idle, or whose login has run out."""
    brokers.at["far"] = 1
    assert set(looks.look("far")) == {"far"}
    closing = iter([True])
    usual = brokers._body

    def once(key: int, port: int) -> bytes:
        if next(closing, False):
            raise ConnectionResetError
        return usual(key, port)

    brokers.both[1]._body = once
    assert set(looks.look("far")) == {"far"}


def test_other_keys_are_used_at_once(brokers: Brokers, looks: Looks) -> None:
    """A password that is rotated; what was known of the cluster may be another's."""
    assert set(looks.look("orders")) == {"orders"}
    brokers.asked()
    looks.keys = Keys({**looks.keys.properties, "sasl.password": "another"}, ())
    assert set(looks.look("orders")) == {"orders"}
    assert brokers.asked() == [VERSIONS, FIND, DESCRIBE]


def test_no_more_than_its_share_of_the_time_is_used(brokers: Brokers, looks: Looks) -> None:
    """Librdkafka has the rest, for all that are left to it."""
    held: list[float] = []
    usual = brokers._body

    def slow(key: int, port: int) -> bytes:
        held.append(time.monotonic())
        time.sleep(0.4 if key == DESCRIBE else 0.0)
        return usual(key, port)

    brokers.both[0]._body = slow
    names: Sequence[str] = [f"group-{number}" for number in range(2_000)]
    began_s = time.monotonic()
    found = looks.batched.described(looks.keys, names, within_s=6.0)
    assert time.monotonic() - began_s < 5.9
    assert 0 < len(found) < len(names)
    assert found["group-0"] == group("group-0")
