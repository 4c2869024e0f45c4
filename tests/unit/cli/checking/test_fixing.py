"""`check --fix`: values change where they stand, and nothing else does."""

from pathlib import Path

import pytest

from tests.support.checks import config_map, container, manifest, run, workload

ENV = "# orders\nKAFKA_SESSION_TIMEOUT_MS=10000\nKAFKA_HEARTBEAT_INTERVAL_MS=10000 # 10000\nOTHER=10000\n"


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    """Return an env file with a session that is too short."""
    path = tmp_path / "orders.env"
    path.write_text(ENV)
    return path


def test_a_difference_is_shown_and_nothing_written(env_file: Path) -> None:
    """Who looks first loses nothing."""
    text = run("check", env_file, "--client=java", "--diff").stdout
    assert "-KAFKA_SESSION_TIMEOUT_MS=10000\n+KAFKA_SESSION_TIMEOUT_MS=45000\n" in text
    assert env_file.read_text() == ENV


def test_a_fix_holds_and_a_second_changes_nothing(env_file: Path) -> None:
    """Comments, order and other variables stay."""
    assert run("check", env_file, "--client=java", "--fix").exit_code == 1
    assert env_file.read_text() == ENV.replace("TIMEOUT_MS=10000", "TIMEOUT_MS=45000")
    again = run("check", env_file, "--client=java", "--fix")
    assert again.exit_code == 0
    assert "---" not in again.stdout


def test_a_manifest_is_fixed_where_the_value_stands(tmp_path: Path) -> None:
    """The value stands on the line after the name, as most people write it."""
    path = manifest(tmp_path, workload(container(env={"KAFKA_SESSION_TIMEOUT_MS": "10000", "PORT": "10000"})))
    before = path.read_text()
    run("check", path, "--client=kafkajs", "--fix")
    assert path.read_text() == before.replace("10000'", "30000'", 1)


def test_go_durations_keep_their_unit(tmp_path: Path) -> None:
    """Go refuses a bare number."""
    path = tmp_path / "a.env"
    path.write_text("KAFKA_SESSION_TIMEOUT=10s\nKAFKA_HEARTBEAT_INTERVAL=9s\n")
    run("check", path, "--client=sarama", "--fix")
    assert path.read_text().startswith("KAFKA_SESSION_TIMEOUT=30s\n")


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("java", "KAFKA_SESSION_TIMEOUT_MS=${SESSION:-10000}\nKAFKA_HEARTBEAT_INTERVAL_MS=10000\n"),
        ("java", "KAFKA_HEARTBEAT_INTERVAL_MS=60000\n"),
        ("", "KAFKA_BROKERS=b\nKAFKA_SESSION_TIMEOUT_MS=3000\n"),
    ],
    ids=["placeholder", "not set", "library not known"],
)
def test_what_is_not_safe_is_left(client: str, text: str, tmp_path: Path) -> None:
    """A placeholder, a value that stands nowhere, a library that is not known."""
    path = tmp_path / "a.env"
    path.write_text(text)
    run("check", path, *([f"--client={client}"] if client else []), "--fix")
    assert "SESSION_TIMEOUT_MS=45000" not in path.read_text()


def test_a_value_of_another_file_is_left(tmp_path: Path) -> None:
    """The map may serve others, too, and stands elsewhere."""
    maps = manifest(tmp_path, config_map(KAFKA_SESSION_TIMEOUT_MS="10000"), name="maps.yaml")
    app = container(envFrom=[{"configMapRef": {"name": "settings"}}])
    apps = manifest(tmp_path, workload(app), name="apps.yaml")
    before = maps.read_text(), apps.read_text()
    run("check", maps, apps, "--client=kafkajs", "--fix")
    assert (maps.read_text(), apps.read_text()) == before
