"""What is sent to Prometheus opens nothing else, and is not sent for everybody to read."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import yaml

from sandbox import forked_commands
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from tests.chart.rendering import NAME, VARIANTS, Helm

pytestmark = pytest.mark.timeout(240)

TOKEN: Final = {"prometheus": {"url": "https://prometheus:9090", "bearerToken": {"serviceAccount": True}}}


def _status(sandbox: Sandbox, token: str) -> int:
    """Return what the API server answers who shows a token."""
    plane = sandbox.control_plane
    where = urlsplit(plane.url)
    context = ssl.create_default_context(cafile=plane.ca_file)
    assert where.hostname is not None
    connection = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=10)
    try:
        connection.request("GET", "/api/v1/namespaces", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.row("B9")
def test_the_token_for_prometheus_opens_no_api_server(sandbox: Sandbox, tmp_path: Path) -> None:
    """The chart's pod has one of an audience that the API server does not take; the usual one it does."""
    rendered = Helm(Binaries().path("helm"), tmp_path).render(VARIANTS["minimal"], TOKEN)
    ((path, (kind, audience, _)),) = rendered.files("Deployment", NAME).items()
    config = yaml.safe_load(rendered.one("ConfigMap", NAME)["data"]["config.yaml"])
    assert (kind, config["prometheus"]["bearerTokenFile"].endswith(path)) == ("serviceAccountToken", True)
    kubectl = sandbox.control_plane.kubectl
    sent = kubectl("create", "token", "default", "--namespace=default", f"--audience={audience}").strip()
    usual = kubectl("create", "token", "default", "--namespace=default").strip()
    assert _status(sandbox, sent) == http.client.UNAUTHORIZED
    assert _status(sandbox, usual) == http.client.FORBIDDEN  # known, if only with no rights


@pytest.mark.row("B9")
@pytest.mark.parametrize(
    ("prometheus", "said"),
    [
        ({"url": "http://p", "bearerTokenFile": "SECRET"}, "could read what bearerTokenFile sends"),
        (
            {"url": "http://p", "basicAuth": {"username": "u", "passwordFile": "SECRET"}},
            "could read what basicAuth sends",
        ),
        (
            {"url": "https://p", "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"},
            "is the pod's own token for the API server",
        ),
    ],
)
def test_the_operator_does_not_start_with_what_it_must_not_send(
    prometheus: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """It says which field, and what to do; nothing secret, and no traceback."""
    (tmp_path / "secret").write_text("hidden")
    document = {"prometheus": prometheus, "kafka": {"clusters": {"main": {"bootstrapServers": "k:9092"}}}}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(json.loads(json.dumps(document).replace("SECRET", str(tmp_path / "secret")))))
    done = forked_commands.run("run", "--config", str(config))
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert said in output
    assert "Traceback" not in output
    assert "hidden" not in output
