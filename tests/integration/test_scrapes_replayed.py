"""What real exporters showed, back in a real Prometheus: exactly the samples that were recorded."""

import time
from collections.abc import Iterator

import pytest

from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.exporters import recording, replay
from tests.exporters.recording import Recording, Series

pytestmark = pytest.mark.timeout(120)

NAMES = recording.names()


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[tuple[Prometheus, float]]:
    """A Prometheus with all recordings, and when all of them end there, in seconds since 1970."""
    ends_at_s = time.time()
    with Prometheus(tmp_path_factory.mktemp("replayed"), binaries, kubeconfig=None) as prometheus:
        for name in NAMES:
            replay.load(recording.read(name), prometheus.url, ends_at_s=ends_at_s)
        yield prometheus, ends_at_s


def _as_map(series: list[Series]) -> dict[tuple[tuple[str, str], ...], tuple[tuple[int, ...], tuple[str, ...]]]:
    return {tuple(sorted(one.labels.items())): (one.times_ms, one.values) for one in series}


@pytest.mark.parametrize("name", NAMES)
def test_a_replayed_recording_has_exactly_the_recorded_samples(replayed: tuple[Prometheus, float], name: str) -> None:
    """Times to the millisecond, values to the last digit, NaN, and no series of another recording."""
    prometheus, ends_at_s = replayed
    recorded: Recording = recording.read(name)
    began_s = ends_at_s - recorded.length_s
    found = replay.samples(prometheus.url, recorded.meta["selector"], began_s=began_s, ended_s=ends_at_s)
    assert _as_map(found) == _as_map(recorded.series)
    assert len(found) == recorded.meta["series"] > 0
