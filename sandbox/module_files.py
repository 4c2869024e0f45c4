"""Single files out of Go modules, such as the definitions that other projects publish with their code.

Go downloads the module, our checksum pins the file, and the cache keeps it. Nothing of the module is built or run.
"""

import json
import os
import subprocess
import zipfile
from pathlib import Path, PurePosixPath
from typing import Final

from sandbox import cache, prerequisites, progress
from sandbox.errors import SandboxError

_TIMEOUT_S: Final = 300.0


def file(module: str, version: str, path: str, sha256: str) -> Path:
    """Return a file of a module, downloaded if it is not in the cache.

    Args:
        module: its path, such as `github.com/argoproj/argo-rollouts`.
        version: such as `v1.9.0`.
        path: of the file in the module.
        sha256: of the file.

    Raises:
        ChecksumMismatchError: the file is not the pinned one.
        SandboxError: Go could not download the module.
    """
    name = PurePosixPath(path).name

    def make(scratch: Path) -> None:
        with zipfile.ZipFile(_archive(module, version)) as archive:
            content = archive.read(f"{module}@{version}/{path}")
        (scratch / name).write_bytes(content)
        cache.verify_sha256(scratch, {name: sha256})

    return cache.entry(PurePosixPath(module).name, cache.key(module, version, path, sha256), make) / name


def _archive(module: str, version: str) -> Path:
    """Return the module's archive, as Go keeps it.

    Go may say that the module needs a newer Go, and downloads it all the same.
    """
    prerequisites.require("go")
    with progress.step("go", f"downloading {module} {version}"):
        done = subprocess.run(
            ["go", "mod", "download", "-json", f"{module}@{version}"],
            env=os.environ | {"GOTOOLCHAIN": "local", "GOWORK": "off"},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    archive = json.loads(done.stdout).get("Zip") if done.stdout else None
    if not archive:
        raise SandboxError(f"go could not download {module} {version}:\n{(done.stdout + done.stderr)[-3000:]}")
    return Path(archive)
