"""Series of any labels, pushed into a real Prometheus by OTLP, as JSON: no exporter has labels this strange."""

import json
import urllib.request
from collections.abc import Iterable, Mapping, Sequence

from heartbeat_tuner.metrics.raw.samples import Series

_PATH = "/api/v1/otlp/v1/metrics"


def push(prometheus_url: str, series: Iterable[Series], *, job: str = "pods") -> None:
    """Push series with their samples; NaN as a series without any sample at `nan_at_s` is `push_nan`'s."""
    by_name: dict[str, list[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]] = {}
    for series_ in series:
        samples = [(sample.time_s, sample.value) for sample in series_.samples]
        by_name.setdefault(series_.labels["__name__"], []).append((series_.labels, samples))
    _post(prometheus_url, job, by_name)


def push_nan(prometheus_url: str, labels: Mapping[str, str], *, at_s: float, job: str = "pods") -> None:
    """Push one sample that is no number."""
    _post(prometheus_url, job, {labels["__name__"]: [(labels, [(at_s, float("nan"))])]})


def _post(
    url: str, job: str, by_name: Mapping[str, Sequence[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]]
) -> None:
    metrics = [
        {
            "name": name,
            "gauge": {"dataPoints": [point for labels, samples in group for point in _points(labels, samples)]},
        }
        for name, group in by_name.items()
    ]
    resource = {"attributes": [_attribute("service.name", job)]}
    document = {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": metrics}]}]}
    request = urllib.request.Request(  # noqa: S310 - an http URL on loopback
        url + _PATH, json.dumps(document, ensure_ascii=False).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310 - likewise; an error status raises
        pass


def _points(labels: Mapping[str, str], samples: Iterable[tuple[float, float]]) -> Iterable[dict[str, object]]:
    attributes = [_attribute(label, value) for label, value in labels.items() if label not in {"__name__", "job"}]
    for time_s, value in samples:
        yield {
            "timeUnixNano": str(round(time_s * 1000) * 1_000_000),
            "asDouble": "NaN" if value != value else value,  # noqa: PLR0124 - so it is NaN
            "attributes": attributes,
        }


def _attribute(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}
