"""Whether the API server is new enough: asked once, at start, so that a person reads one line and no riddle.

An older one takes the definitions and drops what it does not know of them, or refuses a request days later.
"""

import re
from typing import Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import InvalidSettingsError

OLDEST: Final = (1, 34)
"""The chart's `kubeVersion` says the same."""

_DIGITS: Final = re.compile(r"\d+")


async def check(api: KubernetesApi) -> None:
    """Ask the API server for its version; one that does not say it in numbers is taken for new.

    Raises:
        ApiServerError: it did not answer, or refused.
        InvalidSettingsError: it is too old.
    """
    answer = await api.get(api_paths.VERSION) or {}
    major, minor = (_DIGITS.match(str(answer.get(part, ""))) for part in ("major", "minor"))  # "34+" at some vendors
    if major is None or minor is None or (int(major[0]), int(minor[0])) >= OLDEST:
        return
    raise InvalidSettingsError(
        f"the API server is Kubernetes {major[0]}.{minor[0]}, and {OLDEST[0]}.{OLDEST[1]} or newer is needed; "
        f"upgrade the cluster, or use a release of heartbeat-tuner that supports it"
    )
