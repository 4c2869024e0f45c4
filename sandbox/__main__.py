"""`python -m sandbox`: up, down and doctor.

`up` starts everything in a process of its own and returns when it is ready; `down` ends exactly that; `doctor` says
what this machine has and lacks.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Final

import click

from sandbox import cache, ownership, prerequisites, progress, scenario
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError

RUN_DIR: Final = scenario.CHECKOUT / "build" / "sandbox"
READY: Final = RUN_DIR / "ready"
"""Says that all parts answer, and how to reach them."""

UP_TIMEOUT_S: Final = 1800.0
"""A cold machine builds Kubernetes first."""


class Problem(click.ClickException):
    """Something a person can repair; shown as one sentence."""


@click.group()
def main() -> None:
    """Run the real parts on this machine: Kubernetes' control plane, a node, Kafka and Prometheus."""
    signal.signal(signal.SIGTERM, _end)


@main.command()
def up() -> None:
    """Start everything, and return when it is ready."""
    if ownership.living_owner(RUN_DIR) is not None:
        raise Problem(f"A sandbox runs in {RUN_DIR} already; end it with: make down")
    READY.unlink(missing_ok=True)
    log = RUN_DIR.with_suffix(".log")
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as stream:
        serving = subprocess.Popen(
            [sys.executable, "-m", "sandbox", "serve"],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=scenario.CHECKOUT,
            start_new_session=True,
        )
    _follow(serving, log)


@main.command()
def down() -> None:
    """End the sandbox that `up` (or a kept demo) started."""
    try:
        ended = ownership.end_owner(RUN_DIR)
    except SandboxError as error:
        raise Problem(str(error)) from error
    click.echo("ended" if ended else "nothing runs")


@main.command()
def doctor() -> None:
    """Say what this machine has, what it lacks and how to get it."""
    binaries = Binaries()
    to_build = binaries.to_build()
    findings = prerequisites.findings(go_needed=bool(to_build))
    for finding in findings:
        hint = "" if finding.ok else f"  get it: {finding.how_to_get}"
        state = "ok     " if finding.ok else "missing"
        click.echo(f"{state} {finding.program:8} {finding.found} (needed: {finding.required}){hint}")
    built = f"to be built from source: {', '.join(to_build)}" if to_build else "all programs are here"
    click.echo(f"Kubernetes and Prometheus: {built}")
    click.echo(f"cache: {cache.root()}")
    if not all(finding.ok for finding in findings):
        sys.exit(1)


@main.command(hidden=True)
def serve() -> None:
    """Run everything in this process until SIGTERM; what `up` starts."""
    try:
        with ownership.claim(RUN_DIR), Sandbox(RUN_DIR) as sandbox:
            scenario.install(sandbox)
            READY.write_text(access(sandbox))
            threading.Event().wait()
    except SandboxError as error:
        raise Problem(str(error)) from error


def access(sandbox: Sandbox) -> str:
    """Return how a person reaches the parts."""
    plane = sandbox.control_plane
    return (
        f"  export KUBECONFIG={plane.kubeconfig.resolve()}\n"
        f"  export PATH={plane.kubectl_path.parent}:$PATH\n"
        f"Kafka: {sandbox.kafka.bootstrap}   Prometheus: {sandbox.prometheus.url}   logs: {sandbox.run_dir}\n"
    )


def _follow(serving: subprocess.Popen[bytes], log: Path) -> None:
    """Show the log of the serving process until it is ready.

    Raises:
        Problem: it ended, or did not get ready in time; its log was shown.
    """
    deadline = time.monotonic() + UP_TIMEOUT_S
    with log.open() as lines:
        while not READY.exists():
            click.echo(lines.read(), nl=False)
            if serving.poll() is not None:
                click.echo(lines.read(), nl=False)
                raise Problem("the sandbox did not start; its last lines say why")
            if time.monotonic() > deadline:
                os.kill(serving.pid, signal.SIGTERM)
                raise Problem(f"the sandbox was not ready within {UP_TIMEOUT_S:.0f} s")
            time.sleep(0.2)
        click.echo(lines.read(), nl=False)
    click.echo(READY.read_text(), nl=False)
    click.echo("end it with: make down")


def _end(_signal: int, _frame: FrameType | None) -> None:
    """Leave through every context manager, so that what was started is stopped."""
    progress.say("sandbox", "ending")
    sys.exit(0)


if __name__ == "__main__":
    main()
