"""What a user can repair."""

import click


class UsageProblem(click.ClickException):
    """Something the user can repair; shown as one sentence."""

    exit_code = 2
