"""Each pod has a loopback address of its own."""

import ipaddress
import socket

from sandbox.node.addresses import Addresses


def test_no_two_pods_share_an_address_across_nodes() -> None:
    """Two sandboxes on one machine would otherwise fight for the same address and port."""
    with Addresses() as first, Addresses() as other:
        taken = [addresses.take() for addresses in (first, other) for _ in range(600)]
    assert len(set(taken)) == len(taken)
    assert not any(ipaddress.ip_address(address) in ipaddress.ip_network("127.0.0.0/24") for address in taken)
    assert all(ipaddress.ip_address(address).is_loopback for address in taken)


def test_an_address_can_be_listened_on() -> None:
    """An address nobody can bind is of no use to a consumer."""
    with Addresses() as addresses, socket.create_server((addresses.take(), 0)) as server:
        assert server.getsockname()[1]


def test_a_returned_address_is_not_the_next_one_handed_out() -> None:
    """A broker or Prometheus that still knows the old pod must not take the next one for it."""
    with Addresses() as addresses:
        address = addresses.take()
        addresses.give_back(address)
        assert addresses.take() != address
