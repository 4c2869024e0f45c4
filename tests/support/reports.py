"""What `report` reads, and what it makes of it: a fleet of models, a storm and its cure, names that mean harm."""

import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.cli import report
from heartbeat_tuner.cli.reporting import fleet_members, reported_policies
from heartbeat_tuner.cli.reporting.fleet_members import FleetMember, MeasuredGroup, Sources
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics.conventions import kafkajs_metrics
from heartbeat_tuner.models.group_model import Fitted, GroupModel
from heartbeat_tuner.report.report_data import ReportData
from tests.support import cases, counters, fitted
from tests.support.inventories import diagnosed, exported
from tests.support.worlds import HOUR, NOW

CURED: Final = NOW - timedelta(minutes=20)
"""When the values of the storm were replaced."""

_STORM: Final = {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}
_CURE: Final = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
_UID: Final = "b7c4a5a2-4d3b-4b59-9d0b-5d1f0a6c2f11"

NASTY: Final = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'};{{ 7 * 7 }}{% for x in y %}",
    "</style></svg></title><b>b",
    "]]>&lt;!--<!DOCTYPE",
    "javascript:alert(1)",
    "a\u202eb\x1b[2J\x00c\ud800d",
    "x" * 5_000,
)
"""What a label of a metric can say."""


def model(group: str, scale_s: float, *, members: int = 3, namespace: str = "shop", client: str = "java") -> Fitted:
    """Return the model of a group.

    Args:
        group: its id.
        scale_s: how heavy the tail of its absences is: the scale, in seconds.
        members: how many the fit saw.
        namespace: of its pods.
        client: its library.
    """
    absences = fitted.quantity(
        median_s=0.2,
        member_days=14.0 * members,
        largest_s=6 * scale_s,
        tail=fitted.tail(log_scale=math.log(scale_s)),
    )
    quantities = {**cases.MODEL.quantities, "absence": absences}
    whole: GroupModel = cases.model(group=group, namespace=namespace, client=client, quantities=quantities)
    return Fitted(group[:20], whole)


def models() -> list[Fitted]:
    """Return five groups: one is infeasible, four can be better."""
    return [
        model("checkout", 0.5),
        model("payments", 3.0, members=12),
        model("invoices", 0.2, members=6, client="kafkajs"),
        model("ledger", 8.0, namespace="bank"),
        model("search-index", 1.0, members=24),
    ]


def policy(**status: Any) -> dict[str, Any]:
    """Return the policy of group `orders`, whose storm the operator cured; with other fields of status."""
    at = f"{CURED:%Y-%m-%dT%H:%M:%SZ}"
    return {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupPolicy",
        "metadata": {
            "name": "orders",
            "namespace": "shop",
            "uid": "policy-1",
            "generation": 2,
            "creationTimestamp": "2026-03-01T00:00:00Z",
        },
        "spec": {
            "groupId": "orders",
            "clusterRef": "main",
            "workloadRef": {"name": "orders", "container": "app"},
            "client": {"library": "kafkajs"},
            "mode": "Apply",
        },
        "status": {
            "verdict": "Healthy",
            "reason": "Healthy",
            "current": _CURE,
            "applied": {
                "values": _CURE,
                "previous": _STORM,
                "changeTime": at,
                "workloadUid": _UID,
                "reason": "CadenceExceedsSession",
            },
            "verification": {
                "changeTime": at,
                "readyTime": f"{CURED + timedelta(seconds=30):%Y-%m-%dT%H:%M:%SZ}",
                "outcome": "Verified",
                "message": "evictions are rarer than before: 0 episodes in 0.01 days, 4 in 0.03 days before",
                "effect": {
                    "before": {"episodes": 4, "days": "0.03", "perDayLower": "36.3", "perDayUpper": "341"},
                    "after": {"episodes": 0, "days": "0.01", "perDayLower": "0", "perDayUpper": "92"},
                },
            },
            "history": {
                "startTime": f"{NOW - HOUR:%Y-%m-%dT%H:%M:%SZ}",
                "clusterRef": "main",
                "groupId": "orders",
                "values": _CURE,
                "episodes": "0 900 1800",
                "leftOut": "2400-2460",
            },
            "conditions": [],
            **status,
        },
    }


def storm_and_cure(group: str = "orders", namespace: str = "shop") -> MeasuredGroup:
    """Return an hour of a group as Prometheus shows it: a storm in three pods, then three others that are quiet."""
    old, new = (
        tuple(Pod(f"orders-{name}-{number}", "", "", since, 0) for number in range(3))
        for name, since in (("a", NOW - HOUR), ("b", CURED))
    )
    labels = {"namespace": namespace, "group": group}
    observed = counters.together(
        counters.stormy(old, NOW - HOUR - timedelta(minutes=5), CURED, **labels),
        counters.quiet(new, CURED, NOW, **labels),
    )
    (shown,) = diagnosed(exported(kafkajs_metrics.EXPORTER, group, namespace=namespace)).groups
    return MeasuredGroup(shown, observed)


def sources(
    fitted_models: Sequence[Fitted] = (), policies: Sequence[dict[str, Any]] = (), watched: Sequence[MeasuredGroup] = ()
) -> Sources:
    """Return what was read."""
    views, problems = reported_policies.read(policies, NOW)
    return Sources(list(fitted_models), views, list(watched), NOW, HOUR, problems)


def everything() -> ReportData:
    """Return the report of the fleet of models, and of the storm and its cure."""
    return report.report_data(sources(models(), [policy()], [storm_and_cure()]), ["models", "policies", "Prometheus"])


def hostile() -> ReportData:
    """Return a report in which every text is one that means harm."""
    groups = [model(name, 1.0 + number) for number, name in enumerate(NASTY)]
    named = [
        dataclasses.replace(fitted_group, model=dataclasses.replace(fitted_group.model, cluster=name, namespace=name))
        for fitted_group, name in zip(groups, NASTY, strict=True)
    ]
    watched = [storm_and_cure(group=name, namespace="odd") for name in NASTY]
    return report.report_data(sources(named, [], watched), list(NASTY))


def fresh(group_model: GroupModel) -> GroupModel:
    """Return a model as if it had been fitted last night, whatever day it is."""
    last = datetime.now(UTC) - timedelta(days=1)
    return dataclasses.replace(group_model, since=last.date() - timedelta(days=13), until=last.date(), fitted_at=last)


def report_of(*policies: dict[str, Any]) -> ReportData:
    """Return the report of some policies alone."""
    return report.report_data(sources([], policies), ["policies"])


def members(known: Sources) -> list[FleetMember]:
    """Return all groups of some sources."""
    return [fleet_members.member(known, group) for group in fleet_members.wanted(known)]
