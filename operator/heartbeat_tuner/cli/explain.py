"""`heartbeat-tuner explain`: why these values and no others, link by link, with the numbers."""

from typing import Any

import click

from heartbeat_tuner.cli.doctor import as_document
from heartbeat_tuner.cli.group import chain, chain_links, group_case, group_options
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.recommend import missing_object, missing_text, title


@click.command("explain", short_help="Explain a recommendation step by step, with the numbers.")
@group_options.options
def command(*, output: str, **given: Any) -> None:
    """Explain a recommendation for one consumer group step by step, with the numbers.

    The options and the answer are those of `recommend`.

    Exit status: 0 if there is an answer, 1 if it is unknown, 2 if the command line or Prometheus cannot be used.
    """
    case = group_case.gather(group_options.wanted(**given))
    click.echo(as_text(case) if output == "text" else as_document(document(case), output), nl=False)
    if not case.is_known:
        raise click.exceptions.Exit(1)


def as_text(case: Case) -> str:
    """Return the chain, and what is missing."""
    blocks = []
    if case.inputs is not None:
        blocks.append(title(case))
        blocks += [chain.as_lines(place, link) for place, link in enumerate(chain_links.chain(case), 1)]
    blocks += missing_text(case)
    return "\n\n".join(blocks) + "\n"


def document(case: Case) -> dict[str, Any]:
    """Return the same as plain values."""
    facts, links = case.stated, [] if case.inputs is None else chain_links.chain(case)
    return {
        "namespace": facts.namespace,
        "group": facts.group,
        "client": facts.client.name,
        "links": chain.as_objects(links),
        "missing": missing_object(case),
    }
