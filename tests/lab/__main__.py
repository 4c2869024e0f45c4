"""`python -m tests.lab`: every experiment with every library, or with those named; `make lab` runs all of it.

`--quick` takes only libraries that CI installs, `--settings` only the trials of settings, whose verdicts it writes
down in `verdicts.yaml`.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from heartbeat_tuner.clients import catalogue
from sandbox import network, progress
from sandbox.errors import SandboxError
from sandbox.kafka import Kafka
from sandbox.kafka_cluster import KafkaCluster
from sandbox.kafka_frames import (
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT,
)
from sandbox.proxy import FaultProxy
from tests.lab import experiments, report, verdicts
from tests.lab.bench import Bench
from tests.lab.experiments import SLOW_ANSWER, Experiment, Wire
from tests.lab.laboratory import Laboratory
from tests.lab.report import Checked, Result, Skipped
from tests.lab.rows import ROWS, Row
from tests.lab.verdicts import Found, Trial

AT_A_TIME: Final = 3
"""Consumers beside each other; those that need the processor, or have their connections cut, are alone."""

BEATS: Final = (HEARTBEAT, CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT)
"""The kinds of requests that are heartbeats."""

Job = tuple[Row, Experiment | Trial]
T = TypeVar("T")


class Run:
    """One run of the laboratory: what is to be done, what was done, and how far it is.

    Args:
        rows: the libraries.
        only_settings: whether nothing but settings is tried.
        run_dir: gets what brokers and consumers write.
    """

    def __init__(self, rows: Sequence[Row], *, only_settings: bool, run_dir: Path) -> None:
        self.results: list[Result] = []
        self.checked: list[Checked] = []
        self._run_dir = run_dir
        trials: list[Job] = [(row, trial) for row in rows for trial in verdicts.TRIALS if trial.client == row.client]
        planned: list[Job] = [(row, item) for row in rows for item in experiments.of(catalogue.client(row.client))]
        self._jobs = trials if only_settings else [*planned, *trials]
        self._lock = threading.Lock()
        self._done = 0

    def all(self) -> None:
        """Do everything, each experiment that is not as predicted once more."""
        one_broker = [job for job in self._jobs if not _needs_three(job[1])]
        for version in dict.fromkeys(row.broker for row, _ in one_broker):
            self._on_one_broker(version, [job for job in one_broker if job[0].broker == version])
        if three := [job for job in self._jobs if _needs_three(job[1])]:
            with KafkaCluster(self._run_dir / "three") as cluster:
                self._do(Laboratory(Bench(cluster, self._run_dir / "three")), three, AT_A_TIME)

    def _on_one_broker(self, version: str, jobs: Sequence[Job]) -> None:
        """Do what needs one broker, of the version that these libraries work with."""
        with _tapped_broker(self._run_dir / version, version) as bench:
            laboratory = Laboratory(bench)
            assert bench.tap is not None  # made with one
            self._do(laboratory, [job for job in jobs if _wire(job[1]) is Wire.GOOD and not _burns(job[1])], AT_A_TIME)
            bench.tap.delay_requests(BEATS, SLOW_ANSWER.total_seconds())
            self._do(laboratory, [job for job in jobs if _wire(job[1]) is Wire.SLOW], AT_A_TIME)
            bench.tap.heal()
            self._do(laboratory, [job for job in jobs if _wire(job[1]) is Wire.CUT], 1)
            self._do(laboratory, [job for job in jobs if _burns(job[1])], 1)

    def _do(self, laboratory: Laboratory, jobs: Sequence[Job], at_a_time: int) -> None:
        def run(job: Job) -> None:
            row, task = job
            line = self._try(laboratory, row, task) if isinstance(task, Trial) else self._test(laboratory, row, task)
            with self._lock:
                self._done += 1
                progress.say("lab", f"{self._done}/{len(self._jobs)} {row.client}, {task.name}: {line}")

        # Threads that live as long as the consumers that they start.
        with ThreadPoolExecutor(at_a_time) as pool:
            list(pool.map(run, jobs))

    def _test(self, laboratory: Laboratory, row: Row, experiment: Experiment) -> str:
        outcome, reruns = _until_ok(lambda: laboratory.do(row, experiment), lambda found: found.ok)
        with self._lock:
            self.results.append(Result(row.client, experiment, outcome, reruns))
        said = "never" if outcome.median_s is None else f"{outcome.median_s:.3f} s"
        note = f" ({outcome.note})" if outcome.note else ""
        return f"{said}, {'as predicted' if outcome.ok else f'NOT as predicted: {outcome.expected}'}{note}"

    def _try(self, laboratory: Laboratory, row: Row, trial: Trial) -> str:
        seen, reruns = _until_ok(
            lambda: laboratory.try_settings(row, trial), lambda found: Checked(trial, found, reruns=0).ok
        )
        checked = Checked(trial, seen, reruns)
        with self._lock:
            self.checked.append(checked)
        counts = f"{seen.joins} joins, {seen.beats} beats accepted and {seen.refused} refused, median {seen.median_s} s"
        said = "as predicted" if checked.ok else f"NOT as predicted: {trial.said()}, {checked.expected}"
        return f"{seen.verdict} ({counts}), {said}"


def _until_ok(do: Callable[[], T], ok: Callable[[T], bool]) -> tuple[T, int]:
    """Return what came of it, of a second time if the first was not as it should be, and how often it was repeated."""
    found = do()
    return (found, 0) if ok(found) else (do(), 1)


def _needs_three(task: Experiment | Trial) -> bool:
    return isinstance(task, Experiment) and bool(task.leaders)


def _wire(task: Experiment | Trial) -> Wire:
    return task.wire if isinstance(task, Experiment) else Wire.GOOD


def _burns(task: Experiment | Trial) -> bool:
    return isinstance(task, Experiment) and task.burns


@contextmanager
def _tapped_broker(run_dir: Path, version: str) -> Iterator[Bench]:
    """Run a broker and the proxy before its other listener."""
    (tap_port,) = network.free_ports(1)
    with (
        Kafka(run_dir, tap_port=tap_port, version=version) as kafka,
        FaultProxy(*kafka.tap_target, listen_port=tap_port) as tap,
    ):
        yield Bench(kafka, run_dir, tap)


def install(rows: Sequence[Row]) -> tuple[list[Row], list[Skipped]]:
    """Return the rows whose consumers could be installed, and those that could not, with what was answered."""
    ready, skipped = [], []
    for row in rows:
        try:
            row.command()
        except SandboxError as error:
            skipped.append(Skipped(row.client, " ".join(str(error).split())[:500]))
            progress.say("lab", f"{row.client} cannot be tried: {error}")
        else:
            ready.append(row)
    return ready, skipped


def main() -> None:
    """Run the laboratory, write the report, exit with status 1 if a row is not as predicted."""
    parser = argparse.ArgumentParser(description="Prove the catalogue of clients against the real ones.")
    parser.add_argument("clients", nargs="*", help="of the catalogue; all by default")
    parser.add_argument("--quick", action="store_true", help="only those that are installed in seconds")
    parser.add_argument("--settings", action="store_true", help="only the trials of settings")
    asked = parser.parse_args()
    known = {row.client: row for row in ROWS}
    unknown = [name for name in asked.clients if name not in known]
    if unknown:
        sys.exit(f"there is no row {unknown[0]!r}; the rows are {', '.join(known)}")
    chosen = [known[name] for name in asked.clients or known if known[name].quick or not asked.quick]
    began = time.monotonic()
    ready, skipped = install(chosen)
    with tempfile.TemporaryDirectory(prefix="lab-") as run_dir:
        run = Run(ready, only_settings=asked.settings, run_dir=Path(run_dir))
        run.all()
    document = report.document(run.results, run.checked, skipped)
    report.write(document)
    verdicts.keep(Found(item.trial, item.seen.verdict, item.seen.beats, item.seen.joins) for item in run.checked)
    bad = [row for row in document["rows"] if not row["ok"]]
    minutes = (time.monotonic() - began) / 60
    total = len(document["rows"])
    progress.say("lab", f"{total} experiments in {minutes:.0f} min, {len(bad)} not as predicted")
    for row in bad:
        progress.say("lab", json.dumps(row))
    for item in skipped:
        progress.say("lab", f"{item.client} was skipped: {item.why}")
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
