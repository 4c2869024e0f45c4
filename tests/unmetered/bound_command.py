"""How a consumer of the laboratory is started so that it connects from its pod's address, as in a cluster.

Pods of the sandbox are processes, so their connections come from 127.0.0.1 unless they are bound first. A consumer in
Python is run by a program that binds. Those in Go ask no C library, so they bind by themselves where POD_IP is set. All
others connect by the C library, which a small library before it has bind; that one is built with gcc.
"""

import shutil
from pathlib import Path
from typing import Final

from sandbox import cache, commands
from sandbox.errors import PrerequisiteMissingError
from tests.lab.rows import Row

_HERE: Final = Path(__file__).parent
IN_PYTHON: Final = ("kafka-python", "aiokafka")
IN_JAVA: Final = ("java", "spring", "streams", "connect")
IN_GO: Final = ("sarama", "franz-go", "kafka-go")


def command(row: Row) -> list[str]:
    """Install a consumer, and return the command line that lets it connect from POD_IP.

    Raises:
        SandboxError: it cannot be installed here.
    """
    if row.client in IN_GO:
        return row.command()
    if row.client in IN_PYTHON:
        interpreter, program = row.command()
        return [interpreter, str(_HERE / "bound_python.py"), program]
    # A JVM would connect by sockets of IPv6.
    ipv4 = ["JAVA_TOOL_OPTIONS=-Djava.net.preferIPv4Stack=true"] if row.client in IN_JAVA else []
    return bound(*ipv4, *row.command())


def bound(*words: str) -> list[str]:
    """Return a command line, variables before it, with what lets a program connect from POD_IP by the C library."""
    return ["env", f"LD_PRELOAD={_library()}", *words]


def _library() -> Path:
    """Build what binds before the C library connects."""
    source = _HERE / "bound_connect.c"
    if shutil.which("gcc") is None:
        raise PrerequisiteMissingError(
            "binding a consumer's connections is built with gcc, which is not on the PATH (Debian: gcc)."
        )

    def make(scratch: Path) -> None:
        build = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(scratch / "bound.so"), str(source), "-ldl"]
        commands.run("bound-connect", "building what binds connections", build)

    return cache.entry("bound-connect", cache.key(source), make) / "bound.so"
