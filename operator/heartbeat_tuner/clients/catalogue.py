"""The client libraries this version knows, by the name a policy uses."""

from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import java, kafkajs
from heartbeat_tuner.clients.client import Client

CLIENTS: Final = MappingProxyType({client.name: client for client in (java.CLIENT, kafkajs.CLIENT)})


def client(name: str) -> Client:
    """Return the client library called `name`.

    Raises:
        ValueError: the name is unknown; the message lists the known ones.
    """
    if name not in CLIENTS:
        raise ValueError(f"client library {name!r} is unknown; known are {', '.join(sorted(CLIENTS))}")
    return CLIENTS[name]
