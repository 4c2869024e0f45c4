"""Policies of a cluster, as the API server has them, with what the operator says of each."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.policies import Policy


@dataclasses.dataclass(frozen=True, slots=True)
class ReportedPolicy:
    """A policy, and what the operator says of it."""

    policy: Policy
    status: Status


def read(documents: Sequence[Mapping[str, Any]], now: datetime) -> tuple[list[ReportedPolicy], list[str]]:
    """Return policies as they were read, and why others cannot be, as sentences.

    Args:
        documents: objects, of the API server or written by hand.
        now: stands for what an object that was never stored does not have.
    """
    views, problems = [], []
    for document in documents:
        metadata = {"uid": "", "generation": 0, "namespace": "", "creationTimestamp": now.isoformat()}
        body = {**document, "metadata": {**metadata, **document["metadata"]}}
        try:
            views.append(ReportedPolicy(parsing.policy_of(body), parsing.status_of(body)))
        except InvalidPolicyError as error:
            problems.append(f"policy {parsing.key_of(body)} cannot be used: {error}")
    return views, problems
