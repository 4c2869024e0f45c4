"""What a shell completes."""

import pytest
from click.testing import CliRunner

from heartbeat_tuner.cli import cli
from heartbeat_tuner.cli.group import sample_group

SAMPLE = str(sample_group.FOLDER)


def completed(*words: str) -> list[str]:
    """Return what bash is offered for the last word."""
    environment = {
        "_HEARTBEAT_TUNER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["heartbeat-tuner", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(cli, env=environment, prog_name="heartbeat-tuner")
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("clients", "ka"), ["kafka-go", "kafka-node", "kafka-python", "kafkajs"]),
        (("check", "--client", "sp"), ["spring"]),
        (("check", "--select", "HT10"), ["HT101", "HT102", "HT103", "HT104", "HT105", "HT106", "HT107"]),
        (("check", "--ignore", "beat-ne"), ["beat-never-in-time"]),
        (("recommend", "--client", "ka"), ["kafkajs"]),
        (("explain", "--models", SAMPLE, "--group", "o"), ["orders"]),
        (("simulate", "--models", SAMPLE, "--group", "x"), []),
        (("report", "--models", SAMPLE, "--group", ""), ["orders"]),
        (("recommend", "--group", "o"), []),
    ],
)
def test_clients_rules_and_groups_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    """Wherever one of them is asked for."""
    assert sorted(completed(*words)) == expected
