"""The rows that every part of the fit hands to the next, as Arrow knows them: a histogram in long form.

A row says how many values of one quantity, of one group on one day (UTC), lie in a bucket of `tails.histogram`. Two
buckets below 0 count what was watched instead: `MEMBER_BLOCKS` and `GROUP_BLOCKS` of `tails.day_weights`. Rows of the
same key are merged by adding `n`, in any order.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import arrays
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS
from heartbeat_tuner.tails.histogram import BUCKETS, SCHEMA

NAMES: Final = ("cluster", "namespace", "group", "client", "quantity")
"""The columns of text: whose values they are, and of what."""

KEYS: Final = ("day", *NAMES, "bucket")
"""What a row is of; the rest is its count."""

ROWS: Final = pa.schema(
    [
        ("day", pa.date32()),
        *((name, pa.string()) for name in NAMES),
        ("bucket", pa.int16()),
        ("n", pa.int64()),
    ]
)
"""Columns and types, exactly."""

_AS_SPARK: Final = {pa.date32(): "date", pa.string(): "string", pa.int16(): "smallint", pa.int64(): "bigint"}

SPARK_TYPES: Final[Mapping[str, str]] = {field.name: _AS_SPARK[field.type] for field in ROWS}
"""The same columns, with the names that Spark has for their types."""

SCHEMA_KEY: Final = b"heartbeat-tuner.schema"
"""Where a Parquet file's metadata say which version of the buckets its rows are of."""


class ContractError(TunerError):
    """Rows that are not of the contract; the message names column, value, rule and fix."""


def merged(table: pa.Table) -> pa.Table:
    """Return rows in the one form that their content has: checked, one for each key, sorted by all columns.

    Args:
        table: rows of the contract, in any order; the columns of text may be dictionaries.

    Raises:
        ContractError: other columns or types, something missing, a bucket or a count that there cannot be.
    """
    check(table)
    day, names = arrays.flat(table["day"].cast(pa.int32())), [arrays.coded(table[name]) for name in NAMES]
    bucket, count = arrays.flat(table["bucket"]), arrays.flat(table["n"])
    first = int(day.min(initial=0))
    keys, _ = arrays.numbered(
        [
            (day - first, int(day.max(initial=0)) - first + 1),
            *((codes, len(held)) for codes, held in names),
            (bucket - GROUP_BLOCKS, BUCKETS - GROUP_BLOCKS),
        ]
    )
    order = np.argsort(keys, kind="stable") if table.num_rows else np.zeros(0, dtype=np.int64)
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1)) if table.num_rows else order
    added = np.add.reduceat(count[order], begins) if table.num_rows else count
    some, added = order[begins][added > 0], added[added > 0]
    return pa.table(
        [
            arrays.numbers(day[some], pa.date32()),
            *(arrays.texts(held).take(arrays.numbers(codes[some], pa.int32())) for codes, held in names),
            arrays.numbers(bucket[some], pa.int16()),
            arrays.numbers(added, pa.int64()),
        ],
        schema=ROWS,
    )


def digest(table: pa.Table) -> str:
    """Return what tells a table of the contract's rows, in their order, from any other; the day is not looked at."""
    hasher = hashlib.blake2b(digest_size=16)
    for name in NAMES:
        codes, names = arrays.coded(table[name])
        hasher.update("\n".join(names).encode())
        hasher.update(codes.tobytes())
    for name in ("bucket", "n"):
        hasher.update(arrays.flat(table[name]).tobytes())
    return hasher.hexdigest()


def opened(uri: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of a folder, and where the folder lies within it.

    Args:
        uri: a folder, or a URI of a file system that PyArrow knows: file, s3, gs, hdfs.

    Raises:
        ContractError: no such kind of file system.
    """
    try:
        files, root = pyarrow.fs.FileSystem.from_uri(uri if "://" in uri else Path(uri).absolute().as_uri())
    except (pa.ArrowException, OSError) as error:
        raise ContractError(
            f"{uri}: {str(error).splitlines()[0]}: give a folder, or a URI that begins with file://, s3://, gs:// or "
            "hdfs://"
        ) from error
    return files, root


def check_schema(metadata: dict[bytes, bytes] | None, path: str) -> None:
    """Say whether a Parquet file's key-value metadata are of this version of the contract.

    Raises:
        ContractError: of another one, or of none.
    """
    schema = (metadata or {}).get(SCHEMA_KEY)
    if schema is None:
        raise ContractError(
            f"{path}: its metadata have no {SCHEMA_KEY.decode()}, so nobody knows which times its buckets are: "
            f"write it with {SCHEMA_KEY.decode()}={SCHEMA}, or give values instead of buckets"
        )
    if schema != str(SCHEMA).encode():
        raise ContractError(
            f"{path}: its metadata say {SCHEMA_KEY.decode()}={schema.decode(errors='replace')}, this version reads "
            f"{SCHEMA}: other buckets are other times; use the version that wrote it, or read the days again into an "
            "empty folder"
        )


def check(table: pa.Table) -> None:
    """Say whether a table's rows are of the contract; the columns of text may be dictionaries.

    Raises:
        ContractError: other columns or types, something missing, a bucket or a count that there cannot be.
    """
    for field in ROWS:
        if field.name not in table.column_names:
            raise ContractError(
                f"column {field.name} is missing; there are {', '.join(table.column_names)}: "
                f"rows have the columns {', '.join(ROWS.names)}"
            )
        column = table[field.name]
        plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if plain != field.type:
            raise ContractError(f"column {field.name} is {plain}, must be {field.type}: write it as {field.type}")
        if column.null_count:
            raise ContractError(
                f"column {field.name} has {column.null_count} nulls: every row needs it; leave them out"
            )
    if not table.num_rows:
        return
    buckets, least = pc.min_max(table["bucket"]).as_py(), pc.min(table["n"]).as_py()
    if buckets["min"] < GROUP_BLOCKS or buckets["max"] >= BUCKETS:
        raise ContractError(
            f"column bucket has {buckets['min']}..{buckets['max']}, must be {GROUP_BLOCKS}..{BUCKETS - 1}: "
            f"these are not the buckets of schema {SCHEMA}"
        )
    if least < 0:
        raise ContractError(f"column n has {least}, must not be negative: it counts values")
