"""The command `heartbeat-tuner check`: what it says, how soon, and which command lines it refuses."""

import json
import shlex
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from heartbeat_tuner.lint import rule_catalogue
from tests.support import check_examples, documents
from tests.support.check_examples import Example
from tests.support.checks import container, manifest, refused, rules, run, workload

STORM = {"KAFKA_SESSION_TIMEOUT_MS": "1000", "KAFKA_HEARTBEAT_INTERVAL_MS": "333", "KAFKA_MAX_WAIT_TIME_MS": "5000"}


GUIDE = "docs/how-to/check.md"


@pytest.mark.parametrize("example", check_examples.examples(), ids=str)
def test_examples_give_their_findings_and_exit_status(example: Example) -> None:
    """The flags mean what the rules take, and only errors fail by default."""
    severities = {rule.id: rule.severity.value for rule in rule_catalogue.RULES}
    nothing_fits = ["no-values-fit"] if example.holds == "nothing" else []
    worst = {severities[rule] for rule in [*example.findings, *nothing_fits]}
    for fail_on, failing in ({"error": {"error"}, "warning": {"error", "warning"}}).items():
        result = run(*example.arguments, "--output=json", f"--fail-on={fail_on}")
        report = rules(json.loads(result.stdout)["checked"][0])
        assert [rule for rule in report if rule not in nothing_fits] == example.findings
        assert set(nothing_fits) <= set(report)
        assert result.exit_code == (1 if worst & failing else 0)
    assert run(*example.arguments).exit_code == (1 if "error" in worst else 0)
    assert run(*example.arguments, "--fail-on=never").exit_code == 0


@pytest.mark.parametrize("block", documents.code_blocks(GUIDE, "console"), ids=lambda block: block.splitlines()[0][:60])
def test_the_guide_shows_what_the_command_says(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and answers on the page are real."""
    (tmp_path / "deploy.yaml").write_text(documents.code_blocks(GUIDE, "yaml")[0])
    (tmp_path / "app.env").write_text(documents.code_blocks(GUIDE, "ini")[0])
    monkeypatch.chdir(tmp_path)
    command, _, answer = block.partition("\n")
    assert run(*shlex.split(command)[2:]).stdout == answer


def test_the_readme_s_example_answers_in_a_process_of_its_own() -> None:
    """A newcomer's first command says what is wrong and what would hold, and soon (0.15 s on a quiet machine)."""
    (command, *_) = documents.code_blocks("README.md", "shell")
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "heartbeat_tuner", *shlex.split(command)[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - began
    assert (done.returncode, done.stderr) == (1, "")
    assert "rebalances endlessly" in done.stdout
    assert "What would hold: session timeout 30s, heartbeat interval 1s, fetch wait 1s." in done.stdout
    assert took_s < 10


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """Time follows from imports, and they are the same on every machine."""
    path = manifest(tmp_path, workload(container(env=STORM)))
    program = textwrap.dedent("""
        import sys
        from heartbeat_tuner.cli import cli
        cli(["check", "--client=kafkajs", "-f", sys.argv[1]], standalone_mode=False)
        heavy = {"kopf", "kubernetes", "confluent_kafka", "prometheus_api_client", "prometheus_client", "pydantic",
                 "aiohttp", "requests", "structlog", "numpy", "pandas"}
        print(sorted(heavy & set(sys.modules)), file=sys.stderr)
    """)
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_all_commands_are_there() -> None:
    """Each name leads to a module with a command; others are refused as click does."""
    shown = run("--help").stdout
    assert all(f"  {name} " in shown for name in ("check", "clients", "crds", "run"))
    assert "kind: CustomResourceDefinition\n" in run("crds").stdout
    assert run("lint").exit_code == 2


# Env files


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--client=kafkaj"], "client library 'kafkaj' is unknown; did you mean kafkajs? known are aiokafka,"),
        ([], "name files or folders to check, or say with --client which library is meant"),
        (["a.env", "--preset=plain"], "--preset names variables of a library: say with --client which"),
        (["--client=java", "--fix"], "--fix and --diff change files: name one"),
        (["--client=java", "--kafka-version=new"], "--kafka-version new: write a version like 3.9"),
        (["--client=java", "--select=HT9"], "--select: 'HT9' is no rule; give a code such as HT101"),
        (["--client=java", "--session-timeout=30"], "add a unit, like 30ms, 30s or 30m: '30' has none"),
        (["--client=java", "--session-timeout=4.5"], "add a unit, like 4.5ms, 4.5s or 4.5m: '4.5' has none"),
        (
            ["--client=java", "--session-timeout=abc"],
            "write a duration like 45s, 333ms, 1h30m or 14d: 'abc' is not one",
        ),
        (["--client=java", "--session-timeout=0s"], "choose a time between 1ms and"),
        (["--client=java", "--handler-time=600h"], "choose a time between 1ms and"),
        (["--client=java", "--brokers=0"], "'--brokers'"),
        (["--client=kafkajs", "--max-poll-interval=5m"], "KafkaJS has no max poll interval"),
        (["--client=java", "--rebalance-timeout=1m"], "max.poll.interval.ms plays its part; say it with --max-poll-in"),
        (
            ["--client=connect", "--max-poll-interval=1m"],
            "rebalance.timeout.ms plays its part; say it with --rebalance",
        ),
        (["--client=confluent-kafka-javascript", "--rebalance-timeout=1m"], "rebalanceTimeout plays its part; say it"),
        (
            ["--client=kafka-node", "--rebalance-timeout=1m"],
            "sessionTimeout plays its part; say it with --session-time",
        ),
        (
            ["--client=sarama", "--max-poll-interval=1m"],
            "nothing plays its part, and a member whose handler hangs keeps",
        ),
        (["--client=connect", "--handler-time=1m"], "check the consumers of its sink tasks with --client java"),
        (["--client=java", "--client-version=5.0"], "the nearest known version is 4.4"),
        (
            ["--client=spring", "-fa", "--preset=x"],
            "--preset x: Spring Kafka is known with spring, spring-underscores, spring-cloud-stream and",
        ),
        (["--client=spring", "--preset=plain"], "say which variables of a file to read: name the file"),
        (["--client=java", "-fa", "--env=rebalanceTimeout=X"], "plays its part; say it with --env maxPollInterval=X"),
        (["--client=kafkajs", "-fa", "--env=maxPollInterval=X"], "--env maxPollInterval=X: KafkaJS has no max poll"),
        (["--client=kafkajs", "--group-protocol=consumer"], "groups of KafkaJS are classic ones"),
        (
            ["--client=java", "--container=app"],
            "--container says which container of a manifest is meant: name the manifest",
        ),
        (["--client=java", "--env=sessionTimeout=X"], "say which variables of a file to read: name the file"),
        (["--client=java", "-fa", "--env=session=X"], "with one of sessionTimeout, heartbeatInterval, fetchWait"),
        (["--client=java", "-fa", "--env=sessionTimeout=A B"], "'A B' cannot be the name of a variable"),
        (["--client=java", "-f/does/not/exist"], "/does/not/exist cannot be read: No such file or directory"),
        (["--client=java", "--env-file=/"], "/ cannot be read: Is a directory"),
        (
            ["--client=kafkajs", "--env-file=-", "--env=sessionTimeout=X", "--env=heartbeatInterval=X"],
            "X is the variable of sessionTimeout and of heartbeatInterval",
        ),
    ],
)
def test_command_lines_that_cannot_be_used_are_refused(arguments: list[str], sentence: str) -> None:
    """Exit status 2, and a sentence with the option, the value and the rule."""
    assert sentence in refused(*arguments)
