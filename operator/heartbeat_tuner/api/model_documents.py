"""Between a `ConsumerGroupModel` document and the `GroupModel` that it describes, both ways.

A document is not trusted: anybody who may write objects, or files, may have written anything. `model_of` gives a model
on which no look-up fails, or a sentence with field, value, rule and fix. Numbers survive both ways, bit by bit.
"""

import functools
import hashlib
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final, cast

import pydantic

from heartbeat_tuner.api.model_writing import REASONS, SOURCES, spec_of
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.models_v1alpha1 import KIND, ModelSpec, QuantitySpec
from heartbeat_tuner.api.v1alpha1.tail_v1alpha1 import RejectedSpec, Tail
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.models import group_model
from heartbeat_tuner.models.group_model import Fitted, GroupModel, QuantityModel, Unreadable
from heartbeat_tuner.tails import model
from heartbeat_tuner.tails.histogram import SCHEMA
from heartbeat_tuner.tails.model import RejectionReason, TailModel
from heartbeat_tuner.tails.pool import Pool
from heartbeat_tuner.tails.rates import Duration, Rate

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

_PLAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_HASHED: Final = re.compile(r".*-[0-9a-f]{12}")
_HASH_DIGITS: Final = 12
_LONGEST_NAME: Final = 100
"""Kubernetes allows 253; folders and terminals are happier with less."""

_POOLS: Final = 4096
"""Different pools that are remembered, some MiB: a namespace has a few."""

_ONLY_WHEN: Final = ("fitTime", "job")
"""Fields that say which run fitted it, and nothing of the group."""


class InvalidModelError(TunerError):
    """A document that is no model; the message names field, value, rule and fix."""


class ForeignSchemaError(InvalidModelError):
    """A model of other buckets than this version has: not wrong, but not to be read."""


def name_of(group: str, cluster: str) -> str:
    """Return the object's name: the group's id where that is one, else what is left of it and a hash of it all.

    Two groups never share one: a name that looks as if it had a hash gets one too.
    """
    if not cluster and len(group) <= _LONGEST_NAME and _PLAIN.fullmatch(group) and not _HASHED.fullmatch(group):
        return group
    digest = hashlib.sha256(f"{cluster}\0{group}".encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]
    left = re.sub(r"[^a-z0-9]+", "-", group.lower())[: _LONGEST_NAME - _HASH_DIGITS - 1].strip("-")
    return f"{left}-{digest}" if left else f"group-{digest}"


def is_namespace(name: str) -> bool:
    """Whether a namespace can have this name; what metrics say may be anything, and becomes part of paths."""
    return _NAMESPACE.fullmatch(name) is not None


def document_of(fitted: GroupModel) -> dict[str, Any]:
    """Return the whole object, as it is applied; a model of pods without a namespace has an empty one.

    Raises:
        InvalidModelError: the model holds what no document may.
    """
    if fitted.namespace and not is_namespace(fitted.namespace):
        raise InvalidModelError(
            f"model of group {fitted.group}: namespace {fitted.namespace!r} is no name of a Kubernetes namespace "
            f"(lower case letters, digits and '-', at most 63); the label of the metrics says so"
        )
    try:
        spec = ModelSpec.model_validate(spec_of(fitted))
    except pydantic.ValidationError as error:
        raise InvalidModelError(
            f"model of group {fitted.namespace}/{fitted.group}: {fields.first_error(error, ModelSpec, 'spec')}"
        ) from error
    return {
        "apiVersion": fields.API_VERSION,
        "kind": KIND,
        "metadata": {"name": name_of(fitted.group, fitted.cluster), "namespace": fitted.namespace},
        "spec": fields.stored(spec),
    }


def key_of(document: Mapping[str, Any]) -> ObjectKey:
    """Return an object's namespace and name."""
    return ObjectKey(document["metadata"]["namespace"], document["metadata"]["name"])


def model_of(document: Mapping[str, Any]) -> GroupModel:
    """Return the model that an object describes.

    Raises:
        ForeignSchemaError: its histograms have other buckets.
        InvalidModelError: a field does not fit; the message names it, its value and the rule.
    """
    where, spec = f"{KIND} {key_of(document)}", document.get("spec")
    if isinstance(spec, Mapping):
        schema = spec.get("histogramSchema")
        if isinstance(schema, int) and not isinstance(schema, bool) and schema >= 1 and schema != SCHEMA:
            raise ForeignSchemaError(
                f"{where} is of histogram schema {schema}, and this version reads {SCHEMA}: fit and operator must be "
                f"of one version"
            )
    try:
        return _model_of(key_of(document).namespace, ModelSpec.model_validate(spec or {}))
    except pydantic.ValidationError as error:
        wrong = fields.first_error(error, ModelSpec, "spec")
        raise InvalidModelError(
            f"{where} cannot be used: {wrong}. Delete it, and the next fit writes it again"
        ) from error


def due(fitted: GroupModel, stored: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the document to write in place of what is stored; None if that says the same, whichever run fitted it.

    Tails that the new model rejects are kept from the stored one, where that can be read.

    Raises:
        InvalidModelError: the model holds what no document may.
    """
    try:
        old = None if stored is None else model_of(stored)
    except InvalidModelError:
        old = None
    document = document_of(group_model.keeping(fitted, old))
    return None if stored is not None and _told(document) == _told(stored) else document


def read(document: Mapping[str, Any]) -> Fitted | Unreadable | None:
    """Return the model of an object that was read, or why there is none; None if it does not even say whose it is."""
    spec, key = document.get("spec"), key_of(document)
    group = spec.get("groupId") if isinstance(spec, Mapping) else None
    if not isinstance(group, str):
        return None
    try:
        return Fitted(key.name, model_of(document))
    except InvalidModelError as error:
        return Unreadable(key.name, key.namespace, group, str(error))


def _told(document: Mapping[str, Any]) -> dict[str, Any]:
    spec = document.get("spec")
    if not isinstance(spec, Mapping):
        return {}
    return {name: value for name, value in spec.items() if name not in _ONLY_WHEN}


def _model_of(namespace: str, spec: ModelSpec) -> GroupModel:
    return GroupModel(
        namespace=namespace,
        group=spec.group_id,
        client=spec.client,
        cluster=spec.cluster,
        schema=spec.histogram_schema,
        since=date.fromisoformat(spec.since),
        until=date.fromisoformat(spec.until),
        days=spec.days,
        fitted_at=datetime.fromisoformat(spec.fitted_at),
        job=spec.job,
        quantities={quantity.name: _quantity_from(quantity) for quantity in spec.quantities},
    )


def _quantity_from(spec: QuantitySpec) -> QuantityModel:
    return QuantityModel(
        values=spec.values,
        member_days=spec.member_days,
        group_days=spec.group_days,
        largest_s=spec.largest_seconds,
        tail=_rejected_from(cast("RejectedSpec", spec.rejected)) if spec.tail is None else _tail_from(spec.tail),
        kept=None
        if spec.kept is None
        else group_model.EarlierTail(
            tail=_tail_from(spec.kept.tail),
            per_day=spec.kept.values_per_day,
            since=date.fromisoformat(spec.kept.since),
            until=date.fromisoformat(spec.kept.until),
            fitted_at=datetime.fromisoformat(spec.kept.fitted_at),
        ),
        median_s=spec.median_seconds,
        regime_since=None if spec.regime_since is None else date.fromisoformat(spec.regime_since),
        rate=None if spec.rate is None else Rate(spec.rate.mean, spec.rate.upper),
        duration=None
        if spec.duration is None
        else Duration(spec.duration.mean_log, spec.duration.sd_log, spec.duration.worth),
        pool=None
        if spec.pool is None
        else _shared(
            Pool(
                spec.pool.days,
                spec.pool.groups,
                tuple(spec.pool.times_seconds),
                tuple(spec.pool.per_day),
                tuple(spec.pool.spreads),
                spec.pool.hides_from_seconds,
                None if spec.pool.clumps is None else tuple(spec.pool.clumps),
            )
        ),
    )


@functools.lru_cache(maxsize=_POOLS)
def _shared(pool: Pool) -> Pool:
    """Return the pool that is equal: all groups of a kind have the same, and it is the largest part of a model."""
    return pool


def _rejected_from(rejected_spec: RejectedSpec) -> model.Rejected:
    """Return why there is no tail; a reason that only another version knows is told in its own word."""
    reason = REASONS.get(rejected_spec.reason)
    if reason is None:
        return model.Rejected(RejectionReason.BAD_FIT, f"{rejected_spec.reason}: {rejected_spec.detail}")
    return model.Rejected(reason, rejected_spec.detail)


def _tail_from(tail: Tail) -> TailModel:
    return TailModel(
        threshold_s=tail.threshold_seconds,
        share=tail.share,
        share_log_sd=tail.share_log_sd,
        shape=tail.shape,
        log_scale=tail.log_scale,
        covariance=(tail.covariance.shape, tail.covariance.shape_log_scale, tail.covariance.log_scale),
        fraction=tail.fraction,
        source=SOURCES[tail.source],
        samples=tail.samples,
        exceedances=tail.exceedances,
        largest_s=tail.largest_seconds,
        anderson_darling=tail.anderson_darling,
        distance=tail.distance,
    )
