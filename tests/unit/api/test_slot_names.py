"""Ids, and what libraries with several members in a process make of them."""

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.domain.policies import ObjectKey

KAFKA_S_LONGEST = 249
UID = "1f0c2a9b-0000"
NUMBERS = st.integers(0, 99_999)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
WHOSE = st.tuples(st.booleans(), NUMBERS, st.none() | st.integers(0, 999))
"""A StatefulSet's pod or a Deployment's, its number, and that of a member in its process."""


def member(name: str, whose: tuple[bool, int, int | None]) -> str:
    """Return a member's id, as Spring Kafka and Kafka Streams make it of their process's."""
    stateful, number, within = whose
    key = ObjectKey("shop", name)
    slot_id = slot_names.ordinal_id(UID, key, number) if stateful else slot_names.place_of(UID, key).id_of(number)
    return slot_id if within is None else f"{slot_id}-{within}"


@given(name=NAMES, first=WHOSE, other=WHOSE)
def test_no_two_members_have_one_id_whatever_number_is_put_behind(
    name: str, first: tuple[bool, int, int | None], other: tuple[bool, int, int | None]
) -> None:
    """Slot 1 with member 1 is not slot 11, nor another slot."""
    assert (member(name, first) == member(name, other)) == (first == other)


@given(name=NAMES, whose=WHOSE)
def test_an_id_with_a_number_behind_it_is_no_slot_s(name: str, whose: tuple[bool, int, int | None]) -> None:
    """A Lease is found by the id of the process."""
    stateful, number, within = whose
    found = slot_names.parse("shop", member(name, whose))
    place = slot_names.place_of(UID, ObjectKey("shop", name))
    assert found == ((place, number) if not stateful and within is None else None)


def test_the_longest_id_has_room_for_a_number_behind_it() -> None:
    """A Deployment's name may be as long as Kubernetes lets it."""
    assert len(member("x" * 253, (True, 99_999, 99_999))) <= KAFKA_S_LONGEST


@given(name=st.one_of(NAMES, st.just("x" * 253)), other=NAMES)
def test_an_id_tells_whose_it_is(name: str, other: str) -> None:
    """As far as the Deployment's name goes into it."""
    place = slot_names.place_of(UID, ObjectKey("shop", name))
    assert place.is_of(name)
    assert place.is_of(other) == (name == other)
