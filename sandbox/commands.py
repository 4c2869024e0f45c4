"""Helper programs that run to their end: installers, formatters, compilers."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.errors import PrerequisiteMissingError, SandboxError

TIMEOUT_S: Final = 600.0
"""Longer than helper programs take on a busy machine."""

_SHOWN_CHARACTERS: Final = 2000


def run(
    part: str, doing: str, argv: Sequence[str | Path], *, cwd: Path | None = None, timeout_s: float = TIMEOUT_S
) -> None:
    """Run a program to its end, with a progress line when it takes long.

    Args:
        part: who needs it, for progress lines and errors.
        doing: what it does, as in "downloading Apache Kafka".
        argv: the program and its arguments.
        cwd: working directory; None inherits ours.
        timeout_s: after that it is ended.

    Raises:
        PrerequisiteMissingError: there is no such program.
        SandboxError: it ended with an error or took too long; the message carries the end of what it said.
    """
    program, *arguments = [str(word) for word in argv]
    path = shutil.which(program)
    if path is None:
        raise PrerequisiteMissingError(f"{part} needs the program {program}, which is not on the PATH.")
    try:
        with progress.step(part, doing):
            done = subprocess.run(
                [path, *arguments],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=timeout_s,
            )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{part}: {doing} took more than {timeout_s:.0f} s and was ended.") from error
    if done.returncode != 0:
        raise SandboxError(f"{part}: {doing} failed with status {done.returncode}.\n{done.stdout[-_SHOWN_CHARACTERS:]}")
