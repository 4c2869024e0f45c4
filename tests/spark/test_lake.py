"""Reading a lake without Spark: which files, which row groups, and what becomes of their lines."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.lake import lake_files, lake_reading, lake_rows, lake_survey
from heartbeat_tuner.fitting.lake.lake_files import ObservationsError
from heartbeat_tuner.fitting.lake.lake_reading import LakeOrder
from heartbeat_tuner.tails.histogram import bucket_of

DAY = date(2026, 11, 20)
ADDERS = 3
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def lines(count: int, *, groups: int = 20, days: int = 3, seed: int = 1) -> pa.Table:
    """Return lines in no order at all: of some days, groups, clients and quantities."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, days * 86_400, count)

    def named(prefix: str, many: int) -> pa.Array:
        return pa.array([f"{prefix}-{integer}" for integer in rng.integers(0, many, count)])

    return pa.table(
        {
            "ts": pa.array(
                [MIDNIGHT + timedelta(seconds=item) for item in seconds.tolist()], pa.timestamp("us", "UTC")
            ),
            "namespace": named("team", 3),
            "group": named("group", groups),
            "client": named("client", 2),
            "quantity": named("quantity", 2),
            "value_s": np.round(rng.lognormal(-2, 1, count), 3),
        }
    )


def naive(table: pa.Table, cluster: str = "eu") -> pa.Table:
    """Return the rows of lines, counted one after the other."""
    cells: Counter[tuple[object, ...]] = Counter()
    watched: dict[tuple[object, ...], set[int]] = {}
    for row in table.to_pylist():
        day = row["ts"].date()
        group_day = (day, cluster, row["namespace"], row["group"], row["client"])
        cells[(*group_day, row["quantity"], bucket_of(row["value_s"]).item())] += 1
        second = (row["ts"] - datetime.combine(day, datetime.min.time(), UTC)) // timedelta(seconds=1)
        watched.setdefault(group_day, set()).add(second // 1350)
    lengths: Counter[tuple[object, ...]] = Counter()
    for key, count in cells.items():
        lengths[key[:-1]] += count
    for key in lengths:
        members = max(count for other, count in lengths.items() if other[:-1] == key[:-1])
        cells[(*key, -1)] = members
        cells[(*key, -2)] = min(members, 15 * len(watched[key[:-1]]))
    found = [dict(zip(contract.ROWS.names, (*key, count), strict=True)) for key, count in cells.items()]
    return contract.merged(pa.Table.from_pylist(found, schema=contract.ROWS))


def read(path: Path, *, shares: int = 1, days: Sequence[date] | None = None) -> tuple[pa.Table, int]:
    """Return the rows that a lake's shares add up to, and how many lines were refused."""
    found = lake_files.find_lake(str(path))
    order = LakeOrder(
        found.uri, found.root, None if days is None else frozenset(days), None if "cluster" in found.types else "eu"
    )
    sent = pa.Table.from_batches(
        [
            batch
            for share in lake_survey.shared_out(lake_survey.of_days(lake_survey.surveyed(found), days), shares)
            for batch in lake_reading.read(order, share)
        ],
        lake_rows.SENT,
    )
    parts = [
        [part for place, part in lake_rows.parted(sent.to_batches(), ADDERS) if place == number]
        for number in range(ADDERS)
    ]
    added = [batch for some in parts for batch in lake_rows.added_up(lake_rows.unpacked(some))]
    rows = lake_rows.rows_of(added)
    assert lake_rows.refused_in(added) == sum(sent["refused"].to_pylist())
    assert contract.merged(rows).num_rows == rows.num_rows
    return contract.merged(rows), sum(sent["refused"].to_pylist())


def written(path: Path, table: pa.Table, **how: object) -> Path:
    """Write a file, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **how)
    return path


def test_lines_in_any_order_are_counted_as_one_by_one(tmp_path: Path) -> None:
    """Of several days, clients and quantities in one batch."""
    table = lines(3_000)
    rows, refused = read(written(tmp_path / "a.parquet", table))
    assert rows.equals(naive(table))
    assert refused == 0


@pytest.mark.parametrize("shares", [1, 2, 7, 100])
def test_row_groups_are_each_of_one_share(tmp_path: Path, shares: int) -> None:
    """However many tasks share a file, or files; the smallest share is a row group."""
    table = lines(2_000)
    written(tmp_path / "lake" / "a.parquet", table.slice(0, 1_900), row_group_size=100)
    written(tmp_path / "lake" / "b.parquet", table.slice(1_900))
    rows, _ = read(tmp_path / "lake", shares=shares)
    assert rows.equals(naive(table))


def test_the_files_of_a_day_are_spread_over_the_shares(tmp_path: Path) -> None:
    """Else one task would read a day, and the others nothing."""
    table = lines(10)
    for day in range(4):
        for shard in range(4):
            written(tmp_path / "lake" / f"dt={day}" / f"{shard}.parquet", table)
    for share in lake_survey.shared_out(lake_survey.surveyed(lake_files.find_lake(str(tmp_path / "lake"))), 4):
        assert {piece.path.split("/")[-2] for piece in share} == {f"dt={day}" for day in range(4)}


@pytest.mark.parametrize("shares", [1, 2])
def test_parts_of_a_day_are_known_from_all_shares(tmp_path: Path, shares: int) -> None:
    """Forty lines in one of them and forty in another, of one histogram, are two parts: thirty blocks."""
    item = lines(1).slice(0, 1)
    for name, hour in (("a", 1), ("b", 20)):
        start = MIDNIGHT + timedelta(hours=hour)
        times = pa.array([start + timedelta(seconds=number) for number in range(40)], pa.timestamp("us", "UTC"))
        table = pa.concat_tables([item] * 40).set_column(0, "ts", times)
        written(tmp_path / "lake" / f"{name}.parquet", table)
    rows, _ = read(tmp_path / "lake", shares=shares)
    watched = {row["bucket"]: row["n"] for row in rows.to_pylist() if row["bucket"] < 0}
    assert watched == {-1: 80, -2: 30}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_row_groups_of_other_days_are_not_read(tmp_path: Path, unit: str) -> None:
    """What is not read cannot be broken: the pages of one are wiped out. Within a row group lines are chosen."""
    table = lines(3_000).sort_by("ts")
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp(unit, "UTC")))
    path = written(tmp_path / "a.parquet", table, row_group_size=500)
    wanted = [DAY, DAY + timedelta(days=2)]
    of_days = pa.compute.is_in(table["ts"].cast(pa.date32()), pa.array(wanted))
    want = naive(table.filter(of_days))
    assert read(path, days=wanted)[0].equals(want)
    column = pq.read_metadata(path).row_group(5).column(0)
    content = bytearray(path.read_bytes())
    content[column.dictionary_page_offset : column.data_page_offset + 100] = bytes(
        column.data_page_offset + 100 - column.dictionary_page_offset
    )
    path.write_bytes(content)
    assert read(path, days=[DAY])[0].equals(naive(table.filter(pa.compute.equal(table["ts"].cast(pa.date32()), DAY))))
    with pytest.raises(ObservationsError, match="is no whole Parquet file"):
        read(path, days=wanted)


def test_many_names_with_and_without_dictionaries(tmp_path: Path) -> None:
    """More of them than a dictionary is looked at whole for; files that have none, or that Arrow reads otherwise."""
    table = lines(100_000, groups=20_000, days=2).sort_by("group")  # so that batches have parts of a dictionary
    large = table.set_column(2, "group", table["group"].cast(pa.large_string()))
    coded = table.set_column(1, "namespace", table["namespace"].dictionary_encode())
    written(tmp_path / "lake" / "a.parquet", table.slice(0, 80_000), use_dictionary=True)
    written(tmp_path / "lake" / "b.parquet", coded.slice(80_000, 10_000), use_dictionary=["namespace"])
    written(tmp_path / "lake" / "c.parquet", large.slice(90_000), use_dictionary=False)
    got, _ = read(tmp_path / "lake", shares=2)
    values = got.filter(pa.compute.field("bucket") >= 0)
    found = Counter[str]()
    for group, count in zip(values["group"].to_pylist(), values["n"].to_pylist(), strict=True):
        found[group] += count
    assert found == Counter(table["group"].to_pylist())


def test_times_that_spark_writes_by_default_are_read(tmp_path: Path) -> None:
    """As 96 bits, without a zone, always in UTC."""
    table = lines(500)
    path = written(tmp_path / "a.parquet", table, use_deprecated_int96_timestamps=True, store_schema=False)
    assert read(path, days=[DAY, DAY + timedelta(days=1), DAY + timedelta(days=2)])[0].equals(naive(table))


def test_nulls_are_refused_wherever_they_are(tmp_path: Path) -> None:
    """Of a time nobody knows the day, so it is of none that is asked for."""
    table = lines(100, days=1)
    for number, name in enumerate(table.column_names):
        column = table[name].to_pylist()
        column[number] = None
        table = table.set_column(number, name, pa.array(column, table[name].type))
    path = written(tmp_path / "a.parquet", table)
    rows, refused = read(path)
    assert rows.equals(naive(table.slice(6)))
    assert refused == 6
    assert read(path, days=[DAY])[1] == 5


def test_names_may_stand_in_the_path(tmp_path: Path) -> None:
    """Hive's way, with what cannot stand in a path escaped; where there is none, the lines lack it."""
    table = lines(50, days=1).drop_columns(["namespace"])
    written(tmp_path / "lake" / "cluster=eu" / "namespace=a%20b" / "x.parquet", table)
    written(tmp_path / "lake" / "cluster=1" / "namespace=__HIVE_DEFAULT_PARTITION__" / "x.parquet", table)
    rows, refused = read(tmp_path / "lake")
    assert rows.equals(naive(table.append_column("namespace", pa.array(["a b"] * 50))))
    assert refused == 50


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    """What Spark and others leave beside their files."""
    table = lines(50)
    written(tmp_path / "lake" / "x.parquet", table)
    for hidden in ("_SUCCESS", ".x.parquet.crc", "_temporary/0/x.parquet"):
        (tmp_path / "lake" / hidden).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lake" / hidden).write_bytes(b"no Parquet")
    assert read(tmp_path / "lake")[0].equals(naive(table))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            lines(5).drop_columns("client"),
            "column client is missing; there are ts, namespace, group, quantity, value_s",
        ),
        (lines(5).set_column(5, "value_s", pa.array([1] * 5)), "column value_s is bigint, must be double"),
        (lines(5).append_column("cluster", pa.array(["us"] * 5)), "has a column cluster, which the first file of"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, other: pa.Table, said: str) -> None:
    """The first file tells the kind of a lake, and each of the others is looked at before it is counted."""
    written(tmp_path / "lake" / "a.parquet", lines(5))
    path = written(tmp_path / "lake" / "b.parquet", other)
    with pytest.raises(ObservationsError) as caught:
        read(tmp_path / "lake")
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_file_that_goes_away_is_named(tmp_path: Path) -> None:
    """Between the look at the folder and the task."""
    path = written(tmp_path / "lake" / "a.parquet", lines(5))
    found = lake_files.find_lake(str(tmp_path / "lake"))
    (share,) = lake_survey.shared_out(lake_survey.surveyed(found), 1)
    path.unlink()
    with pytest.raises(ObservationsError, match=f"^{path}: is not there: "):
        list(lake_reading.read(LakeOrder(found.uri, found.root, None, ""), share))
    with pytest.raises(ObservationsError, match=f"^{path}: is not there: "):
        lake_survey.surveyed(found)
