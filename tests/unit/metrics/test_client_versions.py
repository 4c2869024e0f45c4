"""Which versions run, by Micrometer's label."""

import pytest

from heartbeat_tuner.metrics import client_versions
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

MICROMETER, JMX = (
    next(convention for convention in known_conventions.CONVENTIONS if convention.name == name)
    for name in ("micrometer", "jmx-exporter")
)


def shown(pod: str, version: str, at_s: float) -> Series:
    """Return a series of a pod whose newest sample is of a time."""
    return Series.from_raw({"pod": pod, "kafka_version": version}, [(at_s - 30.0, 1.0), (at_s, 2.0)])


@pytest.mark.parametrize(
    ("series", "versions"),
    [
        ([shown("a", "4.4.0", 100.0), shown("b", "4.4.0", 100.0)], ("4.4.0",)),
        ([shown("a", "4.4.0", 100.0), shown("b", "3.9.1", 100.0)], ("3.9.1", "4.4.0")),
        ([shown("a", "3.9.1", 60.0), shown("a", "4.4.0", 100.0), shown("b", "4.4.0", 100.0)], ("4.4.0",)),
        ([shown("a", "4.4.0", 100.0), shown("gone", "3.9.1", 100.0)], ()),
        ([shown("a", "4.4.0", 100.0), shown("b", "", 100.0)], ()),
        ([shown("a", "4.4.0", 100.0), Series.from_raw({"pod": "b", "kafka_version": "4.4.0"}, [])], ()),
    ],
    ids=["all the same", "two", "replaced under its name", "a pod is missing", "no label", "no samples"],
)
def test_versions_are_of_all_running_pods_or_not_known(series: list[Series], versions: tuple[str, ...]) -> None:
    """A pod that nobody knows may be the old one."""
    observed = {Quantity.HEARTBEATS: series}
    assert client_versions.of_pods(observed, MICROMETER, ["a", "b"]) == versions
    assert client_versions.of_pods(observed, JMX, ["a", "b"]) == ()
