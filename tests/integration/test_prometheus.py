"""The sandbox's Prometheus finds pods as in a cluster."""

import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.network import answers
from sandbox.node import ProcessNode
from sandbox.processes import wait_until
from sandbox.prometheus import Prometheus

pytestmark = pytest.mark.timeout(300)

_EXPORTER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(b"sandbox_test_value 42\\n")
http.server.HTTPServer((os.environ["POD_IP"], 9100), Handler).serve_forever()
"""


def _exporter_pod() -> dict[str, Any]:
    container = {
        "name": "exporter",
        "image": "none",
        "command": [sys.executable, "-c", _EXPORTER],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        # Two declared ports: only the annotated one is to be scraped.
        "ports": [{"containerPort": 9100, "name": "metrics"}, {"containerPort": 9999, "name": "other"}],
    }
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": "9100"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "exporter", "annotations": annotations},
        "spec": {"containers": [container]},
    }


def _query(prometheus: Prometheus, query: str) -> list[dict[str, Any]]:
    url = f"{prometheus.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - an http URL on loopback
        found: list[dict[str, Any]] = json.load(response)["data"]["result"]
        return found


def test_an_annotated_pod_is_scraped_once_with_its_labels(
    prometheus: Prometheus, process_node: ProcessNode, namespace: str, apply: Callable[..., None]
) -> None:
    """Series carry the labels the operator joins on; a second target per pod would double every sum."""
    apply(_exporter_pod())
    query = f'sandbox_test_value{{namespace="{namespace}"}}'
    wait_until(lambda: bool(_query(prometheus, query)), part="test", what="the first sample", timeout_s=60)
    (series,) = _query(prometheus, query)
    assert series["value"][1] == "42"
    expected = {"job": "pods", "pod": "exporter", "container": "exporter", "node": process_node.name}
    assert series["metric"].items() >= expected.items()
    assert len(_query(prometheus, f'up{{namespace="{namespace}"}}')) == 1


def test_it_can_be_stopped_and_started_on_the_same_port(prometheus: Prometheus) -> None:
    """Tests take Prometheus away in mid-run: the operator must find it again where it was."""
    port = urllib.parse.urlsplit(prometheus.url).port
    assert port is not None
    prometheus.stop()
    assert not answers(port)
    prometheus.start()
    assert _query(prometheus, "vector(1)")
