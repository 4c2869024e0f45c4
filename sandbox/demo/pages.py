"""The demo's last step: the page of its own storm and cure, as `heartbeat-tuner report` writes it."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError

PAGE: Final = scenario.CHECKOUT / "build" / "demo-report.html"
DATA: Final = scenario.CHECKOUT / "build" / "demo-report.json"

_TIMEOUT_S: Final = 60.0
_MARGIN_S: Final = 20.0
"""Of the time before the storm is measured, in which it has begun."""


def write(sandbox: Sandbox, policy: dict[str, object], since_s: float) -> None:
    """Write the page, and its data.

    Args:
        sandbox: whose Prometheus is asked.
        policy: of the group, as it is at the end.
        since_s: when the storm began, in Unix seconds.

    Raises:
        SandboxError: the command failed.
    """
    policies = sandbox.run_dir / "policies.json"
    policies.write_text(json.dumps(policy))
    lookback_s = max(60.0, time.time() - since_s + _MARGIN_S)
    for path, options in ((PAGE, ()), (DATA, ("--json",))):
        _report(policies, sandbox.prometheus.url, f"{lookback_s:.0f}s", path, options)


def _report(policies: Path, url: str, lookback: str, path: Path, options: tuple[str, ...]) -> None:
    words = ["--prometheus", url, "--lookback", lookback, "--filename", str(policies), "--output", str(path), *options]
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "heartbeat_tuner", "report", *words],
        stderr=subprocess.PIPE,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise SandboxError(f"heartbeat-tuner report failed: {done.stderr}")
