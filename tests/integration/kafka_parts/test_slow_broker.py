"""A broker that answers too late: the operator lives, uses what it has, and asks for the rest first."""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

import heartbeat_tuner
from heartbeat_tuner.adapters.kafka import kafka_admin, kafka_reading
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kafka.kafka_reading import UNDER_WAY
from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from sandbox.kafka import Kafka
from sandbox.network import LOOPBACK
from sandbox.proxy import FaultProxy
from tests.integration.kafka_parts import impatient_reader
from tests.support.fleets import commit_offsets

pytestmark = pytest.mark.timeout(240)

GROUPS = [f"slow-{number:04d}" for number in range(1_000)]
FIND_COORDINATOR = 10
TIMEOUT_S = 1.0
LATE_S = 1.2
"""Beyond the timeout: the answer to a request that nobody waits for any more is what is to be survived."""
CLUSTERS, ROUNDS = 8, 25
"""Two hundred readings."""

MANY = 2 * UNDER_WAY
"""Groups of each of them: enough that some wait for others to be answered."""


@pytest.fixture(scope="module")
def group_ids(kafka: Kafka) -> list[str]:
    """A thousand groups that the broker knows."""
    kafka.create_topic("slow")
    commit_offsets(kafka.bootstrap, "slow", GROUPS)
    return GROUPS


@pytest.fixture
def slow(tap: FaultProxy) -> Iterator[FaultProxy]:
    """A wire that is good again afterwards."""
    yield tap
    tap.heal()


def test_two_hundred_readings_that_run_out_of_time(group_ids: list[str], slow: FaultProxy) -> None:
    """Their process ends in an orderly way, however late answers come, and whatever breaks meanwhile."""
    given = {
        "bootstrap": f"{LOOPBACK}:{slow.port}",
        "group_ids": group_ids[:MANY],
        "timeout_s": TIMEOUT_S,
        "rounds": ROUNDS,
        "clusters": CLUSTERS,
    }
    env = os.environ | {"PYTHONPATH": str(Path(heartbeat_tuner.__file__).parents[1])}
    command = [sys.executable, impatient_reader.__file__, json.dumps(given)]
    choice = random.Random(4605)  # noqa: S311 - the same moments in each run
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        while reader.poll() is None:
            slow.delay_requests([FIND_COORDINATOR], LATE_S)
            time.sleep(choice.uniform(0.0, 3.0))
            slow.heal()
            time.sleep(choice.uniform(0.0, 0.4))
        out, errors = reader.communicate()
    assert reader.returncode == 0, errors[-2_000:]
    ended = json.loads(out.splitlines()[-1])  # after what was logged
    assert sum(ended.values()) == CLUSTERS * ROUNDS
    assert ended.get("all Group", 0) < CLUSTERS * ROUNDS / 2, ended


def reading(bootstrap: str, *, timeout_s: float = TIMEOUT_S) -> KafkaGroups:
    """Return what reads cluster `main`."""
    return KafkaGroups({"main": KafkaAccess(bootstrap)}, timeout=timedelta(seconds=timeout_s))


def ask_one_by_one(groups: KafkaGroups) -> None:
    """Have it ask librdkafka for each group, as where brokers are too old for more."""
    groups._clusters["main"]._batched._leave([""], for_s=600.0)


async def test_what_there_was_no_time_for_is_unknown_and_first_in_the_next_cycle(
    monkeypatch: pytest.MonkeyPatch, group_ids: list[str], slow: FaultProxy
) -> None:
    """Nothing takes the place of its answer, and its sentence says nothing about the group."""
    monkeypatch.setattr(kafka_admin, "READING_S", 2.0)
    monkeypatch.setattr(kafka_reading, "UNDER_WAY", 100)  # so that even a quick machine is not through in time
    slow.delay(0.05)
    with closing(reading(f"{LOOPBACK}:{slow.port}", timeout_s=10)) as groups:
        ask_one_by_one(groups)
        first = await groups.describe("main", group_ids)
        second = await groups.describe("main", group_ids)
    read, late = (
        {group_id for group_id, answer in first.items() if isinstance(answer, kind)}
        for kind in (Group, UnreadableGroup)
    )
    assert read
    assert len(read) + len(late) == len(group_ids)
    read_next = {group_id for group_id, answer in second.items() if isinstance(answer, Group)}
    # Not all: when every late group has its request, others get theirs, and a broker may answer them before the last.
    assert len(read_next & late) > 0.8 * min(len(read_next), len(late))
    unread = first[min(late)]
    assert isinstance(unread, UnreadableGroup)
    assert unread.message.endswith(f"group {min(late)}: not read in time, the next cycle begins with it")
    assert not unread.tells_of_group


async def await_true(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    pytest.fail("it never held")


async def test_an_unanswered_request_is_asked_anew_by_another_client(
    monkeypatch: pytest.MonkeyPatch, group_ids: list[str], slow: FaultProxy
) -> None:
    """The client before is closed once it has its answers, and none is left open where nobody reads."""
    with closing(reading(f"{LOOPBACK}:{slow.port}")) as groups:
        inside, few = groups._clusters["main"], group_ids[:10]
        assert await groups.describe("main", group_ids[10:20])  # librdkafka remembers their coordinators, not the few's
        slow.delay_requests([FIND_COORDINATOR], 3.0)
        with pytest.raises(ClusterUnreachableError):
            await groups.describe("main", few)
        before = inside._client
        assert before is not None
        assert set(before.waiting) == set(few)
        monkeypatch.setattr(kafka_admin, "RENEW_S", 0.0)
        slow.delay_requests([], 0.0)
        assert {type(item) for item in (await groups.describe("main", few)).values()} == {Group}
        assert inside._client is not before
        assert inside._retired == [before]
        await await_true(lambda: before._answers.qsize() == len(few))
        monkeypatch.setattr(kafka_admin, "IDLE_S", 0.1)
        await groups.describe("main", few)
        assert inside._retired == []
        assert not hasattr(before, "admin")
        await await_true(lambda: inside._client is None)
