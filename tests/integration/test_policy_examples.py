"""The documented example of each client library, as a person applies it."""

import json

import pytest
import yaml

from heartbeat_tuner.metrics.conventions import known_conventions
from sandbox.control_plane import ControlPlane
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.timeout(120)

FILE = CHECKOUT / "docs" / "reference" / "policy-examples.yaml"


def test_the_api_server_takes_a_policy_of_each_library(control_plane: ControlPlane, namespace: str) -> None:
    """All at once; what is stored names the variables that the file names."""
    control_plane.kubectl("apply", "--server-side", f"--filename={CHECKOUT / 'crds'}")
    control_plane.await_definitions()
    control_plane.kubectl("apply", f"--namespace={namespace}", f"--filename={FILE}")
    stored = json.loads(control_plane.kubectl("get", "cgp", f"--namespace={namespace}", "--output=json"))["items"]
    written = {body["metadata"]["name"]: body["spec"]["client"] for body in yaml.safe_load_all(FILE.read_text())}
    assert {body["metadata"]["name"]: body["spec"]["client"] for body in stored} == written
    assert {body["spec"]["client"]["library"] for body in stored} == set(known_conventions.IN_POLICIES)
