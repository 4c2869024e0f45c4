"""Which moments that stand in an object are believed: whoever may edit it may write any there."""

from datetime import datetime
from typing import Final

YEARS: Final = range(2020, 2200)
"""In which years we may have written; others are not ours, and may not even bear arithmetic."""


def may_be_ours(moment: datetime) -> bool:
    """Whether we may have written a moment down; a time zone may take it a day beyond the years, which bears it."""
    return moment.year in YEARS
