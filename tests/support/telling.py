"""What `doctor` says of made-up groups, without a Prometheus."""

from typing import Any

from heartbeat_tuner.cli import asking, doctor
from heartbeat_tuner.metrics.inventory import Diagnosis
from tests.support.worlds import HOUR


def doctor_text(found: Diagnosis) -> str:
    """Return what a terminal gets of a diagnosis."""
    none: dict[str, Any] = dict.fromkeys(("bearer_token_file", "username", "password_file", "ca_file", "tenant"))
    asked = asking.asked(
        url="http://prometheus:9090",
        headers=(),
        timeout="10s",
        namespaces=(),
        allow_credentials_over_http=False,
        lookback=HOUR,
        **none,
    )
    return doctor.as_text(found, asked)
