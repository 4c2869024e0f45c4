"""What `fit` refuses before it loads or asks anything."""

import sys

import pytest
from click.testing import CliRunner

from heartbeat_tuner.cli import cli

NOWHERE = ("--prometheus", "http://127.0.0.1:1", "--history", "h", "--models", "m")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--history", "h", "--models", "m"), "give --prometheus URL or --parquet PATH"),
        ((*NOWHERE, "--parquet", "p"), "give --prometheus URL or --parquet PATH, and not both"),
        (("--parquet", "p", "--history", "h"), "give --models kubernetes or --models DIR"),
        (("--parquet", "p", "--models", "m"), "Missing option '--history'"),
        ((*NOWHERE, "--since", "3h"), "--since: choose a time between 24h and 8784h"),
        ((*NOWHERE, "--since", "14d"), "'14d' is not a duration"),
        ((*NOWHERE, "--until", "yesterday"), "--until 'yesterday': is no day; write one like 2026-11-20"),
        ((*NOWHERE, "--until", "0001-01-05"), "--until 0001-01-05: choose a day from 1971-01-02 on"),
        ((*NOWHERE, "--cluster", "x" * 64), "--cluster: a clusterRef is a name of at most 63"),
        ((*NOWHERE, "--username", "me"), "--username and --password-file belong together"),
        (("--prometheus", "prometheus:9090", *NOWHERE[2:]), "--prometheus: "),
    ],
)
def test_what_cannot_be_meant_is_refused(options: tuple[str, ...], words: str) -> None:
    """One sentence, status 2."""
    result = CliRunner().invoke(cli, ["fit", *options])
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())


def test_spark_that_is_not_installed_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's installation has none."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = CliRunner().invoke(cli, ["fit", *NOWHERE])
    assert result.exit_code == 2
    sentence = "heartbeat-tuner fit needs pip install 'heartbeat-tuner[fit]': pyspark is not installed"
    assert result.stderr == f"Error: {sentence}\n"
