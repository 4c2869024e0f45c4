import kopf
import pytest

from heartbeat_tuner.handlers import without_dns

_ACCOUNT = kopf.ConnectionInfo(server="https://kubernetes.default.svc", ca_path="/ca.crt", token="t", priority=1)  # noqa: S106


@pytest.mark.parametrize(
    ("environ", "server"),
    [
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            "https://10.96.0.1:443",
            id="IPv4",
        ),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"},
            "https://[fd00::1]:6443",
            id="IPv6",
        ),
        pytest.param({}, "https://kubernetes.default.svc", id="no container"),
    ],
)
def test_the_watch_needs_no_dns(environ: dict[str, str], server: str) -> None:
    """It goes where Kubernetes tells every container that the API server is; who logs in stays."""
    found = without_dns(_ACCOUNT, environ)
    assert (found.server, found.ca_path, found.token) == (server, "/ca.crt", "t")
