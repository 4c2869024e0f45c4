"""What a policy's section `metrics` asks for."""

from typing import Any

from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.policies import Naming
from tests.support import manifests


def naming_of(metrics: dict[str, Any], library: str = "kafkajs") -> Naming:
    """Return it as the operator reads it.

    Raises:
        InvalidPolicyError: it cannot be used.
    """
    return parsing.policy_of(manifests.policy(spec={"client": {"library": library}, "metrics": metrics})).naming
