"""Whoever may write the webhook's Secret cannot end the webhook."""

import base64
import itertools
import json
import ssl
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from heartbeat_tuner.adapters.certificate.certificates import Certificates
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.support import webhooks
from tests.support.forgery import FORGERIES
from tests.support.shops import pod_of_nobody
from tests.support.webhooks import Replica

SECRET: Final = "heartbeat-tuner-webhook"  # noqa: S105 - an object's name
KEYS: Final = ("ca.crt", "ca.key", "tls.crt", "tls.key")
SHOWN: Final = ("curve", "authority-is-none", "server-for-ever", "no-name", "mismatched-key", "garbage")
"""The others are shown by unit tests."""

pytestmark = pytest.mark.timeout(240)


def _tamper(plane: ControlPlane, home: str, forged: Callable[[], Certificates]) -> None:
    made = forged()
    pems = (made.bundle, made.authority_key, made.server, made.server_key)
    data = {key: base64.b64encode(pem).decode() for key, pem in zip(KEYS, pems, strict=True)}
    plane.kubectl("patch", "secret", SECRET, f"-n={home}", "--type=merge", f"--patch={json.dumps({'data': data})}")


def _answers(replica: Replica, plane: ControlPlane, home: str) -> bool:
    """Whether the webhook answers who trusts whom the API server trusts; its process must live."""
    assert replica.process.alive(), replica.process.log.read_text()
    try:
        authority = webhooks.trusted_by(plane)
        answer = replica.ask(home, pod_of_nobody(), authority=authority, dry_run=True)
    except (OSError, ssl.SSLError):
        return False
    return bool(answer["allowed"])


@pytest.mark.row("B8")
def test_a_tampered_secret_is_made_anew(sandbox: Sandbox, tmp_path: Path) -> None:
    """At each start, whatever was put there, the process lives and the API server trusts what it shows."""
    plane, home = sandbox.control_plane, f"tampered-{uuid.uuid4().hex[:6]}"
    plane.kubectl("create", "namespace", home)
    port = urlsplit(plane.url).port
    assert port is not None
    numbers = itertools.count()

    def replica() -> Replica:
        return Replica(plane, tmp_path, home, f"webhook-{next(numbers)}", port)

    first = replica()
    with webhooks.registered(plane, home, first.port):
        with first.process:
            wait_until(lambda: _answers(first, plane, home), part="webhook", what="its first certificate")
        for which in SHOWN:
            _tamper(plane, home, FORGERIES[which])
            running = replica()
            with running.process:
                wait_until(partial(_answers, running, plane, home), part="webhook", what=f"a cure of {which}")
                log = running.process.log.read_text()
                assert log.count("certificate replaced") == 1, which
                assert "Traceback" not in log, which
    plane.kubectl("delete", "namespace", home, "--wait=false")
