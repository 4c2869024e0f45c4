"""A real Prometheus that finds and scrapes the pods of the sandbox's control plane.

It discovers pods through the API, as in a cluster, and scrapes those annotated `prometheus.io/scrape: "true"` on the
port of `prometheus.io/port`. Its job is called "pods", and every series carries `namespace`, `pod`, `container` and
`node`. Remote write and OTLP are open too, so that tests can bring series of their own.
"""

import http.client
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import yaml

from sandbox.binaries import Binaries
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import Process, wait_until

JOB: Final = "pods"
_PROBE_TIMEOUT_S: Final = 2.0
_POD: Final = "__meta_kubernetes_pod"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_KEEP_HISTORY: Final = (
    "--storage.tsdb.retention.time=10y",  # not the default 15 d
    # No larger blocks: Prometheus would spend its first minutes on merging those that it finds.
    "--storage.tsdb.min-block-duration=2h",
    "--storage.tsdb.max-block-duration=2h",
)


class Prometheus:
    """One Prometheus; use as a context manager, or call `start` and `stop`, as often as needed: port and data stay.

    Args:
        run_dir: gets `prometheus/` and `logs/prometheus.log`.
        binaries: where the program is.
        kubeconfig: whose pods to scrape; None scrapes nothing.
        scrape_interval_s: how often.
        sections: of prometheus.yml, in place of ours or besides them.
        features: of those that Prometheus has only if they are asked for.
        history: a folder of blocks to serve, from `sandbox.backfill`; they stay as they are, however old.
        address: where it listens.

    Attributes:
        url: of the HTTP API.
    """

    def __init__(
        self,
        run_dir: Path,
        binaries: Binaries,
        *,
        kubeconfig: Path | None,
        scrape_interval_s: float = 1.0,
        sections: Mapping[str, Any] = _NOTHING,
        features: Sequence[str] = (),
        history: Path | None = None,
        address: str = LOOPBACK,
    ) -> None:
        folder = run_dir / "prometheus"
        folder.mkdir(parents=True, exist_ok=True)
        (self._port,) = free_ports(1)
        self._address = address
        self.url = f"http://{address}:{self._port}"
        self._config = folder / "prometheus.yml"
        self._config.write_text(
            yaml.safe_dump(configuration(kubeconfig, scrape_interval_s) | dict(sections), sort_keys=False)
        )
        self._process = Process(
            "prometheus",
            [
                binaries.path("prometheus"),
                f"--config.file={self._config}",
                f"--storage.tsdb.path={history or folder / 'data'}",
                *([] if history is None else _KEEP_HISTORY),
                f"--web.listen-address={address}:{self._port}",
                "--web.enable-remote-write-receiver",
                "--web.enable-otlp-receiver",
                "--scrape.discovery-reload-interval=1s",  # not the default 5 s: a new pod is scraped sooner
                "--log.level=warn",
                *(f"--enable-feature={feature}" for feature in features),
            ],
            log=run_dir / "logs" / "prometheus.log",
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers queries.

        Raises:
            PartNotReadyError: it ended or did not answer in time.
        """
        self._process.start()
        try:
            wait_until(self._ready, part="prometheus", what="/-/ready", process=self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it; what it has stored stays for the next start."""
        self._process.stop()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def reload(self, configuration: Mapping[str, Any]) -> None:
        """Give it another prometheus.yml; it may take a moment to go by it."""
        self._config.write_text(yaml.safe_dump(dict(configuration), sort_keys=False))
        os.kill(self.pid, signal.SIGHUP)

    def scrape_too(self, job: str, port: int, *, namespace: str) -> None:
        """Scrape a program of the sandbox that runs in no pod, as if it ran in one of a namespace.

        Args:
            job: name of the job.
            port: of its metrics.
            namespace: that its series have; their own `namespace` labels stay as they are.
        """
        document = yaml.safe_load(self._config.read_text())
        target = {"targets": [f"{self._address}:{port}"], "labels": {"namespace": namespace}}
        document["scrape_configs"].append({"job_name": job, "honor_labels": True, "static_configs": [target]})
        self.reload(document)

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection(self._address, self._port, timeout=_PROBE_TIMEOUT_S)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def configuration(kubeconfig: Path | None, scrape_interval_s: float) -> dict[str, Any]:
    """Return the content of prometheus.yml."""
    interval = f"{round(scrape_interval_s * 1000)}ms"
    job = {
        "job_name": JOB,
        "kubernetes_sd_configs": [{"role": "pod", "kubeconfig_file": str(kubeconfig)}],
        "relabel_configs": _relabelling(),
    }
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [] if kubeconfig is None else [job],
    }


def _relabelling() -> list[dict[str, Any]]:
    annotated_port = f"{_POD}_annotation_prometheus_io_port"
    declared_port = f"{_POD}_container_port_number"
    labels = {
        "__meta_kubernetes_namespace": "namespace",
        f"{_POD}_name": "pod",
        f"{_POD}_container_name": "container",
        f"{_POD}_node_name": "node",
    }
    return [
        {"source_labels": [f"{_POD}_annotation_prometheus_io_scrape"], "action": "keep", "regex": "true"},
        {"source_labels": [f"{_POD}_phase"], "action": "drop", "regex": "Succeeded|Failed"},
        # Discovery offers one target per declared port, and one per container that declares none: of the declared
        # ones only the annotated port counts, else a pod would be scraped several times.
        {"source_labels": [annotated_port], "target_label": "__tmp_port"},
        {"source_labels": [declared_port], "regex": "(.+)", "target_label": "__tmp_port"},
        {"source_labels": [annotated_port], "action": "keepequal", "target_label": "__tmp_port"},
        {"source_labels": [f"{_POD}_ip", annotated_port], "separator": ":", "target_label": "__address__"},
        *({"source_labels": [meta], "target_label": label} for meta, label in labels.items()),
    ]
