"""A recording on disk: what an exporter's Prometheus held after a story, and what the coordinator knew meanwhile.

`tests/data/scrapes/<name>/` holds two files:

`meta.yaml`, for people and tests: exporter, client, group, settings (seconds), pods, the story's events, the truth of
the broker's log (`truth.py`) and how many series there are. Every time is in seconds since the recording began.

`samples.json.gz`: `{"axes": [[MS, ...], ...], "series": [{"labels": {...}, "axis": N, "values": ["1.5", "NaN", ...]},
...], "heartbeats": {POD: [MS, ...]}}`. A sample's time is that of its axis, in milliseconds since the recording began;
its value is the string that Prometheus shows, which is exact. `heartbeats` are the arrivals of accepted ones.
"""

import gzip
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support import yaml_texts

FOLDER: Final = Path(__file__).parents[1] / "data" / "scrapes"
_META: Final = "meta.yaml"
_SAMPLES: Final = "samples.json.gz"
_LINE_LENGTH: Final = 120


@dataclass(frozen=True)
class Series:
    """One series: its labels, `__name__` among them, times in milliseconds since the beginning, values as strings."""

    labels: dict[str, str]
    times_ms: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Recording:
    """One recording, read from its folder; the samples are decoded when they are first asked for.

    Attributes:
        folder: its last part is the recording's name.
        meta: the content of meta.yaml.
    """

    folder: Path
    meta: dict[str, Any]

    @property
    def name(self) -> str:
        """The recording's name, which is its exporter's row and the namespace of its pods."""
        return self.folder.name

    @property
    def length_s(self) -> float:
        """How long it is; the last samples are at most one scrape older."""
        return float(self.meta["length_s"])

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(gzip.decompress((self.folder / _SAMPLES).read_bytes()))
        return document

    @cached_property
    def series(self) -> list[Series]:
        """All series."""
        axes = [tuple(axis) for axis in self._document["axes"]]
        return [
            Series(series_["labels"], axes[series_["axis"]], tuple(series_["values"]))
            for series_ in self._document["series"]
        ]

    @cached_property
    def heartbeats_s(self) -> dict[str, list[float]]:
        """When each pod's accepted heartbeats arrived at the broker."""
        return {pod: [ms / 1000 for ms in times] for pod, times in self._document["heartbeats"].items()}


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all recordings."""
    return sorted(meta.parent.name for meta in folder.glob(f"*/{_META}"))


def read(name: str, folder: Path = FOLDER) -> Recording:
    """Read one recording."""
    return Recording(folder / name, yaml_texts.document((folder / name / _META).read_text()))


def write(
    name: str, meta: dict[str, Any], series: list[Series], heartbeats_ms: dict[str, list[int]], folder: Path = FOLDER
) -> Recording:
    """Write a recording, the same bytes for the same content, and return it."""
    axes: dict[tuple[int, ...], int] = {}
    ordered = sorted(series, key=lambda each: sorted(each.labels.items()))
    document = {
        "series": [
            {"labels": item.labels, "axis": axes.setdefault(item.times_ms, len(axes)), "values": item.values}
            for item in ordered
        ],
        "axes": list(axes),
        "heartbeats": heartbeats_ms,
    }
    into = folder / name
    into.mkdir(parents=True, exist_ok=True)
    (into / _SAMPLES).write_bytes(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 9, mtime=0))
    (into / _META).write_text(yaml.safe_dump(meta, sort_keys=False, width=_LINE_LENGTH, allow_unicode=True))
    return Recording(into, meta)
