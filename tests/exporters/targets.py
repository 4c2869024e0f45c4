"""What the recorder's Prometheus scrapes, labelled as a PodMonitor of the Prometheus operator labels it.

Targets come and go with their pods, through a file that Prometheus watches: a pod that is gone leaves stale markers, as
on a cluster, and not an endless `up` of 0.
"""

import json
from pathlib import Path
from typing import Any, Final

SCRAPE_INTERVAL_S: Final = 5.0
_LABELS: Final = ("namespace", "pod", "container", "job", "endpoint", "__metrics_path__")


class Targets:
    """The targets of one Prometheus; every change is written at once.

    Args:
        folder: for the file that Prometheus watches; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "targets.json"
        self._groups: dict[str, dict[str, Any]] = {}
        self._write()

    def sections(self) -> dict[str, Any]:
        """Return the sections of prometheus.yml that make it scrape these targets."""
        interval = f"{SCRAPE_INTERVAL_S:.0f}s"
        job = {
            "job_name": "recorded",
            "file_sd_configs": [{"files": [str(self._file)], "refresh_interval": "1s"}],
        }
        return {
            "global": {"scrape_interval": interval, "scrape_timeout": interval},
            "scrape_configs": [job],
        }

    def add(self, namespace: str, pod: str, container: str, address: str, path: str = "/metrics") -> None:
        """Scrape a pod from now on; its job is named after its container."""
        values = (namespace, pod, container, f"{namespace}/{container}", "metrics", path)
        self._groups[pod] = {"targets": [address], "labels": dict(zip(_LABELS, values, strict=True))}
        self._write()

    def remove(self, pod: str) -> None:
        """Scrape it no more."""
        del self._groups[pod]
        self._write()

    def _write(self) -> None:
        scratch = self._file.with_suffix(".tmp")
        scratch.write_text(json.dumps(list(self._groups.values())))
        scratch.replace(self._file)
