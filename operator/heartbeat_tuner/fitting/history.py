"""What was read stays read: one Parquet file of the contract's rows for each day (UTC).

`day=2026-11-20/histograms.parquet` is replaced whole, in one step: a job that is killed, runs out of disk or has
another beside it leaves the old file or the new one. The same rows give the same bytes, whichever order they come in. A
file that is broken costs its day, not the history.
"""

import dataclasses
import errno
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.day_files import DAY_FOLDER, HELD, OtherRowsError, decoded, encoded, replace_local

FILE: Final = "histograms.parquet"
"""The one file in the folder of a day."""


_READERS: Final = 4
"""Days that are read at once: unpacking and checking them leaves Python's lock to others."""

_FIXES: Final[Mapping[int, str]] = {
    errno.ENOSPC: "free some disk, or give a larger one",
    errno.EDQUOT: "free some of the quota, or raise it",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.EACCES: "give a folder that the job may write",
    errno.EPERM: "give a folder that the job may write",
    errno.EROFS: "give a folder on a file system that is mounted for writing",
    errno.ENOTDIR: "give a folder, not a file",
}


class HistoryError(TunerError):
    """A history that cannot be read or written; the message names the file, what is wrong and the fix."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredDays:
    """What a history holds of some days.

    Attributes:
        tables: of each day whose file is whole, ascending, its rows; columns of text are dictionaries.
        broken: why the others cannot be read.
    """

    tables: Mapping[date, pa.Table]
    broken: Mapping[date, HistoryError]

    @property
    def days(self) -> tuple[date, ...]:
        """Those whose files are whole, ascending; a day may have no rows."""
        return tuple(self.tables)

    @property
    def rows(self) -> pa.Table:
        """The rows of all whole days, ordered by day; nothing is copied, each chunk has dictionaries of its own."""
        return pa.concat_tables([pa.Table.from_batches([], HELD), *self.tables.values()])

    def __or__(self, other: "StoredDays") -> "StoredDays":
        """Return both; the days of the other replace those that are in both."""
        tables, broken = {**self.tables, **other.tables}, {**self.broken, **other.broken}
        return StoredDays(
            {day: tables[day] for day in sorted(tables) if day not in other.broken},
            {day: broken[day] for day in sorted(broken) if day not in other.tables},
        )


class History:
    """A folder of days."""

    def __init__(self, uri: str) -> None:
        """Open a history; the folder is made with the first day that is written.

        Args:
            uri: a folder, or a URI of a file system that PyArrow knows: file, s3, gs, hdfs.

        Raises:
            HistoryError: no such kind of file system.
        """
        self.uri = uri
        try:
            self._files, self._root = contract.opened(uri)
        except ContractError as error:
            raise HistoryError(str(error)) from error

    def days(self) -> list[date]:
        """Return the days that have a file, ascending; whether it is whole is another question.

        Raises:
            HistoryError: the folder cannot be listed.
        """
        days = []
        for entry in self._listed(self._root):
            day = _day_of(entry.base_name)
            if day is not None and any(file.base_name == FILE for file in self._listed(entry.path)):
                days.append(day)
        return sorted(days)

    def write(self, day: date, rows: pa.Table) -> None:
        """Replace a day's file; one without rows says that the day was read and had nothing.

        Args:
            day: in UTC.
            rows: of the contract, all of that day; in any order, rows of the same key are added up.

        Raises:
            ContractError: rows that are not of the contract.
            HistoryError: it could not be written; the file that was there is as it was.
        """
        whole = contract.merged(rows)
        others = set(pc.unique(whole["day"]).to_pylist()) - {day}
        if others:
            raise ContractError(f"column day has {min(others)} in rows of {day}: give each day its own rows")
        target = self.path(day)
        try:
            self._replace(target, encoded(whole.drop_columns("day")))
        except OSError as error:
            raise _unwritten(self._said(target), error) from error

    def read(self, days: Collection[date]) -> StoredDays:
        """Return the rows of some days; a broken or missing file costs its day only."""
        wanted = sorted(set(days))
        with ThreadPoolExecutor(_READERS) as threads:
            results = dict(zip(wanted, threads.map(self._read_or_broken, wanted), strict=True))
        return StoredDays(
            {day: table for day, table in results.items() if isinstance(table, pa.Table)},
            {day: history_error for day, history_error in results.items() if isinstance(history_error, HistoryError)},
        )

    def _read_or_broken(self, day: date) -> "pa.Table | HistoryError":
        try:
            return self.read_day(day)
        except HistoryError as error:
            return error

    def read_day(self, day: date) -> pa.Table:
        """Return the rows of one day; columns of text are dictionaries.

        Raises:
            HistoryError: no file, no whole Parquet file, or one that this version does not understand.
        """
        path = self.path(day)
        sentence = self._said(path)
        again = "delete it, and the next run reads the day again"
        try:
            with self._files.open_input_file(path) as file:
                return decoded(file, day, sentence)
        except OtherRowsError as error:
            raise HistoryError(f"{sentence}: {error}: {again}") from error
        except ContractError as error:
            raise HistoryError(str(error)) from error
        except FileNotFoundError as error:
            raise HistoryError(f"{sentence}: is not there: the next run reads the day") from error
        except PermissionError as error:
            raise HistoryError(f"{sentence}: may not be read: give the job the right to read it") from error
        except (pa.ArrowException, OSError, LookupError, ValueError) as error:  # what PyArrow makes of broken files
            raise HistoryError(f"{sentence}: is no whole Parquet file ({_first_line(error)}): {again}") from error

    def path(self, day: date) -> str:
        """Return where a day's file lies, within its file system."""
        return f"{self._root}/{DAY_FOLDER}{day.isoformat()}/{FILE}"

    def _said(self, path: str) -> str:
        """Return what people call a file."""
        return f"{self.uri.rstrip('/')}{path.removeprefix(self._root)}"

    def _listed(self, path: str) -> list[pyarrow.fs.FileInfo]:
        try:
            return list(self._files.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True)))
        except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a path that is no text
            fix = _FIXES.get(getattr(error, "errno", None) or 0, "give a folder that the job may read")
            raise HistoryError(f"{self._said(path)}: cannot be listed ({_first_line(error)}): {fix}") from error

    def _replace(self, target: str, content: pa.Buffer) -> None:
        if isinstance(self._files, pyarrow.fs.LocalFileSystem):
            replace_local(Path(self._root), Path(target), content)
            return
        # An object store shows a file when all of it is there; it has no rename that could be used instead.
        self._files.create_dir(target.rpartition("/")[0])
        with self._files.open_output_stream(target) as file:
            file.write(content)


def _day_of(name: str) -> date | None:
    if not name.startswith(DAY_FOLDER):
        return None
    try:
        return date.fromisoformat(name.removeprefix(DAY_FOLDER))
    except ValueError:
        return None


def _unwritten(sentence: str, error: OSError) -> HistoryError:
    fix = _FIXES.get(error.errno or 0, "make the place writable")
    return HistoryError(
        f"{sentence}: cannot be written ({_first_line(error)}): {fix}; what was there before is whole, "
        "and the next run writes the day"
    )


def _first_line(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.splitlines()[0] if text else type(error).__name__
