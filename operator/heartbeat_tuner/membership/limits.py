"""The times that the rules of slots rest on, and what each of them assumes."""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.membership.values import GroupProtocol, SlotPool, View

CLOCK_SKEW: Final = timedelta(seconds=5)
"""How far the clocks of the webhook's replicas and of the API server may be apart."""

PLACED_WITHIN: Final = timedelta(seconds=75)
"""After a claim its pod is stored by then, or never.

A claim is written while the API server works on the pod's creation. It gives up on a request after 60 s (its
`--request-timeout`, the default), webhooks that run after ours included; etcd may still apply what it was given for
7 s (5 s and two elections); the rest is `CLOCK_SKEW` and reserve. With 30 s a create that another webhook held up would
bring its pod after its slot had another holder. An API server with a longer `--request-timeout` breaks the assumption.
"""

LONGEST_GRACE: Final = timedelta(minutes=2)
"""A promised pod waits for no holder longer than this, however long the grace it was given to end."""

GRACE_MARGIN: Final = timedelta(seconds=10)
"""Between the end of a pod's grace and its object's end, where its node lives: the kubelet kills and reports."""

SESSION_MARGIN: Final = timedelta(seconds=5)
"""Between the end of a member's process and the coordinator's last beat of it: what was on the way still counts."""

MOST_PODS: Final = 40_000
"""Of one policy: its largest pool four times over, with the pods that are gone and are still named by a Lease.

A place with more of them is `crowded`, and is left alone: only somebody who makes pods by hand has so many, and to look
through any number of them would cost the other tenants.
"""


def crowded(view: View) -> bool:
    """Whether a place holds more pods or Leases than are looked through."""
    return max(len(view.pods), len(view.slots)) > MOST_PODS


def rest(pool: SlotPool) -> timedelta:
    """Return how long a slot rests after a holder that may not have closed.

    The classic protocol fences the *older* of two members of one id, and the older one is gone: no rest. Under KIP-848
    the *newer* one is refused, fatally, until the session of the older is over.
    """
    if pool.protocol is GroupProtocol.CLASSIC:
        return timedelta(0)
    return pool.session_timeout + SESSION_MARGIN + CLOCK_SKEW


def longest_gate(pool: SlotPool) -> timedelta:
    """Return how long a pod may be gated at most, whatever happened to its promise.

    The longest wait for a holder to end, its session and, where nobody saw the holder end, the certainty that it has.
    """
    return LONGEST_GRACE + GRACE_MARGIN + PLACED_WITHIN + rest(pool) + CLOCK_SKEW
