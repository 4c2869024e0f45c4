"""Which version of the Kafka client runs in each pod, where an exporter says so: Micrometer, by a label.

The label is the version that the client itself reports (`AppInfo`), so of Spring Kafka it is that of the Java consumer
in it.
"""

from collections.abc import Collection
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.resolver import Observed

LABEL: Final = "kafka_version"


def of_pods(observed: Observed, convention: Convention, pods: Collection[str]) -> tuple[str, ...]:
    """Return the versions that run, each once, in order of their texts; none where a pod does not show its own.

    A pod that was replaced under its name counts by its newest sample.

    Args:
        observed: the group's series.
        convention: the one that they follow.
        pods: the names of those that run.
    """
    if LABEL not in convention.with_labels:
        return ()
    newest: dict[str, tuple[float, str]] = {}
    for group in observed.values():
        for series in group:
            pod, version = series.labels.get(queries.POD_LABEL, ""), series.labels.get(LABEL, "")
            if series.samples:
                newest[pod] = max(newest.get(pod, (0.0, "")), (series.samples.times_s[-1], version))
    versions = {newest[pod][1] if pod in newest else "" for pod in pods}
    return () if "" in versions else tuple(sorted(versions))
