"""What `heartbeat-tuner check` reads from env files, and which values it refuses."""

from pathlib import Path

import pytest

from tests.support.checks import PASSWORD, checked, rules, run, unread

NAME = "KAFKA_SESSION_TIMEOUT_MS"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        (f"{NAME}=20000\n", 20_000),
        (f"export {NAME}=20000", 20_000),
        (f'{NAME}="20000"  # why\n', 20_000),
        (f"  {NAME} = '20000'\r\n", 20_000),
        (f"{NAME}=20000 # why", 20_000),
        (f"{NAME}=10000\n{NAME}=20000\n", 20_000),
        (f"#{NAME}=20000\nKAFKA_BROKERS=a", 30_000),
        (f"{NAME}2=1\nKAFKA_BROKERS=a\n", 30_000),
        (f"\ufeff{NAME}=20000\n", 20_000),
        (f'KEY="-----BEGIN\n{PASSWORD}\nno assignment at all\n"\n{NAME}=20000', 20_000),
    ],
)
def test_env_files_are_read_as_people_write_them(text: str, milliseconds: int, tmp_path: Path) -> None:
    """Comments, quotes and `export` are no part of a value; other variables are passed over."""
    path = tmp_path / "app.env"
    path.write_text(text, newline="")
    (subject,) = checked("--client=kafkajs", "--env-file", path)
    assert subject["settings"]["sessionTimeout"]["milliseconds"] == milliseconds


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{NAME}=30s", f"has {NAME}='30s', which is no whole number of milliseconds between 1 and 2147483647"),
        (f"{NAME}=0", f"has {NAME}='0', which is no whole number"),
        (f"{NAME}=", f'has {NAME}="", which is no whole number'),
        (f"{NAME}={PASSWORD}", f"has {NAME}=a text of 13 characters"),
        (f"{NAME}=$(OTHER)", f"has {NAME}=a reference to another variable, $(NAME), which is no"),
        (f"{NAME}: 30000", f'has {NAME}="", which is no whole number'),
        ("KAFKA_GROUP_PROTOCOL=modern", "KAFKA_GROUP_PROTOCOL with a value that is neither classic nor consumer"),
    ],
)
def test_env_values_that_cannot_be_used_are_named(line: str, sentence: str) -> None:
    """File, variable, rule and fix; a value is shown only if it looks like a duration."""
    assert sentence in unread("--client=java", "--env-file=-", stdin=line)


def test_the_fix_for_an_env_value_is_that_of_this_command() -> None:
    """There is no policy here whose spec could be repaired."""
    sentence = unread("--client=kafkajs", "--env-file=-", stdin=f"{NAME}=30s")
    assert "write 30000, or name the right variable with --env sessionTimeout=NAME" in sentence


@pytest.mark.parametrize(
    ("client", "line", "readings"),
    [
        ("java", f"{NAME}=45", "reads as 45ms, and no consumer runs with a sessionTimeout of 45ms"),
        ("kafkajs", f"{NAME}=30", "give it in milliseconds, or with its unit; 30s are 30000"),
        ("java", "KAFKA_HEARTBEAT_INTERVAL_MS=3", "heartbeat interval reads as 3ms"),
        ("aiokafka", "KAFKA_REBALANCE_TIMEOUT_MS=60", "1m are 60000"),
        ("sarama", "KAFKA_SESSION_TIMEOUT=30000", "write 30000ms (30s) or 30000s (8h20m), whichever is meant"),
        ("franz-go", "KAFKA_HEARTBEAT_INTERVAL=3", "write 3ms (3ms) or 3s (3s), whichever is meant"),
        ("kafka-go", "KAFKA_SESSION_TIMEOUT=30 s", "write 30 seconds as 30s, or name the right variable"),
        ("kafka-go", "KAFKA_SESSION_TIMEOUT=٣", "write 30 seconds as 30s, or name the right variable"),
        ("spring", "SPRING_KAFKA_CONSUMER_MAXPOLLINTERVAL=5 minutes", "write 30 seconds as 30000, or name the right"),
        ("java", f"{NAME}=' 30000'", "='30000' with white space around it, which is no whole number of milliseconds"),
        ("java", f"{NAME}='30000 '", "; write 30000, or name the right variable"),
        ("kafkajs", f"{NAME}='30s '", "; write 30000, or name the right variable"),
        ("sarama", "KAFKA_SESSION_TIMEOUT='30s '", "; write 30s, or name the right variable"),
    ],
)
def test_a_doubtful_unit_is_refused_with_both_readings(client: str, line: str, readings: str) -> None:
    """Nobody has to guess what was understood."""
    assert readings in unread(f"--client={client}", "--env-file=-", stdin=line)


@pytest.mark.parametrize(
    ("preset", "variable", "protocol"),
    [
        (
            "spring",
            "SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS",
            "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_PROTOCOL",
        ),
        ("plain", NAME, "KAFKA_GROUP_PROTOCOL"),
    ],
)
def test_a_preset_says_what_variables_are_called(preset: str, variable: str, protocol: str) -> None:
    """Those of the other preset mean nothing then."""
    stdin = f"{NAME}=9000\nSPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS=9000\n{variable}=20000\n"
    (subject,) = checked("--client=spring", "--env-file=-", f"--preset={preset}", stdin=stdin)
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 20_000, "origin": "given"}
    (subject,) = checked("--client=spring", "--env-file=-", f"--preset={preset}", stdin=f"{protocol}=consumer\n")
    assert subject["settings"]["sessionTimeout"]["origin"] == "broker"


def test_an_older_version_is_checked_with_its_defaults() -> None:
    """Java had S 10 s before 3.0."""
    (subject,) = checked("--client=java", "--client-version=2.8", "--heartbeat-interval=4s")
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 10_000, "origin": "default"}
    assert rules(subject) == ["few-beats-per-session"]


@pytest.mark.parametrize(
    ("client", "flag", "milliseconds"),
    [("kafka-node", "heartbeatInterval", 3_000), ("aiokafka", "rebalanceTimeout", 9_000)],
)
def test_a_default_that_is_a_share_of_the_session_follows_it(client: str, flag: str, milliseconds: int) -> None:
    """kafka-node beats three times in a session, whatever that is."""
    (subject,) = checked(f"--client={client}", "--session-timeout=9s")
    assert subject["settings"][flag] == {"milliseconds": milliseconds, "origin": "default"}


@pytest.mark.parametrize(
    ("client", "shown"), [("aiokafka", "\n  aiokafka beats"), ("java", "\n  The Java consumer beats")]
)
def test_a_sentence_begins_as_the_library_is_written(client: str, shown: str) -> None:
    """A name written small stays so; an article does not."""
    assert shown in run("check", f"--client={client}", "--session-timeout=7s").stdout


def test_another_variable_may_hold_a_setting() -> None:
    """The preset's name means nothing then."""
    stdin = f"{NAME}=20000\nMINE=10000\n"
    (subject,) = checked("--client=kafkajs", "--env-file=-", "--env=sessionTimeout=MINE", stdin=stdin)
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 10_000, "origin": "given"}


@pytest.mark.parametrize("value", ["consumer", "CONSUMER"])
def test_the_group_s_protocol_is_read(value: str) -> None:
    """A client of the consumer protocol that sets S does not start."""
    stdin = f"KAFKA_GROUP_PROTOCOL={value}\n{NAME}=45000\n"
    (subject,) = checked("--client=java", "--env-file=-", stdin=stdin)
    assert rules(subject) == ["consumer-protocol-refuses"]
    assert subject["wouldHold"] == {"set": {}, "remove": ["sessionTimeout"]}
    assert subject["settings"]["heartbeatInterval"] == {"milliseconds": None, "origin": "broker"}


# Manifests
