"""Real consumers, whose settings are in force, are never said to have others: every recording, at every half minute.

The story has two pauses beyond the session, a handler that outlasts M, and members that come and go.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.clients import catalogue as clients
from heartbeat_tuner.decision import from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView, StatedFacts
from heartbeat_tuner.doctor import discovery
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw import resolver
from tests.exporters import recording
from tests.exporters.recording import Recording
from tests.exporters.replayed import Replayed
from tests.support import sources
from tests.support.pipelines import contradiction

pytestmark = pytest.mark.timeout(120)

STEP_S: Final = 30.0
NAMES: Final = {
    "session_timeout_s": Setting.SESSION_TIMEOUT,
    "heartbeat_interval_s": Setting.HEARTBEAT_INTERVAL,
    "max_wait_time_s": Setting.FETCH_WAIT,
    "max_poll_interval_s": Setting.MAX_POLL_INTERVAL,
}


@pytest.fixture
def source(replayed: Replayed) -> Iterator[PrometheusSource]:
    """Read the Prometheus that has all recordings."""
    with sources.reading(replayed.prometheus.url, timeout_s=30, max_answer_bytes=2**25) as found:
        yield found


def stated(recording: Recording, **instead: float) -> StatedFacts:
    """Return what the recording's consumers were given, but for what is said instead."""
    client = clients.client(recording.meta["client"]["library"])
    given = {**recording.meta["settings"], **instead}
    values = {setting: timedelta(seconds=given[name]) for name, setting in NAMES.items() if given.get(name)}
    settings = client.filled({name: value for name, value in values.items() if name in client.settings})
    current = CurrentSettings(settings, dict.fromkeys(settings.by_setting, ValueSource.POLICY))
    return StatedFacts("", recording.meta["group"], client, current, 1, Objective(timedelta(minutes=1), 1.0))


async def doubted(source: PrometheusSource, said: StatedFacts, place: str, times_s: list[float]) -> list[str | None]:
    """Return what the record contradicts at each time, of those at which there is a record."""
    found: list[str | None] = []
    for convention in known_conventions.OF_GROUPS:
        if said.client.name not in convention.libraries:
            continue
        for at_s in times_s:
            now = datetime.fromtimestamp(at_s, UTC)
            query = discovery.of_group(
                convention, tuple(USES), namespace=place, group=said.group, window=timedelta(minutes=5)
            )
            series = await source.instant(query, at=now)
            observed = resolver.by_convention(series, [convention], (place, said.group))[convention]
            if not observed:
                continue
            inputs = from_metrics.watched(MetricsView(said, convention, observed, timedelta(minutes=5), now))
            if isinstance(inputs.record, Record) and inputs.workload.current is not None:
                doubt = contradiction(inputs)
                found.append(None if doubt is None else doubt.message)
    return found


OF_POLICIES: Final = [
    name for name in recording.names() if recording.read(name).meta["client"]["library"] in known_conventions.LIBRARIES
]


@pytest.mark.parametrize("name", OF_POLICIES)
async def test_settings_that_are_in_force_are_never_contradicted(
    replayed: Replayed, source: PrometheusSource, name: str
) -> None:
    """At every half minute of the story."""
    recording = replayed.recordings[name]
    times_s = [replayed.began_s(name) + at * STEP_S for at in range(2, int(recording.length_s / STEP_S))]
    assert {*await doubted(source, stated(recording), name, times_s)} <= {None}


@pytest.mark.parametrize("name", ["jmx-1-default", "kafkajs-sandbox"])
async def test_an_interval_that_is_not_in_force_is_found(
    replayed: Replayed, source: PrometheusSource, name: str
) -> None:
    """The same members, and somebody says that they beat every 5 s. The youngest came in the last minute."""
    recording = replayed.recordings[name]
    found = await doubted(source, stated(recording, heartbeat_interval_s=5.0), name, [replayed.ends_at_s - 60.0])
    assert found
    assert all(message is not None and "there is a heartbeat every" in message for message in found)
