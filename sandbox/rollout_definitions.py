"""The CustomResourceDefinition of Argo's Rollouts, of the versions that tests install on the API server.

It stands in Argo Rollouts' own Go module. Go downloads the module, our checksum pins the file, and the cache keeps it.
Nothing of Argo Rollouts is built or run.
"""

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox import cache, prerequisites, progress
from sandbox.errors import SandboxError

MODULE: Final = "github.com/argoproj/argo-rollouts"
MERGING: Final = "v1.9.0"
"""The first series whose definition has the API server merge containers, and their env, by name."""
ATOMIC: Final = "v1.8.3"
"""The last series before: its definition makes the list of containers one value."""

CHECKSUMS: Final[Mapping[str, str]] = {
    ATOMIC: "1f1c5d67088ccf355d1e0681d58bbcaf46a9dd1bf7215769dcd3e6a62053d8aa",
    MERGING: "d79c0dab9bb386b1c9329fb69cf0d843fff2152b3f7916839755c1aabc7387f5",
}
_FILE: Final = "rollout-crd.yaml"
_TIMEOUT_S: Final = 300.0


def definition(version: str) -> Path:
    """Return the file with the definition of a version, downloaded if it is not in the cache.

    Args:
        version: one that is pinned here.

    Raises:
        ChecksumMismatchError: the file is not the pinned one.
        SandboxError: Go could not download the module.
    """
    sha256 = CHECKSUMS[version]

    def make(scratch: Path) -> None:
        with zipfile.ZipFile(_archive(version)) as archive:
            text = archive.read(f"{MODULE}@{version}/manifests/crds/{_FILE}")
        (scratch / _FILE).write_bytes(text)
        cache.verify_sha256(scratch, {_FILE: sha256})

    return cache.entry("argo-rollouts", cache.key(version, sha256), make) / _FILE


def _archive(version: str) -> Path:
    """Return the module's archive, as Go keeps it.

    Go may say that the module needs a newer Go, and downloads it all the same.
    """
    prerequisites.require("go")
    with progress.step("go", f"downloading {MODULE} {version}"):
        done = subprocess.run(
            ["go", "mod", "download", "-json", f"{MODULE}@{version}"],
            env=os.environ | {"GOTOOLCHAIN": "local", "GOWORK": "off"},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    archive = json.loads(done.stdout).get("Zip") if done.stdout else None
    if not archive:
        raise SandboxError(f"go could not download {MODULE} {version}:\n{(done.stdout + done.stderr)[-3000:]}")
    return Path(archive)
