"""`python -m sandbox.demo [--keep]`: run the demo, print the table, write `build/demo.json` and a page."""

import signal
import sys
import threading
from typing import Final

import click

from sandbox import __main__ as command_line
from sandbox import ownership, scenario
from sandbox.demo import pages, panels, story, telling
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError

RESULT: Final = scenario.CHECKOUT / "build" / "demo.json"
STORM_AT_LEAST_PER_MINUTE: Final = 6.0


@click.command()
@click.option("--keep", is_flag=True, help="Keep everything running afterwards, until Ctrl-C.")
def main(*, keep: bool) -> None:
    """See a real KafkaJS rebalance storm, its explanation and its cure."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def finish(sandbox: Sandbox, played: story.Story) -> None:
        _report(sandbox, played)
        if keep:
            _keep(sandbox)

    try:
        with ownership.claim(command_line.RUN_DIR):
            story.run(command_line.RUN_DIR, keep=finish)
    except SandboxError as error:
        raise command_line.Problem(str(error)) from error


def _report(sandbox: Sandbox, played: story.Story) -> None:
    """Print the table, and write the result and its page.

    Raises:
        SandboxError: the group did not storm before, or was not quiet after.
    """
    before, after = played.before, played.after
    if before is None or after is None:
        raise SandboxError("The demo ended before it had measured both sides.")
    telling.table(before, after, played.policy_at_end)
    telling.write(RESULT, before, after, (played.policy_at_storm, played.policy_at_end), played.seconds)
    pages.write(sandbox, played.policy_at_end, played.storm_began_s)
    panels.write(sandbox.prometheus.url, since_s=played.storm_began_s)
    click.echo(
        f"\n{RESULT.relative_to(scenario.CHECKOUT)} holds these figures; the demo took {played.seconds['total']:.0f} s"
    )
    click.echo(f"{pages.PAGE.relative_to(scenario.CHECKOUT)} shows the storm and its cure: open it in a browser")
    if before.rebalances_per_minute < STORM_AT_LEAST_PER_MINUTE or after.rebalances > 0:
        raise SandboxError("The figures are not those of a storm that was cured.")


def _keep(sandbox: Sandbox) -> None:
    """Tell how to look around, and wait for Ctrl-C."""
    click.echo("\nEverything keeps running. In another terminal:")
    click.echo(command_line.access(sandbox), nl=False)
    click.echo(f"  kubectl get cgp -A -o wide\n  kubectl describe cgp -n {story.NAMESPACE} {story.GROUP}")
    click.echo("End it with Ctrl-C, or with: make down")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("ending")


if __name__ == "__main__":
    main()
