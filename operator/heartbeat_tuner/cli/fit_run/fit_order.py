"""What `fit` was asked for, once it is known to make sense."""

import dataclasses
from datetime import date, timedelta
from typing import Final

from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings

KUBERNETES: Final = "kubernetes"
"""Of `--models`: objects of the API server that the environment configures."""


@dataclasses.dataclass(frozen=True, slots=True)
class FitOrder:
    """The options.

    Attributes:
        prometheus: where values come from; None for Parquet.
        parquet: likewise; None for Prometheus.
        history: where days are kept.
        models: where models go: `KUBERNETES` or a folder; None if they are only tested.
        since: the length of the window.
        until: its last day; None for the last that is over.
        cluster: what rows and models call the Kafka cluster.
        namespaces: whose consumers are read; everybody's if empty.
        master: where Spark runs.
        backtest: whether models of older days are tried on newer ones.
        as_json: whether the summary is a JSON object.
    """

    prometheus: PrometheusSettings | None
    parquet: str | None
    history: str
    models: str | None
    since: timedelta
    until: date | None
    cluster: str
    namespaces: tuple[str, ...]
    master: str
    backtest: bool
    as_json: bool
