"""Which Parquet files a lake has, and of which kind they are.

All of it is asked of PyArrow, in this process: the places of the files, and the columns of the first, which tell the
kind of the lake. What the others have is asked next (`lake_survey`).

Names may stand in the path instead of in the files, Hive's way: `cluster=eu/`. Files and folders whose name begins with
`_` or `.` are left out.
"""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.contract import ContractError

VALUES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ts": "timestamp",
        "namespace": "string",
        "group": "string",
        "client": "string",
        "quantity": "string",
        "value_s": "double",
    }
)
"""Columns of values and their types; `cluster` (string) may be one of them."""

_NO_NAME: Final = "__HIVE_DEFAULT_PARTITION__"
"""What stands in a path for a name that there is not."""

_KINDS: Final[Mapping[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
}
"""The names that Spark has for types; the others keep Arrow's."""


class ObservationsError(TunerError):
    """Parquet that cannot be used; the message names the path, the column, the rule and the fix."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lake:
    """The files of a lake.

    Attributes:
        uri: as it was given.
        root: the path of it, within its file system.
        files: their paths within the file system, ascending.
        types: what each column of the first file is, by the names that Spark has for types.
    """

    uri: str
    root: str
    files: tuple[str, ...]
    types: Mapping[str, str]


def find_lake(uri: str) -> Lake:
    """Return what lies there.

    Args:
        uri: a folder or a file, or a URI of a file system that PyArrow knows: file, s3, gs, hdfs.

    Raises:
        ObservationsError: nothing there, or something that may not be read or is no Parquet; it names the path and the
            fix.
    """
    try:
        files, root = contract.opened(uri)
    except ContractError as error:
        raise ObservationsError(str(error)) from error
    try:
        paths = _listed(files, root)
    except (pa.ArrowException, OSError) as error:
        raise unusable(uri, error) from error
    if not paths:
        raise ObservationsError(f"{uri}: no file lies there: give a folder or a file of Parquet that the job may read")
    first = paths[0]
    try:
        with files.open_input_file(first) as file:
            types = types_of(pq.read_metadata(file))
    except (pa.ArrowException, OSError) as error:
        raise unusable(first, error) from error
    return Lake(uri, root, paths, types | dict.fromkeys(names_in(first, root), "string"))


def unusable(path: str, error: Exception) -> ObservationsError:
    """Return the sentence for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        sentence = "is not there"
    elif isinstance(error, PermissionError):
        sentence = "may not be read"
    else:
        sentence = f"is no whole Parquet file ({(str(error).splitlines() or [type(error).__name__])[0]})"
    return ObservationsError(f"{path}: {sentence}: give a folder or a file of Parquet that the job may read")


def types_of(metadata: pq.FileMetaData) -> dict[str, str]:
    """Return what the columns of a file are, by the names that Spark has for types."""
    old = {column.path for column in metadata.schema if column.physical_type == "INT96"}  # always in UTC
    fields = metadata.schema.to_arrow_schema()
    return {field.name: "timestamp" if field.name in old else _kind(field.type) for field in fields}


def wanted(*, with_cluster: bool) -> dict[str, str]:
    """Return the columns that values must have, and their types."""
    return {**VALUES, "cluster": "string"} if with_cluster else dict(VALUES)


def check_types(types: Mapping[str, str], wanted: Mapping[str, str], path: str) -> None:
    """See that columns are there, and of their types.

    Raises:
        ObservationsError: one is not.
    """
    for name, kind in wanted.items():
        if name not in types:
            raise ObservationsError(
                f"{path}: column {name} is missing; there are {', '.join(types)}: give values ({', '.join(VALUES)}) or "
                f"rows of the contract ({', '.join(contract.SPARK_TYPES)})"
            )
        if types[name] != kind:
            fix = "write it with a time zone, as UTC" if kind == "timestamp" else f"write it as {kind}"
            raise ObservationsError(f"{path}: column {name} is {types[name]}, must be {kind}: {fix}")


def names_in(path: str, root: str) -> dict[str, str | None]:
    """Return the names that stand in a path below the root of its lake, by their columns."""
    folders = PurePosixPath(path.removeprefix(root)).parent.parts
    given = dict(folder.split("=", 1) for folder in folders if "=" in folder)
    return {name: None if given[name] == _NO_NAME else unquote(given[name]) for name in contract.NAMES if name in given}


def _listed(files: pyarrow.fs.FileSystem, root: str) -> tuple[str, ...]:
    info = files.get_file_info(root)
    if info.type is not pyarrow.fs.FileType.Directory:
        return (root,) if info.is_file else ()
    entries = files.get_file_info(pyarrow.fs.FileSelector(root, recursive=True))
    paths = [str(entry.path) for entry in entries if entry.is_file and not _is_hidden(entry.path.removeprefix(root))]
    return tuple(sorted(paths))


def _is_hidden(path: str) -> bool:
    parts: Collection[str] = PurePosixPath(path).parts
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def _kind(kind: pa.DataType) -> str:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_timestamp(plain):
        return "timestamp" if plain.tz else "timestamp_ntz"
    return _KINDS.get(plain, str(plain))
