"""Members' hosts against pods' addresses: which members are a workload's own."""

import dataclasses
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.members_at_pods import MembersAtPods
from tests.support import worlds

POD = dataclasses.replace(worlds.pod(0), ip="10.0.0.1", more_ips=("2001:db8::1",))
NODE_IP = "192.168.0.7"
ON_NODE = dataclasses.replace(worlds.pod(1), ip=NODE_IP, on_host_network=True)

HOSTS = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3", "::ffff:10.0.0.1", "2001:db8::1", NODE_IP, "", "gateway"])


def at(host: str) -> Member:
    """Return a member that connects from there."""
    return Member(f"member-{host}", host)


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    """Return some pods, on their own addresses or their node's."""
    hosts = draw(st.lists(HOSTS, max_size=4))
    shared = draw(st.lists(st.booleans(), min_size=4, max_size=4))
    made = zip(hosts, shared, strict=False)
    return [
        dataclasses.replace(worlds.pod(number), ip=host, on_host_network=on_host)
        for number, (host, on_host) in enumerate(made)
    ]


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "/10.0.0.1",
        "orders-0.shop/10.0.0.1",
        "::ffff:10.0.0.1",
        "0:0:0:0:0:ffff:a00:1",
        "2001:db8:0:0:0:0:0:1",
        "2001:DB8::1%eth0",
    ],
)
def test_an_address_is_one_however_it_is_written(host: str) -> None:
    """Java writes IPv6 in full, may put a name before it, and shows IPv4 as IPv6 on a socket for both."""
    assert members_at_pods.compare([at(host)], [POD]) == MembersAtPods(inside=(at(host),), unclear=(), outside=())
    assert members_at_pods.is_at(at(host), POD)


@pytest.mark.parametrize("host", ["10.0.0.2", "", "/", "orders-0", "10.0.0.1.example", "10.0.0.1/orders-0", "::"])
def test_any_other_text_is_elsewhere(host: str) -> None:
    """A pod that has no address yet is at none."""
    without = dataclasses.replace(POD, ip="", more_ips=("",))
    for pods_there in ([POD], [without], []):
        assert members_at_pods.compare([at(host)], pods_there).outside == (at(host),)
    assert not members_at_pods.is_at(at(host), without)


def test_a_nodes_address_does_not_say_whose_a_member_is() -> None:
    """Pods on the host's network share it; whatever else the pod's own address says counts."""
    found = members_at_pods.compare([at(NODE_IP), at("10.0.0.1")], [POD, ON_NODE])
    assert found == MembersAtPods(inside=(at("10.0.0.1"),), unclear=(at(NODE_IP),), outside=())


@given(hosts=st.lists(HOSTS, max_size=6), there=pods())
def test_each_member_is_in_one_place_by_its_address_alone(hosts: list[str], there: list[Pod]) -> None:
    """Inside means: one pod has the address, and no pod shares it with its node."""
    members = [at(host) for host in hosts]
    found = members_at_pods.compare(members, there)
    assert sorted(item.host for item in (*found.inside, *found.unclear, *found.outside)) == sorted(hosts)
    plain = {host.removeprefix("::ffff:") for host in hosts}
    for host in plain:
        at_it = [pod for pod in there if pod.ip.removeprefix("::ffff:") == host and host not in {"", "gateway"}]
        is_inside = bool(at_it) and not any(pod.on_host_network for pod in at_it)
        assert is_inside == any(item.host.removeprefix("::ffff:") == host for item in found.inside)


@given(st.ip_addresses())
def test_every_address_is_read_back(found: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """In any of its forms."""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    assert {members_at_pods.address(text) for text in (str(found), found.exploded, f"/{found}")} == {mapped or found}
