"""The points of all policies as Prometheus' client takes them: gauges that are made anew at each scrape.

No gauge is kept, so a policy that is gone, or a number that is not known any more, leaves nothing behind.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from heartbeat_tuner.adapters.pages import Large
from heartbeat_tuner.domain.exposed import FAMILIES, Point
from heartbeat_tuner.domain.policies import ObjectKey

_OF_ALL: Final = ("namespace", "policy")


class PolicySeries(Large):
    """What the last pass found.

    Attributes:
        points: of each policy; replaced as a whole, since a scrape reads it in a thread of its own.
    """

    def __init__(self) -> None:
        self.points: Mapping[ObjectKey, Sequence[Point]] = {}

    @property
    def version(self) -> object:
        """What the last pass found: another object after each pass."""
        return self.points

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield each family with its points, if only with none; one is made when the one before was taken."""
        found = self.points
        for family in FAMILIES:
            gauge = GaugeMetricFamily(family.full_name, family.help, labels=(*_OF_ALL, *family.labels))
            for key, points in found.items():
                for point in points:
                    if point.family is family:
                        gauge.add_metric(_labels(key, point), point.number)
            yield gauge


def _labels(key: ObjectKey, point: Point) -> list[str]:
    # A lone surrogate is no text that can be sent: it would cost every other series its scrape.
    return [one.encode(errors="replace").decode() for one in (key.namespace, key.name, *point.labels)]
