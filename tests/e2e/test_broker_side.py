"""A group of the consumer protocol whose members are fenced: its session is raised at the broker, without a restart."""

import dataclasses
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from heartbeat_tuner.cli.kubectl.plugin import plugin
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics.conventions import java_metrics, librdkafka_metrics, share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from sandbox import consumers, scenario
from sandbox.environment import Sandbox
from sandbox.producer import Trickle
from sandbox.request_log import UNKNOWN_MEMBER_ID, Heartbeat, Record, RequestLog
from sandbox.scenario import EVERY_GROUP, JavaSettings, Operator
from tests.e2e import calm_groups
from tests.e2e.operators import AUDIT_LAG_S, INTERVAL_S, Operators, await_cycles
from tests.e2e.teams import Team
from tests.unmetered import bound_command

pytestmark = [pytest.mark.e2e_java, pytest.mark.timeout(300)]

ROWS: Final = Path("build/broker-side.json")
NERVOUS: Final = {"consumer.session.timeout.ms": "4000", "consumer.heartbeat.interval.ms": "1000"}
NERVOUS_STREAMS: Final = {"streams.session.timeout.ms": "4000", "streams.heartbeat.interval.ms": "1000"}
NERVOUS_SHARE: Final = {"share.session.timeout.ms": "4000", "share.heartbeat.interval.ms": "1000"}
WIDE: Final = {"consumer.session.timeout.ms": "20000", "consumer.heartbeat.interval.ms": "5000"}
WIDE_SHARE: Final = {"share.session.timeout.ms": "20000", "share.heartbeat.interval.ms": "5000"}
WIDE_STREAMS: Final = {"streams.session.timeout.ms": "20000", "streams.heartbeat.interval.ms": "5000"}
MAX_POLL_INTERVAL: Final = "KAFKA_MAX_POLL_INTERVAL_MS"
POLL_LIMIT_MS: Final = "5000"
HANDLER_MS: Final = 8_000
REPLICAS: Final = 3
"""One pause each: losses of one member within a minute count as one."""

PAUSE_S: Final = 6.0
BETWEEN_PAUSES_S: Final = 1.5
SETTLING_S: Final = 5.0
QUIET_S: Final = 25.0
LEAVING: Final = -1
"""The epoch of a member's last heartbeat (KIP-848)."""

BEFORE_AND_AFTER: Final = {"before": "previous", "after": "values"}
OF_AGE_S: Final = 90.0
"""The record of a minute, and some cycles."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Parts of their own, with Kafka's controller in a process of its own: what it allows counts."""
    with Sandbox(tmp_path_factory.mktemp("broker-side"), controller_apart=True) as started:
        scenario.install(started)
        yield started


@pytest.fixture(scope="module")
def operators(sandbox: Sandbox) -> Iterator[Operators]:
    """Operators beside these parts."""
    started = Operators(sandbox)
    yield started
    started.stop()


@pytest.fixture
def altering(sandbox: Sandbox, operators: Operators) -> Iterator[Operator]:
    """The operator, with leave to write into groups' configurations."""
    operators.stop()
    with Operator(sandbox, interval_s=INTERVAL_S, alters_groups=True, grants=EVERY_GROUP) as started:
        sandbox.prometheus.scrape_too(f"altering-{started.metrics_port}", started.metrics_port, namespace="monitoring")
        yield started


@pytest.fixture
def modern(sandbox: Sandbox) -> Iterator[Team]:
    """A team of Java consumers in a group of the consumer protocol, with a session that somebody made too short."""
    with nervous(sandbox, "broker-side", "java") as team:
        yield team


@pytest.fixture
def silent(sandbox: Sandbox) -> Iterator[Team]:
    """The same of consumers with librdkafka that nobody scrapes."""
    with nervous(sandbox, "broker-side-rdkafka", "confluent-kafka-python") as team:
        yield team


@pytest.fixture
def counted(sandbox: Sandbox) -> Iterator[Team]:
    """The same with librdkafka, scraped: they count what they lost."""
    with nervous(sandbox, "broker-side-counted", "confluent-kafka-python", scraped=True) as team:
        yield team


@pytest.fixture
def sharing(sandbox: Sandbox) -> Iterator[Team]:
    """The same of members of a share group, whose fencings no client shows."""
    with nervous(sandbox, "broker-side-share", "confluent-kafka-python", NERVOUS_SHARE, protocol="share") as team:
        yield team


@pytest.fixture
def threads(sandbox: Sandbox) -> Iterator[Team]:
    """A team with a Kafka Streams application in a group of its own protocol (KIP-1071)."""
    with nervous(sandbox, "broker-side-streams", "streams", NERVOUS_STREAMS, protocol="streams") as team:
        yield team


@pytest.fixture
def late(sandbox: Sandbox) -> Iterator[tuple[Team, Team, Team]]:
    """Java, Kafka Streams and a share group, whose handlers outlast max.poll.interval.ms; all is well at the broker."""
    with ExitStack() as started:
        java = started.enter_context(nervous(sandbox, "broker-side-late", "java", WIDE, hasty=True))
        threads = nervous(sandbox, "late-streams", "streams", WIDE_STREAMS, protocol="streams", hasty=True)
        streams = started.enter_context(threads)
        share = started.enter_context(nervous(sandbox, "late-share", "java", WIDE_SHARE, protocol="share", hasty=True))
        for team in (java, streams, share):
            started.enter_context(Trickle(sandbox.kafka.bootstrap, team.name, every_s=0.5))
        yield java, streams, share


@contextmanager
def nervous(
    sandbox: Sandbox,
    purpose: str,
    library: str,
    values: Mapping[str, str] = NERVOUS,
    *,
    protocol: str = "consumer",
    hasty: bool = False,
    scraped: bool = False,
) -> Iterator[Team]:
    """Run a team's consumers under a policy in mode Apply, in a group with values of its own.

    Args:
        sandbox: in it.
        purpose: of the team.
        library: of its consumers.
        values: of the group.
        protocol: that they speak.
        hasty: whether their handlers take longer than their poll limit.
        scraped: whether the pods of another library than Java's are.
    """
    team = Team(sandbox, purpose)
    team.create()
    sandbox.kafka.create_topic(team.name, REPLICAS)
    sandbox.kafka.configure_group(team.name, values)
    handler_ms = HANDLER_MS if hasty else 0
    unused = JavaSettings(1, 1, max_poll_interval_ms=300_000, handler_ms=handler_ms)
    settings, deployment = yaml.safe_load_all(team.java_consumer_manifest(team.name, unused, replicas=REPLICAS))
    settings["data"] = {"KAFKA_GROUP_PROTOCOL": protocol, **({MAX_POLL_INTERVAL: POLL_LIMIT_MS} if hasty else {})}
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    if library == "streams":
        container["command"] = consumers.streams_command()
    elif library != "java":
        if not scraped:
            del deployment["spec"]["template"]["metadata"]["annotations"]
        container["command"] = bound_command.bound(*consumers.confluent_python_command())
    team.apply(f"{json.dumps(settings)}\n---\n{json.dumps(deployment)}")
    team.await_available(team.name)
    team.apply_policy(team.name, mode="Apply", library=library)
    yield team
    team.delete()


@pytest.fixture
def calm(sandbox: Sandbox, operators: Operators) -> Iterator[Team]:
    """A team of Java consumers that nobody disturbs, with a session of its own, and no operator beside it."""
    operators.stop()
    with nervous(sandbox, "broker-side-calm", "java", WIDE) as team:
        yield team


@pytest.fixture
def calm_and_counted(sandbox: Sandbox, operators: Operators) -> Iterator[tuple[Team, Team]]:
    """The same of consumers with librdkafka: in a group of the consumer protocol, and in a share group."""
    operators.stop()
    library = "confluent-kafka-python"
    with (
        nervous(sandbox, "broker-side-calm-rdkafka", library, WIDE) as consumers_,
        nervous(sandbox, "broker-side-calm-share", library, WIDE_SHARE, protocol="share") as sharing,
    ):
        yield consumers_, sharing


@pytest.fixture
def calm_java_share(sandbox: Sandbox, operators: Operators) -> Iterator[Team]:
    """The same of Java's consumers in a share group."""
    operators.stop()
    with nervous(sandbox, "calm-java-share", "java", WIDE_SHARE, protocol="share") as team:
        yield team


@pytest.fixture
def calm_threads(sandbox: Sandbox, operators: Operators) -> Iterator[Team]:
    """The same with a Kafka Streams application in a group of its own protocol."""
    operators.stop()
    with nervous(sandbox, "broker-side-calm-streams", "streams", WIDE_STREAMS, protocol="streams") as team:
        yield team


def pause_each(*teams: Team) -> None:
    """Let the process of one pod after another, one of each team at a time, stand still for longer than the session."""
    for pods in zip(*(team.pods() for team in teams), strict=True):
        with ExitStack() as paused:
            for team, pod in zip(teams, pods, strict=True):
                paused.enter_context(team.sandbox.node.paused(team.namespace, pod))
            time.sleep(PAUSE_S)
        time.sleep(BETWEEN_PAUSES_S)


def beats(records: list[Record], team: Team, since_s: float, until_s: float) -> list[Heartbeat]:
    """Return the heartbeats of a team's group in a window."""
    return [
        record
        for record in records
        if isinstance(record, Heartbeat) and record.group_id == team.name and since_s <= record.arrival_s < until_s
    ]


def fenced(heartbeats: list[Heartbeat]) -> int:
    """Return how many members learnt from a beat that they are members no more."""
    return sum(1 for beat in heartbeats if beat.error_code == UNKNOWN_MEMBER_ID)


def epoch(heartbeats: list[Heartbeat]) -> int:
    """Return the newest epoch that a member was in."""
    return max(beat.generation_id for beat in heartbeats)


def taken_back(team: Team) -> dict[str, Any]:
    """Ask for the last write to be taken back, as a person does; return what the status notes once it is."""
    path = os.pathsep.join((str(team.sandbox.control_plane.kubectl_path.parent), os.environ["PATH"]))
    flags = [f"--kubeconfig={team.sandbox.control_plane.kubeconfig}", f"--namespace={team.namespace}"]
    result = CliRunner(env={"PATH": path}).invoke(plugin, ["revert", team.name, *flags])
    assert result.exit_code == 0, result.output
    team.await_condition("Applied", "TakenBack", status="False")
    noted: dict[str, Any] = team.status()["groupConfig"]
    return noted


def configured(team: Team) -> dict[str, str]:
    """Return what is set at the broker for a team's group itself."""
    resource = ConfigResource(ResourceType.GROUP, team.name)
    admin = AdminClient({"bootstrap.servers": team.sandbox.kafka.bootstrap, "log_level": 0})
    entries = admin.describe_configs([resource])[resource].result(30).values()
    return {entry.name: entry.value for entry in entries if entry.source == ConfigSource.GROUP_CONFIG.value}


def in_force_s(heartbeats: list[Heartbeat], written_s: float) -> float:
    """Return how long after a write, which is known to a second, the last member heard of it: with its first beat."""
    firsts: dict[str, float] = {}
    for beat in heartbeats:
        if beat.arrival_s >= written_s:
            firsts.setdefault(beat.member_id, beat.arrival_s)
    return round(max(firsts.values()) - written_s, 1)


def noted_rows(rows: list[dict[str, Any]]) -> None:
    """Write the rows of one test, with those of the tests before it in the same file."""
    ROWS.parent.mkdir(exist_ok=True)
    written = {(row["group_type"], row["client"], row.get("purpose")) for row in rows}
    before = json.loads(ROWS.read_text())["rows"] if ROWS.exists() else []
    others = [row for row in before if (row["group_type"], row["client"], row.get("purpose")) not in written]
    ROWS.write_text(json.dumps({"rows": [*others, *rows]}, indent=2) + "\n")


@dataclasses.dataclass(frozen=True)
class Nervous:
    """A group whose members are fenced.

    Attributes:
        team: whose it is, with an operator beside it.
        group_type: as the row has it.
        client: as the row has it.
        values: what is set for the group itself at the beginning, and again after the write is taken back.
        purpose: as the row has it, of a second group of such consumers.
    """

    team: Team
    group_type: str
    client: str
    values: Mapping[str, str]
    purpose: str | None = None


def raised(*groups: Nervous) -> None:
    """Let groups' members stand still before and after the operator raised their sessions; write their rows.

    Args:
        groups: whose members stand still at the same times.
    """
    teams = [group.team for group in groups]
    log, began_s = RequestLog(teams[0].sandbox.kafka.request_log), time.time()
    pods = {team: team.pods() for team in teams}
    for group in groups:
        group.team.await_condition("MetricsAvailable", "Fresh", status="True")
        if group.purpose is None:  # else its metrics prove that nobody was fenced yet
            group.team.await_condition("Recommended", "ConsumerProtocol", status="Unknown")
    time.sleep(5.0)  # the operator has read since when nothing shows: it asks for losses once it knows the protocol
    pause_each(*teams)
    settled_s = time.time()
    written = [team.await_condition("Applied", "Applied", status="True", timeout_s=OF_AGE_S) for team in teams]
    time.sleep(2.0)  # each member has beaten since
    changed_s = time.time()
    pause_each(*teams)
    ended_s, statuses = time.time(), [team.status() for team in teams]
    reverted = [taken_back(team) for team in teams]
    time.sleep(2.0)  # and once more
    back_s = time.time()
    time.sleep(AUDIT_LAG_S)

    records, rows = log.read_new(), []
    for group, status in zip(groups, statuses, strict=True):
        before, between, after, back = (
            beats(records, group.team, *window)
            for window in ((began_s, settled_s), (settled_s, changed_s), (changed_s, ended_s), (ended_s, back_s))
        )
        row: dict[str, Any] = {
            "group_type": group.group_type,
            "client": group.client,
            **({} if group.purpose is None else {"purpose": group.purpose}),
            "changed": {"before": status["groupConfig"]["previous"], "after": status["groupConfig"]["values"]},
            "restarts": len(group.team.operator_writes("deployments"))
            + len(set(pods[group.team]) ^ set(group.team.pods())),
            "rebalances_by_change": epoch(between) - min(beat.generation_id for beat in between),
            "rebalances_by_revert": epoch(back) - min(beat.generation_id for beat in back),
            "in_force_s": in_force_s(between, datetime.fromisoformat(status["groupConfig"]["changeTime"]).timestamp()),
            "evictions_before": fenced(before),
            "evictions_after": fenced(after),
        }
        row["ok"] = row["evictions_before"] >= REPLICAS and not any(
            row[name] for name in ("restarts", "rebalances_by_change", "rebalances_by_revert", "evictions_after")
        )
        rows.append(row)
    noted_rows(rows)
    for group, row, condition, status, back_again in zip(groups, rows, written, statuses, reverted, strict=True):
        assert row["ok"], str(row)  # whole: pytest shortens a dictionary
        assert row["in_force_s"] <= 3.0  # the interval before, a second, and the second of the write
        assert "without a restart" in condition["message"]
        assert status["groupConfig"]["values"] == {"sessionTimeout": "45s", "heartbeatInterval": "1s"}
        assert status["groupConfig"]["previous"] == {"sessionTimeout": "4s", "heartbeatInterval": "1s"}
        assert status["current"]["sessionTimeout"] == "45s"
        assert back_again["values"] == {"sessionTimeout": "4s", "heartbeatInterval": "1s"}
        assert back_again["revertedChangeTime"] == status["groupConfig"]["changeTime"]
        assert configured(group.team) == group.values


def test_a_session_is_raised_at_the_broker_and_nothing_restarts(
    modern: Team, silent: Team, counted: Team, sharing: Team, altering: Operator
) -> None:
    """Members that stood still for 6 s under S = 4 s are fenced; under S = 45 s none is, and no epoch began between.

    The Java consumer shows its fencings itself, and so does librdkafka's where the application counts them; else the
    broker's descriptions do, and of a share group.
    """
    assert altering.process.alive()
    raised(
        Nervous(modern, "consumer", "java", NERVOUS),
        Nervous(silent, "consumer", "confluent-kafka-python", NERVOUS),
        Nervous(counted, "consumer", "confluent-kafka-python", NERVOUS, purpose="counted by its consumers"),
        Nervous(sharing, "share", "confluent-kafka-python", NERVOUS_SHARE),
    )
    teams = (modern, silent, counted, sharing)
    assert [team.status()["groupProtocol"] for team in teams] == ["Consumer", "Consumer", "Consumer", "Share"]


def test_a_session_of_a_streams_group_is_raised_at_the_broker(threads: Team, altering: Operator) -> None:
    """Its members are known by their addresses, its fencings by the tasks that its threads lost."""
    assert altering.process.alive()
    raised(Nervous(threads, "streams", "streams", NERVOUS_STREAMS))
    assert threads.status()["groupProtocol"] == "Streams"


def left(heartbeats: list[Heartbeat]) -> int:
    """Return how often members said that they leave; one that leaves for want of a poll says nothing else."""
    return sum(1 for beat in heartbeats if beat.generation_id == LEAVING)


def test_handlers_that_outlast_the_clients_limit_are_cured_in_the_pods(
    late: tuple[Team, Team, Team], altering: Operator
) -> None:
    """Members leave though they beat: M is the clients', and is raised with a rollout; the broker keeps its values."""
    log, began_s = RequestLog(late[0].sandbox.kafka.request_log), time.time()
    for team in late:
        team.await_rolled_out(timeout_s=200)
        team.await_available(team.name)
    time.sleep(SETTLING_S)
    cured_s = time.time()
    time.sleep(QUIET_S)
    assert altering.process.alive()
    ended_s, statuses = time.time(), [team.status() for team in late]
    time.sleep(AUDIT_LAG_S)

    records = log.read_new()
    rows: list[dict[str, Any]] = []
    for team, status, (kind, client) in zip(
        late, statuses, (("consumer", "java"), ("streams", "streams"), ("share", "java")), strict=True
    ):
        before, after = (beats(records, team, *window) for window in ((began_s, cured_s), (cured_s, ended_s)))
        changed = {name: status["applied"][values]["maxPollInterval"] for name, values in BEFORE_AND_AFTER.items()}
        row: dict[str, Any] = {
            "group_type": kind,
            "client": client,
            "purpose": "handlers outlast maxPollInterval",
            "changed": changed,
            "rollouts": len(team.operator_writes("deployments")),
            "left_before": left(before),
            "left_after": left(after),
        }
        row["ok"] = row["left_before"] >= REPLICAS and (row["rollouts"], row["left_after"]) == (1, 0)
        rows.append(row)
    noted_rows(rows)
    assert all(row["ok"] for row in rows), str(rows)  # whole: pytest shortens a dictionary
    assert [row["changed"] for row in rows] == [{"before": "5s", "after": "5m"}] * len(rows)
    for team, status, values in zip(late, statuses, (WIDE, WIDE_STREAMS, WIDE_SHARE), strict=True):
        assert not team.env().keys() & {"KAFKA_SESSION_TIMEOUT_MS", "KAFKA_HEARTBEAT_INTERVAL_MS"}
        assert configured(team) == values
        assert "groupConfig" not in status
        report = [message for _, reason, message in team.events() if reason == "PollGapExceedsLimit"]
        assert "maxPollInterval is a setting of the clients: it is set in the pods" in report[0]


def lowered(
    team: Team, group_type: str, client: str, convention: Convention = java_metrics.JMX_EXPORTER
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let an operator lower the session of a team that was calm for weeks, then kill a member; return row and status.

    Args:
        team: with no operator beside it.
        group_type: as the row has it.
        client: as the row has it, and its policy.
        convention: by which its consumers are exported.
    """
    log, pods = RequestLog(team.sandbox.kafka.request_log), team.pods()
    calm_groups.await_settled(team)
    status, looked_s = calm_groups.lowered(team, client, convention)
    write, written_s = status["groupConfig"], time.time()
    session_s, interval_s = (
        durations.parse(write["values"][name]).total_seconds() for name in ("sessionTimeout", "heartbeatInterval")
    )
    time.sleep(6.0 + 5 * interval_s)  # the interval before and a second, and some of the new ones
    settled_s = time.time()
    detection_s = calm_groups.detected_s(team, pods[0])
    time.sleep(AUDIT_LAG_S)
    records = log.read_new()
    before, followed = (beats(records, team, *window) for window in ((0.0, written_s), (written_s + 6.0, settled_s)))
    row: dict[str, Any] = {
        "group_type": group_type,
        "client": client,
        "purpose": "lowered",
        "changed": {"before": write["previous"], "after": write["values"]},
        "restarts": len(team.operator_writes("deployments")),
        "rebalances_by_change": epoch(followed) - epoch(before),
        "in_force_s": in_force_s(beats(records, team, written_s, settled_s), looked_s),
        "evictions_before": fenced(before),
        "detection_s": detection_s,
    }
    row["ok"] = (
        not any(row[name] for name in ("restarts", "rebalances_by_change", "evictions_before"))
        and detection_s <= session_s + 1.0
    )
    noted_rows([row])
    assert row["ok"], str(row)  # whole: pytest shortens a dictionary
    assert session_s < 20.0
    assert interval_s < 5.0
    assert calm_groups.longest_apart_s(followed) <= interval_s + 1.0  # each member beats by the new interval
    assert row["in_force_s"] <= 8.0  # the interval before and a second, and two for the looks around the write
    return row, status


def test_a_session_of_a_streams_group_is_lowered_after_calm_weeks(calm_threads: Team) -> None:
    """A killed member's tasks then move within the new session and a second, and nothing moved by the change."""
    row, _ = lowered(calm_threads, "streams", "streams")
    after = {name: durations.parse(text) // timedelta(milliseconds=1) for name, text in row["changed"]["after"].items()}
    assert configured(calm_threads) == {
        "streams.session.timeout.ms": str(after["sessionTimeout"]),
        "streams.heartbeat.interval.ms": str(after["heartbeatInterval"]),
    }


def test_sessions_of_consumers_with_librdkafka_are_lowered_after_calm_weeks(
    calm_and_counted: tuple[Team, Team],
) -> None:
    """They count their heartbeats and what they lost; members of a share group count that they did not join again."""
    client = "confluent-kafka-python"
    in_group, sharing = calm_and_counted
    lowered(in_group, "consumer", client, librdkafka_metrics.COUNTERS)
    lowered(sharing, "share", client, share_groups.RECORDS[librdkafka_metrics.COUNTERS])


def test_a_session_of_a_share_group_of_javas_consumers_is_lowered_after_calm_weeks(calm_java_share: Team) -> None:
    """Their counters of joins stand still, so that nobody was fenced."""
    lowered(calm_java_share, "share", "java", share_groups.RECORDS[java_metrics.SHARE_CONSUMER])


def test_a_session_is_lowered_after_calm_weeks_and_taken_back_by_the_operator_on_harm(calm: Team) -> None:
    """A killed member's partitions then move within the new session and a second; three fencings undo it at once."""
    row, status = lowered(calm, "consumer", "java")
    session_s = durations.parse(row["changed"]["after"]["sessionTimeout"]).total_seconds()
    log = RequestLog(calm.sandbox.kafka.request_log)
    calm.kubectl(
        *("patch", "cgp", calm.name, f"--namespace={calm.namespace}", "--subresource=status", "--type=merge"),
        *("--patch", json.dumps({"status": status})),
    )
    calm.await_available(calm.name)
    calm_groups.await_settled(calm)
    with Operator(calm.sandbox, interval_s=INTERVAL_S, alters_groups=True, grants=EVERY_GROUP) as operator:
        await_cycles(operator, 5)  # its record begins with its first look
        harmed_s = time.time()
        with ExitStack() as paused:
            for pod in calm.pods():
                paused.enter_context(calm.sandbox.node.paused(calm.namespace, pod))
            time.sleep(session_s + 2.0)
        calm.await_condition("Applied", "Reverted", status="False", timeout_s=OF_AGE_S)
        back_s, reverted = time.time(), calm.status()["groupConfig"]
        time.sleep(AUDIT_LAG_S)

    row["evictions_after"] = fenced(beats(log.read_new(), calm, harmed_s, back_s))
    row["taken_back_s"] = round(back_s - harmed_s, 1)
    row["ok"] = row["evictions_after"] >= REPLICAS
    noted_rows([row])
    assert row["ok"], str(row)  # whole: pytest shortens a dictionary
    assert reverted["harm"] == "Danger"
    assert configured(calm) == WIDE
