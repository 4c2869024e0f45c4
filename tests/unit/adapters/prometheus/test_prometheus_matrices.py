"""Answers read from their text: what comes out is what reading them as JSON brings."""

import json
import weakref
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.prometheus import prometheus_answers as answers
from heartbeat_tuner.adapters.prometheus.prometheus_failures import OPERATOR, Failure
from heartbeat_tuner.adapters.prometheus.prometheus_matrices import KEEP_LABELS_ANSWERS, MatrixReader
from heartbeat_tuner.metrics.raw.label_sets import Labels
from heartbeat_tuner.metrics.raw.samples import Series

UP: Final = {"__name__": "up", "pod": "orders-0"}
PLAIN: Final = {"metric": UP, "values": [[10.5, "1"], [25.5, "2"]]}

Read = list[tuple[dict[str, str], list[tuple[float, float]]]] | str

names = st.sampled_from(["__name__", "pod", "values", "metric", "a"]) | st.text(max_size=3)
texts = st.sampled_from(['"values":[[1,"2"]]}]', '},{"metric":', ',"values":', "]]}]", "\\", "\u2028é"]) | st.text()
numbers = st.sampled_from(["NaN", "+Inf", "-Inf", "1e3", "-0", "1-2", "", "x"]) | st.floats(width=32).map(str)
times = st.integers(0, 9) | st.floats(0, 9) | st.sampled_from([True, None, "1"])
series = st.fixed_dictionaries(
    {"metric": st.dictionaries(names, texts, max_size=3), "values": st.lists(st.tuples(times, numbers), max_size=4)},
    optional={"histograms": st.just([[1, {}]])},
)
documents = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["success", "success", "error"]),
        "data": st.fixed_dictionaries(
            {
                "resultType": st.sampled_from(["matrix", "matrix", "matrix", "vector"]),
                "result": st.lists(series, max_size=3),
            }
        ),
    },
    optional={"warnings": st.just(["a store is away"]), "isPartial": st.booleans(), "infos": st.just([texts])},
)


def written(document: Any) -> bytes:
    """Return an answer as Prometheus writes it: without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, default=str).encode()


def matrix(*result: dict[str, Any], **beside: Any) -> bytes:
    """Return a successful answer."""
    return written({"status": "success", "data": {"resultType": "matrix", "result": result}, **beside})


def outcome(read: Any, body: bytes) -> Read:
    """Return what was read, or that it failed, and how."""
    try:
        found: list[Series] = read(body)
    except Failure as failure:
        return failure.problem(OPERATOR)
    return [(dict(item.labels), list(item.samples.pairs())) for item in found]


def as_json(body: bytes) -> list[Series]:
    """Return what the whole answer says, read as JSON."""
    return answers.matrix(answers.document(body))


@given(documents)
def test_it_is_what_reading_the_whole_as_json_brings(document: dict[str, Any]) -> None:
    """Whatever the labels hold, in whatever order the samples are, whatever is beside the result; or the same error."""
    body = written(document)
    assert outcome(MatrixReader().read, body) == outcome(as_json, body)


@pytest.mark.parametrize(
    "pairs",
    [
        b'[[1,"2"]5,[3,"4"]]',
        b'[5[1,"2"]]',
        b'[[1,5"2"]]',
        b'[[1,"2"5]]',
        b'[[1,"2"]5]',
        b'5[[1,"2"]]',
        b'[[1,"2"],5[3,"4"]]',
        b'[[1,"2"]][[3,"4"]]',
        b'[[1,"2","3"]]',
        b'[["1",2]]',
        b'[[NaN,"1"]]',
        b'[[1,"1-2"]]',
        b'[[1,""]]',
        b"[]5",
    ],
)
def test_a_number_where_none_belongs_is_no_sample(pairs: bytes) -> None:
    """What one digit too much would make of a time, nobody could tell later."""
    body = matrix(PLAIN, PLAIN | {"metric": {}}).replace(b'[[10.5,"1"],[25.5,"2"]]', pairs)
    assert isinstance(outcome(MatrixReader().read, body), str)


@given(st.binary(max_size=3), st.integers(0, 200), st.integers(0, 4))
@example(b'"', 60, 0)
def test_an_answer_with_an_error_in_it_is_none(put: bytes, at: int, instead_of: int) -> None:
    """Or it says the same as before, as JSON does; numbers alone may be written as JSON forbids."""
    body = matrix(PLAIN, {"metric": {"b": "c"}, "values": [[10.5, "3"]]})
    broken = body[:at] + put + body[at + instead_of :]
    found, expected = outcome(MatrixReader().read, broken), outcome(as_json, broken)
    if isinstance(expected, str) and not isinstance(found, str):
        assert [len(pairs) for _, pairs in found] == [2, 1]
    else:
        assert found == expected


def test_a_series_has_the_same_labels_in_the_next_answer() -> None:
    """Else each cycle would make them again, and they are the larger part of an answer."""
    reader = MatrixReader()
    (first,), (second,) = reader.read(matrix(PLAIN)), reader.read(matrix(PLAIN | {"values": [[40.5, "3"]]}))
    assert isinstance(first.labels, Labels)
    assert first.labels is second.labels
    for _ in range(3 * KEEP_LABELS_ANSWERS):
        (later,) = reader.read(matrix(PLAIN))
        assert later.labels is first.labels


def test_labels_that_do_not_come_any_more_are_forgotten() -> None:
    """Pods come and go for months."""
    reader = MatrixReader()
    (gone,) = [
        weakref.ref(series.labels) for series in reader.read(matrix({"metric": {"pod": "0"}, "values": [[1, "1"]]}))
    ]
    for _ in range(2 * KEEP_LABELS_ANSWERS):
        reader.read(matrix(PLAIN))
    assert gone() is None


def test_a_series_given_twice_is_one() -> None:
    """A front end that splits by time gives each part, maybe with the labels in another order."""
    turned = dict(reversed(UP.items()))
    body = matrix(PLAIN, {"metric": turned, "values": [[25.5, "2"], [40.5, "3"]]})
    assert outcome(MatrixReader().read, body) == [(UP, [(10.5, 1.0), (25.5, 2.0), (40.5, 3.0)])]


def test_beside_the_result_there_may_be_more() -> None:
    """Thanos and VictoriaMetrics say more; a warning is told whatever the series are."""
    more = matrix(PLAIN, infos=["so"], stats={"a": [[1]], "b": [[[]], [[{}]]]})
    assert outcome(MatrixReader().read, more) == outcome(as_json, more)
    for beside in ({"warnings": ["a store is away"]}, {"isPartial": True}):
        assert "only part of the data" in str(outcome(MatrixReader().read, matrix(PLAIN, **beside)))
