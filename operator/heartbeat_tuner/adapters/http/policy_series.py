"""The points of all policies as Prometheus takes them: gauges and counters that are made again from each pass.

None is kept, so a policy that is gone, or a number that is not known any more, leaves nothing behind.

The text is written here and not by Prometheus' client: with ten thousand policies it has some 450,000 lines, for which
the client needs 7 s of CPU, and this a tenth of that. A test holds that both say the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from heartbeat_tuner.adapters.http.pages import Large
from heartbeat_tuner.domain.exposed import FAMILIES, Family, MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey

_OF_ALL: Final = ("namespace", "policy")

_PIECE: Final = 2_000
"""Lines that are written at a time: some hundreds of kilobytes, some milliseconds."""

_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class PolicySeries(Large):
    """What the last pass found.

    Attributes:
        points: of each policy; replaced as a whole, since a scrape reads it in a thread of its own.
    """

    def __init__(self) -> None:
        self.points: Mapping[ObjectKey, Sequence[MetricPoint]] = {}

    @property
    def version(self) -> object:
        """What the last pass found: another object after each pass."""
        return self.points

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield each family with its points, if only with none; one is made when the one before was taken."""
        points_by_policy = self.points
        for family in FAMILIES:
            kind = CounterMetricFamily if family.counts else GaugeMetricFamily
            metric = kind(family.full_name, family.help, labels=(*_OF_ALL, *family.labels))
            for key, points in points_by_policy.items():
                for point in points:
                    if point.family is family:
                        metric.add_metric(_labels(key, point), point.number)
            yield metric

    def texts(self) -> Iterator[bytes]:
        """Yield the same as text, in pieces."""
        # Two lists beside each other: a pair for each point would have Python look for garbage all the time.
        whose: dict[Family, list[str]] = {family: [] for family in FAMILIES}
        points: dict[Family, list[MetricPoint]] = {family: [] for family in FAMILIES}
        for key, policy_points in self.points.items():
            cells = _cells(_OF_ALL, (key.namespace, key.name))
            for point in policy_points:
                whose[point.family].append(cells)
                points[point.family].append(point)
        for family in FAMILIES:
            kind = "counter" if family.counts else "gauge"
            yield f"# HELP {family.full_name} {family.help}\n# TYPE {family.full_name} {kind}\n".encode()
            mine, theirs = points.pop(family), whose.pop(family)
            for first in range(0, len(mine), _PIECE):
                text = _written(family, theirs[first : first + _PIECE], mine[first : first + _PIECE])
                # A lone surrogate is no text that can be sent: it would cost every other series its scrape.
                yield text.encode(errors="replace")


def _written(family: Family, whose: Sequence[str], points: Sequence[MetricPoint]) -> str:
    """Return the lines of some points of a family, with labels in the order of their names."""
    before = sorted(label for label in family.labels if label < _OF_ALL[0])
    after = sorted(label for label in family.labels if label > _OF_ALL[0])
    around: dict[tuple[str, ...], tuple[str, str]] = {}
    lines = []
    for cells, (_, labels, number) in zip(whose, points, strict=True):
        ends = around.get(labels)
        if ends is None:
            values = dict(zip(family.labels, labels, strict=True))
            head, tail = (_cells(names, [values[name] for name in names]) for names in (before, after))
            ends = f"{family.full_name}{{{head}{',' if head else ''}", f"{',' if tail else ''}{tail}}} "
            around[labels] = ends
        lines.append(f"{ends[0]}{cells}{ends[1]}{number!r}\n")
    return "".join(lines)


def _cells(names: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True))


def _labels(key: ObjectKey, point: MetricPoint) -> list[str]:
    # As above: the client's writer would refuse it.
    return [value.encode(errors="replace").decode() for value in (key.namespace, key.name, *point.labels)]
