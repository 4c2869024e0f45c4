"""How a Lease carries a slot's record.

The holder stands in `spec.holderIdentity`, all else in annotations, and a seal over all of it and the slot's number in
another. A Lease whose seal does not fit was edited, or copied, by somebody else: nothing of it is believed, and
`settling` finds out from the pods whose slot it is.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from heartbeat_tuner.domain import durations
from heartbeat_tuner.membership.values import Promise, SlotRecord

PREFIX: Final = "heartbeat-tuner.dev/"
SINCE: Final = f"{PREFIX}since"
PROMISED_TO: Final = f"{PREFIX}promised-to"
PROMISED_AT: Final = f"{PREFIX}promised-at"
RESTS_UNTIL: Final = f"{PREFIX}rests-until"
FORMER_HOLDER: Final = f"{PREFIX}former-holder"
SEAL: Final = f"{PREFIX}seal"
OURS: Final = (SINCE, PROMISED_TO, PROMISED_AT, RESTS_UNTIL, FORMER_HOLDER, SEAL)


class LeaseFields(NamedTuple):
    """What a Lease says of a slot.

    Attributes:
        holder_identity: `spec.holderIdentity`; empty means none.
        annotations: all of `OURS` that the record has; the others must not stay from an older one.
    """

    holder_identity: str
    annotations: Mapping[str, str]


def fields(number: int, record: SlotRecord) -> LeaseFields:
    """Return what to write into a slot's Lease."""
    annotations = {SINCE: record.since.isoformat()}
    if record.promise is not None:
        annotations |= {PROMISED_TO: record.promise.token, PROMISED_AT: record.promise.at.isoformat()}
    if record.rests_until is not None:
        annotations[RESTS_UNTIL] = record.rests_until.isoformat()
    if record.former:
        annotations[FORMER_HOLDER] = record.former
    return LeaseFields(record.holder, annotations | {SEAL: _seal(number, record.holder, annotations)})


def read(number: int, holder_identity: str | None, annotations: Mapping[str, str]) -> SlotRecord | None:
    """Return the record of a slot's Lease; None where somebody else wrote it.

    Args:
        number: of the slot.
        holder_identity: `spec.holderIdentity`.
        annotations: all of the Lease's; those of others do not count.
    """
    holder = holder_identity or ""
    ours = {name: annotations[name] for name in OURS if name in annotations}
    if ours.pop(SEAL, None) != _seal(number, holder, ours):
        return None
    promised_to, rests_until = ours.get(PROMISED_TO), ours.get(RESTS_UNTIL)
    try:
        return SlotRecord(
            since=_time(ours[SINCE]),
            holder=holder,
            promise=None if promised_to is None else Promise(promised_to, _time(ours[PROMISED_AT])),
            rests_until=None if rests_until is None else _time(rests_until),
            former=ours.get(FORMER_HOLDER, ""),
        )
    except (KeyError, ValueError):  # sealed by somebody who knows how, and wants us to fall over it
        return None


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    if not durations.may_be_ours(moment):
        raise ValueError(f"{text} is of another age")
    return moment


def _seal(number: int, holder: str, annotations: Mapping[str, str]) -> str:
    """Return a digest of what a Lease says: against slips and copies, not against malice."""
    sentence = "\n".join([str(number), holder, *(f"{name}={annotations[name]}" for name in sorted(annotations))])
    return hashlib.sha256(sentence.encode()).hexdigest()[:16]
