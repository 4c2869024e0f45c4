"""What an exporter has to say about itself so that it can be recorded: the contract of this folder.

An `Exporter` is one row: a real exporter, attached to consumers of one library. `catalogue.py` lists all rows; those of
the JVM are in `jvm.py`, the others in `other.py`. To add one, write a `command` that installs it (pinned, into the
cache, as `tests/lab/rows.py` does) and returns the command line of one pod, and add the row.

The program of a pod
    - takes its variables from `Pod.environment()`: KAFKA_BROKERS, KAFKA_GROUP_ID, KAFKA_TOPIC, KAFKA_CLIENT_ID (the
      pod's name; a library that makes client ids itself should ignore it), KAFKA_SESSION_TIMEOUT_MS,
      KAFKA_HEARTBEAT_INTERVAL_MS, KAFKA_MAX_POLL_INTERVAL_MS, KAFKA_GROUP_PROTOCOL, POD_NAME, POD_NAMESPACE, POD_IP,
      METRICS_PORT, PROMETHEUS_URL (for those that push);
    - serves its metrics on POD_IP:METRICS_PORT, path /metrics, unless the row says `scraped=False`;
    - opens its connections to the broker from POD_IP. A library that cannot bind its sockets uses the pod's name as
      its client id instead: truth finds a pod by its address, else by its client id;
    - leaves its group on SIGTERM, and is not disturbed by SIGSTOP and SIGCONT;
    - handles a message as its value says: "for MS" takes that many milliseconds, "until MS" takes until that time since
      1970 (nothing if it has passed, so that the next owner of the message is not held up, too). Waiting, not burning.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sandbox import kafka

CONTAINER: Final = "consumer"


@dataclass(frozen=True)
class Liveness:
    """The settings of a recorded group, short so that a story fits into minutes.

    Attributes:
        session_s: S, after which the coordinator gives a silent member up.
        heartbeat_s: H.
        max_poll_s: M; None where the library has no such setting.
    """

    session_s: float = 6.0
    heartbeat_s: float = 1.0
    max_poll_s: float | None = 12.0


@dataclass(frozen=True)
class Pod:
    """One member of the group, as its program sees it.

    Attributes:
        name: as on a cluster, and the client id of a library that cannot bind its sockets.
        namespace: the recording's name.
        ip: an address of 127/8 of its own.
        metrics_port: the same for all pods of a recording.
        group: the group; the topic has the same name.
        bootstrap: the broker, host and port.
        prometheus_url: for those that push.
        run_dir: a folder of the pod's own, for what it writes.
    """

    name: str
    namespace: str
    ip: str
    metrics_port: int
    group: str
    bootstrap: str
    prometheus_url: str
    run_dir: Path
    liveness: Liveness
    protocol: str | None

    def environment(self) -> dict[str, str]:
        """Return the variables of its program; only what is needed of ours."""
        given = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "KAFKA_BROKERS": self.bootstrap,
            "KAFKA_GROUP_ID": self.group,
            "KAFKA_TOPIC": self.group,
            "KAFKA_CLIENT_ID": self.name,
            "POD_NAME": self.name,
            "POD_NAMESPACE": self.namespace,
            "POD_IP": self.ip,
            "METRICS_PORT": str(self.metrics_port),
            "PROMETHEUS_URL": self.prometheus_url,
        }
        if self.protocol is None:
            given["KAFKA_SESSION_TIMEOUT_MS"] = str(round(self.liveness.session_s * 1000))
            given["KAFKA_HEARTBEAT_INTERVAL_MS"] = str(round(self.liveness.heartbeat_s * 1000))
        else:
            given["KAFKA_GROUP_PROTOCOL"] = self.protocol
        if self.liveness.max_poll_s is not None:
            given["KAFKA_MAX_POLL_INTERVAL_MS"] = str(round(self.liveness.max_poll_s * 1000))
        return given


@dataclass(frozen=True)
class Surroundings:
    """Where a story happens, for what stands beside the group.

    Attributes:
        namespace: the recording's name.
        bootstrap: the broker, host and port.
        prometheus_url: of its HTTP API.
        group: the group; the topic has the same name.
        ip: an address of 127/8 for what listens.
        run_dir: gets logs and data.
    """

    namespace: str
    bootstrap: str
    prometheus_url: str
    group: str
    ip: str
    run_dir: Path


@dataclass(frozen=True)
class Companion:
    """Something beside the group that is scraped, too: a lag exporter, the broker.

    Attributes:
        name: its pod's name.
        container: its container's name.
        argv: the program; empty for what runs already, like the broker.
        address: host and port of its metrics.
        environment: on top of ours.
        path: of its metrics.
    """

    name: str
    container: str
    argv: Sequence[str]
    address: str
    environment: Mapping[str, str] = field(default_factory=dict)
    path: str = "/metrics"


def no_companions(_: Surroundings) -> Sequence[Companion]:
    """Return nothing: most groups stand alone."""
    return ()


@dataclass(frozen=True)
class Broker:
    """How the broker of a story is started.

    Attributes:
        version: of Kafka.
        properties: broker properties on top of the sandbox's.
        java_options: of its JVM, as for an agent.
        plugins: folders of classes that its properties name.
        protocol: "consumer" for a group of KIP-848, "streams" for one of KIP-1071, whose S and H the broker has; None
            for a classic one.
    """

    version: str = kafka.VERSION
    properties: Mapping[str, str] = field(default_factory=dict)
    java_options: Callable[[Surroundings], Sequence[str]] = lambda _: ()
    plugins: Callable[[], Sequence[Path]] = tuple
    protocol: str | None = None


@dataclass(frozen=True)
class Exporter:
    """One row: what is recorded.

    Attributes:
        name: of the recording: a DNS label, since it is also the namespace of its pods.
        exporter: what makes the metrics, as people call it.
        version: exactly.
        library: the client's name in the operator's catalogue.
        library_version: exactly.
        command: installs the program and returns a pod's command line.
        note: what a reader must know, as which rule file it has.
        liveness: the group's settings.
        environment: variables on top of `Pod.environment()`.
        companions: what else is started and scraped.
        broker: how the broker is started.
        prometheus: sections of prometheus.yml besides the harness' own, as `otlp`.
        features: of Prometheus, of those that must be asked for.
        scraped: whether the pods serve their metrics; False for those that push.
        selector: of PromQL: finds all series of the recording, and none of another.
    """

    name: str
    exporter: str
    version: str
    library: str
    library_version: str
    command: Callable[[Pod], Sequence[str]]
    note: str = ""
    liveness: Liveness = Liveness()
    environment: Mapping[str, str] = field(default_factory=dict)
    companions: Callable[[Surroundings], Sequence[Companion]] = no_companions
    broker: Broker = Broker()
    prometheus: Mapping[str, Any] = field(default_factory=dict)
    features: Sequence[str] = ()
    scraped: bool = True
    selector: str = ""

    def finds_its_series(self) -> str:
        """Return the selector; by default that of the namespace, which every scraped target has as a label."""
        return self.selector or f'{{namespace="{self.name}"}}'
