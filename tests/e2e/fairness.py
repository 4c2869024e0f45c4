"""Real 429s: the API server's priority and fairness sends the operators away, since their level has no seat left.

A level without seats still serves one request at a time, so that one is taken by a request whose body never ends.
"""

import contextlib
import http.client
import json
import ssl
from typing import Final
from urllib.parse import urlsplit

import yaml

from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.processes import wait_until

STATUS: Final = "consumergrouppolicies/status"
"""Updates of it are always sent away: the request that takes the seat is one."""

_API: Final = "flowcontrol.apiserver.k8s.io/v1"
_NAME: Final = "no-seats"
_ANSWER_S: Final = 10.0
_PATH: Final = "/apis/heartbeat-tuner.dev/v1alpha1/namespaces/default/consumergrouppolicies/endless/status"


class NoSeats:
    """Sends operators away; `give_back` ends it. The API server ends the endless request after a minute anyway."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._plane = sandbox.control_plane
        self._taken = contextlib.ExitStack()

    def take(self, verbs: list[str], resources: list[str]) -> None:
        """Answer all operators' requests of these verbs on these resources with 429, besides updates of `STATUS`."""
        limited = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
        level = {"type": "Limited", "limited": {**limited, "limitResponse": {"type": "Reject"}}}
        what = {"verbs": verbs, "apiGroups": ["*"], "resources": resources, "namespaces": ["*"], "clusterScope": True}
        who = [{"kind": "User", "user": {"name": user}} for user in OPERATOR_USERS]
        schema = {
            "priorityLevelConfiguration": {"name": _NAME},
            "matchingPrecedence": 2,  # 1 is reserved
            "rules": [{"subjects": who, "resourceRules": [what]}],
        }
        for kind, spec in (("PriorityLevelConfiguration", level), ("FlowSchema", schema)):
            document = {"apiVersion": _API, "kind": kind, "metadata": {"name": _NAME}, "spec": spec}
            self._plane.kubectl("apply", "--filename=-", stdin=json.dumps(document))
        wait_until(self._sends_away, part="kubernetes", what="answers of 429", timeout_s=30)

    def give_back(self) -> None:
        """Let everybody in again."""
        self._taken.close()
        for kind in ("flowschema", "prioritylevelconfiguration"):
            self._plane.kubectl("delete", kind, _NAME, "--ignore-not-found")

    def _sends_away(self) -> bool:
        """Take the seat if it is free, and return whether another request is answered with 429."""
        endless, probe = self._request(length=100), self._request(length=1)
        self._taken.callback(endless.close)
        try:
            return probe.getresponse().status == http.HTTPStatus.TOO_MANY_REQUESTS
        finally:
            probe.close()

    def _request(self, *, length: int) -> http.client.HTTPSConnection:
        """Begin an update with one byte of a body of this length."""
        target = urlsplit(self._plane.url)
        assert target.hostname is not None
        trusted = ssl.create_default_context(cafile=str(self._plane.ca_file))
        connection = http.client.HTTPSConnection(target.hostname, target.port, timeout=_ANSWER_S, context=trusted)
        kubeconfig = yaml.safe_load(self._plane.kubeconfig_for(OPERATOR_USERS[0]).read_text())
        connection.putrequest("PUT", _PATH)
        connection.putheader("Authorization", f"Bearer {kubeconfig['users'][0]['user']['token']}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(length))
        connection.endheaders(b"{")
        return connection
