"""From an answer's JSON to series: each once, in order, and nothing made of what is not as documented."""

import json
import math
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.prometheus import prometheus_answers as answers
from heartbeat_tuner.adapters.prometheus.prometheus_failures import Failure
from heartbeat_tuner.domain.errors import MetricsCause
from heartbeat_tuner.metrics.raw.samples import Series

UP: Final = {"__name__": "up"}


def _matrix(*series: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"resultType": "matrix", "result": list(series)}}


def _vector(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"resultType": "vector", "result": list(elements)}}


def _samples(series: Series) -> list[tuple[float, float]]:
    return [(sample.time_s, sample.value) for sample in series.samples]


def test_a_series_given_twice_is_one() -> None:
    """A front end that splits by time gives each part; counted twice, a counter would fall at each change of part."""
    found = answers.matrix(
        _matrix(
            {"metric": {"a": "1", "b": "2"}, "values": [[30, "3"], [40, "4"]]},
            {"metric": {"b": "2", "a": "1"}, "values": [[10, "1"], [20, "2"], [30, "3"]]},
            {"metric": {"a": "1"}, "values": [[10, "7"]]},
        )
    )
    assert {tuple(sorted(item.labels.items())): _samples(item) for item in found} == {
        (("a", "1"), ("b", "2")): [(10, 1), (20, 2), (30, 3), (40, 4)],
        (("a", "1"),): [(10, 7)],
    }


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([[20, "2"], [10, "1"]], [(10, 1), (20, 2)]),
        ([[10, "1"], [10, "1"], [20, "2"]], [(10, 1), (20, 2)]),
        ([[10, "1"], [10, "5"]], [(10, 1)]),
        ([[10, "NaN"], [10, "5"]], [(10, 5)]),
        ([[10, "NaN"], [20, "+Inf"], [30, "-Inf"], [40, "-0"]], [(40, 0)]),
        ([[1.5, "1e3"]], [(1.5, 1000)]),
        ([], []),
    ],
    ids=["order", "same twice", "two of one time", "a number counts", "no numbers", "exponent", "none"],
)
def test_samples_are_in_order_one_for_each_time(raw: list[Any], expected: list[tuple[float, float]]) -> None:
    """What comes after can rest on it: resets are found by comparing neighbours."""
    (found,) = answers.matrix(_matrix({"metric": UP, "values": raw}))
    assert _samples(found) == expected


@given(
    st.dictionaries(st.integers(0, 50), st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1),
    st.randoms(use_true_random=False),
)
def test_however_an_answer_is_cut_up_it_is_the_same(values: dict[int, float], random: Any) -> None:
    """In whatever parts and order, with whatever overlap."""
    raw = [[time_s, repr(value)] for time_s, value in values.items()]
    parts = [raw, *([random.choice(raw)] for _ in range(5))]
    random.shuffle(raw)
    random.shuffle(parts)
    (found,) = answers.matrix(_matrix(*({"metric": UP, "values": part} for part in parts)))
    assert _samples(found) == sorted(values.items())


def test_native_histograms_are_passed_over() -> None:
    """A series may have only those, and no values at all; one that has both has changed its kind."""
    found = answers.matrix(
        _matrix(
            {"metric": {"only": "histograms"}, "histograms": [[10, {"count": "1"}]]},
            {"metric": {"both": ""}, "values": [[10, "1"]], "histograms": [[20, {"count": "1"}]]},
        )
    )
    assert [(item.labels, _samples(item)) for item in found] == [({"both": ""}, [(10, 1)])]
    assert answers.vector(_vector({"metric": {}, "histogram": [10, {"count": "1"}]})) == []


def test_a_vector_s_elements_are_series_of_one_sample() -> None:
    """Or of none, where it is no number."""
    found = answers.vector(
        _vector({"metric": {"job": "a"}, "value": [10.5, "3"]}, {"metric": {"job": "b"}, "value": [10.5, "NaN"]})
    )
    assert [(item.labels, _samples(item)) for item in found] == [({"job": "a"}, [(10.5, 3)]), ({"job": "b"}, [])]


def test_label_sets_up_to_the_limit() -> None:
    """One more than the limit was asked for: it tells that there are more, whether the server warns or not."""
    sets = [{"pod": str(number)} for number in range(3)]
    assert answers.label_sets({"data": sets}, limit=3) == sets
    for beside in ({}, {"warnings": ["results truncated due to limit"]}):
        with pytest.raises(Failure, match="more than 2 series") as caught:
            answers.label_sets({"data": sets} | beside, limit=2)
        assert caught.value.cause is MetricsCause.TOO_MUCH


Read = Callable[[dict[str, Any]], Any]
READ: Final[dict[str, Read]] = {
    "matrix": answers.matrix,
    "vector": answers.vector,
    "series": lambda document: answers.label_sets(document, limit=10),
}

WRONG: Final[dict[str, tuple[str, Any]]] = {
    "no data": ("matrix", None),
    "data of another kind": ("matrix", []),
    "another result": ("matrix", {"resultType": "vector", "result": []}),
    "no result": ("matrix", {"resultType": "matrix"}),
    "result that is none": ("matrix", {"resultType": "matrix", "result": 5}),
    "vector that is a matrix": ("vector", {"resultType": "matrix", "result": []}),
    "result of another type": ("matrix", {"resultType": 5, "result": []}),
    "no list of series": ("series", {}),
    "label sets that are none": ("series", ["up"]),
    "labels that are none": ("series", [{"a": 1}]),
    **{
        f"series {number}": ("matrix", {"resultType": "matrix", "result": [item]})
        for number, item in enumerate(
            [
                5,
                {},
                {"metric": UP},
                {"values": []},
                {"metric": {"a": 1}, "values": []},
                {"metric": [], "values": []},
                {"metric": UP, "values": {}},
                {"metric": UP, "values": "12"},
                {"metric": UP, "values": None},
            ]
        )
    },
    **{
        f"sample {number}": (kind, {"resultType": kind, "result": [{"metric": UP, key: found}]})
        for number, item in enumerate(
            [
                5,
                [],
                [1],
                [1, "1", "1"],
                [1, 1],
                [1, None],
                [1, "many"],
                [1, ""],
                [1, ["1"]],
                ["1", "1"],
                [True, "1"],
                [None, "1"],
                [math.nan, "1"],
                [math.inf, "1"],
                [10**400, "1"],
            ]
        )
        for kind, key, found in (("matrix", "values", [[0, "0"], item]), ("vector", "value", item))
    },
}


@pytest.mark.parametrize(("kind", "data"), WRONG.values(), ids=WRONG)
def test_what_is_not_as_documented_is_no_number(kind: str, data: Any) -> None:
    """One sample that is none spoils all: who wrote it may have written the others, too."""
    with pytest.raises(Failure, match=r"something that is no|an invalid") as caught:
        READ[kind]({"status": "success", "data": data})
    assert caught.value.cause is MetricsCause.MALFORMED


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("warnings", [["a store is away"], [5], "away", {"a": 1}, True])
def test_warnings_of_any_form_are_warnings(kind: str, warnings: Any) -> None:
    """Data that is whole has none."""
    data: Any = [UP] if kind == "series" else {"resultType": kind, "result": []}
    with pytest.raises(Failure, match="only part of the data") as caught:
        READ[kind]({"data": data, "warnings": warnings})
    assert caught.value.cause is MetricsCause.PARTIAL


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{", b"\xff", b"[" * 100_000, b"1" * 5_000, b"5", b'"a"', b"[]", b"{}"]
)
def test_a_body_that_is_no_answer(body: bytes) -> None:
    """Nothing of it reaches a person as a traceback."""
    with pytest.raises(Failure) as caught:
        answers.document(body)
    assert caught.value.cause is MetricsCause.MALFORMED


@pytest.mark.parametrize("body", [{"status": "success"}, {"status": "success", "data": [], "infos": ["so"]}])
def test_a_body_that_is_one(body: dict[str, Any]) -> None:
    """Whatever it holds."""
    assert answers.document(json.dumps(body).encode()) == body
