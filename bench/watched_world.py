"""From weeks of the group watcher's series in a real Prometheus to models: `python -m bench.watched_world`.

`sandbox.backfill` makes 14 days of groups whose clients export nothing: what a Prometheus has of them is what it
scraped from the operator. A real Prometheus serves them, and `heartbeat-tuner fit` reads them as a process of its own.
Its models are compared with the truth as in `watched_rates`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench import watched_rates
from bench.watched_chance import AWAY_S, DAYS, RATES
from bench.watched_rates import TrueGroup
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.metrics.measured import EVICTION
from heartbeat_tuner.models.group_model import GroupModel, Unreadable
from sandbox.backfill import Backfilled, backfill
from sandbox.binaries import Binaries
from sandbox.errors import SandboxError
from sandbox.fleet import GroupTruth, watched
from sandbox.prometheus import Prometheus

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "watched-world.json"
_FIT_TIMEOUT_S: Final = 3600.0


def fitted(prometheus_url: str, folder: Path, until: datetime) -> dict[str, GroupModel]:
    """Run the fit of the days before a moment, and return its models by group.

    Raises:
        SandboxError: it did not end well, or a model cannot be read.
    """
    models = folder / "models"
    options = {
        "prometheus": prometheus_url,
        "history": str(folder / "fit-history"),
        "models": str(models),
        "cluster": "main",
        "timeout": "60s",
        "since": f"{24 * DAYS}h",
        "until": (until - timedelta(days=1)).date().isoformat(),
        "output": "json",
    }
    done = subprocess.run(
        [sys.executable, "-m", "heartbeat_tuner", "fit", *(f"--{name}={value}" for name, value in options.items())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=_FIT_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise SandboxError(f"the fit ended with status {done.returncode}: {done.stdout.decode(errors='replace')}")
    by_group = {}
    for answer in ModelFiles(models).read():
        if isinstance(answer, Unreadable):
            raise SandboxError(f"the fit wrote a model that cannot be read: {answer}")
        by_group[answer.model.group] = answer.model
    return by_group


def compared(truths: list[GroupTruth], made: Backfilled, models: dict[str, GroupModel]) -> dict[str, Any]:
    """Return the figures of `watched_rates`, and how many evictions there were and were counted."""
    groups, rates = [], {}
    for truth in truths:
        eviction = models[truth.group].quantities[EVICTION] if truth.group in models else None
        counted = 0 if eviction is None else eviction.values
        groups.append(TrueGroup(truth.group, truth.evictions_per_day, ((0.0,) * counted,)))
        if eviction is not None and eviction.rate is not None:
            rates[truth.group] = (eviction.rate.mean, eviction.rate.upper)
    return {
        "models": len(models),
        "evictions": sum(made.groups[truth.namespace, truth.group].evictions for truth in truths),
        "certain": sum(group.events for group in groups),
        **watched_rates.figures(groups, rates),
        "groups": len(truths),
    }


def main() -> None:
    """Make the history, fit it, print and write the report."""
    parser = argparse.ArgumentParser(description="What the command fit makes of the group watcher's series.")
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--look-every", type=float, default=5.0, help="seconds between two descriptions of a group")
    asked = parser.parse_args()
    truths = list(watched(asked.groups, rates=RATES, away_s=AWAY_S, look_every_s=asked.look_every, seed=asked.seed))
    now = datetime.now(UTC)
    # The newest whole day of a fit may be the one before yesterday.
    until = datetime(now.year, now.month, now.day, tzinfo=UTC) - timedelta(days=1)
    since_s = int((until - timedelta(days=DAYS)).timestamp())
    with tempfile.TemporaryDirectory(prefix="watched-world-") as folder:
        run_dir = Path(folder)
        began_s = time.monotonic()
        made = backfill(
            run_dir / "history", truths, Binaries(), since_s=since_s, until_s=int(until.timestamp()), seed=asked.seed
        )
        with Prometheus(run_dir, Binaries(), kubeconfig=None, history=made.folder) as prometheus:
            fit_began_s = time.monotonic()
            models = fitted(prometheus.url, run_dir, until)
        took = {"history": fit_began_s - began_s, "fit": time.monotonic() - fit_began_s}
    report = {
        **vars(asked),
        "samples": made.samples,
        "took_s": {stage: round(seconds, 1) for stage, seconds in took.items()},
        **compared(truths, made, models),
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
