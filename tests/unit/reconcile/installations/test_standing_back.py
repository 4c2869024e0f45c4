"""What is left to another installation is not looked at, and is reported once."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError
from heartbeat_tuner.domain.shards import WHOLE, Installation
from heartbeat_tuner.ports.other_installations import InstallationLease
from heartbeat_tuner.reconcile.installations.namespace_owners import OtherOwner, Why
from heartbeat_tuner.reconcile.installations.standing_back import EVENT, MOST_READ, StandingBack, sentence
from heartbeat_tuner.reconcile.policy_store import PolicyStore, StorePart
from tests.support import manifests, stages
from tests.support.fakes import FakeClock, FakePolicies

MINE: Final = Installation("tuner/mine", names_namespaces=False)
OTHER: Final = "tuner/other"


@dataclasses.dataclass
class FakeInstallations:
    """Leases by the names of installations."""

    leases: dict[str, InstallationLease | Exception] = dataclasses.field(default_factory=dict)
    reads: list[str] = dataclasses.field(default_factory=list)

    async def read(self, name: str) -> InstallationLease | None:
        """Return what is set."""
        self.reads.append(name)
        lease = self.leases.get(name)
        if isinstance(lease, Exception):
            raise lease
        return lease


def claimed(name: str, namespace: str, by: str, *, created: str = "2026-03-01T12:00:00Z") -> dict[str, Any]:
    """Return a policy whose status an installation wrote."""
    status = {"installation": {"name": by, "scope": "Cluster"}}
    return manifests.policy(name, namespace=namespace, status=status, creationTimestamp=created)


class Scene:
    """An installation before policies of two namespaces: another one wrote those of `shop`."""

    def __init__(self, *more: dict[str, Any]) -> None:
        self.clock = FakeClock()
        self.leases = FakeInstallations()
        self.runs()
        store = PolicyStore()
        self.policies = FakePolicies(
            store,
            [
                claimed("b-younger", "shop", OTHER, created="2026-03-02T12:00:00Z"),
                claimed("orders", "shop", OTHER),
                claimed("bills", "billing", MINE.name),
                *more,
            ],
        )
        whole = StorePart(store, WHOLE)
        self.back = StandingBack(MINE, whole, self.leases, self.policies, self.clock)
        self.part = StorePart(store, WHOLE, MINE, self.back.is_ours)

    def runs(self) -> None:
        """Have the other installation renew its Lease now."""
        self.leases.leases[OTHER] = InstallationLease(None, self.clock.now(), timedelta(seconds=15))

    @property
    def seen(self) -> set[str]:
        """The namespaces whose policies are looked at."""
        return {body["metadata"]["namespace"] for body in self.part.snapshot()}


async def test_what_is_left_is_neither_looked_at_nor_looked_at_early() -> None:
    """A policy that nobody looks at gets no status, no values and no model."""
    scene = Scene()
    await scene.back.look()
    assert scene.seen == {"billing"}
    assert {key.namespace for key in scene.part.edited()} == {"billing"}
    assert {namespace for namespace, _ in scene.part.groups()} == {"billing"}
    assert scene.back.counts == {Why.FIRST: 1, Why.NAMED: 0, Why.UNREADABLE: 0}


async def test_it_is_reported_once_by_a_warning_about_the_oldest_policy() -> None:
    """The next looks say nothing new; a new leader says it again."""
    scene = Scene()
    for _ in range(2):
        await scene.back.look()
    (event,) = scene.policies.events
    assert (event.policy, event.reason, event.warning) == ("orders", EVENT, True)
    assert f"Installation {OTHER} looks after namespace shop; tuner/mine writes nothing there" in event.message
    assert "name it in kubernetes.namespaces (Helm: watchNamespaces) of one installation only" in event.message
    scene.back.forget()
    assert scene.seen == {"shop", "billing"}
    await scene.back.look()
    assert len(scene.policies.events) == 2


async def test_an_owner_that_is_gone_leaves_its_namespaces_after_a_while() -> None:
    """What was edited meanwhile is due at once."""
    scene = Scene()
    await scene.back.look()
    scene.clock.advance(timedelta(minutes=5, seconds=14))
    await scene.back.look()
    assert scene.seen == {"billing"}
    scene.clock.advance(timedelta(seconds=2))
    await scene.back.look()
    assert scene.seen == {"shop", "billing"}
    assert {key.namespace for key in scene.part.edited()} == {"shop", "billing"}
    assert scene.back.counts[Why.FIRST] == 0


async def test_without_claims_of_others_nothing_is_asked() -> None:
    """A cluster with one installation costs the API server nothing."""
    scene = Scene()
    scene.leases.leases.clear()
    for key in list(scene.policies.stored):
        if key.namespace == "shop":
            scene.policies.delete_from_watch(key)
    await scene.back.look()
    assert scene.leases.reads == []
    assert scene.seen == {"billing"}


async def test_a_lease_that_cannot_be_read_keeps_its_owner() -> None:
    """Unknown is no reason to write; the Event says what to allow."""
    scene = Scene()
    scene.leases.leases[OTHER] = ApiServerError("the API server refused GET leases with 403: forbidden.", status=403)
    await scene.back.look()
    assert scene.seen == {"billing"}
    (event,) = scene.policies.events
    assert "with 403: forbidden. Let tuner/mine list the Lease other in namespace tuner" in event.message


async def test_many_forged_claims_cost_a_bounded_number_of_requests() -> None:
    """Of those that are not read nothing is known, so their namespaces are left."""
    scene = Scene(*[claimed("p", f"evil-{number:02}", f"t/f{number}") for number in range(MOST_READ + 10)])
    await scene.back.look()
    assert len(scene.leases.reads) == MOST_READ
    assert scene.back.counts[Why.UNREADABLE] == 11


async def test_names_that_are_no_installation_s_claim_nothing() -> None:
    """Whoever forges a status leads no request anywhere."""
    forged = ["../secrets", "tuner/../x", "tuner", "Tuner/Other", "a/b/c", "", 7, None, {"x": 1}]
    scene = Scene(*[claimed("p", f"evil-{number}", name) for number, name in enumerate(forged)])  # type: ignore[arg-type]
    await scene.back.look()
    assert scene.leases.reads == [OTHER]
    assert len(scene.seen) == 1 + len(forged)


async def test_an_event_that_cannot_be_written_costs_nothing() -> None:
    """The log and the metric say it, too."""
    scene = Scene()
    scene.policies.event_error = ApiServerError("away")
    await scene.back.look()
    assert scene.seen == {"billing"}


async def test_a_lost_leadership_ends_the_look() -> None:
    """Nothing is written after it, no Event either."""
    scene = Scene()
    scene.policies.event_error = NotLeaderError("lost")
    with pytest.raises(NotLeaderError):
        await scene.back.look()


def test_a_namespace_that_is_left_on_purpose_needs_no_action() -> None:
    """Who names a namespace beside an installation that watches all has decided."""
    said = sentence("shop", OtherOwner(OTHER, Why.NAMED), MINE)
    assert said.endswith("names the namespace, and that of tuner/mine watches all. This needs no action.")


async def test_a_status_names_the_installation_that_writes_it() -> None:
    """Also that of a policy that cannot be used; what is left to another is not written."""
    stage = stages.storm(workloadRef={"name": "nowhere", "container": "app"})
    stage.installation = MINE
    stage.restart()
    await stage.cycle()
    assert stage.policies.status_of(stages.ORDERS)["installation"] == {"name": MINE.name, "scope": "Cluster"}
    stage.installation = Installation(OTHER, names_namespaces=True)
    stage.left.add("shop")
    stage.restart()
    await stage.cycle()
    assert stage.policies.status_of(stages.ORDERS)["installation"]["name"] == MINE.name
    stage.left.clear()
    await stage.cycle()
    assert stage.policies.status_of(stages.ORDERS)["installation"] == {"name": OTHER, "scope": "Namespaces"}
