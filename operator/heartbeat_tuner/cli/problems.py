"""What a user can repair."""

import click


class UsageProblem(click.ClickException):
    """Something the user can repair; shown as one sentence."""

    exit_code = 2


class ExtraMissing(UsageProblem):
    """A command needs packages that are not installed.

    Args:
        command: the name of the command.
        extra: which extra of the project brings the packages.
        package: the first that is missing, as Python imports it.

    Attributes:
        remedy: what to type.
    """

    def __init__(self, command: str, extra: str, package: str) -> None:
        self.remedy = f"pip install 'heartbeat-tuner[{extra}]'"
        super().__init__(f"heartbeat-tuner {command} needs {self.remedy}: {package.partition('.')[0]} is not installed")
