"""What somebody does who has stolen a token: plain requests to the API server, and what it says to each."""

import http.client
import json
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from sandbox.control_plane import ControlPlane

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
OPERATIONS: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_TIMEOUT_S: Final = 30.0


class Answer(NamedTuple):
    """What the API server said.

    Attributes:
        status: of HTTP.
        body: the object, or the refusal.
    """

    status: int
    body: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Whether it was done."""
        return self.status < HTTPStatus.BAD_REQUEST

    @property
    def fenced(self) -> bool:
        """Whether one of the chart's fences refused it, and not a role."""
        said = str(self.body.get("message"))
        return self.status == HTTPStatus.FORBIDDEN and "ValidatingAdmissionPolicy" in said

    @property
    def forbidden(self) -> bool:
        """Whether a fence or a role refused it."""
        return self.status == HTTPStatus.FORBIDDEN


class Thief:
    """Who has a token and uses it.

    Args:
        control_plane: whose API server.
        token: of a service account.
    """

    def __init__(self, control_plane: ControlPlane, token: str) -> None:
        address = urlsplit(control_plane.url)
        assert address.hostname is not None
        context = ssl.create_default_context(cafile=str(control_plane.ca_file))
        self._connection = http.client.HTTPSConnection(
            address.hostname, address.port, timeout=_TIMEOUT_S, context=context
        )
        self._token = token

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def does(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> Answer:
        """Send a request exactly as it is given, and return what comes back."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type, "Accept": JSON}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        payload = answer.read()
        try:
            document = json.loads(payload)
        except ValueError:
            document = {"message": payload.decode(errors="replace")}
        return Answer(answer.status, document)

    def merges(self, path: str, patch: Any) -> Answer:
        """Send a merge patch."""
        return self.does("PATCH", path, patch, MERGE)

    def operates(self, path: str, *operations: Mapping[str, Any]) -> Answer:
        """Send a JSON patch."""
        return self.does("PATCH", path, list(operations), OPERATIONS)

    def applies(self, path: str, document: Any, manager: str) -> Answer:
        """Send a server-side apply."""
        return self.does("PATCH", f"{path}?fieldManager={manager}&force=true", document, APPLY)
