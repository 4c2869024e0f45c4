"""`python -m tests.unmetered`: every library of the laboratory, or those named, without client metrics.

For each of them `trial` asks whether the operator's group watcher sees its evictions, as many as the broker's log has,
and whether an applied change cures them. All run beside each other, since they mostly wait, on a broker of the version
that the laboratory tries them on. Then comes what is no eviction (`disturbances`). `build/witness.json` has a row for
each library, those that cannot be tried among them, with the reason, and one for each disturbance.
"""

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.metrics.conventions import watched_groups
from sandbox import progress, scenario
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.scenario import Operator
from tests.e2e.operators import Operators
from tests.lab.rows import ROWS, Row
from tests.unmetered import bound_command, disturbances
from tests.unmetered.trial import Trial

REPORT: Final = Path(__file__).parents[2] / "build" / "witness.json"

MOST_PAUSES: Final = 14
AT_A_TIME: Final = 6


def impossible(row: Row) -> str:
    """Return why a library cannot be tried here; an empty text if it can."""
    if Protocol.CLASSIC not in catalogue.client(row.client).protocols:
        return "its group's session is set at the broker: `make broker-side` tries that"
    if row.client not in (*watched_groups.LIBRARIES, *watched_groups.WITHOUT_EXPORTER):
        return "nothing is decided by its new ids: a thread that fails and is replaced looks evicted"
    return ""


def try_row(sandbox: Sandbox, operator: Operator, row: Row) -> dict[str, Any]:
    """Return what came of one library, as a row of the report."""
    trial = Trial(sandbox, row)
    try:
        trial.deploy()
        outcome = trial.run(operator, most_pauses=MOST_PAUSES)
        trial.team.delete()
    except SandboxError as error:
        progress.say("unmetered", f"{row.client} was not tried to the end: {error}")
        return {"client": row.client, "ok": False, "error": _one_line(error)}
    progress.say("unmetered", f"{row.client} has been tried: {outcome}")
    return {"client": row.client, **dataclasses.asdict(outcome), "ok": outcome.ok}


def try_all(chosen: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows of the report, in the order of the laboratory, and then those of what is no eviction."""
    lines = {
        row.client: {"client": row.client, "ok": False, "reason": why} for row in chosen if (why := impossible(row))
    }
    ready = []
    for row in (row for row in chosen if row.client not in lines):
        try:
            bound_command.command(row)
        except SandboxError as error:
            lines[row.client] = {"client": row.client, "ok": False, "reason": _one_line(error)}
        else:
            ready.append(row)
    disturbed: list[dict[str, Any]] = []
    for version in sorted({row.broker for row in ready}, reverse=True):
        outcomes, disturbances_there = _try_on(version, [row for row in ready if row.broker == version])
        lines |= {line["client"]: line for line in outcomes}
        disturbed += disturbances_there
    return [*(lines[row.client] for row in chosen), *disturbed]


def _try_on(version: str, ready: Sequence[Row]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of libraries on a broker of one version, and those of what is no eviction."""
    with (
        tempfile.TemporaryDirectory(prefix="unmetered-") as run_dir,
        Sandbox(Path(run_dir), kafka_version=version) as sandbox,
    ):
        scenario.install(sandbox)
        operators = Operators(sandbox)
        try:
            operator = operators.get()
            sandbox.prometheus.scrape_too("operator", operator.metrics_port, namespace="monitoring")
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                outcomes = list(pool.map(lambda row: try_row(sandbox, operator, row), ready))
            disturbed = [line for row in ready for line in disturbances.run(sandbox, operator, row)]
        finally:
            operators.stop()
    return outcomes, disturbed


def _one_line(error: SandboxError) -> str:
    return " ".join(str(error).split())[:500]


def main() -> None:
    """Try the libraries, write the report, and exit with status 1 if one is not ok without a reason."""
    parser = argparse.ArgumentParser(description="What the group watcher sees of each client library.")
    parser.add_argument("clients", nargs="*", help="of the laboratory; all by default")
    asked = parser.parse_args()
    known = {row.client: row for row in ROWS}
    unknown = [name for name in asked.clients if name not in known]
    if unknown:
        sys.exit(f"there is no row {unknown[0]!r}; the rows are {', '.join(known)}")
    lines = try_all([known[name] for name in asked.clients or known])
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({"rows": lines}, indent=1) + "\n")
    for line in lines:
        progress.say("unmetered", json.dumps(line))
    if not all(line["ok"] or "reason" in line for line in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
