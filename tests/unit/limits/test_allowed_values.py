"""Which values may be set at all, by the limits that say so."""

from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.limits.allowed_values import Limit, Rules
from tests.support.worlds import java_settings, seconds


def rules(**changes: Any) -> Rules:
    """Return the rules of a Java group at its defaults, whose polls are quick."""
    usual: dict[str, Any] = {
        "client": catalogue.client("java"),
        "current": java_settings("45s", "3s", poll="5m"),
        "bounds": {},
        "broker_session": Range(seconds(6), seconds(1_800)),
        "broker_interval": Range(None, None),
        "max_detection_time": seconds(60),
        "largest_poll_gap_s": 10.0,
    }
    return Rules(**{**usual, **changes})


def test_while_members_are_evicted_no_timeout_falls() -> None:
    """Else either may."""
    asked, endangered = rules(), rules(upwards=True)
    assert endangered.poll()[0].value == seconds(300)
    assert endangered.session(endangered.current)[0].value == seconds(45)
    assert asked.poll()[0].value < seconds(300)
    assert asked.session(asked.current)[0].value < seconds(45)


@pytest.mark.parametrize(
    ("held", "least"),
    [(None, 2.0), (1.0, 2.0), (4.0, 4.0), (5.0, 5.0), (6.0, 2.0)],
    ids=["none", "below the bounds", "within", "the greatest", "above the bounds"],
)
def test_a_budget_of_heartbeats_holds_within_the_bounds(held: float | None, least: float) -> None:
    """What a policy allows at most goes before what the cluster can bear."""
    bounds = {Setting.HEARTBEAT_INTERVAL: Range(seconds(2), seconds(5))}
    asked = rules(bounds=bounds, held=None if held is None else Limit(timedelta(seconds=held), "heartbeatBudget"))
    assert asked.interval()[0].value == seconds(least)
