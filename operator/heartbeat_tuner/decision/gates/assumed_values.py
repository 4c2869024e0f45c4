"""Does a change rest on a value that nobody sees, so that the library's default is assumed? Pure."""

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding


def finding(client: Client, current: CurrentSettings | None, target: LivenessSettings) -> Finding | None:
    """Return that a change rests on an assumed value; None where it does not, or pods differ.

    Args:
        client: the group's library.
        current: what is set; None where pods differ.
        target: what would be.
    """
    if current is None:
        return None
    moved = liveness.changed(current.settings, target)
    held = _held_by_session(client, current.settings, target)
    assumed = [
        setting for setting in target.by_setting if setting in current.assumed and (setting in moved or setting in held)
    ]
    if not assumed:
        return None
    values = ", ".join(f"{setting} ({durations.show(current.settings[setting])})" for setting in assumed)
    why = "" if any(setting in moved for setting in assumed) else ", and a shorter session would rest on it"
    return Finding(
        Reason.SETTING_ASSUMED,
        say(
            "neither the pods' env nor a ConfigMap shows {values}, the library's default is assumed{why}; declare what "
            "is set in spec.client.current, or name the right variables in spec.client.env",
            values=values,
            why=why,
        ),
    )


def _held_by_session(client: Client, now: LivenessSettings, target: LivenessSettings) -> tuple[Setting, ...]:
    """Return the settings that say how often beats come, where the session that must hold them would be shorter."""
    if target.session_timeout >= now.session_timeout:
        return ()
    waits = client.beat_waits_for_fetch
    return (Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT) if waits else (Setting.HEARTBEAT_INTERVAL,)
