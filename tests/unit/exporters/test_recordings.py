"""What lies in tests/data/scrapes is what the story says, and whole."""

import re

import pytest

from tests.exporters import cluster, recording
from tests.exporters.catalogue import EXPORTERS
from tests.exporters.recording import FOLDER
from tests.exporters.story import LONG_HANDLER_FACTOR

pytestmark = pytest.mark.no_cover  # reads recordings

NAMES = recording.names()
OF_THE_STORY = [name for name in NAMES if name != cluster.NAME]
LARGEST_BYTES = 250_000


def test_every_row_of_the_catalogue_is_recorded_and_nothing_else() -> None:
    """A row without its recording would be a promise, a recording without its row could not be made again."""
    assert sorted([*EXPORTERS, cluster.NAME]) == NAMES


def test_every_recording_is_in_the_table_of_the_readme() -> None:
    """Who looks for an exporter looks there."""
    pages = "\n".join(page.read_text() for page in FOLDER.glob("README*.md"))
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", pages, flags=re.MULTILINE)
    assert sorted(rows) == NAMES


@pytest.mark.parametrize("name", OF_THE_STORY)
def test_a_recording_is_that_of_its_row(name: str) -> None:
    """Versions move on in the catalogue; what was recorded with another one says so."""
    meta, row = recording.read(name).meta, EXPORTERS[name]
    assert meta["exporter"] == {"name": row.exporter, "version": row.version, "note": row.note}
    assert meta["client"] == {"library": row.library, "version": row.library_version}
    assert meta["selector"] == row.finds_its_series()


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_small_and_its_counts_are_right(name: str) -> None:
    """The whole folder is cloned by everybody."""
    recorded = recording.read(name)
    assert sum(file.stat().st_size for file in recorded.folder.iterdir()) <= LARGEST_BYTES
    assert recorded.meta["series"] == len(recorded.series) > 0
    assert recorded.meta["samples"] == sum(len(series_.values) for series_ in recorded.series)
    last_ms = max(series_.times_ms[-1] for series_ in recorded.series)
    assert 0 <= recorded.length_s * 1000 - last_ms <= 10_000


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_tells_nothing_of_the_machine_that_made_it(name: str) -> None:
    """Agents like to export command lines and folders."""
    shown = {value for series_ in recording.read(name).series for value in series_.labels.values()}
    assert [value for value in shown if re.search(r"/(root|home|tmp|work|usr|var)\b", value)] == []


@pytest.mark.parametrize("name", OF_THE_STORY)
def test_the_truth_has_what_the_story_made_happen(name: str) -> None:
    """Two pauses evict; a handler that outlasts M leaves; the third member and the new pod join once or more."""
    meta = recording.read(name).meta
    truth = meta["truth"]
    paused = [event["at_s"] for event in meta["events"] if event["event"] == "paused"]
    evicted = [eviction["at_s"] for eviction in truth["evictions"] if eviction["pod"] == "consumer-a"]
    assert [sum(at_s < item < at_s + 9 for item in evicted) for at_s in paused] == [1, 1]
    long = [event["at_s"] for event in meta["events"] if event["event"] == "long handler"]
    gaps = [gap_leaf["at_s"] for gap_leaf in truth["poll_gap_leaves"]]
    max_poll_s = meta["settings"]["max_poll_interval_s"]
    assert len(long) == (max_poll_s is not None)
    # librdkafka in a group of KIP-848 falls silent at M, but says that it leaves only when the handler has ended.
    factor = LONG_HANDLER_FACTOR if name == "librdkafka-allsopp-kip848-stand-in" else 1
    assert all(any(-1 < gap - at_s - max_poll_s * factor < 3 for gap in gaps) for at_s in long)
    assert all(truth["pods"][pod]["joins"] for pod in ("consumer-a", "consumer-b", "consumer-c", "consumer-d"))


@pytest.mark.parametrize("name", NAMES)
def test_the_heartbeats_are_those_that_are_counted(name: str) -> None:
    """A deficit is computed from both."""
    recorded = recording.read(name)
    counts = {pod: found["accepted_heartbeats"] for pod, found in recorded.meta["truth"]["pods"].items()}
    assert {pod: len(times) for pod, times in recorded.heartbeats_s.items()} == counts
    assert sum(counts.values()) == recorded.meta["truth"]["accepted_heartbeats"] > 0
