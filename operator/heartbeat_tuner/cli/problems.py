"""What a user can mend."""

import click


class UsageProblem(click.ClickException):
    """Something the user can mend; shown as one sentence."""

    exit_code = 2
