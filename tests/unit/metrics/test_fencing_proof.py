"""When does a record of the consumer protocol prove that nobody else was fenced?"""

import dataclasses
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import HiddenFencings
from heartbeat_tuner.metrics import fencing_proof, lost_partitions
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.exporters import recording
from tests.exporters.recording import Recording
from tests.support import counters, worlds
from tests.support.counters import JMX, Answers
from tests.support.worlds import NOW

ASSIGNED, LOST = Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX, Quantity.PARTITIONS_LOST_LATENCY_MAX
SINCE = NOW - timedelta(minutes=30)
SINCE_S = SINCE.timestamp()
OLD = worlds.pod(started=NOW - worlds.HOUR)
YOUNG = worlds.pod(started=SINCE)
SHOWN_S = 59.0
"""For so long a number shows at least."""

NAN = float("nan")


def rebalancing(
    *at_s: float,
    fenced: Iterable[float] = (),
    listens: bool = True,
    scrapes: Callable[[int], float] = lambda n: 15.0 * n,
) -> Answers:
    """Return what a pod exports that rebalanced so many seconds after the record's beginning.

    Args:
        at_s: of each rebalance.
        fenced: when it was fenced, which ends with a rebalance 2 s later.
        listens: whether it has a rebalance listener.
        scrapes: when it was scraped, in seconds since ten minutes before the record.
    """
    begins_s = SINCE_S - 595  # no scrape is at the very beginning of the record
    times_s = [at for number in range(200) if (at := begins_s + scrapes(number)) <= NOW.timestamp()]
    losses_s = [SINCE_S + age for age in fenced]
    moves_s = sorted([SINCE_S + age for age in at_s] + [loss + 2 for loss in losses_s])

    def shown(at: float, events_s: list[float]) -> float:
        return 0.0 if listens and any(event <= at < event + SHOWN_S for event in events_s) else NAN

    labels = counters.labels(OLD.name, client_id="consumer-orders-1")

    def series_of(values: Iterable[float]) -> list[Series]:
        return [Series.from_raw(labels, zip(times_s, values, strict=True))]

    return {
        Quantity.REBALANCES: series_of(1.0 + sum(move <= at for move in moves_s) for at in times_s),
        Quantity.PARTITIONS_LOST_LATENCY_MAX: series_of(shown(at, losses_s) for at in times_s),
        Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX: series_of(shown(at, moves_s) for at in times_s),
    }


def hidden(answers: Answers, *, lingers: bool = False) -> HiddenFencings | None:
    """Return why fencings may be hidden in the record."""
    return fencing_proof.hidden_fencings([OLD], answers, since_s=SINCE_S, lingers=lingers)


def test_where_no_counter_moved_nobody_was_fenced() -> None:
    """With a listener or without one: each fencing ends with an assignment, and each assignment counts."""
    assert hidden(rebalancing()) is None
    assert hidden(rebalancing(listens=False)) is None
    assert hidden(rebalancing(-300, listens=False)) is None  # before the record


def test_a_rebalance_proves_nothing_without_a_listener() -> None:
    """Nor one of a pod that is new: it may have been fenced since its first join."""
    found = hidden(rebalancing(600, listens=False))
    assert found is not None
    assert found.lasts
    assert "shows no rebalance listener" in found.message
    young = [
        Series(each.labels, each.samples.between(SINCE_S, NOW.timestamp()))
        for each in rebalancing()[Quantity.REBALANCES]
    ]
    assert fencing_proof.hidden_fencings([YOUNG], {Quantity.REBALANCES: young}, since_s=SINCE_S) is not None


def test_a_listener_that_shows_no_loss_had_none() -> None:
    """It shows itself right when it is asked for: with the assignment that ends each fencing."""
    assert hidden(rebalancing(100, 600, 1_200)) is None
    assert hidden(rebalancing(fenced=[600])) is None  # and that one is counted


def test_each_consumer_of_a_pod_has_to_show_its_listener() -> None:
    """One that does stands for no other."""
    answers = rebalancing(600)
    other = [
        Series({**each.labels, "client_id": "consumer-orders-2"}, each.samples) for each in answers[Quantity.REBALANCES]
    ]
    found = hidden({**answers, Quantity.REBALANCES: [*answers[Quantity.REBALANCES], *other]})
    assert found is not None
    assert found.lasts


def test_a_pod_that_is_scraped_too_rarely_shows_nothing_for_good() -> None:
    """A number may come and go between two scrapes: a later rebalance would prove nothing."""
    found = hidden(rebalancing(scrapes=lambda number: 60.0 * number))
    assert found is not None
    assert found.lasts
    assert "every 60 s" in found.message


def test_a_missing_scrape_hides_a_fencing_only_where_a_counter_moved() -> None:
    """It passes with the record."""

    def holey(number: int) -> float:
        return 15.0 * number + (45.0 if number > 100 else 0.0)

    assert hidden(rebalancing(scrapes=holey)) is None
    found = hidden(rebalancing(1_200, scrapes=holey))
    assert found is not None
    assert not found.lasts


def test_a_loss_that_may_be_of_the_time_before_proves_nothing_until_it_passes() -> None:
    """It counts for neither side: a record that begins with our write is not charged with it, nor called calm."""
    answers = rebalancing(fenced=[-7])
    found = hidden(answers)
    assert found is not None
    assert not found.lasts
    assert lost_partitions.losses([OLD], answers, since_s=SINCE_S) == []


def test_pushed_metrics_prove_nothing() -> None:
    """A collector goes on showing what is no number any more."""
    found = hidden(rebalancing(), lingers=True)
    assert found is not None
    assert found.lasts


RECORDED = recording.read("jmx-1-kip848")
"""Real consumers without a listener: one stands still at 222.7 s and at 252.7 s, and is fenced each time."""


STREAMS = recording.read("jmx-1-streams-kip1071")
"""Real stream threads: one stands still at 166.3 s and at 196.3 s, and is fenced each time; another joins at 106 s."""


def recorded(
    begins_s: float, ends_s: float, recording: Recording = RECORDED, counted: list[int] | None = None
) -> HiddenFencings | None:
    """Return why fencings may be hidden in a stretch of a recording, in seconds since its beginning; count the losses.

    Args:
        begins_s: of the stretch.
        ends_s: of the stretch.
        recording: the recording.
        counted: gets how many losses were counted.
    """
    wanted = (Quantity.REBALANCES, *fencing_proof.SHOWN_BY)
    names = {JMX.by_quantity[quantity].names[0]: quantity for quantity in wanted}
    observed: Answers = {quantity: [] for quantity in names.values()}
    for each in recording.series:
        if each.labels["__name__"] in names:
            pairs = ((at / 1000, float(value)) for at, value in zip(each.times_ms, each.values, strict=True))
            seen = [pair for pair in pairs if pair[0] <= ends_s]
            observed[names[each.labels["__name__"]]].append(Series.from_raw(each.labels, seen))
    pods = [
        dataclasses.replace(worlds.pod(started=datetime.fromtimestamp(facts["started_s"], UTC)), name=name)
        for name, facts in recording.meta["pods"].items()
        if facts["started_s"] < begins_s
    ]
    if counted is not None:
        counted.append(len(lost_partitions.losses(pods, observed, since_s=begins_s)))
    return fencing_proof.hidden_fencings(pods, observed, since_s=begins_s)


def test_what_a_real_exporter_recorded_is_calm_where_it_was_and_unknown_where_members_were_fenced() -> None:
    """A stretch without a rebalance is a known zero; each of the two with a fencing is not."""
    assert recorded(112, 160) is None
    for begins_s in (215, 245):
        found = recorded(begins_s, begins_s + 25)
        assert found is not None
        assert found.lasts


def test_stream_threads_show_each_fencing_and_every_calm() -> None:
    """Rebalances of others are no losses; their consumers show no lost partitions, whatever happens."""
    counted: list[int] = []
    assert recorded(100, 160, STREAMS, counted) is None
    assert recorded(160, 190, STREAMS, counted) is None
    assert counted == [0, 1]


@given(
    planned=st.lists(st.floats(0, 1_700), max_size=4),
    fenced=st.lists(st.floats(0, 1_700), max_size=4),
    listens=st.booleans(),
    apart_s=st.floats(1, 58),
)
def test_what_is_called_known_has_no_fencing_that_was_not_counted(
    planned: list[float],
    fenced: list[float],
    *,
    listens: bool,
    apart_s: float,
) -> None:
    """However they lie, and however near to each other: none is a known zero."""
    answers = rebalancing(*planned, fenced=fenced, listens=listens, scrapes=lambda number: apart_s * number)
    end_s = answers[Quantity.REBALANCES][0].samples.times_s[-1] - SINCE_S
    if hidden(answers) is not None:
        return
    was_fenced = any(at + 2 <= end_s for at in fenced)
    assert bool(lost_partitions.losses([OLD], answers, since_s=SINCE_S)) or not was_fenced


@pytest.mark.parametrize("count", [0, 3])
def test_a_pod_without_counters_is_another_questions(count: int) -> None:
    """It is unobserved, which its record says."""
    assert fencing_proof.hidden_fencings(worlds.pods(count), {}, since_s=SINCE_S) is None
