"""How a Lease carries a slot's record."""

import hashlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.values import Promise, SlotRecord
from tests.unit.membership.shapes import at

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - naive
TOKENS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20)
RECORDS = st.builds(
    SlotRecord,
    since=MOMENTS,
    holder=st.just("") | TOKENS,
    promise=st.none() | st.builds(Promise, token=TOKENS, at=MOMENTS),
    rests_until=st.none() | MOMENTS,
    former=st.just("") | TOKENS,
)
HELD = records.fields(
    3, SlotRecord(since=at(0), holder="abc", promise=Promise("def", at(5)), rests_until=at(9), former="f")
)


@given(number=st.integers(0, 999), record=RECORDS)
def test_what_is_written_is_read(number: int, record: SlotRecord) -> None:
    """Among the annotations of others."""
    holder, annotations = records.fields(number, record)
    assert records.read(number, holder, dict(annotations) | {"other/annotation": "x"}) == record


def test_a_lease_is_readable_for_people() -> None:
    """`kubectl get lease -o yaml` says who, since when and who is next."""
    holder, annotations = HELD
    assert holder == "abc"
    assert annotations["heartbeat-tuner.dev/promised-to"] == "def"
    assert annotations["heartbeat-tuner.dev/rests-until"] == "2026-03-01T12:00:09+00:00"


@pytest.mark.parametrize("holder", ["", None, "nonsense"])
def test_another_holder_breaks_the_seal(holder: str | None) -> None:
    """Somebody edited it."""
    assert records.read(3, holder, HELD.annotations) is None


@pytest.mark.parametrize("name", records.OURS)
def test_another_or_no_annotation_breaks_the_seal(name: str) -> None:
    """Likewise."""
    assert records.read(3, "abc", dict(HELD.annotations) | {name: "x"}) is None
    assert records.read(3, "abc", {item: text for item, text in HELD.annotations.items() if item != name}) is None


def test_a_copy_of_another_slot_breaks_the_seal() -> None:
    """Two Leases never have one holder."""
    assert records.read(4, *HELD) is None


def test_a_lease_of_somebody_else_is_no_record() -> None:
    """It was never sealed."""
    assert records.read(0, None, {}) is None


@pytest.mark.parametrize(
    "since",
    [
        "soon",
        "2026-03-01T12:00:00",
        "9999-12-31T23:59:59+00:00",  # to which nothing can be added
        "0001-01-01T00:00:00+00:00",  # from which nothing can be taken
        "2200-01-01T00:00:00+00:00",
        "2019-12-31T23:59:59+00:00",
    ],
)
def test_a_sealed_lease_of_nonsense_is_no_record(since: str) -> None:
    """Who knows how the seal is made could else end every replica, of all tenants."""

    class Written(datetime):
        """A time that shows as something else."""

        def isoformat(self, *_: object, **__: object) -> str:
            return since

    holder, annotations = records.fields(0, SlotRecord(since=Written(2026, 3, 1, tzinfo=UTC), holder="abc"))
    assert annotations[records.SINCE] == since
    assert records.read(0, holder, annotations) is None


@pytest.mark.parametrize("year", [1, 9999])
def test_no_time_of_a_sealed_lease_is_of_another_age(year: int) -> None:
    """When it was promised, and until when it rests, are computed with, too."""
    beyond = datetime(year, 6, 1, tzinfo=UTC)
    for record in (
        SlotRecord(since=at(0), holder="abc", promise=Promise("def", beyond)),
        SlotRecord(since=at(0), rests_until=beyond),
    ):
        assert records.read(0, *records.fields(0, record)) is None


def test_a_sealed_lease_without_a_time_is_no_record() -> None:
    """Likewise; the seal is that of no annotation at all."""
    seal = hashlib.sha256(b"0\nabc").hexdigest()[:16]
    assert records.read(0, "abc", {records.SEAL: seal}) is None
