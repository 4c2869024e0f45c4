"""`python -m tests.lab`: every experiment with every library, or with those named; `--quick` for those CI installs."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from heartbeat_tuner.clients import catalogue
from sandbox import progress
from sandbox.errors import SandboxError
from sandbox.kafka import Kafka
from tests.lab import experiments, report
from tests.lab.experiments import Experiment
from tests.lab.laboratory import Laboratory
from tests.lab.report import Result, Skipped
from tests.lab.rows import ROWS, Row

AT_A_TIME: Final = 3
"""Experiments beside each other; those that need the processor are alone."""


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


def run(rows: Sequence[Row], run_dir: Path) -> list[Result]:
    """Do all experiments with these libraries; each that is not as predicted once more."""
    planned = [(row, one) for row in rows for one in experiments.of(catalogue.client(row.client))]
    with ExitStack() as brokers:
        laboratories = {
            version: Laboratory(
                brokers.enter_context(Kafka(run_dir / version, version=version)),
                run_dir / version,
            )
            for version in dict.fromkeys(row.broker for row in rows)
        }

        def done(job: tuple[Row, Experiment]) -> Result:
            row, experiment = job
            laboratory = laboratories[row.broker]
            outcome, reruns = laboratory.do(row, experiment), 0
            if not outcome.ok:
                outcome, reruns = laboratory.do(row, experiment), 1
            said = "never" if outcome.median_s is None else f"{outcome.median_s:.3f} s"
            verdict = "as predicted" if outcome.ok else f"NOT as predicted ({outcome.expected}) {outcome.note}"
            progress.say("lab", f"{row.client}, {experiment.name}: {said}, {verdict}")
            return Result(row.client, experiment, outcome, reruns)

        results: list[Result] = []
        # Threads that live as long as the consumers that they start.
        for at_a_time, burns in ((AT_A_TIME, False), (1, True)):
            with ThreadPoolExecutor(at_a_time) as pool:
                results += pool.map(done, [job for job in planned if job[1].burns is burns])
    order = [row.client for row in rows]
    return sorted(results, key=lambda result: order.index(result.client))


def main() -> None:
    """Run the laboratory, write the report, exit with status 1 if a row is not as predicted."""
    parser = argparse.ArgumentParser(description="Prove the catalogue of clients against the real ones.")
    parser.add_argument("clients", nargs="*", help="of the catalogue; all by default")
    parser.add_argument("--quick", action="store_true", help="only those that are installed in seconds")
    asked = parser.parse_args()
    known = {row.client: row for row in ROWS}
    unknown = [name for name in asked.clients if name not in known]
    if unknown:
        sys.exit(f"there is no row {unknown[0]!r}; the rows are {', '.join(known)}")
    chosen = [known[name] for name in asked.clients or known if known[name].quick or not asked.quick]
    began = time.monotonic()
    ready, skipped = install(chosen)
    with tempfile.TemporaryDirectory(prefix="lab-") as run_dir:
        results = run(ready, Path(run_dir))
    report.write(results, skipped)
    rows = json.loads(report.JSON.read_text())["rows"]
    bad = [row for row in rows if not row["ok"]]
    minutes = (time.monotonic() - began) / 60
    progress.say(
        "lab", f"{len(rows)} experiments in {minutes:.0f} min, {len(bad)} not as predicted, {len(skipped)} skipped"
    )
    for row in bad:
        progress.say("lab", json.dumps(row))
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
