"""Users and rights on the sandbox's broker, given through its plain listener.

`grant` takes a command line of Kafka's own `kafka-acls`, which the sandbox's jars leave out: a command on a page or in
a message can be tried as it stands.
"""

import shlex
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from sandbox.errors import SandboxError

_ITERATIONS: Final = 4096
_OPERATIONS: Final = {
    "AlterConfigs": AclOperation.ALTER_CONFIGS,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    "Read": AclOperation.READ,
}
_RESOURCES: Final = {"--group": ResourceType.GROUP, "--topic": ResourceType.TOPIC, "--cluster": ResourceType.BROKER}


def set_scram_password(bootstrap: str, user: str, password: str) -> None:
    """Make a user of both SCRAM mechanisms, or give it another password."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # a broker takes one at a time
        change = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, _ITERATIONS), password.encode())
        try:
            admin.alter_user_scram_credentials([change])[user].result(30)
        except KafkaException as error:
            raise SandboxError(f"user {user} could not be made: {error.args[0].str()}") from error


def grant(bootstrap: str, command: str, *, principal: str) -> None:
    """Do what a `kafka-acls --add` command says.

    Args:
        bootstrap: where to enter.
        command: one or more `--operation`, and one of `--group`, `--topic` and `--cluster`.
        principal: takes the place of the command's own.

    Raises:
        SandboxError: the command is none of that kind, or the broker refuses it.
    """
    program, *words = shlex.split(command)
    options = _options(words)
    resources = [name for name in _RESOURCES if name in options]
    if program != "kafka-acls" or "--add" not in options or "--allow-principal" not in options or len(resources) != 1:
        raise SandboxError(f"{command!r} adds no right")
    (resource,) = resources
    prefixed = options.get("--resource-pattern-type") == ["prefixed"]
    bindings = [
        AclBinding(
            _RESOURCES[resource],
            options[resource][0] if resource != "--cluster" else "kafka-cluster",
            ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL,
            principal,
            "*",
            _OPERATIONS[operation],
            AclPermissionType.ALLOW,
        )
        for operation in options["--operation"]
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        for answer in admin.create_acls(bindings).values():
            answer.result(30)
    except KafkaException as error:
        raise SandboxError(f"{command!r} was refused: {error.args[0].str()}") from error


def _options(words: list[str]) -> dict[str, list[str]]:
    """Return the values given with each option of a command line."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word
            options.setdefault(name, [])
        else:
            options[name].append(word)
    return options
