"""Reading the audit log while it grows."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from sandbox import audit
from sandbox.audit import Access, Tail


def _line(name: str, *, query: str = "") -> str:
    event = {
        "user": {"username": "operator-a"},
        "verb": "patch",
        "requestURI": f"/apis/apps/v1/namespaces/shop/deployments/{name}{query}",
        "objectRef": {"resource": "deployments", "namespace": "shop", "name": name},
        "requestReceivedTimestamp": "2026-03-01T12:00:00.000000Z",
        "responseStatus": {"code": 200},
        "requestObject": {"metadata": {"resourceVersion": "7"}},
    }
    return json.dumps(event) + "\n"


def test_each_line_is_read_once_and_only_when_it_is_complete(tmp_path: Path) -> None:
    """A line that is still being written waits for the next call."""
    log = tmp_path / "audit.log"
    tail = Tail(log)
    assert tail.writes() == []
    second = _line("second")
    log.write_text(_line("first") + second[:40])
    assert [write.name for write in tail.writes()] == ["first"]
    with log.open("a") as appended:
        appended.write(second[40:])
    (found,) = tail.writes()
    assert (found.name, found.succeeded, found.sent["metadata"]["resourceVersion"]) == ("second", True, "7")
    assert tail.writes() == []


def test_what_was_there_before_and_dry_runs_are_left_out(tmp_path: Path) -> None:
    """A tail begins where the log ends."""
    log = tmp_path / "audit.log"
    log.write_text(_line("before"))
    tail = Tail(log)
    with log.open("a") as appended:
        appended.write(_line("dry", query="?dryRun=All") + _line("after"))
    assert [write.name for write in tail.writes()] == ["after"]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_only_what_is_asked_for_is_returned(tmp_path: Path, separators: tuple[str, str]) -> None:
    """Lines are left out unread only where they surely are of another time or place."""
    log = tmp_path / "audit.log"
    events = [json.loads(_line(name)) for name in ("early", "late", "elsewhere", "shop")]
    events[0]["requestReceivedTimestamp"] = "2026-03-01T11:59:59.999999Z"
    for event in events[2:]:
        event["objectRef"]["namespace"] = "square"
    log.write_text("".join(f"{json.dumps(event, separators=separators)}\n" for event in events))
    noon = datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    assert [write.name for write in audit.writes(log, since=noon)] == ["late", "elsewhere", "shop"]
    assert [write.name for write in audit.writes(log, namespace="shop")] == ["early", "late"]
    assert [write.name for write in audit.writes(log, since=noon, namespace="shop")] == ["late"]


def _request(verb: str, said: str, *, group: str = audit.ACCOUNTS_NAMESPACE, code: int = 200) -> str:
    event = {
        "user": {"username": "u", "groups": [f"system:serviceaccounts:{group}", "system:authenticated"]},
        "verb": verb,
        "requestURI": "/api/v1/namespaces/shop/pods/a",
        "objectRef": {"resource": "pods", "namespace": "shop", "name": "a", "subresource": "eviction"},
        "requestReceivedTimestamp": "2026-03-01T12:00:00.000000Z",
        "responseStatus": {"code": code},
        "annotations": {"authorization.k8s.io/reason": said},
    }
    return json.dumps(event) + "\n"


def test_who_asked_for_what_and_by_which_role(tmp_path: Path) -> None:
    """Requests of the accounts that are watched, with the role that allowed each; a refusal has none."""
    by_role = 'RBAC: allowed by RoleBinding "tuner/tuner" of Role "tuner" to ServiceAccount "tuner/tuner"'
    log = tmp_path / "audit.log"
    log.write_text(
        _request("get", by_role, group="kube-system")
        + _request("create", by_role, code=201)
        + _request("delete", "", code=403)
        + json.dumps({"user": {"groups": [f"system:serviceaccounts:{audit.ACCOUNTS_NAMESPACE}"]}, "verb": "get"})
        + "\n"
    )
    made = Access("u", "create", "", "pods/eviction", "shop", "a", ("Role", "tuner"), made=True)
    refused = Access("u", "delete", "", "pods/eviction", "shop", "a", None, made=False)
    assert audit.accesses(log) == [made, refused]


def test_what_is_only_read_is_no_write(tmp_path: Path) -> None:
    """Though it stands in the log."""
    log = tmp_path / "audit.log"
    log.write_text(_request("list", "") + _line("first"))
    assert [write.name for write in audit.writes(log)] == ["first"]
