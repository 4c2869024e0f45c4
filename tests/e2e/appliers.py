"""Who applies a consumer's manifest again and again: in the ways of Argo CD, Flux and Helm, under their names.

What each of them sends is in docs/how-to/gitops.md. Helm 3 is itself here; the others are kubectl with their requests.
"""

import dataclasses
import json
import subprocess
from typing import Final, Protocol

from sandbox.binaries import Binaries
from sandbox.errors import SandboxError
from tests.e2e.teams import Team

_HELM_TIMEOUT_S: Final = 120.0


class Applier(Protocol):
    """One way to apply a manifest."""

    @property
    def name(self) -> str:
        """How tests and reports call it."""
        ...

    def apply(self, team: Team, manifest: str) -> None:
        """Apply a manifest in a team's namespace.

        Raises:
            SandboxError: it was refused; the message is what was said.
        """
        ...

    def assert_no_drift(self, team: Team, manifest: str) -> None:
        """See that applying it would change nothing, as who looks for drift computes it."""
        ...


@dataclasses.dataclass(frozen=True)
class ByKubectl:
    """Who sends what kubectl sends with these flags."""

    name: str
    flags: tuple[str, ...]

    def apply(self, team: Team, manifest: str) -> None:
        """Apply a manifest."""
        team.kubectl("apply", *self.flags, f"--namespace={team.namespace}", "--filename=-", stdin=manifest)

    def assert_no_drift(self, team: Team, manifest: str) -> None:
        """See that a dry run gives what is there; kubectl fails where it does not."""
        shown = team.kubectl("diff", *self.flags, f"--namespace={team.namespace}", "--filename=-", stdin=manifest)
        assert shown == ""


@dataclasses.dataclass(frozen=True)
class Helm3:
    """Helm 3: merges the old manifest, the new one and what is there; its name to the API server is `helm`."""

    name: str = "helm-3"

    def apply(self, team: Team, manifest: str) -> None:
        """Install a chart that is this manifest, or upgrade to it."""
        chart = team.sandbox.run_dir / f"chart-of-{team.name}"
        (chart / "templates").mkdir(parents=True, exist_ok=True)
        (chart / "Chart.yaml").write_text(json.dumps({"apiVersion": "v2", "name": "consumer", "version": "1.0.0"}))
        (chart / "templates" / "consumer.yaml").write_text(manifest)
        words = ("upgrade", "--install", team.name, chart, f"--namespace={team.namespace}", "--history-max=3")
        done = subprocess.run(
            [Binaries().path("helm"), *words, f"--kubeconfig={team.sandbox.control_plane.kubeconfig}"],
            capture_output=True,
            text=True,
            timeout=_HELM_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise SandboxError(done.stderr.strip())

    def assert_no_drift(self, team: Team, manifest: str) -> None:
        """See nothing: Helm has no such command."""


ARGO_CD: Final = ByKubectl("argo-cd", ("--field-manager=argocd-controller",))
ARGO_CD_SERVER_SIDE: Final = ByKubectl(
    "argo-cd-server-side", ("--server-side", "--force-conflicts", "--field-manager=argocd-controller")
)
FLUX: Final = ByKubectl("flux", ("--server-side", "--force-conflicts", "--field-manager=kustomize-controller"))
HELM_3: Final = Helm3()
HELM_4: Final = ByKubectl("helm-4", ("--server-side", "--field-manager=helm"))
HELM_4_FORCED: Final = ByKubectl(
    "helm-4-force-conflicts", ("--server-side", "--force-conflicts", "--field-manager=helm")
)

MERGING: Final[tuple[Applier, ...]] = (ARGO_CD, HELM_3)
"""Who sends a patch of what changed in the manifest; what else is there stays."""

SERVER_SIDE: Final[tuple[Applier, ...]] = (ARGO_CD_SERVER_SIDE, FLUX, HELM_4, HELM_4_FORCED)
ALL: Final[tuple[Applier, ...]] = (*MERGING, *SERVER_SIDE)
