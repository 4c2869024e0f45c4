"""Names of environment variables, by the way in which applications are configured."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.liveness import Setting

PLAIN: Final = "plain"
"""What applications that read the environment themselves usually call it: `KAFKA_` and the library's own name."""


def upper(names: Mapping[Setting, str], prefix: str = "KAFKA_") -> Mapping[Setting, str]:
    """Return a prefix and the names in capitals: `session.timeout.ms` gives `KAFKA_SESSION_TIMEOUT_MS`."""
    return MappingProxyType({setting: prefix + name.upper().replace(".", "_") for setting, name in names.items()})
