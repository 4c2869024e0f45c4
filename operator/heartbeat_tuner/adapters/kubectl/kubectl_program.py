"""One call of kubectl: its arguments, what it prints, and what it says when it fails."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.domain.errors import TunerError

PROGRAM: Final = "kubectl"

_PATIENCE: Final = "--request-timeout=30s"
"""Of each request; kubectl alone waits for ever for an API server that does not answer."""


class KubectlError(TunerError):
    """kubectl failed, or is not there; the message has what it said."""


class KubectlProgram:
    """Runs kubectl against one cluster.

    Args:
        flags: which cluster, and which namespace where a call names none, as kubectl takes them.
    """

    def __init__(self, flags: Sequence[str] = ()) -> None:
        self._flags = tuple(flags)

    def run(self, *arguments: str) -> str:
        """Return what a call prints.

        Raises:
            KubectlError: it failed.
        """
        try:
            done = subprocess.run(
                [PROGRAM, *arguments, *self._flags, _PATIENCE],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except FileNotFoundError as error:
            raise KubectlError("kubectl is not on the PATH: install it, or call this plugin through it") from error
        if done.returncode != 0:
            raise KubectlError(done.stderr.strip() or f"kubectl {arguments[0]} ended with status {done.returncode}")
        return done.stdout

    def objects(self, kinds: str, *arguments: str) -> list[Mapping[str, Any]]:
        """Return objects, one that is named or all of a list.

        Args:
            kinds: which, as `kubectl get` takes them.
            arguments: names and flags.

        Raises:
            KubectlError: they cannot be read; one that is not there is an error, too.
        """
        printed = self.run("get", kinds, *arguments, "--output=json")
        if not printed.strip():  # what --ignore-not-found prints
            return []
        document: dict[str, Any] = json.loads(printed)
        items: list[Mapping[str, Any]] = document["items"] if document.get("kind") == "List" else [document]
        return items
