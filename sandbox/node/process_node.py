"""Starts and stops the process node as a child process, tells where its pods' files are, and pauses pods."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

from sandbox.errors import SandboxError
from sandbox.node.files import PodFiles
from sandbox.processes import Process, wait_until

_CHECKOUT: Final = Path(__file__).parents[2]


class ProcessNode:
    """One node; use as a context manager, or call `start` and `stop`, as often as needed.

    Args:
        run_dir: gets `pods/` and `logs/<name>.log`.
        kubeconfig: an administrator's.
        name: of the Node object.

    Attributes:
        name: of the Node object.
        process: the node's own process, for tests that kill or freeze it.
    """

    def __init__(self, run_dir: Path, kubeconfig: Path, name: str = "process-node") -> None:
        self.name = name
        self._run_dir = run_dir.resolve()
        self._ready_file = PodFiles.ready_file(self._run_dir, name)
        self.process = Process(
            name,
            [
                *(sys.executable, "-m", "sandbox.node", "--kubeconfig", kubeconfig.resolve()),
                *("--name", name, "--run-dir", self._run_dir),
            ],
            log=self._run_dir / "logs" / f"{name}.log",
            cwd=_CHECKOUT,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the node and wait until its Node is Ready.

        Raises:
            PartNotReadyError: it ended or did not become Ready in time.
        """
        self._ready_file.unlink(missing_ok=True)
        self.process.start()
        try:
            wait_until(self._ready_file.exists, part=self.name, what="its Node to be Ready", process=self.process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the node and every container on it; its pods start again with the next `start`."""
        self.process.stop()

    def container_pid(self, namespace: str, pod: str, container: str) -> int | None:
        """Return the process id of a running container; None when it is not running."""
        try:
            return int(PodFiles(self._run_dir, namespace, pod).pid(container).read_text())
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def paused(self, namespace: str, pod: str) -> Iterator[None]:
        """Freeze every container of a pod (SIGSTOP) for the length of the block, however the block ends.

        Probes go on meanwhile and fail: a pod with a liveness probe would be restarted, one with a readiness probe is
        only unready.

        Raises:
            SandboxError: no container of the pod is running.
        """
        groups = [int(file.read_text()) for file in PodFiles(self._run_dir, namespace, pod).pids()]
        if not groups:
            raise SandboxError(f"No container of pod {namespace}/{pod} is running, so it cannot be paused.")
        try:
            _signal_groups(groups, signal.SIGSTOP)
            yield
        finally:
            _signal_groups(groups, signal.SIGCONT)

    def container_log(self, namespace: str, pod: str, container: str) -> Path:
        """Return the file that gets what a container prints."""
        return PodFiles(self._run_dir, namespace, pod).log(container)


def _signal_groups(groups: Iterable[int], number: signal.Signals) -> None:
    """Signal each container with its children: the node starts every one as the leader of a group."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.killpg(group, number)
