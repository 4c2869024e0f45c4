"""A broker that lets nobody in without a key, and what the operator tells of each wrong one."""

import asyncio
import dataclasses
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ShareConsumer
from structlog.testing import capture_logs

from heartbeat_tuner import assembly, settings
from heartbeat_tuner.adapters.kafka import kafka_access
from heartbeat_tuner.adapters.kafka.batched_groups import BatchedGroups
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.errors import ClusterUnreachableError, GroupConfigRefusedError
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOverrides, UnreadableGroup
from sandbox import kafka_security, network
from sandbox.group_states import group_states
from sandbox.kafka import Kafka
from sandbox.kafka_rights import grant, set_scram_password
from sandbox.kafka_security import EXPIRED, KEY_PASSWORD, MISNAMED, SASL_CLEAR, SASL_TLS, TLS, Doors
from sandbox.processes import wait_until
from tests.support import documents
from tests.support.fences import TimedFence

pytestmark = pytest.mark.timeout(180)

TIMEOUT = timedelta(seconds=10)
PLAIN_PASSWORD = "plain-secret-0af3"  # noqa: S105 - of a broker that lives as long as the tests
SCRAM_PASSWORD = "scram-secret-9b21"  # noqa: S105 - likewise
WRONG_PASSWORD = "wrong-secret-77cc"  # noqa: S105 - likewise
SECRETS = (PLAIN_PASSWORD, SCRAM_PASSWORD, WRONG_PASSWORD, KEY_PASSWORD, "PRIVATE KEY")
TRIES, PAUSE_S = 50, 0.2
GROUP, CONSUMER_GROUP, SHARE_GROUP, TOPIC = "orders", "orders-848", "orders-share", "orders-topic"


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Doors:
    """The certificates, and the listeners they are for."""
    return Doors.create(tmp_path_factory.mktemp("doors"), plain_users={"plain-user": PLAIN_PASSWORD})


def await_assignment(consumer: Consumer) -> None:
    """Poll until a consumer has partitions."""
    wait_until(lambda: consumer.poll(0.1) or bool(consumer.assignment()), part="kafka", what="an assignment")


@pytest.fixture(scope="module")
def locked(doors: Doors, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """Run a broker that refuses what no ACL allows, with a group of three kinds each."""
    folder = tmp_path_factory.mktemp("locked")
    with Kafka(folder, listeners=doors.listeners, properties=kafka_security.AUTHORIZER) as broker:
        set_scram_password(broker.bootstrap, "tuner", SCRAM_PASSWORD)
        for principal in ("User:tuner", "User:plain-user", doors.client_principal):
            grant(
                broker.bootstrap,
                f"kafka-acls --add --allow-principal User:X --operation Describe --group {GROUP}",
                principal=principal,
            )
        broker.create_topic(TOPIC, 4)
        consumers = [
            Consumer(
                {
                    "bootstrap.servers": broker.bootstrap,
                    "group.id": group,
                    "group.protocol": protocol,
                    "client.id": "app",
                    "log_level": 0,
                }
            )
            for group, protocol in ((GROUP, "classic"), (CONSUMER_GROUP, "consumer"))
        ]
        for consumer in consumers:
            consumer.subscribe([TOPIC])
            await_assignment(consumer)
        sharing = ShareConsumer({"bootstrap.servers": broker.bootstrap, "group.id": SHARE_GROUP, "log_level": 0})
        sharing.subscribe([TOPIC])
        wait_until(
            lambda: group_states(broker.bootstrap).get(SHARE_GROUP) == "Stable", part="kafka", what="the share group"
        )
        yield broker
        for consumer in (*consumers, sharing):
            consumer.close()


@pytest.fixture
def scram(doors: Doors, locked: Kafka, tmp_path: Path) -> KafkaAccess:
    """The usual way in, with a password file of the test's own."""
    password_file = tmp_path / "password"
    password_file.write_text(SCRAM_PASSWORD + "\n")
    return KafkaAccess(
        locked.address(SASL_TLS),
        security_protocol="SASL_SSL",
        mechanism="SCRAM-SHA-512",
        username="tuner",
        password_file=password_file,
        ca_file=doors.ca,
    )


@pytest.fixture
def certified(doors: Doors, locked: Kafka) -> KafkaAccess:
    """The way in with a certificate."""
    return KafkaAccess(
        locked.address(TLS),
        security_protocol="SSL",
        ca_file=doors.ca,
        cert_file=doors.client_cert,
        key_file=doors.client_key,
    )


async def described(access: KafkaAccess, *group_ids: str) -> dict[str, Group | UnreadableGroup | None]:
    """Ask once, as a new operator would."""
    with closing(KafkaGroups({"main": access}, timeout=TIMEOUT)) as groups:
        return dict(await groups.describe("main", group_ids or [GROUP]))


async def refusal(access: KafkaAccess) -> str:
    """Return the sentence in which a wrong key is told: it keeps secrets, and comes before a request's time is over."""
    began = time.monotonic()
    with capture_logs() as logs, pytest.raises(ClusterUnreachableError) as caught:
        await described(access)
    assert time.monotonic() - began < TIMEOUT.total_seconds() * 0.9
    keep_secrets(str(caught.value), str(logs), repr(access))
    assert str(caught.value).startswith("Kafka cluster main")
    return str(caught.value)


def keep_secrets(*texts: str) -> None:
    """No secret stands in any of them."""
    assert [secret for text in texts for secret in SECRETS if secret in text] == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
async def test_a_password_opens(
    locked: Kafka, scram: KafkaAccess, tmp_path: Path, mechanism: str, protocol: str
) -> None:
    """By each mechanism, with TLS and without, and with the user's name in a file."""
    user, password = ("plain-user", PLAIN_PASSWORD) if mechanism == "PLAIN" else ("tuner", SCRAM_PASSWORD)
    (tmp_path / "user").write_text(f"{user}\n")
    (tmp_path / "password").write_text(password)
    access = dataclasses.replace(
        scram,
        bootstrap_servers=locked.address(SASL_TLS if protocol == "SASL_SSL" else SASL_CLEAR),
        security_protocol=protocol,
        mechanism=mechanism,
        username=tmp_path / "user",
        ca_file=scram.ca_file if protocol == "SASL_SSL" else None,
    )
    found = (await described(access))[GROUP]
    assert isinstance(found, Group)
    assert [member.client_id for member in found.members] == ["app"]


@pytest.mark.parametrize("encrypted", [False, True])
async def test_a_certificate_opens(doors: Doors, certified: KafkaAccess, tmp_path: Path, *, encrypted: bool) -> None:
    """With a key in the clear, and with one that has a password."""
    (tmp_path / "key-password").write_text(KEY_PASSWORD)
    if encrypted:
        certified = dataclasses.replace(
            certified, key_file=doors.locked_key, key_password_file=tmp_path / "key-password"
        )
    assert isinstance((await described(certified))[GROUP], Group)


@pytest.mark.parametrize("way", ["scram", "certified"])
def test_classic_groups_are_described_in_batches_with_no_other_right(
    way: str, scram: KafkaAccess, certified: KafkaAccess
) -> None:
    """Describe on the group alone; who may not be described leaves the others, and says nothing here."""
    keys = kafka_access.read("main", {"scram": scram, "certified": certified}[way])
    with closing(BatchedGroups("main")) as batched:
        for _ in range(2):  # by a new connection, and by one that is open
            found = batched.described(keys, [CONSUMER_GROUP, GROUP, "not-there"], within_s=20)
            assert set(found) == {GROUP}
            assert [member.client_id for member in found[GROUP].members] == ["app"]


async def described_within_rights(
    access: KafkaAccess, is_answer: Callable[[UnreadableGroup], bool]
) -> Group | UnreadableGroup | None:
    """Return the share group as soon as it is read, or cannot be for the reason that is waited for.

    The controller confirms a right that it has; the broker that is asked learns of it a moment later.
    """
    for _ in range(TRIES):
        found = (await described(access, SHARE_GROUP, "not-there"))[SHARE_GROUP]
        if not isinstance(found, UnreadableGroup) or is_answer(found):
            break
        await asyncio.sleep(PAUSE_S)
    return found


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", None])
@pytest.mark.parametrize("protocol", ["SSL", "PLAINTEXT"])
async def test_a_share_group_is_read_by_every_way_in(
    doors: Doors, locked: Kafka, certified: KafkaAccess, tmp_path: Path, mechanism: str | None, protocol: str
) -> None:
    """Kafka's own protocol is spoken with the same keys: by TLS and without, by a password or a locked certificate.

    Without Describe on the group's topics it is known that the group is there, and which command grants the right.
    """
    principal = ""
    if mechanism is None and protocol == "PLAINTEXT":
        access = KafkaAccess(locked.bootstrap)
    elif mechanism is None:
        (tmp_path / "key-password").write_text(KEY_PASSWORD)
        key_password = tmp_path / "key-password"
        access = dataclasses.replace(certified, key_file=doors.locked_key, key_password_file=key_password)
        principal = doors.client_principal
    else:
        user, password = ("plain-user", PLAIN_PASSWORD) if mechanism == "PLAIN" else ("sharing", SCRAM_PASSWORD)
        if mechanism != "PLAIN":
            set_scram_password(locked.bootstrap, user, password)
        (tmp_path / "password").write_text(password)
        access = KafkaAccess(
            locked.address(SASL_TLS if protocol == "SSL" else SASL_CLEAR),
            security_protocol=f"SASL_{protocol}",
            mechanism=mechanism,
            username=user,
            password_file=tmp_path / "password",
            ca_file=doors.ca if protocol == "SSL" else None,
        )
        principal = f"User:{user}"
    if principal:
        command = f"kafka-acls --add --allow-principal User:X --operation Describe --group {SHARE_GROUP}"
        grant(locked.bootstrap, command, principal=principal)
        found = await described_within_rights(access, lambda found: "the topics of group" in found.message)
        if isinstance(found, UnreadableGroup):  # the first time with this principal
            assert found.tells_of_group
            assert "the right Describe on the topics of group orders-share" in found.message
            grant(locked.bootstrap, command_in(found.message).replace("TOPIC", TOPIC), principal=principal)
    found = await described_within_rights(access, lambda _: False)
    assert isinstance(found, Group)
    assert (found.kind, [member.host for member in found.members]) == ("share", ["127.0.0.1"])


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [("PLAIN", "Invalid username or password"), ("SCRAM-SHA-256", "invalid credentials with SASL mechanism")],
)
async def test_a_wrong_password_is_told(scram: KafkaAccess, mechanism: str, words: str) -> None:
    """In the broker's words."""
    assert scram.password_file is not None
    scram.password_file.write_text(WRONG_PASSWORD)
    report = await refusal(dataclasses.replace(scram, mechanism=mechanism))
    assert f"does not accept the operator's user name or password by {mechanism}: " in report
    assert words in report


async def test_an_authority_that_did_not_sign_the_broker_is_told(doors: Doors, scram: KafkaAccess) -> None:
    """The file is named by its field."""
    report = await refusal(dataclasses.replace(scram, ca_file=doors.other_ca))
    assert "shows a certificate that is not trusted: unable to get local issuer certificate" in report
    assert "by tls.caFile" in report
    assert "by the system's authorities" in await refusal(dataclasses.replace(scram, ca_file=None))


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        (MISNAMED, "IP address mismatch, certificate is not valid for '127.0.0.1'"),
        (EXPIRED, "certificate has expired"),
    ],
)
async def test_what_is_wrong_with_a_broker_s_certificate_is_told(
    locked: Kafka, certified: KafkaAccess, listener: str, words: str
) -> None:
    """A wrong host name and an old certificate are not a wrong authority."""
    report = await refusal(dataclasses.replace(certified, bootstrap_servers=locked.address(listener)))
    assert f"shows a certificate that is not trusted: {words}" in report


async def test_a_missing_certificate_of_our_own_is_told(certified: KafkaAccess) -> None:
    """The broker says no more than that it is bad."""
    report = await refusal(dataclasses.replace(certified, cert_file=None, key_file=None))
    assert "does not accept the certificate of tls.certFile (none is set): bad certificate" in report


async def test_a_plain_listener_asked_by_tls_is_told(locked: Kafka, certified: KafkaAccess) -> None:
    """The wrong port, or the wrong protocol."""
    report = await refusal(dataclasses.replace(certified, bootstrap_servers=locked.bootstrap))
    assert "does not speak TLS there, and securityProtocol is SSL" in report


@pytest.mark.parametrize("listener", [TLS, SASL_TLS, SASL_CLEAR])
async def test_a_locked_listener_asked_in_the_clear_is_told(locked: Kafka, listener: str) -> None:
    """The broker hangs up, and librdkafka goes on trying: the sentence comes with the end of the request's time."""
    access = KafkaAccess(locked.address(listener))
    with (
        closing(KafkaGroups({"main": access}, timeout=timedelta(seconds=2))) as groups,
        pytest.raises(ClusterUnreachableError) as caught,
    ):
        await groups.describe("main", [GROUP])
    assert "a listener does for which securityProtocol PLAINTEXT is the wrong one" in str(caught.value)


async def test_a_broker_that_says_nothing_is_no_wrong_protocol() -> None:
    """Something listens and never answers: librdkafka would give the connection up after 10 s, and say no more."""
    with socket.create_server((network.LOOPBACK, 0)) as mute:
        access = KafkaAccess(f"{network.LOOPBACK}:{mute.getsockname()[1]}")
        with (
            closing(KafkaGroups({"main": access}, timeout=timedelta(seconds=11))) as groups,
            pytest.raises(ClusterUnreachableError, match="did not answer: timed out"),
        ):
            await groups.describe("main", [GROUP])


async def test_keys_that_librdkafka_does_not_take_are_told(
    doors: Doors, certified: KafkaAccess, tmp_path: Path
) -> None:
    """Before anything is sent, in a sentence that keeps the password."""
    wrong, garbage = tmp_path / "key-password", tmp_path / "garbage.pem"
    wrong.write_text(WRONG_PASSWORD)
    garbage.write_text("this is no PEM")
    locked_key = dataclasses.replace(certified, key_file=doors.locked_key)
    for access, words in (
        (locked_key, "tls.keyFile (by tls.keyPasswordFile, if it is encrypted) failed: SSL routines::PEM lib"),
        (dataclasses.replace(locked_key, key_password_file=wrong), "tls.keyFile (by tls.keyPasswordFile"),
        (dataclasses.replace(certified, key_file=doors.other_key), "key values mismatch"),
        (dataclasses.replace(certified, cert_file=garbage), "tls.certFile failed"),
        (dataclasses.replace(certified, ca_file=garbage), "tls.caFile failed"),
    ):
        report = await refusal(access)
        assert "cannot be asked: " in report
        assert words in report


async def test_files_that_changed_are_used_at_once(locked: Kafka, scram: KafkaAccess) -> None:
    """A password that is rotated, at the broker and in the mount, needs no restart; nor does one set right again."""
    assert scram.password_file is not None
    with closing(KafkaGroups({"main": scram}, timeout=TIMEOUT)) as groups:
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)
        scram.password_file.write_text(WRONG_PASSWORD)
        with pytest.raises(ClusterUnreachableError):
            await groups.describe("main", [GROUP])
        set_scram_password(locked.bootstrap, "tuner", WRONG_PASSWORD)
        try:
            assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)
        finally:
            set_scram_password(locked.bootstrap, "tuner", SCRAM_PASSWORD)
        scram.password_file.write_text(SCRAM_PASSWORD)
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)


async def test_a_certificate_that_changed_under_its_name_is_used_at_once(
    doors: Doors, certified: KafkaAccess, tmp_path: Path
) -> None:
    """As a Secret's mount does it: the path stays, the contents are others."""
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(doors.ca.read_bytes())
    with closing(KafkaGroups({"main": dataclasses.replace(certified, ca_file=trusted)}, timeout=TIMEOUT)) as groups:
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)
        trusted.write_bytes(doors.other_ca.read_bytes())
        with pytest.raises(ClusterUnreachableError, match="not trusted"):
            await groups.describe("main", [GROUP])
        trusted.write_bytes(doors.ca.read_bytes())
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)


async def test_a_file_that_vanished_costs_its_own_cluster_only(scram: KafkaAccess, certified: KafkaAccess) -> None:
    """And only until it is back."""
    assert scram.password_file is not None
    with closing(KafkaGroups({"main": scram, "other": certified}, timeout=TIMEOUT)) as groups:
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)
        aside = scram.password_file.rename(scram.password_file.with_suffix(".aside"))
        with pytest.raises(ClusterUnreachableError, match=r"main: .*/password cannot be read: No such file"):
            await groups.describe("main", [GROUP])
        assert isinstance((await groups.describe("other", [GROUP]))[GROUP], Group)
        aside.rename(scram.password_file)
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)


async def test_the_documented_configuration_opens(locked: Kafka, scram: KafkaAccess, tmp_path: Path) -> None:
    """From the page's file to a group: only address, user and paths are the test's own."""
    text, _ = documents.code_blocks("docs/how-to/kafka-security.md", "yaml")
    for theirs, ours in (
        ("kafka.kafka:9093", locked.address(SASL_TLS)),
        ("username: heartbeat-tuner", "username: tuner"),
        ("/etc/heartbeat-tuner-kafka/password", str(scram.password_file)),
        ("/etc/heartbeat-tuner-kafka/ca.crt", str(scram.ca_file)),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    (tmp_path / "config.yaml").write_text(text)
    (cluster,) = settings.load(tmp_path / "config.yaml").kafka.clusters.values()
    assert assembly.access(cluster) == scram
    assert isinstance((await described(assembly.access(cluster)))[GROUP], Group)


async def test_a_dead_cluster_does_not_delay_the_others(certified: KafkaAccess) -> None:
    """However many are dead: each is waited for by itself."""
    dead = {f"dead-{number}": KafkaAccess(f"127.0.0.1:{port}") for number, port in enumerate(network.free_ports(8))}
    timeout = timedelta(seconds=4)
    with closing(KafkaGroups({**dead, "main": certified}, timeout=timeout)) as groups:
        waiting = [asyncio.create_task(groups.describe(name, [GROUP])) for name in dead]
        await asyncio.sleep(0.1)  # they have begun
        began = time.monotonic()
        assert isinstance((await groups.describe("main", [GROUP]))[GROUP], Group)
        assert time.monotonic() - began < timeout.total_seconds() * 0.9
        assert not any(task.done() for task in waiting)
        gather = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(error) for error in gather} == {ClusterUnreachableError}
    assert str(gather[0]).endswith("did not answer: Connection refused")


async def looked(access: KafkaAccess, group_ids: Sequence[str]) -> tuple[dict[str, str | Group], Cluster, str]:
    """Return groups, or why they cannot be read; the cluster; and what was logged."""
    with capture_logs() as logs, closing(KafkaGroups({"main": access}, timeout=TIMEOUT)) as groups:
        found = await groups.describe("main", group_ids)
        cluster = await groups.cluster("main")
    texts = {
        group_id: item.message if isinstance(item, UnreadableGroup) else item
        for group_id, item in found.items()
        if item
    }
    return texts, cluster, str(logs)


def command_in(text: str) -> str:
    """Return the command that a sentence gives."""
    found = re.search(
        r"kafka-acls --add --allow-principal User:OPERATOR --operation \w+ --(group|topic|cluster)( [\w-]+)?", text
    )
    assert found is not None, text
    return found[0]


async def test_each_missing_right_is_told_with_the_command_that_grants_it(locked: Kafka, scram: KafkaAccess) -> None:
    """Who does what the sentences say, one after the other, ends with everything readable."""
    set_scram_password(locked.bootstrap, "newcomer", SCRAM_PASSWORD)
    access = dataclasses.replace(scram, username="newcomer")

    async def asked() -> tuple[str | Group, str | Group, Cluster, str]:
        found, cluster, logged = await looked(access, [GROUP, CONSUMER_GROUP])
        return found[GROUP], found[CONSUMER_GROUP], cluster, logged

    def given(text: object) -> None:
        grant(locked.bootstrap, command_in(str(text)).replace("TOPIC", TOPIC), principal="User:newcomer")

    classic, consumer, cluster, logged = await asked()
    assert "does not give the operator the right Describe on group orders; grant it" in str(classic)
    assert "the right Describe on group orders-848;" in str(consumer)
    assert cluster.bounds_assumed
    assert cluster.group_version == 1  # for this no right is needed
    given(classic)
    given(consumer)
    assert "the right DescribeConfigs on the cluster; grant it" in logged
    given(logged)
    classic, consumer, cluster, logged = await asked()
    assert isinstance(classic, Group)
    assert "the right Describe on the topics of group orders-848" in str(consumer)
    assert not cluster.bounds_assumed
    given(consumer)
    _, consumer, _, logged = await asked()
    assert isinstance(consumer, Group)
    assert consumer.config is None
    assert "the right DescribeConfigs on group orders-848" in logged
    given(logged)
    _, consumer, _, logged = await asked()
    assert isinstance(consumer, Group)
    assert consumer.config is not None
    assert logged == "[]"


async def test_a_missing_right_says_whether_there_is_such_a_group_or_not(locked: Kafka, scram: KafkaAccess) -> None:
    """Without Describe brokers refuse any name alike; topics are asked for only of a group that is there."""
    set_scram_password(locked.bootstrap, "stranger", SCRAM_PASSWORD)
    access = dataclasses.replace(scram, username="stranger")
    asked = (CONSUMER_GROUP, "nobody-s-group")
    there, missing = (await described(access, *asked))[CONSUMER_GROUP], (await described(access, *asked))[asked[1]]
    assert isinstance(there, UnreadableGroup)
    assert isinstance(missing, UnreadableGroup)
    assert there.message == missing.message.replace(asked[1], CONSUMER_GROUP)
    assert (there.tells_of_group, missing.tells_of_group) == (False, False)

    for message in (there.message, missing.message):
        grant(locked.bootstrap, command_in(message), principal="User:stranger")
    found = await described(access, *asked)
    there, missing = found[CONSUMER_GROUP], found[asked[1]]
    assert isinstance(there, UnreadableGroup)
    assert (there.tells_of_group, missing) == (True, None)


async def test_the_documented_rights_are_enough(locked: Kafka, scram: KafkaAccess) -> None:
    """And no more than what is read with them."""
    set_scram_password(locked.bootstrap, "documented", SCRAM_PASSWORD)
    (block,) = [
        text for text in documents.code_blocks("docs/how-to/kafka-security.md", "shell") if "kafka-acls" in text
    ]
    commands = block.replace("\\\n", " ").strip().splitlines()
    for command in commands:
        grant(locked.bootstrap, command, principal="User:documented")
    found, cluster, logged = await looked(
        dataclasses.replace(scram, username="documented"), [GROUP, CONSUMER_GROUP, SHARE_GROUP, "not-there"]
    )
    assert {type(item) for item in found.values()} == {Group}
    assert set(found) == {GROUP, CONSUMER_GROUP, SHARE_GROUP}
    assert not cluster.bounds_assumed
    assert logged == "[]"


async def test_to_alter_groups_takes_one_right_more(locked: Kafka, scram: KafkaAccess) -> None:
    """Without it the command that grants it is told; with it and those for reading the write is done."""
    set_scram_password(locked.bootstrap, "altering", SCRAM_PASSWORD)
    for page, lacks in (
        ("docs/how-to/kafka-security.md", "DescribeConfigs"),
        ("docs/how-to/broker-side.md", "AlterConfigs"),
    ):
        access = dataclasses.replace(scram, username="altering", alters_groups=True)
        with (
            closing(KafkaGroups({"main": access}, timeout=TIMEOUT, fence=TimedFence())) as groups,
            pytest.raises(GroupConfigRefusedError, match=f"the right {lacks} on group"),
        ):
            await altered(groups)
        blocks = documents.code_blocks(page, "shell")
        (commands,) = [text.replace("\\\n", " ").strip() for text in blocks if "kafka-acls" in text]
        for command in commands.splitlines():
            grant(locked.bootstrap, command, principal="User:altering")
    with closing(KafkaGroups({"main": access}, timeout=TIMEOUT, fence=TimedFence())) as groups:
        await altered(groups)


async def altered(groups: KafkaGroups) -> None:
    """Set a group's session; there need be no such group."""
    wanted = GroupOverrides(timedelta(seconds=50))
    for kind in ("consumer", "streams"):
        await groups.alter("main", "to-be-altered", kind=kind, expected=GroupOverrides(), wanted=wanted)
