"""From the metrics of all policies, read at once (`metrics_reading`), to the record of each group."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.decision.evictions import contradictions
from heartbeat_tuner.domain.evidence import HiddenFencings, Record, Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.metrics import client_versions, record, share_polls
from heartbeat_tuner.metrics.conventions import custom, known_conventions, share_groups, watched_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.group_events import member_changes
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.resolver import ClientKey, GroupKey, Observed
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.reconcile.gather.member_ids import Ledger
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure
from heartbeat_tuner.reconcile.series import mapped, reading_plan
from heartbeat_tuner.reconcile.series.metrics_reading import MetricsReader
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW

NEARLY_NOW: Final = timedelta(minutes=1)
"""What was read begins so much later than it should at most: seconds are rounded, and cycles take their time."""


_MAPS_SHARE: Final = (
    "group {group} is a share group, and no metric of a client shows whether its members were fenced: leave names and "
    "labels out of spec.metrics, and what the operator counts itself is read"
)


class RecordReader:
    """Reads what records are made of, and makes them.

    Args:
        metrics: where it is read.
    """

    def __init__(self, metrics: MetricsSource) -> None:
        self._metrics = metrics
        self._reader = MetricsReader(metrics)
        self._mapped: Mapping[ObjectKey, mapped.Read] = {}

    async def read(
        self, policies: Sequence[Policy], *, now: datetime, own_ids: Mapping[ClientKey, GroupKey]
    ) -> UnexpectedFailure | None:
        """Read the metrics of all policies up to now; return a surprise."""
        try:
            usual = [policy for policy in policies if not policy.naming.maps]
            await self._reader.read(usual, now=now, own_ids=own_ids)
            self._mapped = await mapped.read(self._metrics, policies, at=now)
        except Exception as error:  # noqa: BLE001 - a surprise must not end the cycle
            return UnexpectedFailure(error)
        return None

    async def read_early(self, edited: Sequence[Policy], *, at: datetime) -> UnexpectedFailure | None:
        """Read what the metrics of edited policies lack up to the moment of the last reading; return a surprise."""
        try:
            await self._reader.read_early([policy for policy in edited if not policy.naming.maps])
            self._mapped = {**self._mapped, **await mapped.read(self._metrics, edited, at=at)}
        except Exception as error:  # noqa: BLE001 - a surprise must not end the look
            return UnexpectedFailure(error)
        return None

    def stands_still(self, policy: Policy) -> bool:
        """Whether a policy's group is known up to now, and nothing but heartbeats was counted since the last cycle."""
        return not policy.naming.maps and self._reader.stands_still(policy)

    def record(
        self,
        policy: Policy,
        workload: Workload,
        ledger: Ledger,
        group: Group,
        *,
        now: datetime,
        config_since: datetime | None,
    ) -> Record | Unknown:
        """Return the record since the newest pod's start or the last change, whichever is later, as far as was read.

        Args:
            policy: of the group.
            workload: whose pods count.
            ledger: changed member ids.
            group: as it is described.
            now: until when metrics were read.
            config_since: since when the broker prescribes what it does; None where that is the client's own.
        """
        maps = policy.naming.maps
        read = self._read_of(policy, group)
        if isinstance(read, Unknown):
            return read
        by_convention = _of_share(read) if group.kind == Protocol.SHARE else read
        candidates = _candidates(policy, group, by_convention)
        read_since = now - RECORD_WINDOW if maps else self._reader.since(policy)
        starts = [pod.started for pod in workload.pods]
        changes = [change for change in (policy.changed_at, config_since) if change is not None]
        current = workload.current
        watched = RecordScope(
            policy=policy,
            pods=workload.pods,
            poll_limit=None if current is None else current.settings.max_poll_interval,
            changes=ledger.changes,
            # Early a pod may be younger than what was read: then nothing of its time was.
            since=min(now, max([now - RECORD_WINDOW, read_since, *starts, *changes])),
            now=now,
            consumer_protocol=group.consumer_protocol,
        )
        convention, observed = resolver.followed(by_convention, candidates)
        may_have_none = self._may_be_without_metrics(policy, group, since=read_since, now=now)
        if may_have_none and not any(observed.values()):
            convention, observed = resolver.followed(by_convention, known_conventions.read_for(policy.library))
        measured = record.measure(watched, observed, convention, query=lambda quantity: _tried(quantity, policy))
        if isinstance(measured, Unknown):
            return measured
        versions = client_versions.of_pods(observed, convention, [pod.name for pod in workload.pods])
        proven = _with_polls(_as_far_as_exported(measured, workload, group), workload, group, read)
        return dataclasses.replace(proven, as_described=convention not in candidates, client_versions=versions)

    def _read_of(self, policy: Policy, group: Group) -> mapped.Read:
        """Return what was read of a policy's group, by convention, or why it is not known."""
        if not policy.naming.maps:
            return self._reader.of(policy)
        if group.kind == Protocol.SHARE:
            return Unknown(Reason.NO_SERIES, say(_MAPS_SHARE, group=policy.group_id))
        return self._mapped[policy.key]

    @staticmethod
    def _may_be_without_metrics(policy: Policy, group: Group, *, since: datetime, now: datetime) -> bool:
        """Whether a client that shows nothing may be one without an exporter, whose evictions the broker shows.

        An exporter that was there within the window has failed, so the group is unknown. Who names an exporter expects
        it. Of a share group nothing else is read anyway.

        Args:
            policy: of the group.
            group: as it is described.
            since: from when on it was read whether there are metrics of the client.
            now: until when.
        """
        names_exporter = policy.naming.maps or policy.naming.convention is not None
        if names_exporter or group.kind == Protocol.SHARE:
            return False
        return member_changes.is_watched(group) and since <= now - RECORD_WINDOW + NEARLY_NOW


def _candidates(policy: Policy, group: Group, by_convention: Mapping[Convention, Observed]) -> tuple[Convention, ...]:
    """Return the conventions that a policy's group may follow: no client's shows all that happens in a share group."""
    if group.kind == Protocol.SHARE:
        return tuple(by_convention)
    return tuple(by_convention) if policy.naming.maps else tuple(custom.of_policy(policy.naming, policy.library))


def _as_far_as_exported(seen: Record, workload: Workload, group: Group) -> Record:
    """Return a record that proves no calm where the broker shows more members in a pod than export anything."""
    members = contradictions.members_per_pod(workload, group)
    if not group.consumer_protocol or seen.hidden is not None or members <= seen.consumers_per_pod:
        return seen
    phrase = (
        "the broker shows {members} members at the address of one pod, and at most {exported} in a pod export metrics"
    )
    words = say(phrase, members=Reading(members), exported=seen.consumers_per_pod)
    return dataclasses.replace(seen, hidden=HiddenFencings(words, lasts=False))


def _of_share(by_convention: Mapping[Convention, Observed]) -> Mapping[Convention, Observed]:
    """Return what is observed of a share group: what the broker shows, beside the counters of its clients, if any."""
    described = by_convention.get(watched_groups.GROUP_WATCHER, {})
    for counters, recorded in share_groups.RECORDS.items():
        counted = by_convention.get(counters, {})
        if all(counted.get(quantity) for quantity in share_groups.COUNTED):
            return {recorded: {**counted, **described}}
    return {watched_groups.GROUP_WATCHER: described}


def _with_polls(seen: Record, workload: Workload, group: Group, read: Mapping[Convention, Observed]) -> Record:
    """Return a record with how far apart members of a share group poll, also where their joins are not counted."""
    if group.kind != Protocol.SHARE:
        return seen
    gap = share_polls.longest_gap(read, workload.pods, since=seen.since)
    return dataclasses.replace(seen, longest_poll_gap=gap)


def _tried(quantity: Quantity, policy: Policy) -> str:
    return mapped.query([policy]) if policy.naming.maps else reading_plan.whole_query(quantity, policy)
