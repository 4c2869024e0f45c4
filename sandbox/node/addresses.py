"""Loopback addresses for pods: each pod its own, 127.n.x.y with one n per node."""

import random
import socket
from typing import Final, Self

from sandbox.errors import SandboxError

_HOSTS: Final = 254 * 256


class Addresses:
    """Hands out addresses that no other pod on this machine has at the time.

    Every node claims one 127.n.0.0/16, also against the nodes of other sandboxes: the claim is a socket name that the
    kernel frees when the process ends; as a context manager it is freed at the block's end.
    """

    def __init__(self) -> None:
        self._second, self._claim = _claim_network()
        self._next = 0
        self._taken: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._claim.close()

    def take(self) -> str:
        """Return a free address, the one that has been unused for longest."""
        for _ in range(_HOSTS):
            third, fourth = divmod(self._next, 254)
            self._next = (self._next + 1) % _HOSTS
            address = f"127.{self._second}.{third}.{fourth + 1}"
            if address not in self._taken:
                self._taken.add(address)
                return address
        raise SandboxError(f"All {_HOSTS} pod addresses of this node are in use.")

    def give_back(self, address: str) -> None:
        """Make an address free again."""
        self._taken.discard(address)


def _claim_network() -> tuple[int, socket.socket]:
    for second in random.SystemRandom().sample(range(1, 255), 254):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0heartbeat-tuner-sandbox-127.{second}")
        except OSError:
            claim.close()
        else:
            return second, claim
    raise SandboxError("All 254 pod networks of this machine are in use by other sandboxes.")
