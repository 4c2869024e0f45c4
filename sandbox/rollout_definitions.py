"""The CustomResourceDefinition of Argo's Rollouts, of the versions that tests install on the API server.

It stands in Argo Rollouts' own Go module. Nothing of Argo Rollouts is built or run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox import module_files

MODULE: Final = "github.com/argoproj/argo-rollouts"
MERGING: Final = "v1.9.0"
"""The first series whose definition has the API server merge containers, and their env, by name."""
ATOMIC: Final = "v1.8.3"
"""The last series before: its definition makes the list of containers one value."""

CHECKSUMS: Final[Mapping[str, str]] = {
    ATOMIC: "1f1c5d67088ccf355d1e0681d58bbcaf46a9dd1bf7215769dcd3e6a62053d8aa",
    MERGING: "d79c0dab9bb386b1c9329fb69cf0d843fff2152b3f7916839755c1aabc7387f5",
}


def definition(version: str) -> Path:
    """Return the file with the definition of a version, downloaded if it is not in the cache.

    Args:
        version: one that is pinned here.

    Raises:
        ChecksumMismatchError: the file is not the pinned one.
        SandboxError: Go could not download the module.
    """
    return module_files.file(MODULE, version, "manifests/crds/rollout-crd.yaml", CHECKSUMS[version])
