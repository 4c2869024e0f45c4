"""What `doctor` says of made-up groups, without a Prometheus."""

from typing import Any

from heartbeat_tuner.cli import doctor
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.doctor.inventory import Diagnosis
from tests.support.worlds import HOUR


def doctor_text(found: Diagnosis) -> str:
    """Return what a terminal gets of a diagnosis."""
    none: dict[str, Any] = dict.fromkeys(("bearer_token_file", "username", "password_file", "ca_file", "tenant"))
    asked = prometheus_options.asked(
        url="http://prometheus:9090",
        headers=(),
        timeout="10s",
        namespaces=(),
        allow_credentials_over_http=False,
        lookback=HOUR,
        **none,
    )
    return doctor.as_text(found, asked)
