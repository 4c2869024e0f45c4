"""Whether a description shows a member gone that may be back in a moment, so that it is worth another one soon.

A consumer that is closed and made again in its process is out of its group for a tenth of a second. A description that
comes just then shows the same as one of a member that was evicted. The next one tells them apart, if it comes soon: who
is back within `process_ids.BRIEF` may have been closed and made again. This looks at ids alone, at the moment when the
description arrives. Whether the process of a member lives is known some seconds later, which is too late.
"""

from collections import Counter

from heartbeat_tuner.domain.kafka_groups import Group


def is_anybody_gone(before: Group, group: Group | None) -> bool:
    """Whether a member of a classic group is gone, and its host shows no new one in its place.

    Members of other groups keep their ids: there a consumer that was made again is never taken for the one before.

    Args:
        before: the description before this one.
        group: this one; None where there is no such group any more, which is a classic group without members.
    """
    if before.consumer_protocol or (group is not None and group.consumer_protocol):
        return False
    was = {member.member_id: member.host for member in before.members}
    now = {} if group is None else {member.member_id: member.host for member in group.members}
    gone = Counter(host for name, host in was.items() if name not in now)
    new = Counter(host for name, host in now.items() if name not in was)
    return not gone <= new
