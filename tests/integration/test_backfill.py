"""What is measured of a fleet whose truth is known: through a real Prometheus with days of history, a scrape a minute.

Nothing is invented: what surely was is never more than what happened, and what can have been never less. What scrapes a
minute apart leave of it, the numbers here say.
"""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics import measured, quantities
from heartbeat_tuner.metrics.conventions import known_conventions, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.measured import Measured, Quantities
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.samples import Series
from sandbox.backfill import Backfilled, Happened, backfill
from sandbox.binaries import Binaries
from sandbox.fleet import JAVA, KAFKAJS, GroupTruth, fleet
from sandbox.prometheus import Prometheus
from tests.support import sources

pytestmark = pytest.mark.timeout(180)

DAYS: Final = 2
UNTIL: Final = datetime(2026, 3, 10, 15, tzinfo=UTC)
FLEET: Final = tuple(
    dataclasses.replace(item, rollouts_per_day=1.0, crashes_per_day=0.5)
    for item in fleet(4, kafkajs_share=0.25, namespaces=2, seed=4)
)
"""Two Java groups that poll quickly, one whose handlers take seconds, and a KafkaJS group."""

CONVENTION: Final = {JAVA: "jmx-exporter", KAFKAJS: "kafkajs"}


@dataclasses.dataclass(frozen=True)
class Group:
    """One group: its truth, what happened to it, and what is measured of it."""

    truth: GroupTruth
    happened: Happened
    convention: Convention
    measured: Quantities


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Backfilled:
    """Two days of the fleet."""
    until_s = int(UNTIL.timestamp())
    folder = tmp_path_factory.mktemp("history")
    return backfill(folder, FLEET, binaries, since_s=until_s - DAYS * 86_400, until_s=until_s)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries, history: Backfilled) -> Iterator[str]:
    """Serve them."""
    run_dir = tmp_path_factory.mktemp("run")
    with Prometheus(run_dir, binaries, kubeconfig=None, history=history.folder) as started:
        yield started.url


@pytest.fixture(scope="module")
def groups(prometheus: str, history: Backfilled) -> Sequence[Group]:
    """Measure all groups as the fit does."""

    async def measured() -> Sequence[Group]:
        with sources.reading(prometheus, timeout_s=60, max_answer_bytes=2**28) as source:
            return [await _measured(source, item, history, days=DAYS) for item in FLEET]

    return asyncio.run(measured())


async def _measured(source: PrometheusSource, truth: GroupTruth, history: Backfilled, *, days: float) -> Group:
    place = (truth.namespace, truth.group)
    at, window = datetime.fromtimestamp(history.until_s, UTC), timedelta(days=days)

    async def read(conventions: Sequence[Convention]) -> Sequence[Series]:
        names = {name for convention in conventions for metric in convention.metrics for name in metric.names}
        return await source.instant(queries.raw(names, namespaces=[truth.namespace], window=window), at=at)

    by_convention = resolver.by_group(
        await read(known_conventions.CONVENTIONS), known_conventions.CONVENTIONS, {place}
    )[place]
    convention, observed = resolver.followed(by_convention, known_conventions.of_library(truth.client))
    pods = {(truth.namespace, item.labels[queries.POD_LABEL]) for group in observed.values() for item in group}
    around = resolver.by_pod(await read(platform.CONVENTIONS), platform.CONVENTIONS, pods)
    return Group(truth, history.groups[place], convention, quantities.measured(observed, around))


def _over(found: Measured | Unknown, time_s: float) -> tuple[int, int]:
    """Return how many values surely were, and how many can have been, longer than a time."""
    assert isinstance(found, Measured), found
    sure = sum(observation.value_s > time_s for observation in found.observations)
    return sure, sum(observation.at_most_s > time_s for observation in found.observations)


def test_each_quantity_is_there_at_a_scrape_a_minute_or_says_why_not(groups: Sequence[Group]) -> None:
    """KafkaJS exports no maxima. Of quick pollers of Java evictions are not measured: their poll gaps show absences."""
    for group in groups:
        assert group.convention.name == CONVENTION[group.truth.client]
        found: Mapping[str, object] = {
            field.name: getattr(group.measured, field.name) for field in dataclasses.fields(group.measured)
        }
        missing = {name for name, value in found.items() if isinstance(value, Unknown)}
        assert missing == _not_measured(group.truth), group.truth


def _not_measured(truth: GroupTruth) -> set[str]:
    of_the_group_watcher = {"unseen_rejoins"}
    if truth.client == KAFKAJS:
        return {"poll_gaps", "outages", "rebalance_latencies"} | of_the_group_watcher
    return ({"evictions"} if truth.polls_quickly else set()) | of_the_group_watcher


def test_absences_are_seen_and_none_is_invented(groups: Sequence[Group]) -> None:
    """Two in one block are one; those of slow handlers show only where the collector counts them."""
    for group in groups:
        truth = group.truth
        for level_s in (1.0, 2.0):
            happened = group.happened.exceeding[level_s]
            sure, possible = _over(group.measured.absences, level_s)
            least = 0.75 if truth.polls_quickly else 0.75 * truth.gc_share
            assert least * happened <= sure <= happened + 1, (truth, level_s)
            if truth.polls_quickly:
                assert possible >= 0.85 * happened, (truth, level_s)
        assert isinstance(group.measured.absences, Measured)
        if truth.polls_quickly:
            assert group.measured.absences.largest_s == pytest.approx(group.happened.longest_s, abs=0.5)


def test_poll_gaps_are_seen(groups: Sequence[Group]) -> None:
    """Where polls are quick, a long gap is an absence and a usual one."""
    for group in groups:
        if group.truth.client == JAVA and group.truth.polls_quickly:
            happened = group.happened.exceeding[2.0]
            sure, _ = _over(group.measured.poll_gaps, 2.0)
            assert 0.85 * happened <= sure <= 1.3 * happened + 1, group.truth


def test_rebalances_are_counted_once_and_known_as_planned(groups: Sequence[Group]) -> None:
    """Three members count each. Of a rollout that is quicker than scrapes not all six rebalances are seen."""
    for group in groups:
        found = group.measured.rebalances
        assert isinstance(found, measured.Rebalances)
        assert found.unplanned == group.happened.unplanned, group.truth
        assert group.happened.rollouts <= found.planned <= group.happened.planned, group.truth


def test_downtime_lies_within_its_bounds(groups: Sequence[Group]) -> None:
    """Between scrapes a minute apart little is sure of it, but nothing is claimed that was not."""
    crashes = 0
    for group in groups:
        found = group.measured.crashes
        assert isinstance(found, Measured)
        crashes += len(group.happened.downtimes_s)
        sure = sorted((value.value_s for value in found.observations), reverse=True)
        for at_least_s, waited_s in zip(sure, sorted(_waits_s(group), reverse=True), strict=False):
            assert at_least_s <= waited_s + 1
    assert crashes > 0


def _waits_s(group: Group) -> list[float]:
    """Return how long crashed members were without a partition at most: the group waits for the dead member too."""
    longest_join_s = 5 * group.truth.join.median_s
    return [max(down_s, group.truth.session_timeout_s) + longest_join_s for down_s in group.happened.downtimes_s]


async def test_what_is_scraped_too_rarely_is_withheld(tmp_path: Path, binaries: Binaries) -> None:
    """Every two minutes most spikes of a maximum over one minute are not seen; and a history of 20 days is kept."""
    until_s = int(UNTIL.timestamp())
    only = [dataclasses.replace(FLEET[0], members=1)]
    made = backfill(
        tmp_path / "history", only, binaries, since_s=until_s - 20 * 86_400, until_s=until_s, interval_s=120
    )
    assert made.blocks == 21
    with (
        Prometheus(tmp_path, binaries, kubeconfig=None, history=made.folder) as started,
        sources.reading(started.url, timeout_s=60, max_answer_bytes=2**28) as source,
    ):
        found = (await _measured(source, only[0], made, days=20)).measured
    assert isinstance(found.poll_gaps, Unknown)
    assert "a sample every 120 s does not see most of time-between-poll-max" in found.poll_gaps.message
    assert isinstance(found.absences, Measured)
    assert found.absences.span_s > 19.9 * 86_400
