"""The consumers that the sandbox's pods run, one small program per client library.

A program takes its settings from the environment, consumes one topic, and serves `/metrics`, `/healthz` and `/readyz`.
A function here makes sure that its dependencies are installed, in the cache, and returns the command line for a pod.
"""

import shutil
from pathlib import Path
from typing import Final

from sandbox import cache, commands
from sandbox.errors import PrerequisiteMissingError

_KAFKAJS: Final = Path(__file__).parent / "kafkajs"
_KAFKAJS_FILES: Final = [_KAFKAJS / name for name in (".npmrc", "package.json", "package-lock.json", "consumer.js")]


def kafkajs_command() -> list[str]:
    """Return the command line of the KafkaJS consumer, installed at exactly the locked versions."""
    node = shutil.which("node")
    if node is None:
        raise PrerequisiteMissingError("The KafkaJS consumer needs the program node, which is not on the PATH.")

    def make(scratch: Path) -> None:
        for file in _KAFKAJS_FILES:
            shutil.copy(file, scratch)
        install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        commands.run("kafkajs", "installing the locked packages", install, cwd=scratch)

    home = cache.entry("kafkajs", cache.key(*_KAFKAJS_FILES), make)
    return [node, str(home / "consumer.js")]
