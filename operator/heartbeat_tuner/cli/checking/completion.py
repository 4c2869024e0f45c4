"""What a shell completes: names of clients and rules; `cli.group.group_names` has those of groups."""

from collections.abc import Iterable

import click

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.metrics.conventions import known_conventions


def client_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the clients whose names begin like this."""
    return beginning(incomplete, catalogue.CLIENTS)


def library_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the clients that can be measured whose names begin like this."""
    return beginning(incomplete, known_conventions.LIBRARIES)


def rule_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the rules whose codes or ids begin like this."""
    return beginning(incomplete, (name for rule in rule_catalogue.RULES for name in (rule.code, rule.id)))


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin like this, in their order."""
    return [name for name in names if name.startswith(incomplete)]
