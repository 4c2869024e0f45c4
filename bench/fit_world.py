"""From weeks in a Prometheus to a policy that names its model: `python -m bench.fit_world --groups 200 --days 14`.

All parts are real: a Prometheus with the history of a synthetic fleet (`sandbox.backfill`), `heartbeat-tuner fit` as a
process, `ConsumerGroupModel` objects on a real API server, KafkaJS consumers of one of the groups on a real broker, and
an operator whose policy for that group names the model in its status. What it prints is how long each took, and how far
the fitted times are from the truth.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench import fit_truth
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.models.group_model import GroupModel
from sandbox import progress, scenario
from sandbox.backfill import Backfilled, backfill
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.fleet import KAFKAJS, GroupTruth, fleet
from sandbox.processes import wait_until
from sandbox.prometheus import Prometheus
from sandbox.scenario import Operator, Tenant

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "fit-world.json"
CLUSTER: Final = "main"
"""What the sandbox's policies call its broker."""

_FIT_TIMEOUT_S: Final = 4 * 3600.0
_STATUS_TIMEOUT_S: Final = 180.0


@dataclasses.dataclass(frozen=True)
class Asked:
    """What was asked for on the command line."""

    groups: int
    members: int
    days: int
    interval: int
    kafkajs_share: float
    seed: int


def history(folder: Path, truths: Sequence[GroupTruth], *, days: int, interval_s: int, seed: int = 1) -> Backfilled:
    """Write so many whole days of history, and today's until now."""
    now = datetime.now(UTC)
    # The newest day that a fit reads may be the one before yesterday: a day settles for a while.
    since = datetime(now.year, now.month, now.day, tzinfo=UTC) - timedelta(days=days + 1)
    return backfill(
        folder,
        truths,
        Binaries(),
        since_s=int(since.timestamp()),
        until_s=int(now.timestamp()),
        interval_s=interval_s,
        seed=seed,
    )


def models_of(plane: ControlPlane) -> Sequence[GroupModel]:
    """Return the models that the API server has."""
    found = json.loads(plane.kubectl("get", "consumergroupmodels", "--all-namespaces", "--output=json"))
    return [model_documents.model_of(item) for item in found["items"]]


def fit(sandbox: Sandbox, prometheus: Prometheus, history: Path, *, days: int) -> dict[str, Any]:
    """Run the fit as a process of its own, its progress going to the terminal, and return its summary.

    Args:
        sandbox: whose API server gets the models.
        prometheus: what is read.
        history: where the fit keeps days.
        days: how many.

    Raises:
        SandboxError: nothing came of it. Where some of it failed, the summary says so.
    """
    options = {
        "prometheus": prometheus.url,
        "history": str(history),
        "models": "kubernetes",
        "cluster": CLUSTER,
        "since": f"{24 * days}h",
        "output": "json",
    }
    done = subprocess.run(
        [sys.executable, "-m", "heartbeat_tuner", "fit", *(f"--{name}={value}" for name, value in options.items())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(sandbox.control_plane.kubeconfig)},
        timeout=_FIT_TIMEOUT_S,
        check=False,
    )
    if done.returncode not in {0, 1}:
        raise SandboxError(f"the fit ended with status {done.returncode}: {done.stdout.decode(errors='replace')}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def _named_model(sandbox: Sandbox, chosen: GroupTruth) -> dict[str, Any]:
    """Return what the status of a group's policy says of its model, when an operator has decided."""
    tenant = Tenant(sandbox, chosen.namespace)
    tenant.deploy_consumers(chosen.group, scenario.HEALTHY)
    tenant.await_available(chosen.group)
    tenant.apply_policy(chosen.group, mode="Recommend")
    status: dict[str, Any] = {}

    def decided() -> bool:
        status.update(tenant.policy(chosen.group).get("status", {}))
        return bool(status.get("model", {}).get("source") == "Model")

    with Operator(sandbox, interval_s=1.0) as operator:
        wait_until(
            decided,
            part="operator",
            what=f"the model of {chosen.group} in its policy's status",
            timeout_s=_STATUS_TIMEOUT_S,
            process=operator.process,
            poll_s=0.5,
        )
    return {"verdict": status.get("verdict"), "reason": status.get("reason"), "model": status["model"]}


def measure(asked: Asked, run_dir: Path) -> dict[str, object]:
    """Make the world, fit it, let the operator decide, and return the report."""
    took: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(stage: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        took[stage] = round(time.monotonic() - began, 1)
        progress.say("fit-world", f"{stage}: {took[stage]} s")

    truths = fleet(asked.groups, members=asked.members, kafkajs_share=asked.kafkajs_share, seed=asked.seed)
    chosen = next(truth for truth in truths if truth.client == KAFKAJS)
    with timed("history"):
        made = history(run_dir / "history", truths, days=asked.days, interval_s=asked.interval, seed=asked.seed)
    with contextlib.ExitStack() as running:
        with timed("sandbox"):
            sandbox = running.enter_context(Sandbox(run_dir, history=made.folder))
            scenario.install(sandbox)
            for namespace in sorted({truth.namespace for truth in truths}):
                sandbox.control_plane.kubectl("create", "namespace", namespace)
        stored = run_dir / "fit-history"
        with timed("fit"):
            summary = fit(sandbox, sandbox.prometheus, stored, days=asked.days)
        shutil.rmtree(max(stored.iterdir()))
        with timed("new day"):  # what each further night takes
            fit(sandbox, sandbox.prometheus, stored, days=asked.days)
        fitted = models_of(sandbox.control_plane)
        with timed("operator"):
            status = _named_model(sandbox, chosen)
    compared = fit_truth.comparisons(truths, fitted)
    return {
        **dataclasses.asdict(asked),
        "cores": os.cpu_count(),
        "samples": made.samples,
        "series": made.series,
        "history_bytes": made.size_bytes,
        "took_s": took,
        "incremental_share": round(took["new day"] / took["fit"], 3),
        "fit": summary,
        "models": len(fitted),
        "policy": status,
        "accuracy": [dataclasses.asdict(item) for item in compared],
        "table": fit_truth.table(compared).splitlines(),
    }


def shown(report: Mapping[str, Any]) -> str:
    """Return a report as people read it."""
    model = report["policy"]["model"]
    lines = [
        f"{report['groups']} groups x {report['members']} members x {report['days']} days at {report['interval']} s",
        f"{report['samples'] / 1e6:.1f} M samples, {report['history_bytes'] / 2**20:.0f} MiB",
        *(f"{stage:10}{seconds:9.1f} s" for stage, seconds in report["took_s"].items()),
        f"a new day takes {report['incremental_share']:.3f} of what all days take, each a whole process",
        f"{report['models']} models on the API server",
        f"policy: {report['policy']['verdict']}, model {model['name']} of {model['days']} days until {model['until']}",
        "",
        *report["table"],
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print a summary and write `build/bench/fit-world.json`."""
    parser = argparse.ArgumentParser(description="From weeks in a Prometheus to a policy that names its model.")
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--interval", type=int, default=60, help="seconds between two scrapes")
    parser.add_argument("--kafkajs-share", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    asked = Asked(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory(prefix="fit-world-") as run_dir:
        try:
            report = measure(asked, Path(run_dir))
        except SandboxError as error:
            sys.exit(f"fit-world: {error}")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(shown(report))
    if report["models"] != asked.groups:
        sys.exit(1)


if __name__ == "__main__":
    main()
