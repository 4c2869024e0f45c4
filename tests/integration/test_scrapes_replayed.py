"""What real exporters showed, back in a real Prometheus: exactly the samples that were recorded."""

import pytest

from tests.exporters import recording, replay
from tests.exporters.recording import Series
from tests.exporters.replayed import Replayed

pytestmark = pytest.mark.timeout(120)


def _as_map(series: list[Series]) -> dict[tuple[tuple[str, str], ...], tuple[tuple[int, ...], tuple[str, ...]]]:
    return {tuple(sorted(series_.labels.items())): (series_.times_ms, series_.values) for series_ in series}


@pytest.mark.parametrize("name", recording.names())
def test_a_replayed_recording_has_exactly_the_recorded_samples(replayed: Replayed, name: str) -> None:
    """Times to the millisecond, values to the last digit, NaN, and no series of another recording."""
    recorded = replayed.recordings[name]
    window = {"began_s": replayed.began_s(name), "ended_s": replayed.ends_at_s}
    found = replay.samples(replayed.prometheus.url, recorded.meta["selector"], **window)
    assert _as_map(found) == _as_map(recorded.series)
    assert len(found) == recorded.meta["series"] > 0
