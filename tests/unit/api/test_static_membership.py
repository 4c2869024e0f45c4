"""Which variable a policy's static ids go into, and for whom there are none."""

import pytest

from heartbeat_tuner.api import crd, parsing
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import StaticIdSupport
from heartbeat_tuner.domain.errors import InvalidPolicyError
from tests.support import manifests


def variable(library: str, env: dict[str, dict[str, str]] | None = None, asked: str | None = "Enabled") -> str | None:
    """Return the variable of a policy."""
    spec = {"client": {"library": library, "env": env or {}}, "staticMembership": asked}
    return parsing.policy_of(manifests.policy(spec=spec)).instance_id_env


def test_ids_go_into_the_library_s_variable_or_the_policy_s() -> None:
    """Only where they are asked for."""
    assert variable("java") == "KAFKA_GROUP_INSTANCE_ID"
    assert variable("spring") == "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID"
    assert variable("java", {"groupInstanceId": {"name": "MY_ID"}}) == "MY_ID"
    assert variable("java", asked="Disabled") is None
    assert variable("java", asked=None) is None


def test_one_variable_cannot_hold_an_id_and_a_setting() -> None:
    """Whichever of the two is named so."""
    for env in (
        {"groupInstanceId": {"name": "KAFKA_SESSION_TIMEOUT_MS"}},
        {"sessionTimeout": {"name": "KAFKA_GROUP_INSTANCE_ID"}},
    ):
        with pytest.raises(InvalidPolicyError, match=r"groupInstanceId: KAFKA_\w+ is the variable of sessionTimeout"):
            variable("java", env)


def test_a_library_without_static_members_has_no_ids() -> None:
    """The definition says so before, in its own rule."""
    with pytest.raises(InvalidPolicyError, match=r"staticMembership: Enabled does not fit kafkajs, .* not supported"):
        variable("kafkajs")
    assert "staticMembership cannot be Enabled with kafkajs, whose static membership is not supported" in str(
        crd.manifest(crd.POLICY)
    )


def test_auto_has_a_variable_where_ids_may_be_given() -> None:
    """And is no mistake where they never are: the status says why."""
    assert variable("java", asked="Auto") == "KAFKA_GROUP_INSTANCE_ID"
    assert variable("kafkajs", asked="Auto") is None


def test_members_hold_their_ids_where_two_with_one_come_to_an_end() -> None:
    """Not where they leave all the same, or steal it from each other for ever."""
    holding = {client.name for client in catalogue.CLIENTS.values() if client.static_membership.holds}
    assert {"java", "java-kip848", "spring", "streams", "confluent-kafka-python", "sarama"} <= holding
    assert not holding & {"kafkajs", "kafka-node", "kafka-go", "platformatic", "aiokafka", "connect"}
    assert not StaticIdSupport.STEALS.holds
