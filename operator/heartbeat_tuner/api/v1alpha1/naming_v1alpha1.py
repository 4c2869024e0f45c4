"""`spec.metrics` of a `ConsumerGroupPolicy` v1alpha1: what a group's metrics and labels are called.

Names only, never queries: the right to write a policy must not become a right to ask Prometheus anything.
"""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, create_model

from heartbeat_tuner.api.v1alpha1.fields import Model, rules
from heartbeat_tuner.metrics.conventions import custom

AUTO: Final = "auto"
"""The convention that is found, not said."""

METRICS_NAME: Final = r"""[^\x00-\x20\x7f"'`{}\\\uFFFD]+"""
"""Names as Prometheus takes them, in UTF-8 too, without what could only be meant to break out of a query."""


def _known_convention(name: str) -> str:
    if name != AUTO:
        custom.known(name)
    return name


def _metrics_name(text: str) -> str:
    if not re.fullmatch(METRICS_NAME, text) or text.startswith("__"):
        raise ValueError(
            "must be the name of a metric or a label: not beginning with __, without white space, quotes, braces, "
            "backslashes and control characters"
        )
    return text


MetricsName = Annotated[
    str,
    AfterValidator(_metrics_name),
    Field(
        min_length=1,
        max_length=200,
        json_schema_extra=rules(
            (
                r"""self.matches(r'^[^\x00-\x20\x7f"`{}\\\x{27}\x{FFFD}]+$') && !self.startsWith('__')""",
                "must be a metric's or label's name: no leading __, white space, quotes, braces, backslashes, controls",
            )
        ),
    ),
]


_METRIC_NAMES: Final[dict[str, Any]] = {
    quantity.name.lower(): (
        Annotated[
            MetricsName | None,
            Field(description=f"The metric: {quantity.title}. A name such as my_{quantity.name.lower()}."),
        ],
        None,
    )
    for quantity in custom.QUANTITIES.values()
}

MetricNames = create_model(
    "MetricNames",
    __base__=Model,
    __doc__="Names of metrics, by quantity. Others have the name of the convention.",
    **_METRIC_NAMES,
)
"""One field for each quantity of a consumer."""


class LabelNames(Model):
    """Names of labels, if they differ from the usual ones."""

    namespace: Annotated[
        MetricsName | None,
        Field(description="Label of the pod's namespace, such as kubernetes_namespace. Default: `namespace`."),
    ] = None
    pod: Annotated[
        MetricsName | None, Field(description="Label of the pod's name, such as kubernetes_pod_name. Default: `pod`.")
    ] = None
    group: Annotated[MetricsName | None, Field(description="Label of the consumer group, such as kafka_group.")] = None
    client_id: Annotated[
        MetricsName | None, Field(description="Label of the consumer's client.id, such as client.")
    ] = None


class Metrics(Model):
    """Names of the group's metrics in Prometheus. Names only, no queries."""

    convention: Annotated[
        str,
        AfterValidator(_known_convention),
        Field(
            description="Naming convention of the exporter. auto: the one with the most metrics of the group.",
            json_schema_extra={"enum": [AUTO, *(convention.name for convention in custom.CONVENTIONS)]},
        ),
    ] = AUTO
    names: MetricNames | None = None
    labels: LabelNames | None = None
