"""What the broker said of a group when it was described, by its log of requests."""

import json
from collections.abc import Iterable
from typing import Any, Final

_MARK: Final = '"requestApiKeyName":"DESCRIBE_GROUPS"'


def fewer(lines: Iterable[str], group_id: str, since_s: float, *, members: int) -> int:
    """Return how many descriptions show fewer members of a group than it should have.

    Args:
        lines: of the log; one that was not written to its end is passed over.
        group_id: of the group.
        since_s: earlier ones do not count.
        members: that it should have.
    """
    count = 0
    for line in lines:
        written_ms, _, rest = line.partition(" ")
        if _MARK not in line or not line.endswith("\n") or int(written_ms) / 1000 < since_s:
            continue
        answer: dict[str, Any] = json.loads(rest.partition(":")[2])["response"]
        count += sum(group["groupId"] == group_id and len(group["members"]) < members for group in answer["groups"])
    return count
