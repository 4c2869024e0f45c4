"""Options in a file, rules by selectors and comments, and what fails."""

import json
from pathlib import Path

import pytest

from tests.support.checks import checked, refused, rules, run

SHORT = "KAFKA_BROKERS=b\nKAFKA_SESSION_TIMEOUT_MS=8000\nKAFKA_HEARTBEAT_INTERVAL_MS=2000\n"


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an env file with one warning, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "orders.env"
    path.write_text(SHORT)
    return path


@pytest.mark.parametrize(
    ("name", "head"), [(".heartbeat-tuner.toml", ""), ("pyproject.toml", "[tool.heartbeat-tuner]\n")]
)
def test_options_come_from_a_file(name: str, head: str, env_file: Path) -> None:
    """The command line wins over them."""
    (env_file.parent / name).write_text(f'{head}client = "java"\nignore = ["HT112"]\n')
    (subject,) = checked("orders.env")
    assert (subject["client"], rules(subject)) == ("java", [])
    (subject,) = checked("orders.env", "--client=kafkajs", "--ignore=HT2")
    assert (subject["client"], "session-near-broker-floor" in rules(subject)) == ("kafkajs", True)


def test_a_file_above_is_found_and_one_without_options_is_not(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyproject.toml of another tool says nothing."""
    inner = env_file.parent / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[tool.other]\n")
    (env_file.parent / ".heartbeat-tuner.toml").write_text('client = "java"\n')
    monkeypatch.chdir(inner)
    (subject,) = checked(env_file)
    assert subject["client"] == "java"


def test_patterns_say_which_library_reads_which_file(env_file: Path) -> None:
    """A repository has services in several languages."""
    other = env_file.parent / "billing.env"
    other.write_text(SHORT)
    (env_file.parent / "own.toml").write_text('[clients]\n"orders*" = "kafkajs"\n"billing*" = "java"\n')
    subjects = checked("orders.env", "billing.env", "--config=own.toml")
    assert [subject["client"] for subject in subjects] == ["kafkajs", "java"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ignor = []", "ignor is no option of check; did you mean ignore?"),
        ("zzzzzz = 1", "zzzzzz is no option of check\n"),
        ("x = ", "cannot be read as TOML"),
        ('clients = "java"', "clients is a table of patterns"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, sentence: str, env_file: Path) -> None:
    """It names the key, and what may be meant."""
    (env_file.parent / "own.toml").write_text(text)
    assert sentence in refused("orders.env", "--config=own.toml")


def test_a_table_that_is_none_is_refused(env_file: Path) -> None:
    """TOML lets a key be anything."""
    (env_file.parent / "pyproject.toml").write_text('[tool]\nheartbeat-tuner = "java"\n')
    assert "tool.heartbeat-tuner is no table" in refused("orders.env")


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--select=HT112"], ["session-near-broker-floor"]),
        (["--select=HT1,HT3", "--ignore=session-near-broker-floor"], ["few-beats-per-session"]),
        (["--ignore=HT"], []),
    ],
)
def test_rules_are_chosen_by_code_and_by_id(options: list[str], left: list[str], env_file: Path) -> None:
    """The beginning of a code means all of its rules."""
    env_file.write_text(SHORT.replace("2000", "3000"))
    (subject,) = checked("orders.env", "--client=java", *options)
    assert rules(subject) == left


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS=8000  # heartbeat-tuner: ignore[HT112]", []),
        ("# heartbeat-tuner: ignore\nKAFKA_SESSION_TIMEOUT_MS=8000", []),
        ("KAFKA_SESSION_TIMEOUT_MS=8000\n\n# heartbeat-tuner: ignore-file[session-near-broker-floor, HT101]", []),
        ("KAFKA_SESSION_TIMEOUT_MS=8000  # heartbeat-tuner: ignore[HT113]", ["session-near-broker-floor"]),
        ("# heartbeat-tuner: ignore\n\nKAFKA_SESSION_TIMEOUT_MS=8000", ["session-near-broker-floor"]),
    ],
)
def test_comments_rule_findings_out(line: str, left: list[str], env_file: Path) -> None:
    """On the line or the one above, or for the whole file; the summary says how many."""
    env_file.write_text(f"KAFKA_BROKERS=b\nKAFKA_HEARTBEAT_INTERVAL_MS=2000\n{line}\n")
    (subject,) = checked("orders.env", "--client=java")
    assert rules(subject) == left
    assert ("1 finding ignored" in run("check", "orders.env", "--client=java").stdout) is (left == [])


@pytest.mark.parametrize(("fail_on", "status"), [("never", 0), ("error", 0), ("warning", 1), ("info", 1)])
def test_what_fails_is_chosen(fail_on: str, status: int, env_file: Path) -> None:
    """A warning fails nobody's build unless it is asked to."""
    assert run("check", env_file, "--client=java", f"--fail-on={fail_on}").exit_code == status


def test_the_summary_says_what_would_show_more(env_file: Path) -> None:
    """An option that is given is not named."""
    text = run("check", env_file, "--client=java", "--handler-time=1s").stdout
    assert "These would show more: --longest-pause, --broker-min-session, --kafka-version." in text


def test_what_cannot_be_had_fails(env_file: Path) -> None:
    """The two numbers that collide are named."""
    result = run("check", env_file, "--client=java", "--max-detection-time=5s", "-ojson")
    assert result.exit_code == 1
    (subject,) = json.loads(result.stdout)["checked"]
    assert "no-values-fit" in rules(subject)
    assert "--max-detection-time allows at most 5s" in subject["infeasible"]


def test_a_chart_is_told_once(tmp_path: Path) -> None:
    """Dozens of templates are one thing to do: render them."""
    templates = tmp_path / "orders" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "Chart.yaml").write_text("name: orders\n")
    for name in ("a.yaml", "b.yaml"):
        (templates / name).write_text("kind: ConfigMap\nmetadata: {name: {{ .Values.name }}}\n")
    (subject,) = checked(tmp_path / "orders")
    (finding,) = subject["findings"]
    assert finding["rule"] == "unreadable-file"
    assert "orders is a chart, whose templates are no manifests: helm template " in finding["message"]


def test_nothing_is_said_of_a_library_that_nobody_named(tmp_path: Path) -> None:
    """Where only the brokers are known, there are no defaults to check."""
    path = tmp_path / "a.env"
    path.write_text("KAFKA_BROKERS=b\n")
    text = run("check", path).stdout
    assert text.startswith(f"{path}: library not known\n\ninfo: HT014 nothing-set\n")
    assert "the library is not known: nothing was checked" in text
