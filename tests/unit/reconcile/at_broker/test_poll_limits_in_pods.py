"""Whole cycles over a group whose S and H are the broker's, and whose M is written into its pods."""

import dataclasses
from datetime import datetime

from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import worlds
from tests.support.consumer_protocol import (
    BEGINS,
    DANGEROUS,
    ENDS,
    LONG,
    LOST_EVERY_S,
    PODS,
    THEIRS,
    cycles,
    modern,
    noted,
    unread,
)
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage
from tests.support.worlds import NOW

AGE_S, SEEN_S = 310.0, 20.0
"""What the last poll of a member is ago when it leaves, and for how long before that."""


def late(since: datetime, until: datetime) -> Stage:
    """Return a group that is fenced for silence all the time but for a while in which handlers outlast M instead."""
    stage = modern(rollout={"cooldown": "1s"})
    ages = stage.prometheus.answers[Quantity.POLL_AGE]

    def age(at: float) -> float:
        is_late = since.timestamp() <= at < until.timestamp()
        return AGE_S if is_late and (at - BEGINS.timestamp() + SEEN_S) % LOST_EVERY_S < SEEN_S else 0.0

    stage.prometheus.answers[Quantity.POLL_AGE] = [
        Series.from_raw(series.labels, ((at, age(at)) for at in series.samples.times_s)) for series in ages
    ]
    return stage


def roll_out(stage: Stage) -> None:
    """Let new pods of the same names run with the limit that was written last, and with their own session as ever."""
    now = stage.clock.now()
    stage.workloads.roll_out(CONSUMER, now)
    own = worlds.workload(worlds.java_settings("45s", "3s", "405s")).current
    stage.workloads.edit(CONSUMER, pods=tuple(dataclasses.replace(pod, started=now) for pod in PODS), current=own)


async def test_a_poll_limit_is_written_into_the_pods_and_a_session_at_the_broker_after_it() -> None:
    """Each time the status speaks of the write that was the last one, and neither undoes the other."""
    stage = late(BEGINS, NOW + 6 * MINUTE)
    await cycles(stage, DANGEROUS)
    (write,) = stage.workloads.writes
    assert write.target == worlds.java_settings("20s", "5s", "405s")
    assert stage.groups.alterations == []
    assert stage.condition("Applied") == ("False", "RollingOut")
    assert stage.policies.status_of(ORDERS)["applied"]["entries"] == {"KAFKA_MAX_POLL_INTERVAL_MS": "405000"}

    roll_out(stage)
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG)]
    assert len(stage.workloads.writes) == 1
    assert stage.condition("Applied") == ("True", "Applied")
    assert "at the broker" in stage.message("Applied")
    assert stage.policies.status_of(ORDERS)["current"] == {
        "sessionTimeout": "45s",
        "heartbeatInterval": "5s",
        "fetchWait": "500ms",
        "maxPollInterval": "6m45s",
    }


async def test_a_poll_limit_is_written_after_a_session_and_the_status_says_how_far_it_is() -> None:
    """What stands at the broker stays, and is in the status as before; a new leader goes on by it."""
    stage = late(NOW + 6 * MINUTE, ENDS)
    await cycles(stage, DANGEROUS)
    assert stage.groups.alterations == [("orders", LONG)]
    noted_before = noted(stage)
    await cycles(stage, 12)
    (write,) = stage.workloads.writes
    assert write.target == worlds.java_settings("45s", "5s", "405s")
    assert stage.condition("Applied") == ("False", "RollingOut")
    assert stage.condition("Verified") == ("Unknown", "Verifying")

    roll_out(stage)
    stage.restart()
    await cycles(stage, 3)
    assert stage.condition("Applied") == ("True", "Applied")
    assert "maxPollInterval 5m → 6m45s" in stage.message("Applied")
    assert noted(stage) == noted_before
    assert len(stage.groups.alterations) == 1

    unread(stage)
    await cycles(stage, 1)
    assert stage.condition("Applied") == ("True", "Applied"), "what the broker does not say is not in these pods"

    stage.groups.override("main", "orders", THEIRS)
    await cycles(stage, 2)
    assert stage.policies.status_of(ORDERS)["current"]["sessionTimeout"] == "30s"
    assert stage.condition("Applied") == ("True", "Applied"), "the pods run with what was written into them"
    assert stage.condition("Verified")[1] == "Inconclusive", "what happens from now on may be the session's doing"
