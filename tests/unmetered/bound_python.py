"""Runs a consumer program in Python so that it connects from its pod's address, as in a cluster: `PROGRAM POD_IP`."""

import os
import runpy
import socket
import sys
from pathlib import Path
from typing import Any


class BoundSocket(socket.socket):
    """A socket that connects from the pod's address."""

    def connect(self, address: Any, /) -> None:
        """Bind, then connect."""
        self._leave_from_pod()
        super().connect(address)

    def connect_ex(self, address: Any, /) -> int:
        """Bind, then connect."""
        self._leave_from_pod()
        return super().connect_ex(address)

    def _leave_from_pod(self) -> None:
        if self.family == socket.AF_INET and self.getsockname()[1] == 0:
            self.bind((os.environ["POD_IP"], 0))


socket.socket = BoundSocket  # type: ignore[misc] # the client makes its own sockets
program = Path(sys.argv[1])
sys.path.insert(0, str(program.parent))
runpy.run_path(str(program), run_name="__main__")
