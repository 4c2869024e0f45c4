"""Reading the audit log while it grows."""

import json
from pathlib import Path

from sandbox.audit import Tail


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
    assert [one.name for one in tail.writes()] == ["first"]
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
    assert [one.name for one in tail.writes()] == ["after"]
