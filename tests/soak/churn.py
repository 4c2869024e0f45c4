"""What people, controllers and fits do all the time during a soak, drawn from a seed.

Each act goes through the API server, or into etcd for what controllers and kubelets would have written. An act that
fails, since the API server is away, is counted and not repeated.
"""

import dataclasses
import enum
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import yaml

from bench import cycle_objects
from heartbeat_tuner.adapters.kubernetes.model_objects import FIELD_MANAGER
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.v1alpha1 import models_v1alpha1, spec_v1alpha1
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from sandbox import scenario
from sandbox.errors import SandboxError
from tests.soak.exporter import Replaced, write_generations
from tests.soak.vitals import Key
from tests.soak.world import World
from tests.support import fitted
from tests.support.fleets import Admin


class Deed(enum.Enum):
    """What is done."""

    EDIT = "policy edited"
    CREATE = "policy created"
    DELETE = "policy deleted"
    POD = "pod replaced"
    WORKLOAD = "Deployment made again"
    MODEL = "model replaced"


_WEIGHTS: Final = {Deed.EDIT: 40, Deed.CREATE: 15, Deed.DELETE: 15, Deed.POD: 10, Deed.WORKLOAD: 5, Deed.MODEL: 15}
_MOST_AWAY: Final = 0.05
"""So large a part of the subjects has no policy at a time."""

_MODELLED_EVERY: Final = 10
"""Of so many subjects one has models, and a policy that only recommends: no controller would roll a write out."""

_BOUNDS_S: Final = range(800, 900)
"""Bounds of a session that change nothing but the spec: it is 30 s."""


class Churn:
    """Does one deed after the other.

    Args:
        world: where; nobody else edits it.
        seed: of what is drawn.

    Attributes:
        done: how often each deed was done.
        failed: how often the API server was away.
        deleted: policies that are gone; no name comes back.
    """

    def __init__(self, world: World, *, seed: int) -> None:
        self._world = world
        self._chance = random.Random(seed)  # noqa: S311 - deeds, no secrets
        self._control_plane = world.cluster.control_plane
        self._admin = Admin(self._control_plane)
        self._prototypes = world.prototypes
        self._policies: dict[int, str] = {subject.number: subject.name for subject in world.subjects}
        self._names_made = 0
        self.done: Counter[Deed] = Counter()
        self.failed = 0
        self.deleted: set[Key] = set()

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()

    def begin(self) -> None:
        """Let those that have models only recommend."""
        for subject in self._world.subjects[::_MODELLED_EVERY]:
            self._admin.merge(self._policy_path(subject), {"spec": {"mode": "Recommend"}})

    def step(self) -> None:
        """Do a deed that is drawn."""
        deed = self._chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        place = self._chance.randrange(len(self._world.subjects))
        try:
            if self._do(deed, place):
                self.done[deed] += 1
        except (SandboxError, OSError, RuntimeError, ValueError):
            self.failed += 1

    def edit_all(self) -> None:
        """Edit every policy, so that each status has something to follow."""
        for place in list(self._policies):
            self._edit(place)

    def live(self) -> dict[Key, dict[str, Any]]:
        """Return the policies that there are, by the API server."""
        items = self._control_plane.get(f"/apis/{API_VERSION}/{spec_v1alpha1.PLURAL}")["items"]
        return {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in items}

    def _do(self, deed: Deed, place: int) -> bool:
        """Do a deed to a subject; return whether it suits what the subject has."""
        has = place in self._policies
        match deed:
            case Deed.EDIT if has:
                self._edit(place)
            case Deed.DELETE if has and len(self._policies) > (1 - _MOST_AWAY) * len(self._world.subjects):
                self._delete(place)
            case Deed.CREATE if len(self._policies) < len(self._world.subjects):
                missing = [number for number in range(len(self._world.subjects)) if number not in self._policies]
                self._create(self._chance.choice(missing))
            case Deed.POD:
                self._replace_pod(place)
            case Deed.WORKLOAD:
                self._make_workload_again(self._world.subjects[place])
            case Deed.MODEL:
                self._replace_model(self._world.subjects[place - place % _MODELLED_EVERY])
            case _:
                return False
        return True

    def _edit(self, place: int) -> None:
        bound = f"{self._chance.choice(_BOUNDS_S)}s"
        patch = {"spec": {"bounds": {"sessionTimeout": {"max": bound}}}}
        self._admin.merge(self._policy_path(self._world.subjects[place]), patch)

    def _delete(self, place: int) -> None:
        subject = self._world.subjects[place]
        self._admin.delete(self._policy_path(subject))
        self.deleted.add((subject.namespace, self._policies.pop(place)))

    def _create(self, place: int) -> None:
        subject = self._world.subjects[place]
        self._names_made += 1
        mode = "Apply" if place % _MODELLED_EVERY else "Recommend"
        document = yaml.safe_load(scenario.policy_manifest(subject.name, mode=mode))
        document["metadata"]["name"] = name = f"{subject.name}-{self._names_made:05}"
        self._admin.create(f"/apis/{API_VERSION}/namespaces/{subject.namespace}/{spec_v1alpha1.PLURAL}", document)
        self._policies[place] = name

    def _replace_pod(self, place: int) -> None:
        """Let the oldest pod end and a new one run, in the API server and at the exporter."""
        before = self._world.subjects[place]
        after = dataclasses.replace(before, generation=before.generation + 1)
        self._put(after, f"/registry/pods/{after.namespace}/{after.pods[-1]}")
        self._world.subjects[place] = after
        write_generations(self._world.pods_file, self._world.subjects)
        self._admin.delete(f"/api/v1/namespaces/{before.namespace}/pods/{before.pods[0]}?gracePeriodSeconds=0")

    def _make_workload_again(self, subject: Replaced) -> None:
        self._admin.delete(f"/apis/apps/v1/namespaces/{subject.namespace}/deployments/{subject.name}")
        self._put(subject, f"/registry/deployments/{subject.namespace}/{subject.name}")

    def _replace_model(self, subject: Replaced) -> None:
        now = datetime.now(UTC)
        until = now.date() - timedelta(days=1)
        model = fitted.model(
            namespace=subject.namespace,
            group=subject.name,
            since=until - timedelta(days=13),
            until=until,
            fitted_at=now,
            quantities={"absence": fitted.quantity(values=self._chance.randrange(30_000, 50_000))},
        )
        document = model_documents.document_of(model)
        path = f"/apis/{API_VERSION}/namespaces/{subject.namespace}/{models_v1alpha1.PLURAL}"
        self._admin.apply(f"{path}/{document['metadata']['name']}", document, manager=FIELD_MANAGER)

    def _put(self, subject: Replaced, key: str) -> None:
        copies = [copy for copy in self._prototypes.copies([subject]) if copy[0] == key]
        cycle_objects.put(self._control_plane.etcd_url, copies)

    def _policy_path(self, subject: Replaced) -> str:
        name = self._policies[subject.number]
        return f"/apis/{API_VERSION}/namespaces/{subject.namespace}/{spec_v1alpha1.PLURAL}/{name}"
