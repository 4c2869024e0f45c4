"""What the broker's log says of members without metrics, and when a library's row is ok."""

import dataclasses
import json

from sandbox.request_log import MEMBER_ID_REQUIRED, NONE, JoinGroup, LeaveGroup, Record
from tests.lab.rows import ROWS
from tests.unmetered import __main__ as trials
from tests.unmetered import described, trial
from tests.unmetered.trial import Outcome

GROUP = "orders"
GOOD = Outcome(evictions_true=4, evictions_seen=4, doubtful=0, false_alarms=0, cured=True)


def join(at_s: float, client: str, member: str, code: int = NONE, group: str = GROUP) -> JoinGroup:
    """Return a join of a client."""
    return JoinGroup(at_s, at_s, client, group, member, 1, code)


def test_a_client_that_joins_under_a_new_id_was_removed_unless_it_had_left() -> None:
    """Rejoins with the same id, first tries without one, and other groups are nothing."""
    records: list[Record] = [
        join(1.0, "a", "a-1"),
        join(2.0, "a", "a-1"),
        join(3.0, "b", "b-1"),
        join(4.0, "a", "a-2", MEMBER_ID_REQUIRED),
        join(5.0, "a", "a-2"),
        LeaveGroup(6.0, "b", GROUP, ("b-1",), NONE),
        join(7.0, "b", "b-2"),
        join(8.0, "b", "x-1", group="payments"),
        join(9.0, "b", "b-2"),
    ]
    assert trial.removed(records, GROUP, 0.0, 10.0) == ["a-1"]
    assert trial.removed(records, GROUP, 6.0, 10.0) == []


def test_a_row_is_ok_only_if_evictions_are_seen_and_cured_without_false_alarms() -> None:
    """One more or less than the log has is as near as descriptions come."""
    assert GOOD.ok
    assert dataclasses.replace(GOOD, evictions_seen=3).ok
    worse = (
        {"evictions_seen": 2},
        {"evictions_true": 2, "evictions_seen": 2},
        {"false_alarms": 1},
        {"cured": False},
    )
    assert not any(dataclasses.replace(GOOD, **change).ok for change in worse)
    doubted = dataclasses.replace(GOOD, evictions_true=8, evictions_seen=3, doubtful=5)
    assert not doubted.ok
    assert dataclasses.replace(doubted, leaves_early=True).ok


def test_descriptions_that_show_fewer_members_are_counted() -> None:
    """Of one group, since a moment; a line that was not written to its end says nothing."""

    def line(at_ms: int, **members: int) -> str:
        groups = [{"groupId": name, "members": [{}] * count} for name, count in members.items()]
        entry = {"requestHeader": {"requestApiKeyName": "DESCRIBE_GROUPS"}, "response": {"groups": groups}}
        return f"{at_ms} Completed request:{json.dumps(entry, separators=(',', ':'))}\n"

    lines = [
        line(9_000, mine=0),
        line(10_000, mine=2, other=1),
        line(11_000, other=0, mine=1),
        line(12_000, mine=0),
        '12500 Completed request:{"requestHeader":{"requestApiKeyName":"JOIN_GROUP"}}\n',
        line(13_000, mine=0)[:-10],
    ]
    assert described.fewer(lines, "mine", 10.0, members=2) == 2


def test_clients_whose_session_is_at_the_broker_have_a_trial_of_their_own() -> None:
    """The reason names it; those that are tried have none."""
    reasons = {row.client: trials.impossible(row) for row in ROWS}
    assert not reasons["java"]
    assert not reasons["connect"]
    assert "make broker-side" in reasons["java-kip848"]
    assert "make broker-side" in reasons["share"]
    assert "looks evicted" in reasons["streams"]
