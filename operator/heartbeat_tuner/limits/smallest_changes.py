"""Which changes are too small to be made: no rollout is worth a second of a session."""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

_LEAST_CHANGE: Final = timedelta(seconds=1)
_LEAST_SHARE: Final = 0.05


def too_small(before: timedelta, after: timedelta) -> bool:
    """Whether a change of S or M is too small to be made: under a second, or under 5 %."""
    return abs(after - before) < max(_LEAST_CHANGE, _LEAST_SHARE * before)


def within_band(current: LivenessSettings, target: LivenessSettings) -> bool:
    """Whether nothing changes, or S alone by too little."""
    only_session = liveness.changed(current, target) in {(), (Setting.SESSION_TIMEOUT,)}
    return only_session and too_small(current.session_timeout, target.session_timeout)
