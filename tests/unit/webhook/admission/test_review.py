"""What is read from a request, and what is answered."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.webhook.admission import review
from heartbeat_tuner.webhook.admission.review import UnreadableError
from tests.support import reviews

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_request_is_read(*, dry_run: bool) -> None:
    """With all that is used of it."""
    found = review.read(reviews.body(reviews.request(dryRun=dry_run)))
    assert (found.uid, found.namespace, found.dry_run, found.pod) == ("r1", "shop", dry_run, reviews.pod())


NO_UID = [None, {}, {"uid": ""}, {"uid": 7}]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff", *(reviews.body(item) for item in NO_UID)]
)
def test_what_has_no_uid_cannot_be_answered(body: bytes) -> None:
    """It is an error that carries none."""
    with pytest.raises(UnreadableError) as caught:
        review.read(body)
    assert caught.value.uid == ""


@pytest.mark.parametrize(
    "changed",
    [
        {"operation": "UPDATE"},
        {"subResource": "binding"},
        {"kind": {"kind": "Service"}},
        {"kind": None},
        {"object": None},
        {"object": {"metadata": {}, "spec": {}}},
        {"object": {"metadata": {}, "spec": {"containers": [{"name": 7}]}}},
        {"object": {"metadata": {}, "spec": {"containers": [{"name": "app", "env": [{}]}]}}},
        {"object": {"metadata": {"labels": ["a"]}, "spec": {"containers": []}}},
        {"object": {"metadata": {"ownerReferences": [{}]}, "spec": {"containers": []}}},
    ],
)
def test_what_is_no_creation_of_a_pod_can_be_answered(changed: dict[str, Any]) -> None:
    """Its uid is known."""
    with pytest.raises(UnreadableError) as caught:
        review.read(reviews.body(reviews.request(**changed)))
    assert caught.value.uid == "r1"


def test_a_request_without_a_namespace_can_be_answered() -> None:
    """Likewise."""
    asked = reviews.request()
    del asked["namespace"]
    with pytest.raises(UnreadableError, match="namespace") as caught:
        review.read(reviews.body(asked))
    assert caught.value.uid == "r1"


@given(anything, st.sampled_from(["", "object", "kind", "namespace", "uid", "operation"]))
def test_whatever_comes_is_read_or_refused_by_one_error(junk: Any, field: str) -> None:
    """Nothing else reaches the server."""
    asked = {**reviews.request(), field: junk} if field else junk
    with contextlib.suppress(UnreadableError):
        assert review.read(reviews.body(asked)).uid


def test_an_answer_allows_and_carries_the_patch() -> None:
    """Encoded as the API server wants it; none where nothing is changed."""
    operation = {"op": "add", "path": "/x", "value": "y"}
    answer = review.answer("r1", [operation])
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response = answer["response"]
    assert (response["uid"], response["allowed"], response["patchType"]) == ("r1", True, "JSONPatch")
    assert reviews.operations(response) == [operation]
    assert review.answer("r1")["response"] == {"uid": "r1", "allowed": True}
    assert json.dumps(answer)
