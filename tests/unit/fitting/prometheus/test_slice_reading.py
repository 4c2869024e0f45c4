"""A slice is read whole or not at all: in pieces where it is too much, again where it may go better, and no more."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime

import pytest

from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.fitting.prometheus import counting, slice_reading, slices
from heartbeat_tuner.fitting.prometheus.counting import Cell
from heartbeat_tuner.fitting.prometheus.slice_reading import Asker
from heartbeat_tuner.fitting.prometheus.slices import Slice
from heartbeat_tuner.metrics.raw.samples import Series
from tests.support import histories
from tests.support.told_prometheus import DISORDERS, FAILURES, Fault, ToldPrometheus, raising

DAY = date(2026, 3, 1)
WINDOW = slices.windows_of(DAY)[1]
SLICE = Slice(WINDOW, ("bank", "shop"), 3)


@pytest.fixture(scope="module")
def series() -> list[Series]:
    """Two groups in two namespaces."""
    return [
        *histories.of_days(DAY, DAY),
        *histories.of_days(DAY, DAY, namespace="bank", group="payments", members=1),
    ]


class Told(ToldPrometheus):
    """Counts members, too; `pauses` are those that were made."""

    def __init__(self, series: Sequence[Series]) -> None:
        super().__init__(series)
        self.pauses: list[float] = []
        self.members: Callable[[datetime], dict[str, float]] = lambda _at: {"shop": 2.0, "bank": 1.0, "": 7.0}
        self.counted: list[str] = []

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the query selects, of the pods that it names."""
        named = re.findall(r'pod=~"([^"]*)"', query)
        everything = self.series
        if named:
            pods = set(named[0].replace("\\\\-", "-").split("|"))
            self.series = [item for item in everything if item.labels["pod"] in pods]
        try:
            return await super().instant(query, at=at)
        finally:
            self.series = everything

    async def vector(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return how many there are."""
        self.counted.append(query)
        found = self.members(at)
        return [Series.from_raw({"namespace": name}, [(at.timestamp(), count)]) for name, count in found.items()]

    def asker(self) -> Asker:
        """Return what asks it, without waiting."""

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        return Asker(self, pause=pause)


async def counts(source: Told) -> Counter[Cell]:
    """Read the slice, and count it."""
    answered = await source.asker().slice(SLICE)
    return counting.counts(answered.found, answered.around, WINDOW)


@pytest.mark.parametrize("most_samples", [1_000, 500, 100])
async def test_small_answers_make_the_same_table(series: list[Series], most_samples: int) -> None:
    """What is too much is asked for by halves: of the namespaces, then of the time."""
    whole, limited = Told(series), Told(series)
    limited.most_samples = most_samples
    expected = await counts(whole)
    assert expected == await counts(limited)
    assert {(item.namespace, item.group) for item in expected} == {("shop", "orders"), ("bank", "payments")}
    assert len(limited.requests) > len(whole.requests)


async def test_what_was_too_much_once_is_asked_for_in_halves_from_then_on(series: list[Series]) -> None:
    """Not refused again for each quantity."""
    limited = Told(series)
    limited.most_samples = 1_000
    await counts(limited)
    whole = [request for request in limited.requests if len(request.asked.namespaces) == 2]
    assert len(whole) == 1


async def test_a_flood_that_no_halving_helps_fails(series: list[Series]) -> None:
    """After a bounded number of requests."""
    flooded = Told(series)
    flooded.most_samples = 0
    with pytest.raises(MetricsUnavailableError) as raised:
        await counts(flooded)
    assert raised.value.cause is MetricsCause.TOO_MUCH
    assert len(flooded.requests) < 12


async def test_no_sample_is_read_twice_and_margins_are(series: list[Series]) -> None:
    """However the time is cut."""
    report = Told(series)
    report.most_samples = 300
    answered = await report.asker().slice(SLICE)
    assert answered.samples == sum(len(item.samples) for item in (*answered.found, *answered.around)) > 10_000
    for item in (*answered.found, *answered.around):
        times = list(item.samples.times_s)
        assert times == sorted(set(times))
        assert WINDOW.read_since.timestamp() < times[0]
        assert times[-1] <= WINDOW.read_until.timestamp()
    spans = [item.samples for item in answered.found if item.labels["namespace"] == "bank"]
    assert min(span.times_s[0] for span in spans) < WINDOW.start.timestamp() - 600
    assert max(span.times_s[-1] for span in spans) > WINDOW.end.timestamp() + 1_500


async def test_servers_that_give_more_than_was_asked_for_make_no_difference(series: list[Series]) -> None:
    """Before its release 3, Prometheus' ranges held their beginning."""

    class Generous(Told):
        async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
            labels = [item.labels for item in await super().instant(query, at=at)]
            return [series_ for series_ in self.series if series_.labels in labels]

    generous = Generous(series)
    generous.most_samples = 500
    assert await counts(generous) == await counts(Told(series))


@pytest.mark.parametrize("name", DISORDERS)
async def test_disorder_makes_no_difference(series: list[Series], name: str) -> None:
    """Samples twice, or in any order."""
    report, disordered = Told(series), Told(series)
    disordered.fault = DISORDERS[name]
    assert await counts(disordered) == await counts(report)


@pytest.mark.parametrize("name", FAILURES)
async def test_what_is_no_answer_fails_the_slice(series: list[Series], name: str) -> None:
    """Never half of it; and the query is named."""
    report = Told(series)
    report.fault = FAILURES[name]
    with pytest.raises(MetricsUnavailableError, match=r"\{__name__=~"):
        await counts(report)
    assert len(report.requests) <= 8
    assert sum(report.pauses) <= slice_reading.PATIENCE_S


def failing(times: int, cause: MetricsCause) -> Fault:
    """Return a fault that passes after so many answers."""
    left = iter(range(times))

    def fail(query: str, body: bytes) -> bytes:
        return body if next(left, None) is None else raising(cause)(query, body)

    return fail


@pytest.mark.parametrize("cause", sorted(slice_reading.PASSING, key=str))
async def test_what_passes_is_asked_for_again(series: list[Series], cause: MetricsCause) -> None:
    """Later and later."""
    report = Told(series)
    report.fault = failing(4, cause)
    assert await counts(report) == await counts(Told(series))
    assert report.pauses == list(slice_reading.PAUSES_S)


@pytest.mark.parametrize("cause", [MetricsCause.REFUSED, MetricsCause.PARTIAL, MetricsCause.CLOCK])
async def test_what_does_not_pass_is_not_asked_for_again(series: list[Series], cause: MetricsCause) -> None:
    """A query that is refused is refused the next time, too."""
    report = Told(series)
    report.fault = raising(cause)
    with pytest.raises(MetricsUnavailableError):
        await counts(report)
    assert (len(report.requests), report.pauses) == (1, [])


async def test_only_pods_of_consumers_are_asked_about(series: list[Series]) -> None:
    """A namespace has many others."""
    report = Told(series)
    await counts(report)
    named = {pod for request in report.requests for pod in re.findall(r'pod=~"([^"]*)"', request.query)}
    assert len(named) == 1
    pods = named.pop().replace("\\\\-", "-").split("|")
    assert all(re.fullmatch(r"(orders|payments)-\d+-\d", pod) for pod in pods)
    nobody = Told([])
    assert not await counts(nobody)
    assert len(nobody.requests) == len(counting.OF_MEMBERS) + len(counting.OF_GROUP_WATCHER)


async def test_many_pods_are_asked_about_in_lots() -> None:
    """A query has a longest length; and where one lot is too much, nothing of the lot before is there twice."""
    at_s = WINDOW.start.timestamp()
    crowd: list[Series] = []
    for number in range(slice_reading.PODS + 100):
        place = {"namespace": "shop", "pod": f"orders-{number:03}"}
        times = [(at_s + 60.0 * minute, float(minute)) for minute in range(1 if number < slice_reading.PODS else 200)]
        name = "kafka_consumer_consumer_coordinator_metrics_rebalance"
        labels = {**place, "client_id": "consumer-orders-1", "__name__": name}
        crowd.append(Series.from_raw(labels, times[:1]))
        up = {**place, "job": "pods", "instance": "1", "__name__": "up"}
        crowd.append(Series.from_raw(up, times))
    report = Told(crowd)
    report.most_samples = 15_000
    answered = await report.asker().slice(SLICE)
    by_pod = {item.labels["pod"]: item.samples for item in crowd if item.labels["__name__"] == "up"}
    assert {item.labels["pod"]: item.samples for item in answered.around} == by_pod
    assert max(query.count("|orders") for query in (request.query for request in report.requests)) < slice_reading.PODS


async def test_members_are_counted_in_one_query_a_day() -> None:
    """What has no namespace is nobody's."""
    report = Told([])
    assert await report.asker().members(DAY, ()) == {"shop": 2, "bank": 1}
    (query,) = report.counted
    assert query.startswith("max by (namespace) (count by (__name__, namespace) (last_over_time({__name__=~")
    assert query.endswith("[89100s])))")
    await report.asker().members(DAY, ["shop"])
    assert 'namespace=~"shop"' in report.counted[-1]


async def test_members_that_cannot_be_counted_fail_the_day() -> None:
    """Nobody knows then who consumed."""
    report = Told([])

    def members(_at: datetime) -> dict[str, float]:
        raise MetricsUnavailableError("too much", cause=MetricsCause.TOO_MUCH)

    report.members = members
    with pytest.raises(MetricsUnavailableError):
        await report.asker().members(DAY, ())
    assert len(report.counted) < 10


async def test_members_are_counted_by_parts_of_the_day_where_it_is_too_much() -> None:
    """The largest number counts: it says how much is to be held in memory."""
    report = Told([])
    noon = slices.windows_of(DAY)[2].start

    def members(at: datetime) -> dict[str, float]:
        if len(report.counted) == 1:
            raise MetricsUnavailableError("too much", cause=MetricsCause.TOO_MUCH)
        return {"shop": 5.0} if at < noon + slices.WINDOW else {"shop": 2.0, "late": 1.0}

    report.members = members
    assert await report.asker().members(DAY, ()) == {"shop": 5, "late": 1}
    assert len(report.counted) == 3
