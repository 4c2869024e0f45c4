"""The shortest way to what a Prometheus lacks, ready to paste.

Each `Fix` is a sentence and, where there is one, a snippet for the exporter, the application, the scrape configuration
or the policy. Tests run or read every one of them.
"""

import dataclasses
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.doctor import librdkafka_counters
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, librdkafka_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """What to do.

    Attributes:
        sentence: what, and where.
        language: of the snippet, as a fenced block names it; empty if there is none.
        snippet: what to paste, in whole lines.
    """

    sentence: str
    language: str = ""
    snippet: str = ""


_COUNTERS: Final = """\
const { Counter, Registry, Summary } = require('prom-client')

// Call it before consumer.connect(); append `await renderGroup()` to what your /metrics answers.
function countGroup(consumer, groupId) {
  const group = new Registry()
  group.setDefaultLabels({ group_id: groupId })
  const registers = [group]
  const joins = new Summary({
    name: 'kafkajs_consumer_group_join_seconds', help: 'Time to join the group', percentiles: [], registers })
  const rebalancings = new Counter({
    name: 'kafkajs_consumer_rebalancing_total', help: 'Rebalances that the consumer learned of', registers })
  const requests = new Counter({
    name: 'kafkajs_consumer_requests_total', help: 'Answered requests', labelNames: ['api_name'], registers })
  requests.inc({ api_name: 'Heartbeat' }, 0) // there from the start, at 0

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => joins.observe(payload.duration / 1000))
  consumer.on(consumer.events.REBALANCING, () => rebalancings.inc())
  consumer.on(consumer.events.REQUEST, ({ payload }) => requests.inc({ api_name: payload.apiName }))
  return () => group.metrics()
}

const renderGroup = countGroup(consumer, 'GROUP')
"""

_ACCEPTED: Final = """\
const { monitorKafkaJSConsumer } = require('@christiangalsterer/kafkajs-prometheus-exporter')
const { register } = require('prom-client')

monitorKafkaJSConsumer(consumer, register) // before consumer.connect()
"""

_JMX_RULE: Final = """\
rules:
  - pattern: 'kafka\\.consumer<type=(consumer-coordinator-metrics|consumer-metrics), client-id=([^,]+)><>(.+):'
    name: kafka_consumer_$1_$3
    labels: {client_id: "$2"}
"""

_STRIMZI_RULE: Final = """\
  - pattern: 'kafka\\.consumer<type=(.+)-metrics, client-id=([^,]+)><>(.+-%(ending)s):'
    name: kafka_$1_$3
    type: %(type)s
    labels: {clientid: "$2"}
"""

_STRIMZI_KINDS: Final[Mapping[ValueKind, tuple[str, str]]] = MappingProxyType(
    {ValueKind.COUNTER: ("total", "COUNTER"), ValueKind.WINDOWED_MAX: ("max", "GAUGE"), ValueKind.AGE: ("ago", "GAUGE")}
)

_SPRING: Final = """\
management:
  metrics:
    enable:
      kafka.consumer: true
"""

_AGENT: Final = """\
env:
  - {name: OTEL_INSTRUMENTATION_KAFKA_CLIENTS_METRICS_ENABLED, value: "true"}
"""

_AGENT_OF_JVM: Final = """\
env:
  - {name: OTEL_INSTRUMENTATION_RUNTIME_TELEMETRY_ENABLED, value: "true"}
"""

_BRIDGE_RULE: Final = """\
rules:
  - pattern: 'kafka\\.consumer<type=(.+)-metrics, client-id=([^,]+)><>(.+-total):'
    name: strimzi_bridge_kafka_consumer_$3
    type: COUNTER
    labels: {type: "$1-metrics", clientId: "$2"}
  - pattern: 'kafka\\.consumer<type=(.+)-metrics, client-id=([^,]+)><>(.+):'
    name: strimzi_bridge_kafka_consumer_$3
    type: GAUGE
    labels: {type: "$1-metrics", clientId: "$2"}
"""

_BINDER: Final = """\
new io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics(consumer).bindTo(registry);
"""

_SUBSCRIPTION: Final = """\
kafka-client-metrics.sh --bootstrap-server kafka:9092 --alter --name consumers --interval 30000 \\
  --match client_software_name=apache-kafka-java --metrics org.apache.kafka.consumer.
"""

_GROUP_LABEL: Final = """\
relabel_configs:
  - source_labels: [__meta_kubernetes_pod_label_kafka_group]
    target_label: kafka_group
"""

_POD_LABELS: Final = """\
relabel_configs:
  - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
"""

_DROPPED: Final = "look at the job's metric_relabel_configs too, which may drop it"

NOTHING: Final = Fix(
    "attach an exporter to the consumers (the JMX exporter or Micrometer for Java, kafkajs-prometheus-exporter and the "
    "counters below for KafkaJS), have Prometheus scrape them, and see docs/how-to/install.md for all names",
    "javascript",
    _COUNTERS,
)

OWN_CLIENT_ID: Final = Fix(
    "leave client.id unset, so that the library calls it consumer-GROUP-NUMBER; or let the scrape give its series the "
    "group as a label, like this, and name that label in the policy (metrics.labels.group: kafka_group)",
    "yaml",
    _GROUP_LABEL,
)

TOTALS: Final = Fix(
    "export the counters beside them (heartbeat-total, rebalance-total, failed-rebalance-total of the Java consumer), "
    "or leave out the recording rule that computes the rate"
)

WATCHED: Final = Fix(
    "count in the application what it lost (docs/how-to/install.md); or name client.library in a policy, and have "
    "Prometheus scrape the operator, which counts evictions by the broker's descriptions: no name has to be mapped"
)

NO_PLACE: Final = Fix("let the scrape job say namespace and pod", "yaml", _POD_LABELS)

SCRAPE_MORE: Final = Fix("scrape these pods every 30 s", "yaml", "scrape_interval: 30s\n")


_STATE_JOB: Final = """\
scrape_configs:
  - job_name: kube-state-metrics
    honor_labels: true
    static_configs: [{targets: ["kube-state-metrics.kube-system:8080"]}]
"""

_CADVISOR_JOB: Final = """\
scrape_configs:
  - job_name: cadvisor
    honor_labels: true
    scheme: https
    metrics_path: /metrics/cadvisor
    kubernetes_sd_configs: [{role: node}]
    tls_config: {ca_file: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt, insecure_skip_verify: true}
    authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
"""

KUBE_STATE_METRICS: Final = Fix(
    "install kube-state-metrics, and scrape it with the labels that it gives (with a ServiceMonitor: honorLabels)",
    "yaml",
    _STATE_JOB,
)

UNKEPT: Final = Fix(
    "let the scrape job keep the labels that the exporter gives (with a ServiceMonitor: honorLabels)",
    "yaml",
    "honor_labels: true\n",
)

CADVISOR: Final = Fix(
    "scrape the kubelets' cAdvisor, and drop no container_cpu_cfs_* (metric_relabel_configs)", "yaml", _CADVISOR_JOB
)

EVENT_LOOP: Final = Fix(
    "collect prom-client's default metrics in the consumer",
    "javascript",
    "require('prom-client').collectDefaultMetrics()\n",
)

_OF_JVM: Final[Mapping[Convention, Fix]] = MappingProxyType(
    {
        java_metrics.MICROMETER: Fix(
            "let Micrometer watch the JVM, as Spring Boot does by itself unless it is denied",
            "java",
            "new io.micrometer.core.instrument.binder.jvm.JvmGcMetrics().bindTo(registry);\n",
        ),
        java_metrics.OPENTELEMETRY: Fix("let the agent watch the JVM", "yaml", _AGENT_OF_JVM),
        java_metrics.OPENTELEMETRY_DOTTED: Fix("let the agent watch the JVM", "yaml", _AGENT_OF_JVM),
    }
)

_JVM: Final = Fix(
    "export the JVM's own metrics: the JMX exporter's agent does by itself, unless metric_relabel_configs drop them; "
    "elsewhere",
    "java",
    "io.prometheus.metrics.instrumentation.jvm.JvmMetrics.builder().register();\n",
)


def of_gc(convention: Convention) -> Fix:
    """Return how to get the metrics of a JVM's garbage collection beside those of its consumers."""
    return _OF_JVM.get(convention, _JVM)


_OF_CONVENTION: Final[Mapping[Convention, Fix]] = MappingProxyType(
    {
        kafkajs_metrics.EXPORTER: Fix("count KafkaJS' events in the consumer", "javascript", _COUNTERS),
        librdkafka_metrics.COUNTERS: Fix(
            "count by librdkafka's statistics and callbacks: in Python with this class in place of Consumer; other "
            "languages have both, too",
            "python",
            librdkafka_counters.PYTHON,
        ),
        java_metrics.JMX_EXPORTER: Fix(
            f"add to the exporter's rules, before the others; {_DROPPED}", "yaml", _JMX_RULE
        ),
        java_metrics.CONNECT_WORKER: Fix(f"run the JMX exporter's agent in the worker, without rules; {_DROPPED}"),
        java_metrics.MICROMETER: Fix(
            f"let no meter filter deny what is below kafka.consumer; {_DROPPED}", "yaml", _SPRING
        ),
        java_metrics.STRIMZI_BRIDGE: Fix(
            f"add to the exporter's rules, before the others; {_DROPPED}", "yaml", _BRIDGE_RULE
        ),
        java_metrics.MICROMETER_JMX: Fix("bind KafkaClientMetrics, which replaced this binder", "java", _BINDER),
        java_metrics.KIP714: Fix("subscribe the clients to all metrics of consumers", "sh", _SUBSCRIPTION),
        java_metrics.OPENTELEMETRY_DOTTED: Fix(
            f"have the agent export the client's own metrics; {_DROPPED}", "yaml", _AGENT
        ),
        java_metrics.OPENTELEMETRY: Fix(f"have the agent export the client's own metrics; {_DROPPED}", "yaml", _AGENT),
    }
)


def of_quantities(convention: Convention, missing: Collection[Quantity]) -> Fix:
    """Return how to get quantities that a group's exporter does not give.

    Args:
        convention: how the group is exported.
        missing: what it lacks; not empty.
    """
    if convention is kafkajs_metrics.EXPORTER and set(missing) == {Quantity.HEARTBEATS}:
        return Fix("attach kafkajs-prometheus-exporter", "javascript", _ACCEPTED)
    if convention is java_metrics.STRIMZI:
        kinds = [kind for kind in _STRIMZI_KINDS if any(quantity.kind is kind for quantity in missing)]
        rules = (_STRIMZI_RULE % dict(zip(("ending", "type"), _STRIMZI_KINDS[kind], strict=True)) for kind in kinds)
        return Fix("add to the exporter's rules, before the others", "yaml", f"rules:\n{''.join(rules)}")
    other = next((convention.withheld[quantity] for quantity in missing if quantity in convention.withheld), _DROPPED)
    return _OF_CONVENTION.get(convention, Fix(other))
