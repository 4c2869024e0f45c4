"""From the bytes that Prometheus answered to series and label sets: all of it as documented, or a `Failure`.

The query API's JSON writes values as text. An answer with warnings is no data, `infos` are only said. Native histograms
are passed over: nothing that is measured here is one.
"""

import json
import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.prometheus.prometheus_failures import Failure
from heartbeat_tuner.domain.errors import MetricsCause
from heartbeat_tuner.metrics.raw.samples import Series

_Pairs = list[tuple[float, float]]

_SHAPE_ERRORS: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def document(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a successful answer.

    Raises:
        Failure: it is none.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed("Prometheus answered with something that is no JSON") from error
    if not isinstance(answer, dict) or answer.get("status") != "success":
        sentence = answer.get("error") if isinstance(answer, dict) else None
        raise _malformed("Prometheus answered without success", reply=sentence if isinstance(sentence, str) else "")
    return answer


def matrix(document: Mapping[str, Any]) -> list[Series]:
    """Return the series of a range selector's answer, each once, with its samples in order of time.

    Of several samples of one time the first counts; those that are no number are left out. The document is emptied.

    Raises:
        Failure: the answer is partial, or no matrix.
    """
    return _series(document, kind="matrix", samples_of=lambda item: item.get("values"))


def vector(document: Mapping[str, Any]) -> list[Series]:
    """Return the elements of an instant vector, each as a series of one sample; of none, if it is no number.

    Raises:
        Failure: the answer is partial, or no vector.
    """
    return _series(document, kind="vector", samples_of=lambda item: [item["value"]] if "value" in item else None)


def label_sets(document: Mapping[str, Any], *, limit: int) -> list[dict[str, str]]:
    """Return the label sets that `/api/v1/series` found.

    Args:
        document: the answer.
        limit: how many there may be.

    Raises:
        Failure: there are more, the answer is partial, or no list of label sets.
    """
    data = document.get("data")
    if not isinstance(data, list):
        raise _malformed("Prometheus answered with something that is no list of series")
    if len(data) > limit:  # before the warning that the list was cut; not every server gives it
        raise Failure(MetricsCause.TOO_MUCH, f"Prometheus found more than {limit} series")
    _check_whole(document)
    try:
        return [_labels(label_set) for label_set in data]
    except _SHAPE_ERRORS as error:
        raise _malformed("Prometheus answered with an invalid list of series") from error


def _series(document: Mapping[str, Any], *, kind: str, samples_of: Any) -> list[Series]:
    _check_whole(document)
    data = document.get("data")
    text = data.get("resultType") if isinstance(data, dict) else None
    if not isinstance(data, dict) or text != kind:
        sentence = text if isinstance(text, str) else "no data"
        raise _malformed(f"Prometheus answered with something that is no {kind}", reply=sentence)
    by_labels: dict[tuple[tuple[str, str], ...], _Pairs] = {}
    try:
        result = data["result"]
        for index, item in enumerate(result):
            labels, raw = _labels(item["metric"]), samples_of(item)
            result[index] = None  # its JSON is the larger part of the memory that this takes
            if raw is None and ("histogram" in item or "histograms" in item):
                continue
            by_labels.setdefault(tuple(sorted(labels.items())), []).extend(_numbers(raw))
    except _SHAPE_ERRORS as error:
        raise _malformed(f"Prometheus answered with an invalid {kind}") from error
    return [Series.from_raw(dict(labels), _in_order(by_labels.pop(labels))) for labels in tuple(by_labels)]


def _labels(raw: Any) -> dict[str, str]:
    if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
        raise TypeError
    return raw


def _numbers(raw: Any) -> _Pairs:
    """Return times and values as numbers; none of them is made of something else than a number and a text."""
    if not isinstance(raw, list):
        raise TypeError
    times, texts = zip(*raw, strict=True) if raw else ((), ())
    if not set(map(type, times)) <= {int, float} or not set(map(type, texts)) <= {str}:
        raise TypeError
    pairs = list(zip(map(float, times), map(float, texts), strict=True))
    if not all(map(math.isfinite, map(operator.itemgetter(0), pairs))):
        raise ValueError
    return pairs


def _in_order(pairs: _Pairs) -> Iterable[tuple[float, float]]:
    """Return samples in order of time, one for each: parts of an answer may overlap, or come in any order."""
    times = [time_s for time_s, _ in pairs]
    if all(map(operator.lt, times, times[1:])):
        return pairs
    by_time: dict[float, float] = {}
    for time_s, value in pairs:
        if math.isfinite(value):
            by_time.setdefault(time_s, value)
    return sorted(by_time.items())


def _check_whole(document: Mapping[str, Any]) -> None:
    """Refuse an answer that says that it is not all.

    Prometheus, Thanos and Mimir warn; VictoriaMetrics sets `isPartial`.
    """
    warnings = document.get("warnings")
    if warnings or document.get("isPartial"):
        sentence = str(warnings[0]) if isinstance(warnings, list) and warnings else ""
        raise Failure(MetricsCause.PARTIAL, "Prometheus has only part of the data", reply=sentence)


def _malformed(sentence: str, *, reply: str = "") -> Failure:
    return Failure(MetricsCause.MALFORMED, sentence, reply=reply)
