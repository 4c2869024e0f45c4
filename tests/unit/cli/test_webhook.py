"""`heartbeat-tuner webhook`: what cannot be is said in one sentence."""

from pathlib import Path

from click.testing import CliRunner

from heartbeat_tuner.cli import cli


def test_a_configuration_that_does_not_fit_is_one_sentence(tmp_path: Path) -> None:
    """Exit status 2, and no traceback."""
    path = tmp_path / "webhook.yaml"
    path.write_text("drain: 5")
    result = CliRunner().invoke(cli, ["webhook", "--config", str(path)])
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    assert " has no unit; write a duration as text, such as 60s" in result.stderr
