"""Days of histograms as files: replaced whole, the same bytes for the same rows, and broken ones told."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.history import History, HistoryError
from tests.support.fleet_days import TODAY, ago, fleet, of_day, table

LITTLE = of_day(TODAY, {"orders": {5: 3, 700: 1, -1: 4, -2: 2}, "bills": {9: 8}})


def bytes_of(history: History, day: date) -> bytes:
    """Return a day's file."""
    return Path(history.path(day)).read_bytes()


def again(history: History, day: date, content: bytes) -> HistoryError:
    """Give a day other bytes, and return what reading it says."""
    Path(history.path(day)).write_bytes(content)
    with pytest.raises(HistoryError) as caught:
        history.read_day(day)
    return caught.value


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return an empty history."""
    return History(str(tmp_path / "history"))


def test_what_was_written_is_read(history: History) -> None:
    """With its day, for the days that are asked for; a day without rows was read and had nothing."""
    history.write(TODAY, LITTLE)
    history.write(ago(1), of_day(ago(1), {"orders": {5: 1}}))
    history.write(ago(2), table())
    assert history.days() == [ago(2), ago(1), TODAY]
    held = history.read([TODAY, ago(2)])
    assert (held.days, held.broken) == ((ago(2), TODAY), {})
    assert held.rows.cast(contract.ROWS).equals(contract.merged(LITTLE))
    assert history.read([]).rows.num_rows == 0


def test_no_history_has_no_days(history: History) -> None:
    """The folder is made with the first day; what else lies in it is no day."""
    assert history.days() == []
    history.write(TODAY, LITTLE)
    root = Path(history.uri)
    (root / "day=2026-11-01").mkdir()
    (root / "day=tomorrow").mkdir()
    (root / "README").touch()
    assert history.days() == [TODAY]


def test_the_same_rows_are_the_same_bytes(history: History) -> None:
    """Whatever their order, and in however many rows a count came."""
    rows = fleet(1, groups=20)
    history.write(TODAY, rows)
    first = bytes_of(history, TODAY)
    rng = np.random.default_rng(1)
    for _ in range(3):
        turned = rows.take(rng.permutation(rows.num_rows))
        part, rest = turned.slice(0, 40), turned.slice(40)
        less = part.set_column(7, "n", pa.array(part["n"].to_numpy() - 1))
        ones = part.set_column(7, "n", pa.array(np.ones(40, dtype=np.int64)))
        history.write(TODAY, pa.concat_tables([ones, rest, less]))
        assert bytes_of(history, TODAY) == first


def test_rows_of_another_day_are_refused(history: History) -> None:
    """They would be counted twice, or lost."""
    with pytest.raises(ContractError, match="column day has 2026-11-20 in rows of 2026-11-21"):
        history.write(TODAY, of_day(ago(1), {"orders": {5: 1}}))


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("n", pa.array([-1]), "column n has -1, must not be negative"),
        ("bucket", pa.array([861], pa.int16()), r"column bucket has 861..861, must be -2..860"),
        ("bucket", pa.array([-3], pa.int16()), r"column bucket has -3..-3, must be -2..860"),
        ("bucket", pa.array([5]), "column bucket is int64, must be int16"),
        ("group", pa.array([None], pa.string()), "column group has 1 nulls"),
    ],
)
def test_rows_that_cannot_be_are_refused(history: History, column: str, values: pa.Array, said: str) -> None:
    """Before anything is written."""
    rows = of_day(TODAY, {"orders": {5: 1}})
    with pytest.raises(ContractError, match=said):
        history.write(TODAY, rows.set_column(rows.column_names.index(column), column, values))
    with pytest.raises(ContractError, match=f"column {column} is missing; there are day"):
        history.write(TODAY, rows.drop_columns(column))
    assert history.days() == []


def test_a_broken_file_costs_its_day(history: History) -> None:
    """It is named with what to do; the others are read."""
    for age in range(3):
        history.write(ago(age), of_day(ago(age), {"orders": {5: 1}}))
    Path(history.path(ago(1))).write_bytes(b"PAR1")
    held = history.read(history.days())
    assert held.days == (ago(2), TODAY)
    assert held.rows["day"].to_pylist() == [ago(2), TODAY]
    (said,) = map(str, held.broken.values())
    assert said.startswith(f"{history.uri}/day=2026-11-20/histograms.parquet: is no whole Parquet file (")
    assert said.endswith("): delete it, and the next run reads the day again")
    missing = history.read([ago(9)]).broken[ago(9)]
    assert "day=2026-11-12/histograms.parquet: is not there" in str(missing)


def test_what_is_read_later_joins_what_was_read(history: History) -> None:
    """In the order of the days, with the newer word on those that are in both."""
    for age in (0, 2):
        history.write(ago(age), of_day(ago(age), {"orders": {5: 1}}))
    early = history.read([ago(2), ago(1), TODAY])
    history.write(ago(1), of_day(ago(1), {"bills": {9: 7}}))
    Path(history.path(TODAY)).write_bytes(b"PAR1")
    both = early | history.read([ago(1), TODAY])
    assert both.days == (ago(2), ago(1))
    assert list(both.broken) == [TODAY]
    assert both.rows.cast(contract.ROWS).equals(history.read(history.days()).rows.cast(contract.ROWS))


def test_no_lost_bit_goes_unnoticed(history: History) -> None:
    """Nor a lost end: what is read is what was written, or an error that can be told."""
    history.write(TODAY, LITTLE)
    good, want = bytes_of(history, TODAY), history.read_day(TODAY)
    noticed = 0
    for place in range(len(good)):
        lost = bytearray(good)
        lost[place] ^= 0x80
        Path(history.path(TODAY)).write_bytes(lost)
        try:
            assert history.read_day(TODAY).equals(want), place
        except HistoryError:
            noticed += 1
    assert noticed > len(good) / 2
    for length in range(0, len(good), 37):
        again(history, TODAY, good[:length])


def test_files_of_other_contracts_are_told(history: History) -> None:
    """Other buckets are other times, so nothing is read from them."""
    history.write(TODAY, LITTLE)
    stored = pq.read_table(history.path(TODAY))
    for metadata, said in (
        ({}, "its metadata have no heartbeat-tuner.schema"),
        ({"heartbeat-tuner.schema": "2"}, "its metadata say heartbeat-tuner.schema=2, this version reads 1"),
    ):
        sink = pa.BufferOutputStream()
        pq.write_table(stored.replace_schema_metadata(metadata), sink)
        assert said in str(again(history, TODAY, sink.getvalue().to_pybytes()))
    sink = pa.BufferOutputStream()
    pq.write_table(stored.drop_columns("n"), sink)
    assert "column n is missing" in str(again(history, TODAY, sink.getvalue().to_pybytes()))
    counts = stored["n"].to_numpy() + 1
    pq.write_table(stored.set_column(6, "n", pa.array(counts)), history.path(TODAY))
    with pytest.raises(HistoryError, match="holds other rows than were written"):
        history.read_day(TODAY)


def test_places_that_are_none_are_told(tmp_path: Path) -> None:
    """Each with its fix; nothing that a user can cause is a traceback."""
    with pytest.raises(HistoryError, match=r"ftp://x/y: .*: give a folder, or a URI that begins with file://"):
        History("ftp://x/y")
    taken = tmp_path / "file"
    taken.touch()
    with pytest.raises(HistoryError, match=r"file/day=2026-11-21/histograms.parquet: cannot be written \(.*irectory"):
        History(str(taken)).write(TODAY, LITTLE)
    with pytest.raises(HistoryError, match=r"cannot be listed \(.*\): give a folder"):
        History("file:///%00").days()
    with pytest.raises(HistoryError, match=r"file: cannot be listed \(.*\): give a folder"):
        History(str(taken)).days()


def test_a_store_without_renames_gets_the_same_file(history: History) -> None:
    """An object store shows a file when all of it is there; PyArrow's own store in memory stands for one."""
    history.write(TODAY, LITTLE)
    store = History("mock://history")
    store.write(TODAY, of_day(TODAY, {"orders": {5: 1}}))
    store.write(TODAY, LITTLE)
    assert store.days() == [TODAY]
    assert store.read_day(TODAY).equals(history.read_day(TODAY))


_WRITER = """
import sys
from tests.support.fleet_days import TODAY, fleet
from heartbeat_tuner.fitting.history import History
history, lots = History(sys.argv[1]), [fleet(1, groups=200, seed=seed) for seed in (1, 2)]
for lot in lots:
    history.write(TODAY, lot)
    sys.stdout.buffer.write(open(history.path(TODAY), "rb").read().hex().encode() + b"\\n")
print("ready", flush=True)
for number in range(100_000):
    history.write(TODAY, lots[number % 2])
"""


def writer(history: History, code: str = _WRITER) -> subprocess.Popen[bytes]:
    """Start a process that writes to a history."""
    here = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code, history.uri], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=here
    )


def test_who_is_killed_leaves_whole_files(history: History) -> None:
    """The one that was there, or the new one; what lies beside is ignored, and goes when it is old."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        process = writer(history)
        assert process.stdout is not None
        whole = [bytes.fromhex(process.stdout.readline().decode()) for _ in range(2)]
        assert process.stdout.readline() == b"ready\n"
        time.sleep(float(rng.uniform(0.0, 0.5)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert bytes_of(history, TODAY) in whole
        assert history.days() == [TODAY]
        assert history.read([TODAY]).broken == {}
    root = Path(history.uri)
    (root / ".day=2026-11-21.0.tmp").touch()
    strays = list(root.glob(".*.tmp"))
    history.write(TODAY, LITTLE)
    assert set(root.glob(".*.tmp")) == set(strays)  # perhaps another job's
    for stray in strays:
        os.utime(stray, (time.time() - 7200,) * 2)
    history.write(TODAY, LITTLE)
    assert list(root.glob(".*.tmp")) == []


def test_two_jobs_at_once_leave_whole_files(history: History) -> None:
    """And so does whoever reads meanwhile see."""
    rows = fleet(1, groups=20)
    history.write(TODAY, rows)
    want, seen = bytes_of(history, TODAY), set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(bytes_of(history, TODAY))

    def keep() -> None:
        for _ in range(10):
            history.write(TODAY, rows)

    jobs = [threading.Thread(target=keep) for _ in range(2)]
    reader = threading.Thread(target=look)
    for thread in (*jobs, reader):
        thread.start()
    for thread in jobs:
        thread.join()
    done.set()
    reader.join()
    assert seen == {want}
    assert list(Path(history.uri).glob(".*")) == []


_FULL = """
import resource, sys
from tests.support.fleet_days import TODAY, fleet, of_day
from heartbeat_tuner.fitting.history import History, HistoryError
history = History(sys.argv[1])
history.write(TODAY, of_day(TODAY, {"orders": {5: 1}}))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    history.write(TODAY, fleet(1, groups=200))
except HistoryError as error:
    print(error)
"""


def test_a_write_that_fails_harms_nothing(history: History) -> None:
    """A limit of the size of files ends a write as a full disk does: part of it is there, the rest is refused."""
    process = writer(history, _FULL)
    said, _ = process.communicate()
    assert said.decode() == (
        f"{history.uri}/day=2026-11-21/histograms.parquet: cannot be written (File too large): raise the limit of file "
        "sizes (ulimit -f); what was there before is whole, and the next run writes the day\n"
    )
    assert history.read_day(TODAY)["n"].to_pylist() == [1]
    assert list(Path(history.uri).glob(".*")) == []
