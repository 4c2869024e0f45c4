"""Leaves namespaces to the installation that owns them, and reports it: in the log, by an Event and for a metric.

Where nobody else has a claim nothing is asked. The owner's statuses stay as they are: a condition in them would be the
very write that is to be avoided, so each names its installation, and the one that stands back says so by an Event.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import Installation
from heartbeat_tuner.ports.other_installations import InstallationLeases
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.installations import namespace_owners
from heartbeat_tuner.reconcile.installations.namespace_owners import (
    LeaseLook,
    OtherOwner,
    StatusClaim,
    UnreadableLease,
    Why,
)
from heartbeat_tuner.reconcile.policy_store import StorePart

EVENT: Final = "NamespaceOwned"
"""Reason of the Event about the oldest policy of a namespace that is left to another installation."""

MOST_READ: Final = 20
"""Leases that one look reads: more installations than that claim something only where somebody forges statuses."""

_log = structlog.get_logger()


class StandingBack:
    """Which namespaces are left to others, as one leadership sees it.

    Args:
        mine: this installation.
        store: the policies of one shard.
        leases: of other installations.
        policies: where Events are written.
        clock: the time.
    """

    def __init__(
        self,
        mine: Installation,
        store: StorePart,
        leases: InstallationLeases,
        policies: Policies,
        clock: Clock,
    ) -> None:
        self._mine = mine
        self._store = store
        self._leases = leases
        self._policies = policies
        self._clock = clock
        self._owners: Mapping[str, OtherOwner] = {}

    def is_ours(self, namespace: str) -> bool:
        """Whether this installation looks after a namespace, for all that is known."""
        return namespace not in self._owners

    @property
    def counts(self) -> Mapping[Why, int]:
        """How many namespaces are left to others, and why."""
        counted = Counter(owner.why for owner in self._owners.values())
        return {why: counted[why] for why in Why}

    def forget(self) -> None:
        """Forget everything: a leadership begins."""
        self._owners = {}

    async def look(self) -> None:
        """Find out who owns which namespace now.

        Raises:
            NotLeaderError: the leadership ended meanwhile.
        """
        before, claims = self._owners, dict[str, list[StatusClaim]]()
        if self._store.has_claims_of_others(self._mine.name):
            claims = namespace_owners.by_namespace(self._store.claims())
        names = namespace_owners.others_to_read(claims, self._mine)
        leases = {name: await self._read(name) for name in names[:MOST_READ]}
        self._owners = namespace_owners.owners(claims, self._mine, leases, now=self._clock.now())
        for namespace, owner in self._owners.items():
            if before.get(namespace) != owner:
                await self._announce(owner, claims[namespace][0].policy)
        for namespace in sorted(before.keys() - self._owners.keys()):
            _log.info("namespace looked after again", namespace=namespace, left_to=before[namespace].name)

    async def _read(self, name: str) -> LeaseLook:
        try:
            return await self._leases.read(name)
        except ApiServerError as error:
            return UnreadableLease(str(error))

    async def _announce(self, owner: OtherOwner, oldest: ObjectKey) -> None:
        """Report that the namespace of a policy is left to its owner."""
        namespace, body = oldest.namespace, self._store.store.get(oldest)
        message = sentence(namespace, owner, self._mine)
        log = _log.info if owner.why is Why.NAMED else _log.warning
        log("namespace left to another installation", namespace=namespace, owner=owner.name, message=message)
        if body is None:
            return
        try:
            await self._policies.announce(body, reason=EVENT, message=message, warning=owner.why is not Why.NAMED)
        except NotLeaderError:
            raise
        except TunerError as error:
            _log.warning("event not written", namespace=namespace, error=str(error))


def sentence(namespace: str, owner: OtherOwner, mine: Installation) -> str:
    """Return what is the matter with a namespace that is left to its owner, and what a person can do."""
    stands_back = f"Installation {owner.name} looks after namespace {namespace}; {mine.name} writes nothing there"
    if owner.why is Why.NAMED:
        return (
            f"{stands_back}: the configuration of {owner.name} names the namespace, and that of {mine.name} watches "
            f"all. This needs no action."
        )
    choose = (
        f"To move the namespace, name it in kubernetes.namespaces (Helm: watchNamespaces) of one installation only, "
        f"or uninstall {owner.name}"
    )
    if owner.why is Why.FIRST:
        return f"{stands_back}. {choose}."
    lease_namespace, _, lease = owner.name.partition("/")
    return (
        f"{stands_back}. Whether {owner.name} still runs is unknown: {owner.problem.rstrip('.')}. Let {mine.name} list "
        f"the Lease {lease} in namespace {lease_namespace}, or delete the field status.installation of the policies. "
        f"{choose}."
    )
