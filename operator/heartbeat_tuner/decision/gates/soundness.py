"""May a group be called healthy?

A quiet record does not make values sound: a member that is busy may beat in time with settings that remove it as soon
as it is idle. So no road may say `Healthy` of values that `check` calls an error. Each road to a verdict (the operator,
`recommend`, `explain`; with a record, or with a model alone) ends here.
"""

import dataclasses

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.lint import linting, suggestions
from heartbeat_tuner.lint.checked_settings import AT_THE_BROKER, NAMES, Expectations, Inspected
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.lint.suggestions import Remedy


def new_errors(
    target: LivenessSettings, client: Client, current: LivenessSettings, expectations: Expectations
) -> list[str]:
    """Return what `check` calls an error in a target of a classic group, and not in what is set.

    The bounds of a policy may leave no value that goes with the others: an H that has to rise, and an M that may not.

    Args:
        target: that is to be written.
        client: the group's library.
        current: that is set.
        expectations: what the values are checked against.

    Returns:
        a sentence for each.
    """
    before, after = (
        linting.lint(_inspected(client, settings, Protocol.CLASSIC), expectations) for settings in (current, target)
    )
    known = {lint_finding.rule.code for lint_finding in before}
    return [
        lint_finding.message
        for lint_finding in after
        if lint_finding.rule.severity is LintSeverity.ERROR and lint_finding.rule.code not in known
    ]


def upheld(
    decision: Decision, client: Client, settings: LivenessSettings, protocol: Protocol, expectations: Expectations
) -> Decision:
    """Return the decision, or, where it calls values healthy that cannot hold, that one cannot say so.

    Args:
        decision: so far.
        client: the group's library.
        settings: that are set.
        protocol: that the group speaks.
        expectations: what the values are checked against.
    """
    if decision.verdict is not Verdict.HEALTHY:
        return decision
    inspected = _inspected(client, settings, protocol)
    lint_findings = linting.lint(inspected, expectations)
    errors = [
        lint_finding.message for lint_finding in lint_findings if lint_finding.rule.severity is LintSeverity.ERROR
    ]
    if not errors:
        return decision
    remedy = suggestions.suggest(inspected, expectations, lint_findings)
    unsound = say("nothing happened in the record, but {errors}", errors=join("; ", errors))
    return dataclasses.replace(
        decision,
        verdict=Verdict.UNKNOWN,
        finding=Finding(Reason.UNSOUND_SETTINGS, unsound),
        advice=_advice(remedy),
    )


def _inspected(client: Client, settings: LivenessSettings, protocol: Protocol) -> Inspected:
    """Return the settings as `check` is given them; what the broker says, and what nobody reads, is left out."""
    given = {
        setting: value
        for setting, value in settings.by_setting.items()
        if setting in client.settings and not (protocol.is_at_broker and setting in AT_THE_BROKER)
    }
    unseen = {Setting.REBALANCE_TIMEOUT} - given.keys()
    return Inspected.of(client, given, unseen=unseen, protocol=protocol)


def _advice(remedy: Remedy | Infeasible | None) -> str:
    if isinstance(remedy, Infeasible):
        return remedy.message
    changes = {} if remedy is None else remedy.changes
    values = ", ".join(f"{NAMES[setting]} {durations.show(value)}" for setting, value in changes.items())
    return say("Values that hold: {values}", values=values) if values else "`heartbeat-tuner check` says more"
