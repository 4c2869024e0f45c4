"""Exporters of the JVM, each on consumers of kafka-clients.

What they consist of is in `java/`: a Maven project for each family of programs, and one for each agent, every jar
pinned in its `checksums.sha256`; rule files, written here to yield names that people's configurations have, are in
`java/rules/`.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache as once
from pathlib import Path
from typing import Final

import sandbox.consumers
from sandbox import cache, commands, maven, prerequisites
from tests.exporters.exporter import Broker, Companion, Exporter, Liveness, Pod, Surroundings

_HERE: Final = Path(__file__).parent / "java"
_RULES: Final = _HERE / "rules"
_SOCKETS: Final = Path(sandbox.consumers.__file__).parent / "java" / "PodSockets.java"
_INTERNALS: Final = ("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED")  # what PodSockets is put before
_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_BROKER_PORT: Final = 9404
_JMX_OLD, _JMX_NEW = "agents/jmx-0.20", "agents/jmx-1.0"
_STREAMS: Final = "streams-and-connect"
_OTEL: Final = "agents/otel"
_OF_THIS_MACHINE: Final = ("process.command_args", "process.command_line", "process.executable.path", "host.name")


def pinned(project: str, artifact: str) -> str:
    """Return the version of an artifact in the pom.xml of a project below `java/`."""
    found = re.search(
        rf"<artifactId>{artifact}</artifactId>\s*<version>([^<]+)<", (_HERE / project / "pom.xml").read_text()
    )
    if found is None:
        raise ValueError(f"{project}/pom.xml does not pin {artifact}")
    return found[1]


@once
def _jars(project: str) -> Path:
    """Return the folder of a project's jars."""
    pom, checksums = _HERE / project / "pom.xml", _HERE / project / "checksums.sha256"
    part = f"exporters-{project.replace('/', '-')}"

    def make(scratch: Path) -> None:
        prerequisites.require("java", "mvn")
        maven.download_jars(part, "downloading its jars", pom=pom, checksums=checksums, into=scratch)

    return cache.entry(part, cache.key(pom, checksums), make)


@once
def _agent(project: str) -> Path:
    """Return an agent's jar, the only one of its project."""
    (jar,) = _jars(project).glob("*.jar")
    return jar


@once
def _classes(family: str) -> Path:
    """Return the folder of a family's compiled programs and their resources."""
    folder, jars = _HERE / family, _jars(family)
    sources = [*sorted(folder.glob("*.java")), _HERE / "Member.java", _SOCKETS]
    resources = sorted(folder.glob("*.properties"))

    def make(scratch: Path) -> None:
        prerequisites.require("javac")
        flags = ["-XDignore.symbol.file", "-proc:none", "-parameters", *_INTERNALS]
        commands.run(
            f"exporters-{family}", "compiling it", ["javac", *flags, "-cp", f"{jars}/*", "-d", str(scratch), *sources]
        )
        for file in resources:
            shutil.copy(file, scratch)

    key = cache.key(_HERE / family / "pom.xml", _HERE / family / "checksums.sha256", *sources, *resources)
    return cache.entry(f"exporters-{family}-classes", key, make)


def _program(family: str, main: str, *options: str, memory: str = "64m") -> list[str]:
    """Return the command line of a family's program."""
    sockets = "-Djava.nio.channels.spi.SelectorProvider=PodSockets"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"
    path = f"{_classes(family)}:{_jars(family)}/*"
    return ["java", f"-Xmx{memory}", *_JVM, *_INTERNALS, sockets, quiet, *options, "-cp", path, main]


def _jmx(agent: str, rules: str) -> Callable[[Pod], Sequence[str]]:
    """Return the command of a plain consumer with a JMX agent and one of our rule files."""

    def command(pod: Pod) -> Sequence[str]:
        option = f"-javaagent:{_agent(agent)}={pod.ip}:{pod.metrics_port}:{_RULES / rules}"
        return _program("plain", "PlainConsumer", option)

    return command


def _broker(agent: str, rules: str, protocol: str | None = None) -> Broker:
    """Return a broker with a JMX agent."""

    def options(place: Surroundings) -> Sequence[str]:
        return [f"-javaagent:{_agent(agent)}={place.ip}:{_BROKER_PORT}:{_RULES / rules}"]

    return Broker(java_options=options, protocol=protocol)


def _broker_is_scraped(place: Surroundings) -> Sequence[Companion]:
    return [Companion("kafka-0", "kafka", (), f"{place.ip}:{_BROKER_PORT}")]


def _streams_or_connect(name: str, library: str, main: str, artifact: str, **more: object) -> Exporter:
    """Return the row of Kafka Streams, or of Connect's workers, with a JMX agent."""

    def command(pod: Pod) -> Sequence[str]:
        rules = _RULES / "streams-and-connect.yaml"
        option = f"-javaagent:{_agent(_JMX_NEW)}={pod.ip}:{pod.metrics_port}:{rules}"
        return _program(_STREAMS, main, option, memory="192m")

    return Exporter(
        name=name,
        exporter="jmx_prometheus_javaagent",
        version=pinned(_JMX_NEW, "jmx_prometheus_javaagent"),
        library=library,
        library_version=pinned(_STREAMS, artifact),
        command=command,
        **more,  # type: ignore[arg-type]  # what Exporter takes
    )


def _micrometer(binder: str) -> Exporter:
    return Exporter(
        name=f"micrometer-{binder}",
        exporter="Micrometer's " + {"client": "KafkaClientMetrics", "jmx": "KafkaConsumerMetrics"}[binder],
        version=pinned("micrometer", "micrometer-registry-prometheus"),
        library="java",
        library_version=pinned("micrometer", "kafka-clients"),
        command=lambda _: _program("micrometer", "MicrometerConsumer"),
        environment={"BINDER": binder},
        note={"client": "bound by hand, with a tag of the application", "jmx": "deprecated since 1.4"}[binder],
    )


def _spring(name: str, note: str, **environment: str) -> Exporter:
    return Exporter(
        name=name,
        exporter="Spring Boot's actuator",
        version=pinned("spring", "spring-boot-starter-actuator"),
        library="spring",
        library_version=pinned("spring", "spring-kafka"),
        command=lambda _: _program("spring", "SpringMember", memory="128m"),
        environment=environment,
        note=note,
    )


def _otel_agent(pod: Pod, *options: str) -> list[str]:
    resource = ",".join(
        (
            f"service.name={pod.group}",
            f"k8s.namespace.name={pod.namespace}",
            f"k8s.pod.name={pod.name}",
            "k8s.container.name=consumer",
        )
    )
    # Only what Kafka and the JVM have to say: spans and log lines would go nowhere.
    given = [f"-javaagent:{_agent(_OTEL)}", "-Dotel.traces.exporter=none", "-Dotel.logs.exporter=none"]
    given.append(f"-Dotel.resource.disabled.keys={','.join(_OF_THIS_MACHINE)}")
    return _program("plain", "PlainConsumer", *given, f"-Dotel.resource.attributes={resource}", *options, memory="128m")


def _otel_scraped(pod: Pod) -> Sequence[str]:
    return _otel_agent(
        pod,
        "-Dotel.metrics.exporter=prometheus",
        f"-Dotel.exporter.prometheus.host={pod.ip}",
        f"-Dotel.exporter.prometheus.port={pod.metrics_port}",
    )


def _otel_pushed(pod: Pod) -> Sequence[str]:
    return _otel_agent(
        pod,
        "-Dotel.metrics.exporter=otlp",
        f"-Dotel.exporter.otlp.metrics.endpoint={pod.prometheus_url}/api/v1/otlp/v1/metrics",
        "-Dotel.exporter.otlp.metrics.protocol=http/protobuf",
        "-Dotel.metric.export.interval=5000",  # its default of a minute would leave five samples of a story
    )


def _otlp(name: str, strategy: str, namespace_label: str) -> Exporter:
    promoted = ["k8s.namespace.name", "k8s.pod.name", "k8s.container.name"]
    return Exporter(
        name=name,
        exporter="OpenTelemetry's Java agent, OTLP into Prometheus",
        version=pinned(_OTEL, "opentelemetry-javaagent"),
        library="java",
        library_version=pinned("plain", "kafka-clients"),
        command=_otel_pushed,
        note=f"translation_strategy {strategy}, pushed every 5 s, resource attributes of Kubernetes promoted",
        prometheus={"otlp": {"translation_strategy": strategy, "promote_resource_attributes": promoted}},
        scraped=False,
        selector=f"{{{namespace_label}={name!r}}}",
    )


def _telemetry_broker() -> Broker:
    """Return a broker that hands on what its clients push."""

    def options(place: Surroundings) -> Sequence[str]:
        return [f"-Dtelemetry.url={place.prometheus_url}/api/v1/otlp/v1/metrics"]

    reporter = {"metric.reporters": "TelemetryToPrometheus"}
    return Broker(properties=reporter, java_options=options, plugins=lambda: [_classes("telemetry")])


def _telemetry(name: str, feature: str) -> Exporter:
    """Return the row of one of the two ways in which Prometheus takes deltas; without either it takes nothing."""
    return Exporter(
        name=name,
        exporter="the broker's telemetry of clients (KIP-714), OTLP into Prometheus",
        version=pinned("telemetry", "kafka-clients"),
        library="java",
        library_version=pinned("telemetry", "kafka-clients"),
        command=lambda _: _program("telemetry", "TelemetryConsumer"),
        note=f"a plugin of ours hands on what clients push, every 5 s; {feature}; the client's attributes promoted",
        broker=_telemetry_broker(),
        prometheus={"otlp": {"promote_resource_attributes": ["group_id", "group_member_id", "client_rack"]}},
        features=(feature,),
        scraped=False,
        selector=f'{{group_id="{name}-group"}}',
    )


def _jmx_row(name: str, agent: str, rules: str, note: str, **more: object) -> Exporter:
    return Exporter(
        name=name,
        exporter="jmx_prometheus_javaagent",
        version=pinned(agent, "jmx_prometheus_javaagent"),
        library="java",
        library_version=pinned("plain", "kafka-clients"),
        command=_jmx(agent, rules),
        note=note,
        **more,  # type: ignore[arg-type]  # what Exporter takes
    )


ROWS: Final[tuple[Exporter, ...]] = (
    _jmx_row(
        "jmx-1-default",
        _JMX_NEW,
        "default.yaml",
        "no rules; the broker has the same agent, with rules",
        broker=_broker(_JMX_NEW, "broker.yaml"),
        companions=_broker_is_scraped,
    ),
    _jmx_row(
        "jmx-0-default",
        _JMX_OLD,
        "default.yaml",
        "no rules; the broker has the same agent, without rules, too",
        broker=_broker(_JMX_OLD, "broker-default.yaml"),
        companions=_broker_is_scraped,
    ),
    Exporter(
        name="jmx-1-infer",
        exporter="jmx_exporter's collector, as a library",
        version=pinned("jmx-library", "collector"),
        library="java",
        library_version=pinned("jmx-library", "kafka-clients"),
        command=lambda _: _program("jmx-library", "JmxLibraryConsumer"),
        environment={"RULES": str(_RULES / "infer-counters.yaml")},
        note="no rules, inferCounterTypeFromName",
    ),
    _jmx_row("jmx-1-gauges", _JMX_NEW, "gauges.yaml", "rules that yield the names of Confluent's kafka_client.yml"),
    _jmx_row("jmx-0-gauges", _JMX_OLD, "gauges.yaml", "rules that yield the names of Confluent's kafka_client.yml"),
    _jmx_row("jmx-1-lower-case", _JMX_NEW, "lower-case.yaml", "rules that yield the names of Strimzi's Connect"),
    _jmx_row("jmx-1-bridge", _JMX_NEW, "bridge.yaml", "rules that yield the names of Strimzi's Bridge"),
    _jmx_row(
        "jmx-1-kip848",
        _JMX_NEW,
        "default.yaml",
        "no rules; a group of the consumer protocol, whose settings are the broker's",
        broker=_broker(_JMX_NEW, "broker.yaml", protocol="consumer"),
        companions=_broker_is_scraped,
    ),
    _streams_or_connect(
        "jmx-1-streams",
        "streams",
        "StreamsMember",
        "kafka-streams",
        note="no rules; Kafka Streams in a classic group, which it does not leave when it is closed",
    ),
    _streams_or_connect(
        "jmx-1-streams-kip1071",
        "streams-kip1071",
        "StreamsMember",
        "kafka-streams",
        note="no rules; Kafka Streams in a group of the streams protocol, whose settings are the broker's",
        broker=Broker(protocol="streams"),
    ),
    _streams_or_connect(
        "jmx-1-connect",
        "connect",
        "ConnectMember",
        "connect-runtime",
        note="no rules; workers without connectors, which handle no messages: nothing outlasts M",
        liveness=Liveness(max_poll_s=None),
    ),
    _micrometer("client"),
    _micrometer("jmx"),
    _spring("spring-timers", "listeners measured by timers", OBSERVED="false"),
    _spring(
        "spring-observed",
        "listeners measured by observations; the application has a name",
        OBSERVED="true",
        SPRING_APPLICATION_NAME="orders",
    ),
    Exporter(
        name="otel-scraped",
        exporter="OpenTelemetry's Java agent, its Prometheus exporter",
        version=pinned(_OTEL, "opentelemetry-javaagent"),
        library="java",
        library_version=pinned("plain", "kafka-clients"),
        command=_otel_scraped,
    ),
    _otlp("otel-otlp", "UnderscoreEscapingWithSuffixes", "k8s_namespace_name"),
    _otlp("otel-otlp-utf8", "NoUTF8EscapingWithSuffixes", '"k8s.namespace.name"'),
    _otlp("otel-otlp-untranslated", "NoTranslation", '"k8s.namespace.name"'),
    Exporter(
        name="strimzi-reporter",
        exporter="Strimzi's metrics reporter for clients",
        version=pinned("strimzi", "client-metrics-reporter"),
        library="java",
        library_version=pinned("strimzi", "kafka-clients"),
        command=lambda _: _program("strimzi", "StrimziConsumer"),
    ),
    _telemetry("kip714-cumulative", "otlp-deltatocumulative"),
    _telemetry("kip714-delta", "otlp-native-delta-ingestion"),
)
