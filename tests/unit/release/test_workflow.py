"""The workflow that publishes a release: what it runs is ours, and what it runs of others is pinned.

It runs on a forge, and nothing here is one: its steps that need the forge, its registry and its log were never run.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartbeat_tuner import __version__
from tests.support.documents import CHECKOUT

WORKFLOW = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "release.yaml").read_text())
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["release"]["steps"]
SCRIPTS = {step["name"]: step["run"] for step in STEPS if "run" in step}


def test_actions_of_others_are_pinned_by_commit() -> None:
    """A tag can be moved to other code, which would sign in our name."""
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)


def test_it_has_no_right_that_it_does_not_need() -> None:
    """It writes the release, and proves who it is to sign; nothing else."""
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["release"]["permissions"] == {"contents": "write", "id-token": "write"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_is_valid_and_has_nothing_filled_in(name: str) -> None:
    """What the forge fills into a script is run as code; scripts read variables instead."""
    subprocess.run(["bash", "-n"], input=SCRIPTS[name], text=True, check=True, timeout=30)
    assert "${{" not in SCRIPTS[name]


def test_it_makes_the_release_with_options_that_exist() -> None:
    """`make` takes any variable, and says nothing of one that is misspelled."""
    options = set(re.findall(r"([A-Z]+)=", SCRIPTS["Make the release"]))
    makefile = (CHECKOUT / "Makefile").read_text()
    (recipe,) = re.findall(r"(?m)^release: .*\n(.*)$", makefile)
    assert options == {"REGISTRY", "URL"}
    assert all(f"$({option})" in recipe for option in options)


@pytest.mark.parametrize(
    ("tag", "registry", "refusal"),
    [
        (f"v{__version__}", "registry.example/team", ""),
        ("v99.0.0", "registry.example/team", "tag v99.0.0, but the code is version"),
        (f"v{__version__}", "", "set the repository's variable REGISTRY"),
    ],
)
def test_a_tag_that_is_not_the_codes_version_publishes_nothing(
    tmp_path: Path, tag: str, registry: str, refusal: str
) -> None:
    """Nor does a repository that has not said where its images go."""
    variables = tmp_path / "variables"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "REGISTRY": registry}
    done = subprocess.run(
        ["bash", "-e", "-c", SCRIPTS["Compare the tag with the version"]],
        cwd=CHECKOUT,
        env=environment | {"GITHUB_REF_NAME": tag, "GITHUB_ENV": str(variables)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert refusal in done.stderr
    assert (done.returncode == 0) == (not refusal)
    assert variables.exists() == (not refusal)
    if not refusal:
        assert variables.read_text() == f"VERSION={__version__}\n"
