"""Policies and fitted models, as kubectl prints them, become sources of a report."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.cli.reporting.fleet_members import Sources

POLICY: Final = "ConsumerGroupPolicy"
MODEL: Final = "ConsumerGroupModel"


def sources(documents: Sequence[Mapping[str, Any]], now: datetime) -> Sources:
    """Return what objects of a cluster say; other kinds are passed over.

    Args:
        documents: the objects.
        now: when they were read.
    """
    policies = [document for document in documents if document["kind"] == POLICY]
    views, problems = reported_policies.read(policies, now)
    read = (
        model_documents.read({**document, "metadata": {"namespace": "", **document["metadata"]}})
        for document in documents
        if document["kind"] == MODEL
    )
    return Sources([model for model in read if model is not None], views, [], now, timedelta(0), problems)
