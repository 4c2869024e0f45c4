"""A part of the laboratory that CI has time for: the source documents' table, and the beat of what installs in seconds.

`make lab` does all of it. Each experiment may be done twice: the machines that run this have other work.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from heartbeat_tuner.clients import catalogue
from sandbox.kafka import Kafka
from tests.lab import experiments
from tests.lab.bench import Bench
from tests.lab.laboratory import Laboratory
from tests.lab.rows import ROWS

pytestmark = pytest.mark.timeout(300)

ROW: Final = {row.client: row for row in ROWS}
TABLE: Final = ("idle, defaults", "H 3 s, W 100 ms", "H 500 ms, W 100 ms", "S 1 s, H 333 ms, W 100 ms")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A broker of its own."""
    run_dir = tmp_path_factory.mktemp("lab")
    with Kafka(run_dir) as kafka:
        yield Laboratory(Bench(kafka, run_dir))


def _tried(laboratory: Laboratory, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return what was not as predicted among experiments by client and name, done beside each other."""

    def done(asked: tuple[str, str]) -> str:
        client, name = asked
        experiment = next(found for found in experiments.of(catalogue.client(client)) if found.name == name)
        outcome = laboratory.do(ROW[client], experiment)
        if not outcome.ok:
            outcome = laboratory.do(ROW[client], experiment)
        return "" if outcome.ok else str(outcome)

    with ThreadPoolExecutor(3) as pool:
        return {item: found for item, found in zip(wanted, pool.map(done, wanted), strict=True) if found}


def test_the_source_documents_table(laboratory: Laboratory) -> None:
    """KafkaJS beats every 5 s, 3 s and 0.5 s, whatever its heartbeat interval says."""
    assert _tried(laboratory, [("kafkajs", name) for name in TABLE]) == {}


def test_the_beat_of_what_installs_in_seconds(laboratory: Laboratory) -> None:
    """The catalogue says how often each one beats."""
    assert _tried(laboratory, [(row.client, "idle, H 1 s") for row in ROWS if row.quick]) == {}


def test_the_end_of_what_installs_in_seconds(laboratory: Laboratory) -> None:
    """The catalogue says what a hung handler costs."""
    assert _tried(laboratory, [(row.client, "a handler hangs") for row in ROWS if row.quick]) == {}
