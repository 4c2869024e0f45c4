"""Whether static ids are given, as a policy's status says it to people and to the webhook. Pure.

In `Auto` the advice of the decision counts: ids are given once it says that they pay, until it says that they do not.
In between, and while nobody knows, it stays as it was, so that it does not come and go with the figures. Nothing is
switched at once: pods keep what they have until they are replaced.
"""

from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import StaticIds
from heartbeat_tuner.domain.policies import Policy, StaticMembership
from heartbeat_tuner.domain.verdicts import StaticAdvice, Worth

_SURE = {Worth.PAYS: True, Worth.COSTS: False, Worth.REFUSED: False}
"""What settles whether ids are given."""


def next_static_ids(standing: StaticIds | None, policy: Policy, advice: StaticAdvice | None) -> StaticIds | None:
    """Return what is said of static ids from now on; None where they are not asked for.

    Args:
        standing: what was said so far.
        policy: of the group.
        advice: of this cycle; None where nothing is known now.
    """
    asked = policy.static_membership
    if asked is StaticMembership.DISABLED:
        return None
    if advice is None:
        advice = StaticAdvice(Worth.UNKNOWN, "nobody has looked at the group yet") if standing is None else None
    given = standing is not None and standing.given
    if asked is StaticMembership.ENABLED:
        given = policy.instance_id_env is not None
    elif advice is not None:
        given = _SURE.get(advice.worth, given)
    if advice is None or (standing is not None and advice.worth is Worth.UNKNOWN):
        return None if standing is None else standing.model_copy(update={"given": given})
    return StaticIds(given=given, worth=advice.worth, message=fitting(advice.message))
