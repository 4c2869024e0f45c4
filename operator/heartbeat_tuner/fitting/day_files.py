"""How the rows of one day become a file and are read back, and how files are replaced."""

import contextlib
import os
import time
import uuid
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from heartbeat_tuner.fitting import arrays, contract
from heartbeat_tuner.fitting.calendar_days import day_number
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.tails.histogram import SCHEMA

_DIGEST_KEY: Final = b"heartbeat-tuner.digest"
"""Where the metadata tell which rows were written: checksums of pages leave out the pages' headers, and the footer."""

DAY_FOLDER: Final = "day="

_TEMPORARY: Final = ".tmp"

_STRAY_AFTER_S: Final = 3600.0
"""A file is written in seconds; a temporary one of that age has no writer any more."""

_ROW_GROUP: Final = 1 << 20

_STORED: Final = contract.ROWS.remove(0)

HELD: Final = pa.schema(
    [
        pa.field(field.name, pa.dictionary(pa.int32(), pa.string()) if field.name in contract.NAMES else field.type)
        for field in contract.ROWS
    ]
)


class OtherRowsError(Exception):
    """A file that says it is whole, and is not what was written."""


def decoded(file: pa.NativeFile, day: date, sentence: str) -> pa.Table:
    """Return the rows in a day's file, columns of text as dictionaries."""
    parquet = pq.ParquetFile(file, read_dictionary=list(contract.NAMES), page_checksum_verification=True)
    metadata = parquet.metadata.metadata or {}
    contract.check_schema(metadata, sentence)
    stored = parquet.read()
    stored.validate(full=True)
    table = stored.add_column(0, "day", arrays.numbers(np.full(stored.num_rows, day_number(day)), pa.date32()))
    try:
        contract.check(table)
    except ContractError as error:
        raise OtherRowsError(str(error)) from error
    if metadata.get(_DIGEST_KEY) != contract.digest(table).encode():
        raise OtherRowsError(f"holds other rows than were written ({_DIGEST_KEY.decode()} differs)")
    return table.select(HELD.names).cast(HELD)


def encoded(rows: pa.Table) -> pa.Buffer:
    """Return rows as the bytes of a Parquet file: the same for the same rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows.replace_schema_metadata(
            {contract.SCHEMA_KEY: str(SCHEMA).encode(), _DIGEST_KEY: contract.digest(rows).encode()}
        ),
        sink,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        row_group_size=_ROW_GROUP,
        write_page_checksum=True,
    )
    return sink.getvalue()


def replace_local(root: Path, target: Path, content: pa.Buffer) -> None:
    """Replace a file in one step: written whole beside the days first, on the disk before it gets its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_strays(root)
    temporary = root / f".{target.parent.name}.{uuid.uuid4().hex}{_TEMPORARY}"
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def clear_strays(root: Path) -> None:
    """Remove what killed jobs left behind."""
    for stray in root.glob(f".{DAY_FOLDER}*{_TEMPORARY}"):
        with contextlib.suppress(FileNotFoundError):  # another job clears as well
            if time.time() - stray.stat().st_mtime > _STRAY_AFTER_S:
                stray.unlink()
