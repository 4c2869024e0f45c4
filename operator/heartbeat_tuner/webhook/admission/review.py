"""What the API server asks, and what it is answered: `AdmissionReview` of `admission.k8s.io/v1`.

No answer refuses a pod. What cannot be read is answered, too, if only it has a uid to answer to.
"""

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

API_VERSION: Final = "admission.k8s.io/v1"

Operation = Mapping[str, Any]
"""One step of a JSON patch."""


class UnreadableError(Exception):
    """Not a review of a pod's creation.

    Attributes:
        uid: to answer to; empty if there is none.
    """

    def __init__(self, message: str, *, uid: str = "") -> None:
        super().__init__(message)
        self.uid = uid


@dataclasses.dataclass(frozen=True, slots=True)
class Review:
    """A pod that is about to be created.

    Attributes:
        uid: of the request; the same where the API server asks again.
        namespace: of the pod.
        pod: the object, which has neither uid nor, mostly, a name yet.
        dry_run: whether nothing will be created.
    """

    uid: str
    namespace: str
    pod: Mapping[str, Any]
    dry_run: bool


def read(body: bytes) -> Review:
    """Return what is asked.

    Raises:
        UnreadableError: it is not what we are registered for.
    """
    try:
        request = json.loads(body)["request"]
        uid = request["uid"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UnreadableError("no AdmissionReview with a request and its uid") from error
    if not isinstance(uid, str) or not uid:
        raise UnreadableError("the request's uid is not a text")
    try:
        asked = (request["operation"], request["kind"]["kind"], request.get("subResource") or "")
        if asked != ("CREATE", "Pod", ""):
            raise UnreadableError(f"{' '.join(asked)} is not the creation of a pod".replace("  ", " "), uid=uid)
        pod = _pod(request["object"])
        return Review(uid, str(request["namespace"]), pod, dry_run=bool(request.get("dryRun")))
    except (LookupError, TypeError, AttributeError) as error:
        raise UnreadableError(f"the request lacks {error}", uid=uid) from error


def _pod(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pod of which the fields that are used have the form that the API server gives them."""
    for container in pod["spec"]["containers"]:
        for entry in container.get("env") or ():
            entry["name"].strip()
        container["name"].strip()
    metadata = pod["metadata"]
    for field in ("labels", "annotations"):
        (metadata.get(field) or {}).items()
    for owner in metadata.get("ownerReferences") or ():
        owner["kind"].strip()
    return pod


def answer(uid: str, patch: Sequence[Operation] = ()) -> dict[str, Any]:
    """Return the answer that lets the pod be created, changed by `patch`."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(list(patch)).encode()).decode()
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
