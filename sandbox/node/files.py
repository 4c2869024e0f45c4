"""Where the node keeps a pod's files, for the node itself and for those who look at it from outside."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PodFiles:
    """The files of one pod under `run_dir/pods/`."""

    run_dir: Path
    namespace: str
    pod: str

    @staticmethod
    def ready_file(run_dir: Path, node: str) -> Path:
        """The file that appears when the node has become Ready."""
        return run_dir / "pods" / f".{node}.ready"

    @property
    def scratch(self) -> Path:
        """The pod's own folder, HOME of its containers; goes with the pod."""
        return self.run_dir / "pods" / f"{self.namespace}_{self.pod}"

    def log(self, container: str) -> Path:
        """What the container prints, over all its restarts; stays when the pod goes."""
        return self.run_dir / "pods" / f"{self.namespace}_{self.pod}_{container}.log"

    def pid(self, container: str) -> Path:
        """The container's process id; only there while it runs."""
        return self.run_dir / "pods" / f"{self.namespace}_{self.pod}_{container}.pid"

    def pids(self) -> list[Path]:
        """The process id files of the pod's running containers."""
        return sorted((self.run_dir / "pods").glob(f"{self.namespace}_{self.pod}_*.pid"))
