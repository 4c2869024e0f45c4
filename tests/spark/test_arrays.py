"""Columns of Arrow as numbers: the same ones however the column is cut up, and in the order of the texts."""

import numpy as np
import pyarrow as pa
import pytest

from heartbeat_tuner.fitting import arrays

TEXTS = ["b", "a", "é", "b", "", "aa", "a", "z"]


@pytest.mark.parametrize("index", [pa.int8(), pa.int32()])
def test_texts_are_numbered_in_their_order(index: pa.DataType) -> None:
    """Of each chunk with a dictionary of its own; a name of a dictionary that no line has is none."""
    whole = pa.chunked_array([pa.array(TEXTS)])
    own = [pa.array([*TEXTS[:3], "unused"]).dictionary_encode()[:3], pa.array(TEXTS[3:]).dictionary_encode()]
    cut = pa.chunked_array([item.cast(pa.dictionary(index, pa.string())) for item in own])
    names = tuple(sorted(set(TEXTS)))
    for column in (whole, cut):
        codes, found = arrays.coded(column)
        assert found == names
        assert [names[code] for code in codes] == TEXTS
    assert arrays.coded(pa.chunked_array([], pa.string()))[1] == ()


def test_numbers_order_as_their_columns_do() -> None:
    """Also where there are more possible ones than a whole number tells apart."""
    rng = np.random.default_rng(3)
    columns = [(rng.integers(0, 1 << 40, 500), 1 << 40) for _ in range(4)]
    columns = [(np.where(rng.random(500) < 0.5, codes[0], codes), width) for codes, width in columns]
    keys, size = arrays.numbered(columns)
    assert int(keys.max()) < size
    rows = list(zip(*(codes.tolist() for codes, _ in columns), strict=True))
    assert [rows[place] for place in np.argsort(keys, kind="stable")] == sorted(rows)
    assert len(np.unique(keys)) == len(set(rows))
