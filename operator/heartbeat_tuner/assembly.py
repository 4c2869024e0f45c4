"""The parts of an operator, by its settings: connections, candidates for leaderships, and what each shard works with.

Each shard has its own connection to the API server, behind the fence of that shard's leadership: the leader of one
shard has nothing to write another's policies with. What writes nothing is shared.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kafka import kafka_access
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kubernetes import installation_leases, kubernetes_version
from heartbeat_tuner.adapters.kubernetes.installation_leases import KubernetesInstallations
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.lease_annotations import LeaseAnnotations
from heartbeat_tuner.adapters.kubernetes.leases import KubernetesLeases
from heartbeat_tuner.adapters.kubernetes.model_objects import KubernetesModels
from heartbeat_tuner.adapters.kubernetes.policy_objects import KubernetesPolicies
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.adapters.slots.slot_views import LiveSlotViews
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.connections import prometheus_source
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.domain.shards import Installation, Shard
from heartbeat_tuner.leader_election.candidates import Candidates
from heartbeat_tuner.leader_election.election_thread import ElectionThread
from heartbeat_tuner.leader_election.elector import Elector, new_identity
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.stored_models import Models
from heartbeat_tuner.reconcile.at_broker.group_writer import ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits
from heartbeat_tuner.reconcile.cycle import Cycle
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.installations.standing_back import StandingBack
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.policy_store import PolicyView, StorePart
from heartbeat_tuner.settings import Settings
from heartbeat_tuner.settings.kafka_settings import KafkaClusterSettings, KafkaTlsSettings


@dataclasses.dataclass(frozen=True)
class Shared:
    """What all shards of a replica work with."""

    metrics: PrometheusSource
    clock: SystemClock
    lease: tuple[str, str]
    """Namespace and name of the lease that all replicas know."""
    namespaces: Sequence[str]
    rollouts: bool
    """Whether Argo's Rollouts are watched."""
    installation: Installation
    request_timeout: timedelta
    interval: timedelta
    grants: Grants
    limits: FleetLimits


@dataclasses.dataclass(frozen=True)
class ShardParts:
    """What one shard works with.

    Attributes:
        shard: which one it is.
        elector: whether it is led here.
        api: writes only while it is.
        groups: its own, since what is remembered of reading them is by shard.
        shared: what it shares with the others.
    """

    shard: Shard
    elector: Elector
    api: KubernetesApi
    groups: KafkaGroups
    shared: Shared

    @property
    def policies(self) -> KubernetesPolicies:
        """The policies, all of them to read."""
        return KubernetesPolicies(self.api, namespaces=self.shared.namespaces)

    def standing_back(self, store: StorePart) -> StandingBack:
        """Return what leaves namespaces of this shard to other installations.

        Args:
            store: the policies of this shard, in whichever namespace.
        """
        leases = KubernetesInstallations(self.api)
        return StandingBack(self.shared.installation, store, leases, self.policies, self.shared.clock)

    @property
    def models(self) -> Models:
        """The fitted models."""
        return KubernetesModels(self.api, namespaces=self.shared.namespaces)

    @contextlib.asynccontextmanager
    async def new_cycle(self, store: PolicyView, shelf: ModelShelf, moved: Moved) -> AsyncIterator[Cycle]:
        """Give a cycle that remembers nothing, and watch what it looks at."""
        shared, clock = self.shared, self.shared.clock
        where, patience = shared.namespaces, shared.request_timeout
        live = LiveWorkloads(self.api, clock, namespaces=where, patience=patience, rollouts=shared.rollouts)
        slots = LiveSlotViews(self.api, clock, live, namespaces=where, patience=patience)
        looks = GroupLooks(self.groups, clock, interval=shared.interval, sleep=asyncio.sleep)
        gatherer = Gatherer(
            metrics=shared.metrics,
            groups=looks,
            workloads=live,
            models=shelf,
            clock=clock,
            sleep=asyncio.sleep,
            grants=shared.grants,
            moved=moved,
        )
        gatherer.unled_since = self.elector.unled_since
        async with live.running(), looks.running():
            yield Cycle(
                store=store,
                gatherer=gatherer,
                targets=ValueTargets(KubernetesWorkloads(self.api, written=live.show), self.groups),
                policies=self.policies,
                slots=slots,
                stops=LeaseAnnotations(self.api, namespace=shared.lease[0], name=shared.lease[1]),
                clock=clock,
                limits=shared.limits,
            )


@dataclasses.dataclass(frozen=True)
class OperatorParts:
    """What a running operator stands on."""

    candidates: Candidates
    election_thread: ElectionThread[KubernetesApi]
    shards: Sequence[ShardParts]
    metrics: PrometheusSource

    @property
    def policies(self) -> KubernetesPolicies:
        """The policies, to list."""
        return self.shards[0].policies


@contextlib.asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[OperatorParts]:
    """Give the real adapters; close their connections afterwards.

    Raises:
        ApiServerError: the API server cannot be reached.
        InvalidSettingsError: the API server is too old, the CustomResourceDefinition is not installed, or the lease has
            no namespace.
        NotAllowedError: policies may not be listed where they should be.
    """
    election, clock = settings.leader_election, SystemClock()
    timing = Timing(election.lease_duration, election.renew_deadline, election.retry_period)
    namespace = election.where()
    async with contextlib.AsyncExitStack() as closing:
        election_thread = ElectionThread(_connected(timing.request_timeout))
        lease_api = await closing.enter_async_context(election_thread)

        def leases(suffix: str = "") -> KubernetesLeases:
            return KubernetesLeases(
                lease_api,
                namespace=namespace,
                name=election.lease_name + suffix,
                clock=clock,
                annotations=installation_leases.annotations_of(settings.kubernetes.namespaces),
            )

        candidates = Candidates(leases, settings.shards, timing, identity=new_identity())
        metrics = prometheus_source(settings.prometheus, clock)
        closing.callback(metrics.close)
        shared = _shared(settings, metrics, clock)
        shards = [
            await _shard_parts(settings, Shard(number, settings.shards), elector, shared, closing)
            for number, elector in enumerate(candidates.electors)
        ]
        await kubernetes_version.check(shards[0].api)
        if not await shards[0].policies.served():
            raise InvalidSettingsError(
                "the API server does not know ConsumerGroupPolicies; install them first: kubectl apply -f crds/"
            )
        yield OperatorParts(candidates, election_thread, shards, metrics)


def _shared(settings: Settings, metrics: PrometheusSource, clock: SystemClock) -> Shared:
    clusters = settings.kafka.clusters.items()
    budgets = {name: cluster.heartbeat_budget for name, cluster in clusters}
    lease = (settings.leader_election.where(), settings.leader_election.lease_name)
    namespaces = settings.kubernetes.namespaces
    return Shared(
        metrics=metrics,
        clock=clock,
        lease=lease,
        namespaces=namespaces,
        rollouts=settings.kubernetes.argo_rollouts,
        installation=Installation("/".join(lease), names_namespaces=bool(namespaces)),
        request_timeout=settings.kubernetes.timeout,
        interval=settings.interval,
        grants={name: cluster.granted for name, cluster in clusters},
        limits=FleetLimits(
            settings.rollout.max_concurrent,
            {name: budget for name, budget in budgets.items() if budget is not None},
            may_evict=settings.rollout.canaries,
        ),
    )


async def _shard_parts(
    settings: Settings, shard: Shard, elector: Elector, shared: Shared, closing: contextlib.AsyncExitStack
) -> ShardParts:
    api = await KubernetesApi.connect(request_timeout=shared.request_timeout, fence=elector)
    closing.push_async_callback(api.close)
    accesses = {name: access(cluster) for name, cluster in settings.kafka.clusters.items()}
    groups = KafkaGroups(accesses, timeout=settings.kafka.timeout, fence=elector)
    closing.callback(groups.close)
    return ShardParts(shard, elector, api, groups, shared)


@contextlib.asynccontextmanager
async def _connected(request_timeout: timedelta) -> AsyncIterator[KubernetesApi]:
    """Give connections of the election's own."""
    api = await KubernetesApi.connect(request_timeout=request_timeout)
    try:
        yield api
    finally:
        await api.close()


def access(cluster: KafkaClusterSettings) -> kafka_access.KafkaAccess:
    """Return how a Kafka cluster is reached."""
    sasl, tls = cluster.sasl, cluster.tls or KafkaTlsSettings()
    return kafka_access.KafkaAccess(
        cluster.bootstrap_servers,
        security_protocol=cluster.security_protocol,
        mechanism=None if sasl is None else sasl.mechanism,
        username=None if sasl is None else sasl.username or sasl.username_file,
        password_file=None if sasl is None else sasl.password_file,
        ca_file=tls.ca_file,
        cert_file=tls.cert_file,
        key_file=tls.key_file,
        key_password_file=tls.key_password_file,
        alters_groups=cluster.alter_groups,
    )
