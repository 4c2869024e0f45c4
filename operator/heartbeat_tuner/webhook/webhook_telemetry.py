"""What a replica of the webhook tells about itself."""

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.adapters.http.pages import Complaint, Pages
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewOutcome

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.0)
_TURN_BUCKETS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0)


class WebhookTelemetry:
    """Metrics and probes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._pages = Pages(self.registry, before=self._look)
        self._waiting: Callable[[], int] = lambda: 0
        self._reviews = Counter(
            "heartbeat_tuner_admission_reviews",
            "Pods asked about, by what became of them.",
            ["outcome"],
            registry=self.registry,
        )
        self._durations = Histogram(
            "heartbeat_tuner_admission_duration_seconds",
            "From a request's arrival to its answer.",
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._certificate_ends = Gauge(
            "heartbeat_tuner_certificate_end_time_seconds",
            "When the certificate that is shown ends, in seconds since 1970.",
            registry=self.registry,
        )
        self._gated = Gauge(
            "heartbeat_tuner_gated_pods", "Pods that wait for the slot that they were promised.", registry=self.registry
        )
        self._waits = Counter(
            "heartbeat_tuner_gate_ends",
            "Pods that this replica let go, and pods that it had replaced because they could not keep their slot.",
            ["end"],
            registry=self.registry,
        )
        self._turns = Histogram(
            "heartbeat_tuner_namespace_turn_seconds",
            "How long one look after a namespace's slots and gated pods took.",
            registry=self.registry,
            buckets=_TURN_BUCKETS,
        )
        for end in ("lifted", "replaced"):
            self._waits.labels(end)
        for outcome in ReviewOutcome:
            self._reviews.labels(outcome.value)

    def answered(self, outcome: ReviewOutcome, *, duration_s: float) -> None:
        """Count an answer."""
        self._reviews.labels(outcome.value).inc()
        self._durations.observe(duration_s)

    def certificate_loaded(self, ends: datetime) -> None:
        """Tell until when a new certificate is good."""
        self._certificate_ends.set(ends.timestamp())

    def watch_gates(self, waiting: Callable[[], int]) -> None:
        """Tell how many pods wait, by asking whenever the page is made."""
        self._waiting = waiting

    def _look(self) -> None:
        self._gated.set(self._waiting())

    def namespace_looked_after(self, *, duration_s: float) -> None:
        """Count one look after a namespace."""
        self._turns.observe(duration_s)

    def pod_lifted(self) -> None:
        """Count a pod that waits no more."""
        self._waits.labels("lifted").inc()

    def pod_replaced(self) -> None:
        """Count a pod that has to go."""
        self._waits.labels("replaced").inc()

    async def serve(
        self, address: str, port: int, *, probe_port: int, unhealthy: Complaint, unready: Complaint
    ) -> None:
        """Answer until `close`.

        Args:
            address: where to listen.
            port: for the metrics.
            probe_port: for the probes.
            unhealthy: why this process should be started again.
            unready: why no pod should be asked about here now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        await self._pages.serve(address, port, probe_port=probe_port, unhealthy=unhealthy, unready=unready)

    async def close(self) -> None:
        """Stop answering."""
        await self._pages.close()
