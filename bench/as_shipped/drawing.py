"""What happens to a group in each hour under the values in force, and what of it the product measures.

Drawn, not played: the longest absence and poll gap of each member and block of 90 s, by the law of the largest; events
one by one. What shows is what `heartbeat_tuner.metrics` makes of raw series that are scraped every 15 s, as far as its
rules can be said in one line:

- Poll gaps of the Java client are a witness of absences only where the usual longest one of a block is below 1 s
  (`absence.stalls.HANDLERS_FROM_S`), and pauses of garbage collection only of GC-heavy groups, whose JVM exports them.
  Both show in full, whether the member was evicted for it or not.
- Else missing beats are, and show as much of a silence as the product's own measuring of raw samples does
  (`raw_beats`): none of less than a period, and with H 3 s nearly all from 8 s on. One that ended in an eviction ended
  in a join, and does not show.
- KafkaJS' counters show that a member was removed; so do those of the other clients, where stops show no other way.
  What the absence outlasted is the session less half a period.
- Gaps between polls show in full, but for KafkaJS.
- Nothing shows a fencing in a share group but the broker's descriptions, every 5 s: only of a member that is missing in
  one, and not of all members at once. But its members' counters show that somebody joined again, and beside a gap
  between polls why (`metrics.share_polls`).
- The record of the last hour has evictions at their scrape, the longest silence that was survived less a period, and
  it begins with the newest start of a pod.

The raw series of all groups are not made: 300 of them, with 7 members each, scraped every 15 s for 30 days, are 363
million samples of each counter.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from bench.as_shipped import raw_beats
from bench.as_shipped.hourly_laws import SHOW_POLLS, HourlyLaws
from bench.as_shipped.hours import BLOCKS_AN_HOUR, HOUR_S, Hour, Marks, Stretch, Whole, binned, cells, joined
from bench.as_shipped.lives import Life
from bench.as_shipped.raw_beats import SCRAPE_S
from bench.fleets import HOURS, Kind
from bench.observed import DAY_S, period_s
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.metrics import measured
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import MIDDLES_S
from heartbeat_tuner.tails.law import TIMES_S

_HIDE_OUTAGES: Final = frozenset({"kafkajs"})
_COUNT_EVICTIONS: Final = frozenset(
    {"kafkajs", "java", "confluent-kafka-python", "confluent-kafka-python-kip848", "share"}
)
_DESCRIBED: Final = frozenset({"share"})
"""Libraries whose evictions nothing shows but the broker's descriptions: of those a member has to be missing in one."""

_DESCRIBED_EVERY_S: Final = 5.0
"""How often the group watcher describes a group, as long as there are at most 300 of them."""
_ROUND_TRIP_S: Final = (0.03, 0.5)
_MOST_LATENCIES: Final = 200
"""Rebalances of a day of which the length is drawn; of more, so many tell as much."""


class Watch:
    """Draws the hours of one group.

    Args:
        life: of the group.
        rng: the random generator.
    """

    def __init__(self, life: Life, rng: np.random.Generator) -> None:
        self._life, self._rng = life, rng
        self._tables: dict[str, HourlyLaws] = {}

    def draw(self, day: int, settings: LivenessSettings, first: int = 0) -> Stretch:
        """Return what happens from an hour to the end of a day, and what shows of it."""
        group = self._life.on(day)
        key = f"{id(group)}"
        if key not in self._tables:
            self._tables[key] = HourlyLaws(group)
        return _Drawing(self._life, self._tables[key], settings, self._rng, day, first).stretch()


class _Drawing:
    """One stretch of hours."""

    def __init__(
        self,
        life: Life,
        tables: HourlyLaws,
        settings: LivenessSettings,
        rng: np.random.Generator,
        day: int,
        first: int,
    ) -> None:
        self._life, self._tables, self._rng, self._settings = life, tables, rng, settings
        self._first, self._count = first, HOURS - first
        self._profile: Profile = tables.group.usual
        self._factor = life.factor(day)
        self._session_s = settings.session_timeout.total_seconds()
        self._period_s = period_s(tables.group.truth.client, settings)
        self._beats = raw_beats.measured_absences(
            round(self._period_s, 3), is_frozen=not tables.library.handler_delays_beat
        )
        limit = settings.max_poll_interval
        self._limit_s = None if limit is None else limit.total_seconds()
        self._evicted: list[tuple[float, int, bool]] = []
        """When, how many members together, and whether it shows."""
        self._is_described = tables.library.name in _DESCRIBED
        self._survived = rng.random(self._count) * self._period_s
        self._marks: dict[str, Marks] = {}

    def stretch(self) -> Stretch:
        """Draw everything."""
        life, profile, tables = self._life, self._profile, self._tables
        shape = life.group.burst
        bursts = np.ones(self._count) if shape is None else self._rng.gamma(shape, 1.0 / shape, self._count)
        pauses = self._exceeded(profile.pauses.per_day * self._factor * bursts, tables.pauses)
        handlers = tables.handlers[self._first :]
        absent = pauses
        if tables.library.handler_delays_beat:
            absent = 1.0 - (1.0 - pauses) * (1.0 - handlers)
        self._absences(absent)
        if tables.library.name in _COUNT_EVICTIONS and not tables.shows_stops:
            shown = [(second, each) for second, each, shows in self._evicted if shows]
            hours = np.array([second // HOUR_S - self._first for second, each in shown for _ in range(each)])
            outlasted_s = np.full(hours.size, max(self._session_s - self._period_s / 2, 0.0))
            self._marks[measured.EVICTION] = self._marked(*binned(hours, outlasted_s), members=profile.members)
        gaps, left = None, np.zeros(self._count, dtype=np.int64)
        if tables.library.name in SHOW_POLLS:
            gaps = self._longest(1.0 - (1.0 - handlers) * (1.0 - pauses))
            self._marks[measured.POLL_GAP] = self._marked(*cells(gaps), members=profile.members)
            if self._limit_s is not None:
                left = gaps[:, np.searchsorted(MIDDLES_S, self._limit_s) :].sum(axis=1)
        started, deploys, crashes = self._starts()
        self._rebalances(len(started) - crashes, crashes + len(self._evicted) + int(left.sum()))
        return Stretch(self._first, HOURS, self._hours(left, gaps, started, deploys), self._marks)

    def _exceeded(self, per_day: Array, laws: Array) -> Array:
        """Return for each hour how likely a block has something longer than each edge."""
        rates = per_day / (DAY_S / BLOCK_S)
        return np.asarray(-np.expm1(-rates[:, None] * laws[self._first :]))

    def _longest(self, exceeded: Array) -> Whole:
        """Return how many blocks of all members have their longest in which bucket, by hour."""
        exceeded = np.clip(exceeded, 0.0, 1.0)
        shares = np.concatenate((1.0 - exceeded[:, :1], np.maximum(-np.diff(exceeded, axis=1), 0.0)), axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
        return np.asarray(self._rng.multinomial(self._profile.members * BLOCKS_AN_HOUR, shares)[:, 1:])

    def _absences(self, exceeded: Array) -> None:
        """Draw pauses, what stops a node and, where no metric tells them apart, outages; evict who is silent."""
        profile, shows = self._profile, self._tables.shows_stops
        counts = self._longest(exceeded)
        hours, buckets = np.nonzero(counts)
        some = counts[hours, buckets]
        shown = [(hours, buckets, some)] if shows else []
        # Shorter ones neither show as missing beats nor evict.
        least_s = min(self._beats.least_s, self._session_s - self._period_s)
        long = MIDDLES_S[buckets] > least_s
        hours, values = np.repeat(hours[long], some[long]), np.repeat(MIDDLES_S[buckets[long]], some[long])
        beats = self._silences(hours, values, each=1)
        node_hours, node_values = self._events(profile.node_pauses)
        node_beats = self._silences(node_hours, node_values, each=profile.node_members)
        if shows:
            shown.append(binned(node_hours, node_values))
        else:
            shown += [binned(*beats), binned(*node_beats)]
        outage_hours, outages = self._events(profile.outages)
        beats = self._silences(outage_hours, outages, each=profile.members)
        if self._tables.library.name in _HIDE_OUTAGES:
            shown += [binned(np.tile(beats[0], profile.members), np.tile(beats[1], profile.members))]
        else:
            median_s, sigma = _ROUND_TRIP_S
            usual = np.exp(self._rng.normal(np.log(median_s), sigma, self._count * BLOCKS_AN_HOUR))
            survived = outages + self._period_s <= self._session_s
            parts = [
                binned(np.repeat(np.arange(self._count), BLOCKS_AN_HOUR), usual),
                binned(outage_hours[survived], outages[survived]),
            ]
            self._marks[measured.OUTAGE] = self._marked(*joined(parts), members=1)
        self._marks[measured.ABSENCE] = self._marked(*joined(shown), members=profile.members)

    def _silences(self, hours: Whole, values: Array, *, each: int) -> tuple[Whole, Array]:
        """Evict who is silent for longer than a session; return hours, and what missing beats show of the others."""
        silences = values + self._rng.uniform(0.0, self._period_s, values.size)
        evicted = silences > self._session_s
        at_s = (self._first + hours[evicted] + self._rng.random(int(evicted.sum()))) * HOUR_S
        shown = self._shown(silences[evicted], at_once=each == self._profile.members)
        self._evicted += [(float(second), each, bool(shows)) for second, shows in zip(at_s, shown, strict=True)]
        survived = ~evicted
        # The record's silence lacks the beat that ends it; a block's lacks what scrapes leave open, too.
        np.maximum.at(self._survived, hours[survived], silences[survived] - self._period_s)
        beats = self._beats.drawn(values, self._rng)
        showing = survived & (beats > 0)
        return hours[showing], beats[showing]

    def _shown(self, silences: Array, *, at_once: bool) -> Array:
        """Return which evictions show: where the broker describes them, of members that are missing for long enough."""
        if not self._is_described:
            return np.ones(silences.size, dtype=bool)
        # If all members are missing at once, it may be an outage: then no eviction is certain.
        chances = (silences - self._session_s) / _DESCRIBED_EVERY_S * (not at_once)
        return np.asarray(self._rng.random(silences.size) < chances)

    def _events(self, process: FailureProcess) -> tuple[Whole, Array]:
        many = self._rng.poisson(process.per_day * self._factor * self._count / HOURS)
        hours = self._rng.integers(self._count, size=many)
        return hours, np.asarray(process.law.quantile(self._rng.random(many)))

    def _starts(self) -> tuple[list[tuple[int, float]], list[int], int]:
        """Draw restarts and crashes, note their downtimes; return who started when, hours of deploys, and crashes."""
        profile, rng, rate = self._profile, self._rng, self._count / HOURS
        started: list[tuple[int, float]] = []
        deploys: list[int] = []
        away: list[tuple[int, float]] = []
        if self._life.group.kind is Kind.DEPLOYS:
            for hour in rng.integers(self._count, size=rng.poisson(profile.restarts.per_day * rate)).tolist():
                deploys.append(hour)
                at_s = (self._first + hour + float(rng.random())) * HOUR_S
                times = profile.restarts.law.quantile(rng.random(profile.members))
                ends = np.minimum(at_s + np.cumsum(times), DAY_S - 1.0)
                started += list(enumerate(ends.tolist()))
                away += [(hour, float(time)) for time in times]
        else:
            many = rng.poisson(profile.restarts.per_day * profile.members * rate)
            hours = rng.integers(self._count, size=many)
            times = np.asarray(profile.restarts.law.quantile(rng.random(many)))
            at_s = (self._first + hours + rng.random(many)) * HOUR_S
            started += [(int(rng.integers(profile.members)), float(second)) for second in at_s]
            away += list(zip(hours.tolist(), times.tolist(), strict=True))
        crashes = int(rng.poisson(profile.crashes.per_day * profile.members * rate))
        hours = rng.integers(self._count, size=crashes)
        back = np.asarray(profile.crashes.law.quantile(rng.random(crashes)))
        at_s = (self._first + hours + rng.random(crashes)) * HOUR_S
        started += [(int(rng.integers(profile.members)), float(second)) for second in at_s]
        away_s = np.array([0.0 if profile.surge else time for _, time in away])
        self._downtimes(measured.RESTART_DOWNTIME, np.array([hour for hour, _ in away], dtype=np.int64), away_s, 2)
        self._downtimes(measured.CRASH_DOWNTIME, hours, back, 1)
        return started, deploys, crashes

    def _downtimes(self, name: str, hours: Whole, times_s: Array, open_ends: int) -> None:
        hidden = self._rng.uniform(0.0, SCRAPE_S, (times_s.size, open_ends)).sum(axis=1)
        surely = np.maximum(times_s - hidden, 0.0)
        middles = (surely + times_s - hidden + open_ends * SCRAPE_S) / 2
        self._marks[name] = self._marked(*binned(hours, middles), members=self._profile.members)

    def _rebalances(self, planned: int, unplanned: int) -> None:
        """Note what restarts, crashes and evictions made the group go through: somebody left, and somebody came."""
        latencies = []
        for name, events in ((measured.PLANNED_REBALANCE, planned), (measured.UNPLANNED_REBALANCE, unplanned)):
            many = 0 if self._profile.static and name == measured.PLANNED_REBALANCE else 2 * events
            drawn = self._latencies(min(many, _MOST_LATENCIES))
            hours = self._rng.integers(self._count, size=many)
            took = np.resize(drawn, many) if many else drawn
            self._marks[name] = self._marked(*binned(hours, took), members=1)
            latencies.append(drawn)
        if self._tables.library.name in SHOW_POLLS:
            every = np.concatenate(latencies)
            hours = self._rng.integers(self._count, size=every.size)
            self._marks[measured.REBALANCE_LATENCY] = self._marked(*binned(hours, every), members=1)

    def _latencies(self, size: int) -> Array:
        """Return how long members waited in rebalances: for the last to hear of it and to poll, and to settle."""
        profile = self._profile
        heard = self._rng.uniform(0.0, self._period_s, (size, profile.members))
        if profile.rebalancing is Rebalancing.CONSUMER:
            return heard[:, 0] + profile.settle_s
        ages = profile.handlers.integrals / profile.handlers.integrals[-1]
        residual = np.interp(self._rng.random((size, profile.members)), ages, TIMES_S)
        barrier_s = self._settings[self._tables.library.rebalance_wait].total_seconds()
        return np.asarray(np.minimum((heard + residual).max(axis=1, initial=0.0), barrier_s) + profile.settle_s)

    def _hours(
        self, left: Whole, gaps: Whole | None, started: Sequence[tuple[int, float]], deploys: Sequence[int]
    ) -> list[Hour]:
        lost = self._life.lost_scrapes
        evicted: list[list[float]] = [[] for _ in range(self._count)]
        silent = [0] * self._count
        for second, each, shows in self._evicted:
            place = min(int(second // HOUR_S) - self._first, self._count - 1)
            seen = each if not lost else int(self._rng.binomial(each, 1.0 - lost))
            evicted[place] += [second] * seen * shows
            silent[place] += each
        begun: list[list[tuple[int, float]]] = [[] for _ in range(self._count)]
        for member, second in started:
            begun[min(max(int(second // HOUR_S) - self._first, 0), self._count - 1)].append((member, second))
        hours = []
        for place in range(self._count):
            longest = None
            if gaps is not None:
                some = np.flatnonzero(gaps[place])
                longest = float(MIDDLES_S[some[-1]]) if some.size else 0.0
            hours.append(
                Hour(
                    tuple(sorted(evicted[place])),
                    int(left[place]),
                    float(self._survived[place]),
                    longest,
                    tuple(sorted(begun[place], key=lambda start: start[1])),
                    place in deploys,
                    silent[place],
                    joined_again=self._is_described and silent[place] > 0,
                )
            )
        return hours

    def _marked(self, hours: Whole, buckets: Whole, counts: Whole, *, members: int) -> Marks:
        lost = self._life.lost_scrapes
        if lost:
            counts = self._rng.binomial(counts, 1.0 - lost)
            some = counts > 0
            hours, buckets, counts = hours[some], buckets[some], counts[some]
        return Marks(hours + self._first, buckets, counts, members)
