"""How many messages one poll may hand out, so that handling them all stays within the max poll interval: pure.

There are two ways out where handlers are slow: fewer messages with each poll, or a longer max poll interval. Only the
second has a price: a handler that hangs is noticed as much later.
"""

from datetime import timedelta

from heartbeat_tuner.limits.allowed_values import POLL_GAP_MARGIN


def most_records(records: int, longest: timedelta, limit: timedelta) -> int | None:
    """Return the most messages of one poll whose handling, with the margin of a poll limit, is within the limit.

    | records | longest | limit | margin | most |
    |---------|---------|-------|--------|------|
    | 500     | 6 min   | 5 min | 1.3    | 320  |
    | 1       | 6 min   | 5 min | 1.3    | None |

    Args:
        records: messages that a poll hands out now, 1 or more.
        longest: the longest that handling those of one poll takes; more than nothing.
        limit: the time after which a member that does not poll leaves.

    Returns:
        None where one message alone takes too long, or where fewer than now are not needed.
    """
    most = int(records * (limit / longest) / POLL_GAP_MARGIN)
    return most if 1 <= most < records else None


def handling(records: int, of_records: int, longest: timedelta) -> timedelta:
    """Return how long so many messages take, where `of_records` take `longest`."""
    return longest * (records / of_records)
