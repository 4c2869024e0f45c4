"""What is exported around a consumer: by Kubernetes, the kernel, the runtime in its process, and Prometheus itself.

None of it is a client library's, and none knows a group: such series are a pod's, by `namespace` and `pod`
(`resolver.by_pod`). kube-state-metrics and cAdvisor speak of pods that are not the scraped one, so that Prometheus has
to keep their labels (`honorLabels: true`, as the usual charts have it).

The collector of garbage shows in three forms, which say different things:

| form | who | what it says about the longest pause |
|---|---|---|
| a maximum that decays in 2 to 3 min | Micrometer | the pause itself |
| sum and count | client_java, and with it the JMX exporter | between the mean and the sum of a scrape interval |
| a histogram of 0.01, 0.1, 1 and 10 s | OpenTelemetry | the bucket it falls in |

prom-client resets its histogram of the event loop's delay at every scrape, so that its maximum, quantiles and mean are
those since the last scrape by anybody; `nodejs_eventloop_lag_seconds` is one delay, that of the scrape itself.
"""

from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity

KUBE_STATE_METRICS: Final = Convention(
    name="kube-state-metrics",
    title="kube-state-metrics",
    libraries=(),
    with_labels=frozenset({"uid"}),
    metrics=(
        Metric(Quantity.POD_STARTED, ("kube_pod_start_time",)),
        Metric(Quantity.POD_READY, ("kube_pod_status_ready_time",)),
        Metric(Quantity.POD_DELETED, ("kube_pod_deletion_timestamp",)),
    ),
)

KUBE_STATE_METRICS_CONTAINERS: Final = Convention(
    name="kube-state-metrics-containers",
    title="kube-state-metrics",
    libraries=(),
    with_labels=frozenset({"uid", "container"}),
    metrics=(
        Metric(Quantity.CONTAINER_STARTED, ("kube_pod_container_state_started",)),
        Metric(Quantity.CONTAINER_ENDED, ("kube_pod_container_status_last_terminated_timestamp",)),
        Metric(Quantity.CONTAINER_RESTARTS, ("kube_pod_container_status_restarts_total",)),
    ),
)

CADVISOR: Final = Convention(
    name="cadvisor",
    title="cAdvisor, as the kubelet has it",
    libraries=(),
    with_labels=frozenset({"container"}),
    metrics=(
        Metric(Quantity.CPU_PERIODS, ("container_cpu_cfs_periods_total",)),
        Metric(Quantity.CPU_THROTTLED_PERIODS, ("container_cpu_cfs_throttled_periods_total",)),
        Metric(Quantity.CPU_THROTTLED_TIME, ("container_cpu_cfs_throttled_seconds_total",)),
        Metric(Quantity.CPU_STALLED_TIME, ("container_pressure_cpu_stalled_seconds_total",)),
    ),
)

JVM_MICROMETER: Final = Convention(
    name="jvm-micrometer",
    title="Micrometer's metrics of the JVM",
    libraries=(),
    with_labels=frozenset({"action", "cause"}),
    metrics=(Metric(Quantity.GC_PAUSE_MAX, ("jvm_gc_pause_seconds_max",)),),
)

JVM_CLIENT_JAVA: Final = Convention(
    name="jvm-client-java",
    title="Prometheus' own metrics of the JVM",
    libraries=(),
    with_labels=frozenset({"gc"}),
    metrics=(
        Metric(Quantity.GC_TIME, ("jvm_gc_collection_seconds_sum",)),
        Metric(Quantity.GC_COUNT, ("jvm_gc_collection_seconds_count",)),
    ),
)

JVM_OPENTELEMETRY: Final = Convention(
    name="jvm-opentelemetry",
    title="OpenTelemetry's metrics of the JVM",
    libraries=(),
    with_labels=frozenset({"jvm_gc_name"}),
    metrics=(
        Metric(Quantity.GC_TIME, ("jvm_gc_duration_seconds_sum",)),
        Metric(Quantity.GC_COUNT, ("jvm_gc_duration_seconds_count",)),
        Metric(Quantity.GC_BUCKETS, ("jvm_gc_duration_seconds_bucket",)),
    ),
)

PROM_CLIENT: Final = Convention(
    name="prom-client",
    title="prom-client's default metrics of Node",
    libraries=(),
    metrics=(Metric(Quantity.EVENT_LOOP_LAG_MAX, ("nodejs_eventloop_lag_max_seconds",)),),
)

PROMETHEUS: Final = Convention(
    name="prometheus",
    title="Prometheus itself",
    libraries=(),
    with_labels=frozenset({"job", "instance"}),
    metrics=(
        Metric(Quantity.SCRAPED, ("up",)),
        Metric(Quantity.SCRAPE_TIME, ("scrape_duration_seconds",)),
    ),
)

CONTAINERS: Final = "container_cpu_usage_seconds_total"
"""What cAdvisor has of every container: only those with a CPU limit have periods of a quota."""

CONVENTIONS: Final = (
    KUBE_STATE_METRICS,
    KUBE_STATE_METRICS_CONTAINERS,
    CADVISOR,
    JVM_MICROMETER,
    JVM_CLIENT_JAVA,
    JVM_OPENTELEMETRY,
    PROM_CLIENT,
    PROMETHEUS,
)
