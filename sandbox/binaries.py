"""The programs of the Kubernetes control plane and Prometheus: found on the machine or built from source.

A program is taken from `KUBEBUILDER_ASSETS`, then from PATH, if its version is one the sandbox works with. What is not
found is built from the Go module in `tools/`, which pins every source by go.mod and go.sum (`go` refuses a download
whose checksum differs), and kept in the cache. The first build of all takes about six minutes on two cores. Programs of
our own (`tools/backfill`) are built from the same module. What only the chart's tests run has a module of its own,
`tools/helm`, and so has what only a container node runs, `tools/node`; they pin what they share with the first, so that
it is compiled once.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import cache, prerequisites, progress
from sandbox.errors import SandboxError
from sandbox.prerequisites import Version, parse_version

ASSETS_VARIABLE: Final = "KUBEBUILDER_ASSETS"
TOOLS: Final = Path(__file__).parent / "tools"
CHART_TOOLS: Final = TOOLS / "helm"
NODE_TOOLS: Final = TOOLS / "node"

_BUILD_TIMEOUT_S: Final = 3600.0
_PROBE_TIMEOUT_S: Final = 30.0
_TAGS: Final = "remove_all_sd,enable_kubernetes_sd"  # of Prometheus's many service discoveries only the one used here
_GO_SETTINGS: Final = {
    "CGO_ENABLED": "0",
    "GOTOOLCHAIN": "local",  # never fetch another Go
    "GOFLAGS": "-modcacherw",  # a cache that can be deleted without chmod
    "GOWORK": "off",
}


@dataclass(frozen=True)
class Program:
    """One program, how it tells its version, which versions work, and what it is built from.

    Attributes:
        module: the folder of the Go module that pins it.
    """

    name: str
    package: str
    version_flags: tuple[str, ...]
    pattern: str
    at_least: Version
    below: Version
    module: Path = TOOLS

    def supports(self, version: Version) -> bool:
        """Whether the sandbox works with this version."""
        return self.at_least <= version < self.below

    def supported(self) -> str:
        """The working versions in words."""
        least, below = (".".join(map(str, version)) for version in (self.at_least, self.below))
        return f"{least} or newer, but older than {below}"


_KUBERNETES_VERSION: Final = r"v(\d+\.\d+\.\d+)"
_KUBERNETES_RANGE: Final = ((1, 34), (1, 37))
PROGRAMS: Final = {
    program.name: program
    for program in (
        Program("etcd", "go.etcd.io/etcd/server/v3", ("--version",), r"etcd Version: (\d+\.\d+\.\d+)", (3, 5), (4,)),
        Program(
            "kube-apiserver",
            "k8s.io/kubernetes/cmd/kube-apiserver",
            ("--version",),
            _KUBERNETES_VERSION,
            *_KUBERNETES_RANGE,
        ),
        Program(
            "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
            ("--version",),
            _KUBERNETES_VERSION,
            *_KUBERNETES_RANGE,
        ),
        Program(
            "kubectl",
            "k8s.io/kubernetes/cmd/kubectl",
            ("version", "--client"),
            _KUBERNETES_VERSION,
            *_KUBERNETES_RANGE,
        ),
        Program(
            "prometheus",
            "github.com/prometheus/prometheus/cmd/prometheus",
            ("--version",),
            r"prometheus, version (\d+\.\d+\.\d+)",
            (3,),
            (4,),
        ),
    )
}
CHART_PROGRAMS: Final = {
    program.name: program
    for program in (
        Program(
            "helm",
            "helm.sh/helm/v3/cmd/helm",
            ("version", "--template={{.Version}}"),
            r"v(\d+\.\d+\.\d+)",
            (3, 18),  # the first whose schema errors name the path as the tests expect it
            (4,),
            CHART_TOOLS,
        ),
        Program(
            "promtool",
            "github.com/prometheus/prometheus/cmd/promtool",
            ("--version",),
            r"promtool, version (\d+\.\d+\.\d+)",
            (3,),
            (4,),
            CHART_TOOLS,
        ),
    )
}
"""What works on the chart, and nothing else needs."""
NODE_PROGRAMS: Final = {
    name: Program(
        name, f"k8s.io/kubernetes/cmd/{name}", ("--version",), _KUBERNETES_VERSION, *_KUBERNETES_RANGE, NODE_TOOLS
    )
    for name in ("kubelet", "kube-scheduler", "kube-proxy")
}
"""What a container node runs, and nothing else needs."""
_SETS: Final = ((PROGRAMS, 6), (CHART_PROGRAMS, 2), (NODE_PROGRAMS, 2))
"""Programs that are wanted together, and how many minutes their first build takes."""


class Binaries:
    """Where each program is; a program is looked for, and built if need be, when its path is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Return the path of the program `name`, a key of `PROGRAMS`, `CHART_PROGRAMS` or `NODE_PROGRAMS`.

        Raises:
            PrerequisiteMissingError: it must be built and Go is missing or too old.
            SandboxError: the build failed.
        """
        if name not in self._known:
            program = next(programs[name] for programs, _ in _SETS if name in programs)
            self._known[name] = _installed(program) or _built(program)
        return self._known[name]

    def path_of_own(self, name: str) -> Path:
        """Return the path of a program of our own, built from `tools/<name>`.

        Raises:
            PrerequisiteMissingError: it must be built and Go is missing or too old.
            SandboxError: the build failed.
        """
        sources = sorted((TOOLS / name).glob("*.go"))
        key = cache.key(_key(TOOLS), *sources)
        return (
            cache.entry(name, key, lambda scratch: _build(name, f"./{name}", TOOLS, scratch, "a minute at most")) / name
        )

    def get_all(self) -> None:
        """Find or build every program now, while a person watches, rather than in the middle of something."""
        for name in PROGRAMS:
            self.path(name)

    def to_build(self) -> list[str]:
        """Name the programs that are neither installed nor in the cache."""
        return [
            name
            for name, program in PROGRAMS.items()
            if name not in self._known and not _cached(program).is_dir() and _installed(program) is None
        ]


def choose(program: Program, candidates: dict[Path, str]) -> Path | None:
    """Return the first candidate whose version is supported, with a progress line for each refusal.

    Args:
        program: what is looked for.
        candidates: path to what the program there says of its version, best first.
    """
    for path, shown in candidates.items():
        match = re.search(program.pattern, shown)
        if match and program.supports(parse_version(match[1])):
            return path
        version = f"version {match[1]}" if match else "of an unknown version"
        progress.say(program.name, f"{path} is {version}, not used (needed: {program.supported()})")
    return None


def linker_flags(go_mod: str) -> str:
    """Return the flags that write versions into the programs, which `go build` alone leaves empty.

    Args:
        go_mod: the text of go.mod, the one place where versions are pinned.
    """
    values: dict[str, str] = {}
    if kubernetes := _pinned(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", go_mod):
        major, minor, _ = kubernetes
        values |= {
            "k8s.io/component-base/version.gitVersion": "v" + ".".join(kubernetes),
            "k8s.io/component-base/version.gitMajor": major,
            "k8s.io/component-base/version.gitMinor": minor,
            "k8s.io/component-base/version.gitTreeState": "clean",
            "k8s.io/client-go/pkg/version.gitVersion": "v" + ".".join(kubernetes),
        }
    if helm := _pinned(r"helm\.sh/helm/v3 v(\d+)\.(\d+)\.(\d+)", go_mod):
        values["helm.sh/helm/v3/internal/version.version"] = "v" + ".".join(helm)
    # Prometheus 3.13.5 is the Go module v0.313.5.
    if prometheus := _pinned(r"github\.com/prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)", go_mod):
        values["github.com/prometheus/common/version.Version"] = ".".join(prometheus)
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in values.items())])


def _pinned(pattern: str, go_mod: str) -> tuple[str, str, str] | None:
    match = re.search(pattern, go_mod)
    if match is None:
        return None
    first, second, third = (str(int(number)) for number in match.groups())
    return first, second, third


def _installed(program: Program) -> Path | None:
    folders = [os.environ.get(ASSETS_VARIABLE), os.environ.get("PATH")]
    found = (shutil.which(program.name, path=folder) for folder in folders if folder)
    return choose(program, {Path(path): _shown_version(program, path) for path in found if path})


def _shown_version(program: Program, path: str) -> str:
    try:
        shown = subprocess.run(
            [path, *program.version_flags], capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return shown.stdout + shown.stderr


def _build_arguments(module: Path) -> list[str]:
    # Two at a time: the compiler needs up to 2 GB each for the largest packages.
    flags = linker_flags((module / "go.mod").read_text())
    return ["go", "build", "-p", "2", "-trimpath", "-tags", _TAGS, "-ldflags", flags]


def _key(module: Path) -> str:
    return cache.key(module / "go.mod", module / "go.sum", *_build_arguments(module), *_GO_SETTINGS.values())


def _cached(program: Program) -> Path:
    return cache.root() / f"{program.name}-{_key(program.module)}"


def _built(program: Program) -> Path:
    all_of_them, minutes = next(item for item in _SETS if program.name in item[0])
    place = f"{list(all_of_them).index(program.name) + 1} of {len(all_of_them)}"
    note = f"{place}; the first build of all takes about {minutes} minutes"

    def make(scratch: Path) -> None:
        _build(program.name, program.package, program.module, scratch, note)

    return cache.entry(program.name, _key(program.module), make) / program.name


def _build(name: str, package: str, module: Path, folder: Path, note: str) -> None:
    prerequisites.require("go")
    with progress.step("go", f"building {name} ({note})"):
        done = subprocess.run(
            [*_build_arguments(module), "-o", str(folder / name), package],
            cwd=module,
            env=os.environ | _GO_SETTINGS,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
            check=False,
        )
    if done.returncode != 0:
        raise SandboxError(f"go could not build {name}:\n{done.stderr[-3000:]}")
