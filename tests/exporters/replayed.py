"""A Prometheus with every recording in it, each in the namespace of its name, all ending at the same moment."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.exporters import recording, replay
from tests.exporters.recording import Recording


@dataclass(frozen=True)
class Replayed:
    """What was loaded.

    Attributes:
        prometheus: holds nothing else.
        recordings: by name.
        ends_at_s: when all recordings end there, in seconds since 1970.
    """

    prometheus: Prometheus
    recordings: dict[str, Recording]
    ends_at_s: float

    def began_s(self, name: str) -> float:
        """Return when a recording begins there: what its times count from, in seconds since 1970."""
        return self.ends_at_s - self.recordings[name].length_s


@contextmanager
def replayed(run_dir: Path, binaries: Binaries) -> Iterator[Replayed]:
    """Start a Prometheus and load every recording, so that all end now."""
    found = {name: recording.read(name) for name in recording.names()}
    ends_at_s = round(time.time(), 3)
    with Prometheus(run_dir, binaries, kubeconfig=None) as prometheus:
        for item in found.values():
            replay.load(item, prometheus.url, ends_at_s=ends_at_s)
        yield Replayed(prometheus, found, ends_at_s)
