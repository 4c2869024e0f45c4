"""The manifest of the kubectl plugin is one that krew takes: its own rules, checked here without krew."""

import re
from typing import Any

import pytest
import yaml

from heartbeat_tuner import __version__
from release import pins, plugin
from release.platforms import PLATFORMS

SUMS = {PLATFORMS["linux/amd64"]: "ab" * 32, PLATFORMS["darwin/arm64"]: "cd" * 32}

SEMANTIC = r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
KNOWN = {"name", "version", "shortDescription", "description", "caveats", "homepage", "platforms"}


def problems(document: dict[str, Any]) -> list[str]:
    """Return what krew's validation (internal/index/validation) would say of a manifest."""
    spec, found = document["spec"], []
    checks = {
        "apiVersion": document["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2",
        "kind": document["kind"] == "Plugin",
        "metadata.name": re.fullmatch(r"[\w-]+", document["metadata"]["name"]) is not None,
        "spec.version": re.fullmatch(SEMANTIC, spec.get("version", "")) is not None,
        "spec.shortDescription": 0 < len(spec.get("shortDescription", "")) <= 50
        and "\n" not in spec["shortDescription"],
        "spec.platforms": bool(spec.get("platforms")),
        "spec": spec.keys() <= KNOWN,
    }
    found += [field for field, holds in checks.items() if not holds]
    for platform in spec.get("platforms", ()):
        labels = platform.get("selector", {}).get("matchLabels", {})
        of_platform = {
            "selector": labels.keys() == {"os", "arch"},
            "sha256": re.fullmatch("[a-f0-9]{64}", platform.get("sha256", "")) is not None,
            "uri": re.match("https://.+", platform.get("uri", "")) is not None,
            "bin": re.fullmatch(r"[\w-]+", platform.get("bin", "")) is not None,
            "files": platform.get("files", ["all"]) != [],
        }
        found += [field for field, holds in of_platform.items() if not holds]
    return found


def test_krew_takes_the_manifest() -> None:
    """As it is read from its file."""
    document = yaml.safe_load(yaml.safe_dump(plugin.manifest(SUMS)))
    assert problems(document) == []
    linux, darwin = document["spec"]["platforms"]
    assert linux["sha256"] == "ab" * 32
    assert linux["uri"].endswith(f"/kubectl-heartbeat_tuner-{__version__}-linux-amd64.tar.gz")
    assert darwin["selector"] == {"matchLabels": {"os": "darwin", "arch": "arm64"}}
    assert darwin["uri"].endswith(f"/kubectl-heartbeat_tuner-{__version__}-darwin-arm64.tar.gz")


def test_kubectl_calls_the_program_by_the_plugin_s_name() -> None:
    """`kubectl heartbeat-tuner` looks for it with underscores."""
    document = plugin.manifest(SUMS)
    assert document["spec"]["platforms"][0]["bin"] == f"kubectl-{document['metadata']['name'].replace('-', '_')}"


def test_no_address_is_invented() -> None:
    """Until a release gives one, the address is of a domain that cannot exist."""
    assert plugin.manifest(SUMS)["spec"]["platforms"][0]["uri"].startswith("https://no-release-yet.invalid/")
    released = plugin.manifest(SUMS, url="https://example.org/v1")
    assert released["spec"]["platforms"][0]["uri"].startswith("https://example.org/v1/kubectl-heartbeat_tuner-")


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("version", "0.1.0", "spec.version"),
        ("version", "v0.1.0.dev0", "spec.version"),
        ("shortDescription", "x" * 51, "spec.shortDescription"),
        ("platforms", [], "spec.platforms"),
        ("url", "https://example.org", "spec"),
    ],
)
def test_these_checks_find_what_krew_refuses(field: str, value: object, problem: str) -> None:
    """Each was seen to fail."""
    document = plugin.manifest(SUMS)
    assert problems({**document, "spec": {**document["spec"], field: value}}) == [problem]


def test_what_the_core_needs_is_packed_and_nothing_of_the_operator() -> None:
    """The names come from the metadata of the project itself."""
    names = pins.distributions()
    assert {"click", "numpy", "pydantic", "pyyaml"} <= names
    assert not names & {"kopf", "kubernetes", "confluent-kafka", "pyspark", "pytest"}
