"""Paths of the API server: the one place that makes them.

Names come from tenants too: a policy names its workload, a pod's environment names ConfigMaps. A name that is no
segment of a path is refused here, and every other is quoted, so that no name reaches another object than the one that
it names. `checked` is asked once more before a request leaves, and `intended` says whose answer is due.
"""

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from heartbeat_tuner.api.v1alpha1 import fields, models_v1alpha1, spec_v1alpha1
from heartbeat_tuner.domain.errors import ApiServerError

LONGEST_SEGMENT: Final = 253
"""Characters of a name, as the API server takes them."""

SHOWN: Final = 80
"""Characters of a refused name that a message repeats."""

_SEGMENT: Final = re.compile(r"(?:[A-Za-z0-9._~:@!$&'()*+,;=-]|%[0-9A-F]{2})+")
"""What `urllib.parse.quote` leaves, and what may stand in a segment besides; RFC 3986 calls it pchar."""

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/\\%?#\s]")


class InvalidPathError(ApiServerError):
    """A name that no path may hold, or a path that a server would read in another way than we do."""


class Resource(NamedTuple):
    """One kind of object.

    Attributes:
        api_version: group and version, or the version alone for the core.
        plural: how paths call it.
        kind: how objects call it.
    """

    api_version: str
    plural: str
    kind: str


DEPLOYMENTS: Final = Resource("apps/v1", "deployments", "Deployment")
STATEFUL_SETS: Final = Resource("apps/v1", "statefulsets", "StatefulSet")
ROLLOUTS: Final = Resource("argoproj.io/v1alpha1", "rollouts", "Rollout")
"""Of Argo Rollouts: not every API server has them."""
PODS: Final = Resource("v1", "pods", "Pod")
CONFIG_MAPS: Final = Resource("v1", "configmaps", "ConfigMap")
EVENTS: Final = Resource("v1", "events", "Event")
SECRETS: Final = Resource("v1", "secrets", "Secret")
LEASES: Final = Resource("coordination.k8s.io/v1", "leases", "Lease")
WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"
)
POLICIES: Final = Resource(fields.API_VERSION, spec_v1alpha1.PLURAL, spec_v1alpha1.KIND)
MODELS: Final = Resource(fields.API_VERSION, models_v1alpha1.PLURAL, models_v1alpha1.KIND)
ACCESS_REVIEWS: Final = Resource("authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview")

VERSION: Final = "/version"
"""What the API server says of itself."""


class Intended(NamedTuple):
    """What a path asks for.

    Attributes:
        api_version: of the objects; empty where the path asks for none.
        plural: their kind's.
        namespace: theirs; empty for all namespaces, and for what is in none.
        name: of the one object; empty for a list.
        subresource: of it.
    """

    api_version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def collection(resource: Resource, namespace: str | None = None) -> str:
    """Return the path of the list of a resource.

    Args:
        resource: of what.
        namespace: where; everywhere if None. An empty text is no name: somebody's mistake must not mean everywhere.

    Raises:
        InvalidPathError: there can be no such namespace.
    """
    root = "apis" if "/" in resource.api_version else "api"
    where = [] if namespace is None else ["namespaces", namespace]
    return _joined([root, *resource.api_version.split("/"), *where, resource.plural])


def item(resource: Resource, name: str, namespace: str | None = None, subresource: str = "") -> str:
    """Return the path of one object.

    Args:
        resource: of what.
        name: of the object.
        namespace: of the object; None for what is in none.
        subresource: of the object; itself if empty.

    Raises:
        InvalidPathError: there can be no object of this name.
    """
    return collection(resource, namespace) + _joined([name, *([subresource] if subresource else [])])


def in_namespace(path: str, namespace: str) -> str:
    """Return the path of a list in one namespace from that of the list over all namespaces.

    Raises:
        InvalidPathError: there can be no such namespace.
    """
    folder, _, plural = path.rpartition("/")
    return folder + _joined(["namespaces", namespace, plural])


def checked(path: str) -> str:
    """Return a path that everybody reads as we do.

    Raises:
        InvalidPathError: a server, a proxy or the client library may change it before it is read.
    """
    if not path.startswith("/"):
        raise InvalidPathError(f"the path {path[:SHOWN]!r} is refused: it must begin with a slash")
    for segment in path[1:].split("/"):
        text = urllib.parse.unquote(segment)
        if not _SEGMENT.fullmatch(segment) or text in {".", ".."} or _UNSAFE.search(text):
            raise InvalidPathError(
                f"the path {path[:SHOWN]!r} is refused: {segment[:SHOWN]!r} is no plain segment of a path"
            )
    return path


def intended(path: str) -> Intended:
    """Return what a path asks for, from its segments."""
    match [urllib.parse.unquote(segment) for segment in path[1:].split("/")]:
        case ["api", version, *rest]:
            return _intended(version, rest)
        case ["apis", group, version, *rest]:
            return _intended(f"{group}/{version}", rest)
        case _:
            return Intended()


def mismatch(path: str, answer: Mapping[str, Any]) -> str | None:
    """Return in which way an answer is not what a path asked for; None if it is.

    Of a list, the namespaces of what is in it are compared. Answers about subresources other than the status are
    documents of their own.
    """
    asked = intended(path)
    if asked.subresource not in {"", "status"} or answer.get("kind") == "Status":
        return None
    if not asked.name and isinstance(answer.get("items"), Sequence):
        namespaces = map(_namespace, answer["items"])
        other = next(
            (namespace for namespace in namespaces if asked.namespace and namespace not in {"", asked.namespace}), None
        )
        return None if other is None else f"an object of namespace {other}"
    metadata = answer.get("metadata") or {}
    pairs = [
        ("name", asked.name, metadata.get("name")),
        ("namespace", asked.namespace, metadata.get("namespace")),
        ("apiVersion", asked.api_version, answer.get("apiVersion")),
        ("kind", _KINDS.get((asked.api_version, asked.plural), ""), answer.get("kind")),
    ]
    wrong = next(((what, actual) for what, wanted, actual in pairs if wanted and actual and wanted != actual), None)
    return None if wrong is None else f"an object whose {wrong[0]} is {str(wrong[1])[:SHOWN]}"


_KINDS: Final = {
    (resource.api_version, resource.plural): resource.kind
    for resource in (
        *(DEPLOYMENTS, STATEFUL_SETS, ROLLOUTS, PODS, CONFIG_MAPS, EVENTS, SECRETS, LEASES, WEBHOOKS, ACCESS_REVIEWS),
        *(POLICIES, MODELS),
    )
}


def _joined(segments: Sequence[str]) -> str:
    return "".join(f"/{_segment(segment)}" for segment in segments)


def _segment(text: str) -> str:
    """Return a name as a segment of a path.

    Raises:
        InvalidPathError: no object can have this name.
    """
    if text in {"", ".", ".."} or len(text) > LONGEST_SEGMENT or _UNSAFE.search(text):
        raise InvalidPathError(
            f"{text[:SHOWN]!r} is no name of a Kubernetes object: a name has at most {LONGEST_SEGMENT} characters, is "
            f"neither '.' nor '..', and holds no '/', '%', '?', '#', '\\', white space and control characters"
        )
    try:
        return urllib.parse.quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidPathError(f"{text[:SHOWN]!r} is no name of a Kubernetes object: it is no text") from error


def _intended(api_version: str, rest: Sequence[str]) -> Intended:
    match rest:
        case ["namespaces", namespace, plural, *more]:
            return Intended(api_version, plural, namespace, *more[:2])
        case [plural, *more]:
            return Intended(api_version, plural, "", *more[:2])
        case _:
            return Intended()


def _namespace(document: object) -> str:
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    return str(metadata.get("namespace") or "") if isinstance(metadata, Mapping) else ""
