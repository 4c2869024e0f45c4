"""Rates follow from counts and times; what a broker prescribes wins over what a client was given."""

import dataclasses
from datetime import timedelta

from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupState, Member
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from tests.support import worlds


def test_evictions_are_put_into_the_objectives_unit() -> None:
    """Three in an hour are 2160 in 30 days."""
    assert worlds.record().per_month(3) == 2_160


def test_an_empty_span_has_no_rate() -> None:
    """A record that began this moment divides nothing by zero."""
    assert worlds.record(span=timedelta(0)).per_month(3) == 0.0


def test_a_group_of_the_consumer_protocol_runs_with_the_brokers_values() -> None:
    """In a KIP-848 group S and H of the pods' env are not in force; M is."""
    set_in_pods = CurrentSettings(worlds.java_settings("6s", "2s", "1m"), dict.fromkeys(Setting, ValueSource.POD))
    config = GroupConfig(session_timeout=worlds.seconds(45), heartbeat_interval=worlds.seconds(5))
    group = dataclasses.replace(worlds.group([]), consumer_protocol=True, config=config)
    in_force = group.prescribed(set_in_pods)
    assert in_force.settings == worlds.java_settings("45s", "5s", "1m")
    assert in_force.sources[Setting.SESSION_TIMEOUT] is ValueSource.GROUP
    assert in_force.sources[Setting.MAX_POLL_INTERVAL] is ValueSource.POD


def test_what_the_broker_does_not_say_is_not_what_the_pods_have() -> None:
    """It stays unknown, and no write compares it."""
    set_in_pods = CurrentSettings(worlds.java_settings("6s", "2s", "1m"), dict.fromkeys(Setting, ValueSource.POD))
    unread = dataclasses.replace(worlds.group([]), consumer_protocol=True).prescribed(set_in_pods)
    assert (set_in_pods.is_unread, unread.is_unread) == (False, True)
    assert unread.runs(worlds.java_settings("45s", "5s", "1m"))
    assert not unread.runs(worlds.java_settings("45s", "5s", "2m"))


def test_a_classic_group_runs_with_what_its_pods_have() -> None:
    """Nothing is prescribed."""
    set_in_pods = CurrentSettings(worlds.settings(), dict.fromkeys(Setting, ValueSource.POD))
    assert worlds.group([]).prescribed(set_in_pods) is set_in_pods


def test_what_the_states_of_a_group_mean() -> None:
    """While partitions move, the group rebalances; in every state but one no partition can be counted."""
    members = tuple(Member(f"m-{number}", "10.0.0.1", partitions=number) for number in range(3))
    groups = {state: Group("orders", state, members) for state in GroupState}
    assert {state for state, group in groups.items() if group.rebalancing} == {
        GroupState.PREPARING_REBALANCE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.RECONCILING,
    }
    assert {state: group.partitions for state, group in groups.items() if group.partitions is not None} == {
        GroupState.STABLE: 3
    }
