"""containerd, with state and images of its own, and the bridge as the pods' network."""

import json
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Final, Self

from sandbox import commands
from sandbox.container_node import enclosure, inside
from sandbox.processes import Process, wait_until

PAUSE: Final = "localhost/pause:1"
"""The image that holds a pod's namespaces; `sandbox.images` makes it."""

_SOCKET: Final = Path("/run/heartbeat-tuner-containerd.sock")  # a path in a run folder may be too long for a socket
_NAMESPACE: Final = "k8s.io"
_CONFIGURATION: Final = Template("""\
version = 2
root = "$folder/root"
state = "/run/heartbeat-tuner-containerd"

[grpc]
address = "$socket"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$pause"
restrict_oom_score_adj = true
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$plugins"
conf_dir = "$folder/cni"
""")


class Runtime:
    """One containerd; a context manager.

    Args:
        folder: gets its configuration and everything that it unpacks: a few GB.
        logs: gets `containerd.log`.
    """

    endpoint = f"unix://{_SOCKET}"

    def __init__(self, folder: Path, logs: Path) -> None:
        self._folder = folder
        self._process = Process(
            "containerd", ["containerd", "--config", folder / "containerd.toml"], log=logs / "containerd.log"
        )

    def __enter__(self) -> Self:
        network = self._folder / "cni" / "10-bridge.conflist"
        network.parent.mkdir(parents=True)
        network.write_text(json.dumps(_network()))
        values = {"folder": self._folder, "socket": _SOCKET, "pause": PAUSE, "plugins": enclosure.plugins()}
        (self._folder / "containerd.toml").write_text(_CONFIGURATION.substitute(values))
        self._process.start()
        try:
            wait_until(_SOCKET.exists, part="containerd", what="its socket", process=self._process)
        except BaseException:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def load(self, archives: Iterable[Path]) -> None:
        """Make images known, from what `docker save` writes.

        Raises:
            SandboxError: one could not be read.
        """
        for archive in archives:
            command = ["ctr", f"--address={_SOCKET}", f"--namespace={_NAMESPACE}", "images", "import"]
            commands.run("containerd", f"loading {archive.parent.name}", [*command, archive])


def _network() -> dict[str, object]:
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": inside.BRIDGE,
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": inside.POD_CIDR, "gateway": inside.ADDRESS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": "/run/heartbeat-tuner-cni",
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
