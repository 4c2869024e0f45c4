"""Control groups as a kubelet makes them, for the processes of a recorder's pods: so that there is a limit to run into.

Version 1, whose folders are /sys/fs/cgroup/CONTROLLER/kubepods/NAMESPACE/POD/CONTAINER; needs root.
"""

import contextlib
from pathlib import Path
from typing import Final

from sandbox.errors import PrerequisiteMissingError

_ROOT: Final = Path("/sys/fs/cgroup")
_CONTROLLERS: Final = ("cpu", "cpuacct", "memory")
_PERIOD_US: Final = 100_000  # the kubelet's, and the kernel's


class Cgroups:
    """The groups of one namespace's pods; `remove` them when their processes have ended.

    Args:
        namespace: whose pods.
        cpu_limit: in cores, as a container's `resources.limits.cpu`.

    Raises:
        PrerequisiteMissingError: this machine has no control groups of version 1, or does not let us make one.
    """

    def __init__(self, namespace: str, *, cpu_limit: float) -> None:
        self._folders = [_ROOT / controller / "kubepods" / namespace for controller in _CONTROLLERS]
        self._quota_us = round(cpu_limit * _PERIOD_US)
        try:
            for folder in self._folders:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrerequisiteMissingError(
                f"Recording cAdvisor needs control groups of version 1 and root: {error}."
            ) from error

    def put(self, pod: str, container: str, pid: int) -> None:
        """Put a process into its container's group, which is made if need be; a process that has ended is none."""
        for folder in self._folders:
            group = folder / pod / container
            group.mkdir(parents=True, exist_ok=True)
            if folder.parts[-3] == "cpu":
                (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(self._quota_us))
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))

    def forget(self, pod: str) -> None:
        """Remove the groups of a pod that is gone, as the kubelet does."""
        for folder in self._folders:
            _remove(folder / pod)

    def remove(self) -> None:
        """Remove all groups of the namespace, and what is above them if it is empty."""
        for folder in self._folders:
            _remove(folder)
            with contextlib.suppress(OSError):
                folder.parent.rmdir()


def _remove(folder: Path) -> None:
    """Remove a group and those below it; what looks like files in it goes with it."""
    if folder.is_dir():
        for path in folder.iterdir():
            if path.is_dir():
                _remove(path)
        folder.rmdir()
