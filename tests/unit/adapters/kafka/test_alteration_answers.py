"""What an answer to a write into a group's configuration leaves open: whether it was done."""

from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigSource

from heartbeat_tuner.adapters.kafka import group_alteration
from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers, keys_of
from heartbeat_tuner.domain.errors import ClusterUnreachableError, GroupConfigRefusedError
from heartbeat_tuner.domain.kafka_groups import GroupOverrides
from tests.support.fences import TimedFence


class Admin:
    """An admin client of one group without values of its own; it answers a trial and the write with codes.

    Args:
        trial: of the request that only validates; None where it goes well.
        write: of the write.
    """

    def __init__(self, trial: int | None, write: int | None) -> None:
        self._codes = {True: trial, False: write}
        self.writes = 0

    def describe_configs(self, resources: list[Any], **_: Any) -> dict[Any, Future[Any]]:
        """Return the brokers' own values."""
        source = ConfigSource.DEFAULT_CONFIG.value
        return {resources[0]: _future({name: SimpleNamespace(value="5000", source=source) for name in NAMES})}

    def incremental_alter_configs(
        self, resources: list[Any], *, validate_only: bool, request_timeout: float
    ) -> dict[Any, Future[Any]]:
        """Answer."""
        assert request_timeout > 0
        self.writes += not validate_only
        return {resources[0]: _future(None, self._codes[validate_only])}


class Client:
    """A client that needs not wait."""

    def __init__(self, admin: Admin) -> None:
        self.admin = admin

    def wait(self, _futures: Any) -> None:
        """Return at once."""

    def silence(self) -> ClusterUnreachableError:
        """Return the error for no answer."""
        return ClusterUnreachableError("did not answer")


NAMES = keys_of("consumer")


def _future(result: object, code: int | None = None) -> Future[Any]:
    future = Future[Any]()
    if code is None:
        future.set_result(result)
    else:
        future.set_exception(KafkaException(KafkaError(code)))
    return future


def alter(admin: Admin) -> None:
    """Write a session."""
    client: Any = Client(admin)
    wanted = GroupOverrides(timedelta(seconds=45))
    group_alteration.alter(
        client,
        ClusterAnswers("main"),
        "orders",
        GroupOverrides(),
        wanted,
        kind="consumer",
        timeout_s=10,
        fence=TimedFence(),
    )


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.UNKNOWN,
        -185,  # librdkafka: timed out
    ],
)
def test_a_write_that_may_have_been_done_is_not_called_refused(code: int) -> None:
    """A broker hands it on to the controller, and says so, too, where that one did it and its answer was lost."""
    with pytest.raises(ClusterUnreachableError):
        alter(Admin(None, code))


@pytest.mark.parametrize("code", [KafkaError.INVALID_CONFIG, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_a_trial_that_is_refused_ends_it(code: int) -> None:
    """Nothing is written then."""
    admin = Admin(code, None)
    with pytest.raises(GroupConfigRefusedError):
        alter(admin)
    assert admin.writes == 0


def test_a_write_that_is_refused_was_not_done() -> None:
    """Bounds may change after the trial."""
    with pytest.raises(GroupConfigRefusedError):
        alter(Admin(None, KafkaError.INVALID_CONFIG))
