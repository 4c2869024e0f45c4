"""Applications in the API's notation: as a policy's status shows them, and as the workload itself carries them.

A write to a workload carries its own record, as an annotation of the same server-side apply: the next writer knows of
it, even if this one never got its answer or died before it wrote a status.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import pydantic

from heartbeat_tuner.api.v1alpha1 import changes_v1alpha1 as api
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import Applied, SettingValues
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import SomeValues
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Intent, ObjectKey, TakenBack, WorkloadRef
from heartbeat_tuner.domain.verifications import MOST_FAILED, FailedValues, Outcome, PromisedRate

ANNOTATION: Final = f"{fields.GROUP}/applied"
"""On the workload: a JSON object with an `Applied` for each container."""

FAILED_ANNOTATION: Final = f"{fields.GROUP}/failed"
"""On the workload: a JSON object with what failed in each container, since a canary that fails writes no `Applied`."""

MAX_MANAGER: Final = 128
"""Characters of a field manager's name: the API server takes no more."""


def values_of(settings: LivenessSettings) -> SettingValues:
    """Return settings in the API's notation."""
    return SettingValues.model_validate(
        {setting.value: durations.show(value) for setting, value in settings.by_setting.items()}
    )


def applied_of(application: Application) -> Applied:
    """Return an application in the API's notation."""
    return Applied(
        values=values_of(application.values),
        previous=values_of(application.previous),
        at=timestamp(application.at),
        workload_uid=application.workload_uid,
        container=application.container or None,
        entries=dict(application.entries) or None,
        previous_entries=None if application.entries_before is None else dict(application.entries_before),
        promise=promise_status(application.promise),
        reverts=None if application.reverts is None else timestamp(application.reverts),
        begun=None if application.begun is None else timestamp(application.begun),
        failed=failed_statuses(application.failed),
        reason=application.reason,
        baseline=None if application.baseline is None else values_of(application.baseline),
    )


def application_of(applied: Applied) -> Application:
    """Return the application that was noted."""
    return Application(
        values=settings_of(applied.values),
        previous=settings_of(applied.previous),
        at=datetime.fromisoformat(applied.at),
        workload_uid=applied.workload_uid,
        container=applied.container or "",
        entries=applied.entries or {},
        entries_before=applied.previous_entries,
        promise=None if applied.promise is None else promised(applied.promise),
        reverts=None if applied.reverts is None else datetime.fromisoformat(applied.reverts),
        begun=None if applied.begun is None else datetime.fromisoformat(applied.begun),
        failed=failed_of(applied.failed),
        reason=applied.reason,
        baseline=None if applied.baseline is None else settings_of(applied.baseline),
    )


def failed_statuses(failed: Sequence[FailedValues]) -> list[api.FailedStatus] | None:
    """Return values that failed in the API's notation, the newest last; None if there are none."""
    return [
        api.FailedStatus(
            values=values_of(values.values),
            previous=values_of(values.previous),
            at=timestamp(values.at),
            outcome=values.outcome.value,
            message=values.message[: api.MAX_FAILED_MESSAGE],
            spec=values.spec,
            promised_per_day=values.promised_per_day,
            observed_per_day=values.observed_per_day,
        )
        for values in failed[-MOST_FAILED:]
    ] or None


def failed_of(noted: Sequence[api.FailedStatus] | None) -> tuple[FailedValues, ...]:
    """Return the values that are noted as failed; what failed at no time of ours did not."""
    return tuple(
        FailedValues(
            values=settings_of(failed.values),
            previous=settings_of(failed.previous),
            at=datetime.fromisoformat(failed.at),
            outcome=_outcome(failed.outcome),
            message=failed.message,
            spec=failed.spec,
            promised_per_day=failed.promised_per_day,
            observed_per_day=failed.observed_per_day,
        )
        for failed in noted or ()
        if durations.may_be_ours(datetime.fromisoformat(failed.at))
    )


def workload_statuses(
    noted: Mapping[WorkloadRef, Application], current: Mapping[WorkloadRef, LivenessSettings | None]
) -> list[api.WorkloadStatus]:
    """Return several workloads of a policy in the API's notation.

    Args:
        noted: what was last written to each, as far as something was.
        current: what the pods of each run with; None where they differ, or are not known.
    """
    return [
        api.WorkloadStatus(
            kind=reference.kind,
            name=reference.key.name,
            container=reference.container,
            current=None if values is None else values_of(values),
            applied=applied_of(noted[reference]) if reference in noted else None,
        )
        for reference, values in current.items()
    ]


def applications_of(noted: Sequence[api.WorkloadStatus] | None, namespace: str) -> dict[WorkloadRef, Application]:
    """Return what was last written to each of several workloads of a namespace."""
    return {
        WorkloadRef(workload.kind, ObjectKey(namespace, workload.name), workload.container): application_of(
            workload.applied
        )
        for workload in noted or ()
        if workload.applied is not None
    }


def writing_of(intent: Intent) -> api.Writing:
    """Return a write that is about to be done, in the API's notation."""
    return api.Writing(change=applied_of(intent.application), revision=intent.revision)


def intent_of(writing: api.Writing) -> Intent:
    """Return the write that was about to be done."""
    return Intent(application_of(writing.change), writing.revision)


def noted_of(taken_back: TakenBack) -> api.TakenBackStatus:
    """Return values that were taken back, in the API's notation."""
    return api.TakenBackStatus(
        applied=applied_of(taken_back.application),
        seen=timestamp(taken_back.seen),
        generation=taken_back.generation,
        by=taken_back.by[:MAX_MANAGER] or None,
        spec=taken_back.spec or None,
    )


def taken_back_of(noted: api.TakenBackStatus) -> TakenBack:
    """Return the values that are noted as taken back."""
    return TakenBack(
        application=application_of(noted.applied),
        seen=datetime.fromisoformat(noted.seen),
        generation=noted.generation,
        by=noted.by or "",
        spec=noted.spec or "",
    )


def to_annotation(applications: Mapping[str, Application]) -> str:
    """Return the annotation's text for the last application to each container."""
    documents = {container: fields.stored(applied_of(application)) for container, application in applications.items()}
    return json.dumps(documents, sort_keys=True, separators=(",", ":"))


def from_annotation(text: str | None, *, workload_uid: str) -> dict[str, Application]:
    """Return the last application to each container of a workload.

    What cannot be read, or speaks of another object (a manifest that was copied with its annotations) or of a time when
    there was no such record, counts for nothing: anybody who may edit the workload may write anything there.
    """
    applications: dict[str, Application] = {}
    for container, document in _documents(text):
        try:
            application = application_of(Applied.model_validate(document))
        except (pydantic.ValidationError, ValueError):
            continue
        known = application.values.by_setting.keys() == application.previous.by_setting.keys()
        if (first := application.baseline) is not None:
            known &= first.by_setting.keys() == application.values.by_setting.keys()
        noted = (application.at, application.reverts, application.begun)
        moments = [moment for moment in noted if moment is not None]
        if application.workload_uid == workload_uid and known and all(map(durations.may_be_ours, moments)):
            applications[container] = application
    return applications


def to_failed_annotation(failed: Mapping[str, Sequence[FailedValues]], *, workload_uid: str) -> str:
    """Return the annotation's text for the values that failed in each container of a workload."""
    notes = {
        container: api.FailedNote(workload_uid=workload_uid, failed=statuses)
        for container, values in failed.items()
        if (statuses := failed_statuses(values)) is not None
    }
    documents = {container: fields.stored(note) for container, note in notes.items()}
    return json.dumps(documents, sort_keys=True, separators=(",", ":"))


def from_failed_annotation(text: str | None, *, workload_uid: str) -> dict[str, tuple[FailedValues, ...]]:
    """Return the values that failed in each container of a workload; what cannot be read counts for nothing."""
    failed: dict[str, tuple[FailedValues, ...]] = {}
    for container, document in _documents(text):
        try:
            note = api.FailedNote.model_validate(document)
            values = failed_of(note.failed)
        except (pydantic.ValidationError, ValueError):
            continue
        if note.workload_uid == workload_uid:
            failed[container] = values
    return failed


def _documents(text: str | None) -> Iterable[tuple[str, object]]:
    """Yield the containers of an annotation, each with its document: anybody may have written anything there."""
    try:
        documents = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return ()
    return documents.items() if isinstance(documents, dict) else ()


def timestamp(at: datetime) -> str:
    """Return a moment as the API writes it, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def settings_of(values: SettingValues) -> LivenessSettings:
    """Return what was written in the API's notation."""
    return LivenessSettings.of(durations_of(values))


def durations_of(values: SettingValues | SomeValues) -> dict[Setting, timedelta]:
    """Return the values that there are, by setting."""
    given = values.model_dump(by_alias=True, exclude_none=True)
    return {Setting(name): durations.parse(text) for name, text in given.items()}


def promise_status(promise: PromisedRate | None) -> api.PromiseStatus | None:
    """Return what a model said of values, in the API's notation; None where none was asked."""
    if promise is None:
        return None
    return api.PromiseStatus(
        evictions_per_day_upper=promise.upper_per_day,
        trade=promise.is_trade,
        stalled_per_eviction_before=promise.stalled_before,
        stalled_per_eviction_after=promise.stalled_after,
    )


def promised(noted: api.PromiseStatus) -> PromisedRate:
    """Return what is noted that a model said."""
    return PromisedRate(
        noted.evictions_per_day_upper,
        noted.trade,
        stalled_before=noted.stalled_per_eviction_before,
        stalled_after=noted.stalled_per_eviction_after,
    )


def _outcome(word: str) -> Outcome:
    """Return what was found of values that failed; a word of another version is no reason to try them again."""
    return Outcome(word) if word in set(Outcome) else Outcome.ROLLOUT_FAILED
