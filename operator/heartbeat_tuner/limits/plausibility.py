"""Is a value one that a consumer can run with, or was it read in another unit?

`30` in a variable that the application takes for seconds reads as 30 ms. A decision that goes on from there finds a
storm that does not exist, and answers with values a thousand times as long. So a value that no broker or client
accepts is not read at all: nothing is derived from it. Pure.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Finding

LEAST: Final[Mapping[Setting, timedelta]] = {
    Setting.SESSION_TIMEOUT: timedelta(milliseconds=500),
    Setting.HEARTBEAT_INTERVAL: timedelta(milliseconds=50),
    Setting.MAX_POLL_INTERVAL: timedelta(seconds=1),
    Setting.REBALANCE_TIMEOUT: timedelta(seconds=1),
}
"""Brokers take a session from 6 s on unless they are told otherwise, and a member beats several times in it; a poll and
a rebalance take whole rounds of requests. What is below these is a number of seconds. A short fetch wait is usual."""

_SEEN: Final = frozenset({ValueSource.POD, ValueSource.TEMPLATE, ValueSource.POLICY})
"""Where somebody wrote the value down."""


def too_short(setting: Setting, value: timedelta) -> Sentence | None:
    """Return why no consumer runs with so short a value, as part of a sentence; None if one may."""
    least = LEAST.get(setting)
    if least is None or value >= least:
        return None
    phrase = "no consumer runs with a {setting} of {value} (at least {least} is expected)"
    return say(phrase, setting=setting, value=value, least=least)


def unreadable(policy: Policy, current: CurrentSettings, group: Group, cluster: Cluster | None) -> Finding | None:
    """Return which value cannot be what is set, and what to do; None if all can.

    Args:
        policy: says which variables hold the values.
        current: what was read.
        group: in one of the consumer protocol the broker says S and H.
        cluster: what its brokers accept; None where only what no broker accepts counts.
    """
    phrase = "{place} reads as {ms} ms, and {why}"
    implausible = [
        say(phrase, place=_place(policy, setting, current.sources[setting]), ms=durations.to_ms(value), why=why)
        for setting, value, why in _implausible(current, group, cluster)
    ]
    if not implausible:
        return None
    advice = (
        "{misread}: values are read in whole milliseconds. If the application takes this for another unit, let it read "
        "milliseconds; or name the variable that has them in spec.client.env"
    )
    return Finding(Reason.SETTING_UNREADABLE, say(advice, misread=join("; ", implausible)))


def _implausible(
    current: CurrentSettings, group: Group, cluster: Cluster | None
) -> Iterator[tuple[Setting, timedelta, Sentence]]:
    for setting, value in current.settings.by_setting.items():
        if current.sources.get(setting) not in _SEEN:
            continue
        why = too_short(setting, value)
        if why is None and setting is Setting.SESSION_TIMEOUT and cluster is not None and not group.consumer_protocol:
            why = _refused(value, cluster)
        if why is not None:
            yield setting, value, why


def _refused(session: timedelta, cluster: Cluster) -> Sentence | None:
    """Return why the broker does not let a member with such a session join; None if it does, or nobody knows."""
    least, most = cluster.min_session_timeout, cluster.max_session_timeout
    if cluster.bounds_assumed or least <= session <= most:
        return None
    side, bound = ("min", least) if session < least else ("max", most)
    phrase = "the broker lets no member join with it: its group.{side}.session.timeout.ms is {bound}"
    return say(phrase, side=side, bound=bound)


def _place(policy: Policy, setting: Setting, source: ValueSource) -> str:
    if source is ValueSource.POLICY and policy.env_names:  # without, it was given on a command line
        return f"{setting} in spec.client.current"
    name = policy.env_names.get(setting)
    return str(setting) if name is None else f"{name} ({setting}) of container {policy.workload.container}"
