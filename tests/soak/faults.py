"""What breaks during a soak, and when."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import Final

from tests.soak.world import World


class Fault(enum.Enum):
    """What can break."""

    KILL = "leader killed"
    """SIGKILL; it is started again when it is looked at next, as a kubelet would."""
    CUT = "leader cut off"
    """From the API server, for longer than the lease lasts: the other one leads then, and this process lives on."""
    PROMETHEUS = "Prometheus away"
    BROKER = "broker away"
    API_SERVER = "API server killed"


@dataclasses.dataclass(frozen=True)
class Due:
    """A fault and its simulated hour."""

    at_h: float
    kind: Fault


_A_HOUR: Final = 1
_EARLY: Final = (Fault.KILL, Fault.PROMETHEUS, Fault.BROKER, Fault.API_SERVER, Fault.KILL)
_LATE: Final = (Fault.PROMETHEUS, Fault.CUT, Fault.BROKER, Fault.API_SERVER)
"""No kill: the memory of a process is followed through the second half, and both have led by then."""

_EARLY_SHARE: Final = 1 / 3

_LASTS_S: Final = {Fault.KILL: 0.0, Fault.CUT: 14.0, Fault.PROMETHEUS: 8.0, Fault.BROKER: 8.0, Fault.API_SERVER: 0.0}


def schedule(hours: float) -> list[Due]:
    """Return what breaks in so many hours: one fault in each, and processes die only in the first third."""
    count = int(hours * _A_HOUR)
    early = max(1, int(count * _EARLY_SHARE))
    kinds = [_cycled(_EARLY, number) if number < early else _cycled(_LATE, number - early) for number in range(count)]
    return [Due((number + 0.5) / _A_HOUR, kind) for number, kind in enumerate(kinds)]


def strike(world: World, kind: Fault) -> float:
    """Break something; return after how many seconds it is to be made good."""
    leader = world.leader()
    match kind:
        case Fault.KILL if leader:
            world.replicas[leader].process.kill()
        case Fault.CUT if leader:
            world.api_wires[leader].cut()
        case Fault.PROMETHEUS:
            world.prometheus_wire.cut()
        case Fault.BROKER:
            world.broker_wire.cut()
        case Fault.API_SERVER:
            world.cluster.control_plane.restart_api_server()
        case _:
            pass  # nobody leads: there is nobody to kill or to cut off
    return _LASTS_S[kind]


def _cycled(kinds: Sequence[Fault], number: int) -> Fault:
    return kinds[number % len(kinds)]
