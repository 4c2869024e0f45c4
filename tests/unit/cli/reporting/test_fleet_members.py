"""Which groups there are, and what is assumed of each."""

from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.models.failure_profile import Rebalancing
from tests.support import reports, worlds


def test_each_group_comes_once_with_all_that_its_sources_know() -> None:
    """The same group of a policy, of a Prometheus and of a model is one."""
    orders = reports.model("orders", 1.0, client="kafkajs")
    known = reports.sources([orders, reports.model("other", 1.0)], [reports.policy()], [reports.storm_and_cure()])
    first, second = reports.members(known)
    assert first.view is not None
    assert first.case.seen is not None
    assert (first.case.stated.group, second.case.stated.group) == ("orders", "other")
    values = first.case.stated.current.settings
    assert (values.session_timeout, values.fetch_wait) == (worlds.seconds(30), worlds.seconds(1))
    assert first.case.stated.current.assumed == ()
    assert (second.view, second.case.seen) == (None, None)


def test_a_group_s_size_is_that_of_its_model_where_metrics_do_not_tell() -> None:
    """Its partitions nobody tells: that is said."""
    (member,) = reports.members(reports.sources([reports.model("orders", 1.0, members=7)]))
    assert (member.case.stated.members, member.case.stated.partitions) == (7, 7)
    assert "that it has 7 members, as its model saw on average" in member.case.assumed
    assert any("one partition" in assumed for assumed in member.case.assumed)
    assert set(member.case.stated.current.assumed) >= {Setting.SESSION_TIMEOUT, Setting.MAX_POLL_INTERVAL}


def test_a_group_s_library_is_the_one_that_its_exporter_allows() -> None:
    """A model of another library says nothing of it."""
    known = reports.sources([reports.model("orders", 1.0, client="java")], [], [reports.storm_and_cure()])
    (member,) = reports.members(known)
    assert member.case.stated.client.name == "kafkajs"
    assert member.case.found is None


def test_a_group_of_the_consumer_protocol_has_the_broker_s_values() -> None:
    """As the operator's status says."""
    body = reports.policy(groupProtocol="Consumer", current=None)
    body["spec"]["client"] = {"library": "java"}
    (member,) = reports.members(reports.sources([], [body]))
    assert member.case.stated.rebalancing is Rebalancing.CONSUMER
    assert member.case.stated.current.settings.heartbeat_interval == worlds.seconds(5)
