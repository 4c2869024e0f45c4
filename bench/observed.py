"""What metrics would have shown of a group in an hour, a day or two weeks: rows of the contract, and the record.

Drawn is only what a model keeps: how many blocks of 90 s had their longest absence, or gap between polls, in which
bucket of the histogram. That is multinomial, by the law of the largest of a block, hour by hour of the day; so two
weeks of 300 groups take a minute. What shows, and what does not, is as `heartbeat_tuner.metrics` has it:

- The Java client's pauses show as they were (garbage collection, gaps between polls), whether the member was still one
  or not. Of KafkaJS and librdkafka missing beats show, and what the absence likely was: to half a period, by the phase.
  KafkaJS' handlers and outages are absences, too.
- Who is evicted for silence under the set values counts in the record; missing beats show no absence then. KafkaJS'
  counters show that it was, so that there is an eviction of the contract: an absence longer than S less half a period.
- Gaps between polls show of the Java client alone, and show in full: its own clock measures them, whether the member
  was still one or not. Delays of network and coordinator show of all but KafkaJS.
- Pauses of a node count once. A downtime is the middle of what scrapes every 15 s leave open.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.fleets import HOURS, Group, stretched
from heartbeat_tuner.clients import catalogue as clients
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.metrics import measured
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.metrics.conventions import known_conventions as conventions
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, bucket_of
from heartbeat_tuner.tails.law import TIMES_S

Whole = npt.NDArray[np.int64]

WINDOWS: Final = {"1h": 1, "1d": 24, "14d": 14 * 24}
"""How many hours each is."""

LAST_DAY: Final = date(2026, 1, 31)
"""The newest day of every window."""

DAY_S: Final = 86_400.0
_BLOCKS_AN_HOUR: Final = int(3600 // BLOCK_S)
_BLOCKS_A_DAY: Final = DAY_S / BLOCK_S
_SCRAPE_S: Final = 15.0
_LIKELY_AGE: Final = 0.5
"""Of a period: how old the last beat is on average when an absence begins, which missing beats allow for."""

_ROUND_TRIP_S: Final = (0.03, 0.5)
"""Median and spread of the longest round trip of a block, when nothing is the matter."""

_MOST_LATENCIES: Final = 500
"""Rebalances of a day of which the length is drawn; of more, so many tell as much."""

_MIDDLES_S: Final = np.sqrt(np.maximum(EDGES_S[:-1], 1e-4) * EDGES_S[1:])


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was seen of one group.

    Attributes:
        rows: day, quantity, bucket and count.
        days: how long it was watched.
        member_days: of all members together.
        evictions: of live members, for silence or for want of a poll.
        largest_absence_s: that showed; 0 if none did.
        largest_poll_gap_s: likewise; None where gaps are not exported.
    """

    rows: Sequence[tuple[date, str, int, int]]
    days: float
    member_days: float
    evictions: int
    largest_absence_s: float
    largest_poll_gap_s: float | None


def period_s(client: str, settings: LivenessSettings) -> float:
    """Return the usual time between two heartbeats of a library."""
    return clients.client(client).period(settings, Circumstances()).usual.total_seconds()


def seen(group: Group, settings: LivenessSettings, window: str, rng: np.random.Generator) -> Seen:
    """Return what shows of a group under the values that are set, in one of `WINDOWS`."""
    return _Watch(group, settings, WINDOWS[window], rng).seen()


def table(groups: Iterable[tuple[Group, Seen]]) -> pa.Table:
    """Return what was seen of a fleet as rows of the contract."""
    days, names, libraries, kinds, buckets, counts = [], [], [], [], [], []
    for group, shown in groups:
        library = conventions.measured_as(group.truth.client)
        for day, quantity, bucket, count in shown.rows:
            days.append(day)
            names.append(group.name)
            libraries.append(library)
            kinds.append(quantity)
            buckets.append(bucket)
            counts.append(count)
    same = ["bench"] * len(days)
    columns = {
        "day": days,
        "cluster": same,
        "namespace": same,
        "group": names,
        "client": libraries,
        "quantity": kinds,
        "bucket": buckets,
        "n": counts,
    }
    return pa.table(columns, schema=contract.ROWS)


class _Watch:
    """One group under watch."""

    def __init__(self, group: Group, settings: LivenessSettings, hours: int, rng: np.random.Generator) -> None:
        self._profile, self._rng = group.usual, rng
        self._truth = group.truth
        self._library = clients.client(group.truth.client)
        self._by_beats = group.truth.client in _BY_BEATS
        self._session_s = settings.session_timeout.total_seconds()
        self._period_s = period_s(group.truth.client, settings)
        limit = settings.max_poll_interval
        self._limit_s = None if limit is None else limit.total_seconds()
        wait = settings[self._library.rebalance_wait]
        self._barrier_s = wait.total_seconds()
        first = int(rng.integers(HOURS)) if hours < HOURS else 0
        self._hours = (first + np.arange(hours)) % HOURS
        self._days = max(1, hours // HOURS)
        self._watched_days = hours / HOURS
        self._loads = [group.load(int(hour)) for hour in self._hours]
        self._bursts = np.ones(hours) if group.burst is None else rng.gamma(group.burst, 1.0 / group.burst, hours)
        self._evictions = 0
        self._evicted = np.zeros((self._days, BUCKETS), dtype=np.int64)
        self._rows: list[tuple[date, str, int, int]] = []

    def seen(self) -> Seen:
        """Draw everything."""
        profile = self._profile
        absences = self._absences()
        self._write(measured.ABSENCE, absences, watched=profile.members)
        if self._library.name in _COUNT_EVICTIONS:
            self._write(measured.EVICTION, self._evicted, watched=profile.members)
        gaps = None
        if self._library.name in _SHOW_POLLS:
            gaps = self._poll_gaps()
            self._write(measured.POLL_GAP, gaps, watched=profile.members)
        if self._library.name not in _HIDE_OUTAGES:
            self._write(measured.OUTAGE, self._outages(), watched=1)
        planned, unplanned = self._restarts()
        self._rebalances(planned, unplanned)
        return Seen(
            rows=self._rows,
            days=self._watched_days,
            member_days=self._watched_days * profile.members,
            evictions=self._evictions,
            largest_absence_s=_largest_s(absences),
            largest_poll_gap_s=None if gaps is None else _largest_s(gaps),
        )

    def _absences(self) -> Whole:
        """Return the longest of each member and block, by day and bucket, less those that ended in an eviction."""
        profile = self._profile
        exceeded = self._some(profile.pauses, self._bursts)
        if self._library.handler_delays_beat:
            exceeded = 1.0 - (1.0 - exceeded) * (1.0 - self._longest_handlers())
        counts = self._draw(exceeded, profile.members)
        counts += self._events(profile.node_pauses, 1)
        if self._library.name in _HIDE_OUTAGES:
            counts += self._events(profile.outages, profile.members)
        return self._surviving(counts, each=1, witnessed=not self._by_beats)

    def _poll_gaps(self) -> Whole:
        longest = 1.0 - (1.0 - self._longest_handlers()) * (1.0 - self._some(self._profile.pauses, self._bursts))
        counts = self._draw(longest, self._profile.members)
        if self._limit_s is None:
            return counts
        self._evictions += int(counts[:, np.searchsorted(_MIDDLES_S, self._limit_s) :].sum())
        return counts

    def _outages(self) -> Whole:
        median_s, sigma = _ROUND_TRIP_S
        usual = np.exp(self._rng.normal(np.log(median_s), sigma, (self._days, self._blocks_a_day)))
        counts = _binned(usual)
        return counts + self._surviving(self._events(self._profile.outages, 1), each=self._profile.members, exact=True)

    def _surviving(self, counts: Whole, *, each: int, exact: bool = False, witnessed: bool = False) -> Whole:
        """Return what shows of absences; those that are evicted, `each` time so many members, only if `witnessed`."""
        days, places = np.nonzero(counts)
        times = counts[days, places]
        days, values = np.repeat(days, times), np.repeat(_MIDDLES_S[places], times)
        silences = values + self._rng.uniform(0.0, self._period_s, values.size)
        evicted = silences > self._session_s
        self._evictions += each * int(evicted.sum())
        outlasted = int(bucket_of(max(self._session_s - self._period_s / 2, 0.0)))
        np.add.at(self._evicted[:, outlasted], days[evicted], each)
        shown = values if exact or not self._by_beats else silences - _LIKELY_AGE * self._period_s
        stored = (witnessed | ~evicted) & (shown > 0)
        found = np.zeros_like(counts)
        np.add.at(found, (days[stored], bucket_of(np.round(shown[stored], 3)).astype(int)), 1)
        return found

    def _restarts(self) -> tuple[int, int]:
        """Draw restarts and crashes, write their downtimes, and return how many there were."""
        profile, scale = self._profile, self._profile.members * self._watched_days
        planned, crashed = (
            int(self._rng.poisson(scale * item.per_day)) for item in (profile.restarts, profile.crashes)
        )
        # When a container ended is told, when a pod did shows by its last scrape; the middle of what is open counts.
        away = self._middles_s(profile.restarts.law.quantile(self._rng.random(planned)), open_ends=2)
        away = np.zeros(planned) if profile.surge else away
        back = self._middles_s(profile.crashes.law.quantile(self._rng.random(crashed)), open_ends=1)
        for quantity, shown_s in ((measured.RESTART_DOWNTIME, away), (measured.CRASH_DOWNTIME, back)):
            self._write(quantity, self._by_day(shown_s), watched=profile.members)
        return planned, crashed

    def _middles_s(self, times_s: Array, *, open_ends: int) -> Array:
        """Return the middle of what downtimes surely were and what scrapes leave open, an interval at each such end."""
        hidden = self._rng.uniform(0.0, _SCRAPE_S, (times_s.size, open_ends)).sum(axis=1)
        surely = np.maximum(times_s - hidden, 0.0)
        return np.asarray((surely + times_s - hidden + open_ends * _SCRAPE_S) / 2)

    def _rebalances(self, planned: int, crashed: int) -> None:
        """Draw what restarts, crashes and evictions made the group go through: somebody left, and somebody came."""
        latencies = []
        for name, events in (
            (measured.PLANNED_REBALANCE, planned),
            (measured.UNPLANNED_REBALANCE, crashed + self._evictions),
        ):
            many = 0 if self._profile.static and name == measured.PLANNED_REBALANCE else 2 * events
            drawn = self._latencies(min(many, int(_MOST_LATENCIES * max(1.0, self._watched_days))))
            took = np.resize(drawn, many) if many else drawn
            self._write(name, self._by_day(took), watched=1)
            latencies.append(drawn)
        if self._library.name in _SHOW_POLLS:
            self._write(measured.REBALANCE_LATENCY, self._by_day(np.concatenate(latencies)), watched=1)

    def _latencies(self, size: int) -> Array:
        """Return how long members waited in rebalances: for the last to hear of it and to poll, and to settle."""
        profile = self._truth
        heard = self._rng.uniform(0.0, self._period_s, (size, profile.members))
        if profile.rebalancing is Rebalancing.CONSUMER:
            return heard[:, 0] + profile.settle_s
        handlers = profile.handlers
        residual = np.interp(
            self._rng.random((size, profile.members)), handlers.integrals / handlers.integrals[-1], TIMES_S
        )
        return np.asarray(np.minimum((heard + residual).max(axis=1, initial=0.0), self._barrier_s) + profile.settle_s)

    def _some(self, process: FailureProcess, factors: Array) -> Array:
        """Return for each hour how likely a block has something longer than each edge; hours x edges."""
        laws = np.array([stretched(process.law, load).sf(EDGES_S) for load in self._loads[:HOURS]])
        rates = process.per_day / _BLOCKS_A_DAY * factors
        return np.asarray(-np.expm1(-rates[:, None] * laws[np.arange(rates.size) % len(laws)]))

    def _longest_handlers(self) -> Array:
        rows = []
        for load in self._loads[:HOURS]:
            law = stretched(self._profile.handlers, load)
            rows.append(law.largest_of(max(1.0, BLOCK_S / law.mean_s)).sf(EDGES_S))
        return np.array(rows)[np.arange(len(self._loads)) % len(rows)]

    def _draw(self, exceeded: Array, members: int) -> Whole:
        """Return how many blocks of all members have their longest in which bucket; days x buckets."""
        exceeded = np.clip(exceeded, 0.0, 1.0)
        shares = np.concatenate((1.0 - exceeded[:, :1], np.maximum(-np.diff(exceeded, axis=1), 0.0)), axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
        drawn = self._rng.multinomial(members * _BLOCKS_AN_HOUR, shares)[:, 1:]
        return np.asarray(drawn.reshape(self._days, -1, BUCKETS).sum(axis=1))

    def _events(self, process: FailureProcess, each: int) -> Whole:
        times_s = process.law.quantile(self._rng.random(self._rng.poisson(process.per_day * self._watched_days)))
        return each * self._by_day(times_s)

    def _by_day(self, times_s: Array) -> Whole:
        counts = np.zeros((self._days, BUCKETS), dtype=np.int64)
        days = self._rng.integers(self._days, size=times_s.size)
        np.add.at(counts, (days, bucket_of(np.round(times_s, 3)).astype(int)), 1)
        return counts

    @property
    def _blocks_a_day(self) -> int:
        return _BLOCKS_AN_HOUR * min(len(self._hours), HOURS)

    def _write(self, quantity: str, counts: Whole, *, watched: int) -> None:
        for day, of_day in zip(_days(self._days), counts, strict=True):
            self._rows += [
                (day, quantity, MEMBER_BLOCKS, watched * self._blocks_a_day),
                (day, quantity, GROUP_BLOCKS, self._blocks_a_day),
            ]
            places = np.flatnonzero(of_day)
            self._rows += [(day, quantity, int(place), int(of_day[place])) for place in places]


_BY_BEATS: Final = frozenset({"kafkajs", "confluent-kafka-python"})
_SHOW_POLLS: Final = frozenset({"java", "java-kip848"})
_COUNT_EVICTIONS: Final = frozenset({"kafkajs"})
_HIDE_OUTAGES: Final = frozenset({"kafkajs"})


def _days(days: int) -> Iterator[date]:
    return (LAST_DAY - timedelta(days=age) for age in range(days))


def _binned(values_s: Array) -> Whole:
    """Return how many values of each line lie in which bucket."""
    return np.array([np.bincount(bucket_of(np.round(item, 3)), minlength=BUCKETS) for item in values_s])


def _largest_s(counts: Whole) -> float:
    places = np.flatnonzero(counts.sum(axis=0))
    return float(EDGES_S[places[-1] + 1]) if places.size else 0.0


def settings_of(profile: Profile) -> LivenessSettings:
    """Return what is set where nobody set anything: the library's defaults."""
    return clients.client(profile.client).defaults
