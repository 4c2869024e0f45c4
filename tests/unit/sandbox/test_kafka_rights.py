"""Command lines of kafka-acls: what the sandbox does not understand it does not do."""

import pytest

from sandbox import kafka_rights
from sandbox.errors import SandboxError


@pytest.mark.parametrize(
    "command",
    [
        "kafka-topics --add --allow-principal User:x --operation Describe --group g",
        "kafka-acls --remove --allow-principal User:x --operation Describe --group g",
        "kafka-acls --add --deny-principal User:x --operation Describe --group g",
        "kafka-acls --add --allow-principal User:x --operation Describe",
        "kafka-acls --add --allow-principal User:x --operation Describe --group g --topic t",
    ],
)
def test_what_adds_no_right_is_refused(command: str) -> None:
    """Before the broker is asked: half of a command must not pass for all of it."""
    with pytest.raises(SandboxError, match="adds no right"):
        kafka_rights.grant("127.0.0.1:1", command, principal="User:x")
