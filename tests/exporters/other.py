"""Exporters outside the JVM: of KafkaJS, of librdkafka's statistics, of franz-go, and beside a group.

A row whose name ends in `-stand-in` is not an exporter that people run: that one cannot be had here, and a program of
ours writes its names, labels, types and units from the same client's figures.
"""

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Final

from tests.exporters import programs
from tests.exporters.exporter import Broker, Companion, Exporter, Liveness, Pod, Surroundings

_KAFKAJS: Final = "2.2.4"
_KAFKAJS_EXPORTER: Final = "@christiangalsterer/kafkajs-prometheus-exporter"
_KAFKAJS_EXPORTER_VERSION: Final = "3.2.1"
_CONFLUENT_KAFKA: Final = metadata.version("confluent-kafka")
_NO_POLL_INTERVAL: Final = Liveness(max_poll_s=None)
_KAFKAJS_FETCH_WAIT: Final = {"KAFKA_MAX_WAIT_TIME_MS": "1000"}
"""Its beats wait for its fetches: with the default of 5 s a session of 6 s would fail all the time."""

_KLAG_PORT: Final = 8000
_GROUP_STAND_INS: Final = {"kafka-exporter": 9308, "kminion": 8080, "otel-kafkametrics": 8889}
"""Names of `group_names`, and the ports of the exporters that have them."""


def _always(command: Callable[[], list[str]]) -> Callable[[Pod], Sequence[str]]:
    """Return a command line that is the same for every pod."""
    return lambda _: command()


def _stand_in(names: str, original: str, note: str, *, protocol: str | None = None) -> Exporter:
    """Return the row of librdkafka's statistics under one exporter's names, of a classic group or one of KIP-848."""
    return Exporter(
        name=f"librdkafka-{names}{'' if protocol is None else '-kip848'}-stand-in",
        exporter=f"stand-in for {original}",
        version="-",
        library="confluent-kafka-python",
        library_version=_CONFLUENT_KAFKA,
        command=_always(programs.statistics_consumer),
        note=f"{note} Written by us from the names in its sources; statistics every 5 s.",
        environment={"STATISTICS_NAMES": names},
        broker=Broker(protocol=protocol),
    )


def _klag_exporter(place: Surroundings) -> Sequence[Companion]:
    """Return klag-exporter beside a group; its configuration is its example's, but for the times and the addresses."""
    configuration = place.run_dir / "klag-exporter.toml"
    configuration.write_text(
        f"""
[exporter]
poll_interval = "10s"
http_port = {_KLAG_PORT}
http_host = "{place.ip}"
granularity = "partition"

[exporter.timestamp_sampling]
enabled = true

[exporter.otel]
enabled = false

[[clusters]]
name = "recorded"
bootstrap_servers = "{place.bootstrap}"
group_whitelist = [".*"]
group_blacklist = []
topic_whitelist = [".*"]
topic_blacklist = ["^__.*"]
"""
    )
    argv = programs.klag_exporter(configuration)
    return [Companion("klag-exporter-0", "klag-exporter", argv, f"{place.ip}:{_KLAG_PORT}")]


def _group_stand_ins(place: Surroundings) -> Sequence[Companion]:
    """Return one stand-in for each exporter that runs beside groups."""
    return [
        Companion(
            name=f"{names}-stand-in-0",
            container=f"{names}-stand-in",
            argv=programs.group_stand_in(),
            address=f"{place.ip}:{port}",
            environment={
                "GROUP_NAMES": names,
                "KAFKA_BROKERS": place.bootstrap,
                "KAFKA_GROUP_ID": place.group,
                "ADDRESS": f"{place.ip}:{port}",
            },
        )
        for names, port in _GROUP_STAND_INS.items()
    ]


ROWS: Final[tuple[Exporter, ...]] = (
    Exporter(
        name="kafkajs-exporter",
        exporter=_KAFKAJS_EXPORTER,
        version=_KAFKAJS_EXPORTER_VERSION,
        library="kafkajs",
        library_version=_KAFKAJS,
        command=_always(programs.kafkajs),
        note="As it comes, with prom-client's metrics of the process: only heartbeats and crashes have the group.",
        liveness=_NO_POLL_INTERVAL,
        environment=_KAFKAJS_FETCH_WAIT,
    ),
    Exporter(
        name="kafkajs-exporter-client-id",
        exporter=_KAFKAJS_EXPORTER,
        version=_KAFKAJS_EXPORTER_VERSION,
        library="kafkajs",
        library_version=_KAFKAJS,
        command=_always(programs.kafkajs),
        note="With client_id as a default label, as its README advises.",
        liveness=_NO_POLL_INTERVAL,
        environment={**_KAFKAJS_FETCH_WAIT, "CLIENT_ID_LABEL": "1"},
    ),
    Exporter(
        name="kafkajs-sandbox",
        exporter=f"{_KAFKAJS_EXPORTER} and the sandbox's counters",
        version=_KAFKAJS_EXPORTER_VERSION,
        library="kafkajs",
        library_version=_KAFKAJS,
        command=_always(lambda: programs.kafkajs(of_the_sandbox=True)),
        note="The sandbox's own consumer: joins, rebalances and requests by kind are counted besides.",
        liveness=_NO_POLL_INTERVAL,
        environment=_KAFKAJS_FETCH_WAIT,
    ),
    Exporter(
        name="node-rdkafka-prometheus",
        exporter="node-rdkafka-prometheus",
        version="1.0.0",
        library="node-rdkafka",
        library_version="3.6.1",
        command=_always(programs.node_rdkafka),
        note="Statistics every second, as its README has it.",
    ),
    Exporter(
        name="prometheus-kafka-metrics",
        exporter="prometheus-kafka-metrics",
        version="0.4.2",
        library="confluent-kafka-python",
        library_version=_CONFLUENT_KAFKA,
        command=_always(programs.statistics_managed),
        note="Statistics every 5 s. Its kafka_consumer_records_lag is also what the OpenTelemetry agent calls a lag.",
    ),
    _stand_in(
        "mcolomerc",
        "mcolomerc/librdkafka-prometheus-exporter",
        "States and the reason of a rebalance are labels, and no series ever goes.",
    ),
    _stand_in(
        "allsopp",
        "allsopp/librdkafka-exporter",
        "Only the client's own series say whose they are; summaries' sums and counts begin anew with every window.",
    ),
    _stand_in(
        "allsopp",
        "allsopp/librdkafka-exporter",
        "With group.protocol=consumer: S and H are the broker's.",
        protocol="consumer",
    ),
    _stand_in(
        "confluent-dotnet",
        "the .NET handler of confluentinc/jmx-monitoring-stacks",
        "Microseconds that are called milliseconds; the labels librdkafka_type and application are those of its demo.",
    ),
    Exporter(
        name="franz-go-kprom",
        exporter="kprom",
        version="1.5.0",
        library="franz-go",
        library_version="1.22.2",
        command=_always(lambda: programs.go("kprom")),
        note="All counters and histograms are on, with client_id; none tells of the group.",
        liveness=_NO_POLL_INTERVAL,
    ),
    Exporter(
        name="klag-exporter",
        exporter="klag-exporter",
        version=programs.KLAG_EXPORTER_VERSION,
        library="confluent-kafka-python",
        library_version=_CONFLUENT_KAFKA,
        command=_always(programs.statistics_consumer),
        note=(
            "A group exporter with the names of kafka-lag-exporter, by partition, every 10 s; its client_id is what "
            "joins the group to the consumers' own series (the stand-in for Confluent's .NET handler), which have none."
        ),
        environment={"STATISTICS_NAMES": "confluent-dotnet"},
        companions=_klag_exporter,
    ),
    Exporter(
        name="group-exporters-stand-in",
        exporter="stand-ins for kafka_exporter, kminion and the OpenTelemetry collector's kafkametrics receiver",
        version="-",
        library="kafkajs",
        library_version=_KAFKAJS,
        command=_always(programs.kafkajs),
        note="Written by us from their sources and documentation; asked every 5 s. The consumers: kafkajs-exporter's.",
        liveness=_NO_POLL_INTERVAL,
        environment=_KAFKAJS_FETCH_WAIT,
        companions=_group_stand_ins,
    ),
)
