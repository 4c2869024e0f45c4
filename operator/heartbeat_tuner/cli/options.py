"""What several commands take: the name of a client library, and its version."""

from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client


def client_of(name: str, version: str | None) -> Client:
    """Return the card of a client library.

    Raises:
        UsageProblem: the name or the version is unknown; it names the nearest that is known.
    """
    try:
        found = catalogue.client(name)
        return found if version is None else catalogue.at_version(found, version)
    except ValueError as error:
        raise UsageProblem(str(error)) from error
