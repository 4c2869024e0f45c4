"""Which moments that stand in an object are believed: anybody who may edit it can write any there."""

from datetime import datetime
from typing import Final

YEARS: Final = range(2020, 2200)
"""The years in which we may have written; others are not ours, and arithmetic with them may overflow."""


def may_be_ours(moment: datetime) -> bool:
    """Whether we may have written a moment down; a time zone may take it a day beyond, and nothing overflows."""
    return moment.year in YEARS
