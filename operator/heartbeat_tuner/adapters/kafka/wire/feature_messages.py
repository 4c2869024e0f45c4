"""Which features a cluster has turned on, such as `group.version`: a request, and what is read of its answer. Pure."""

from typing import Final

from heartbeat_tuner.adapters.kafka.wire import wire_format, wire_messages
from heartbeat_tuner.adapters.kafka.wire.wire_format import AnswerReader, MalformedAnswerError
from heartbeat_tuner.adapters.kafka.wire.wire_messages import WireRequest

_API_VERSIONS: Final = 18
_WITH_FEATURES: Final = 3
"""The oldest version whose answer has features: brokers since 2.4 know it."""

_FINALIZED: Final = 2
"""The tag of the features that are turned on."""


def finalized_features() -> WireRequest[dict[str, int]]:
    """Ask which features a cluster has turned on: the answer has the level of each, and none of those at level 0."""
    body = wire_format.text(wire_messages.CLIENT_ID) + wire_format.text("0") + wire_messages.NO_TAGS
    return WireRequest(_API_VERSIONS, _WITH_FEATURES, body, _levels, old_header=True)


def _levels(reader: AnswerReader) -> dict[str, int]:
    error = reader.number(2)
    if error:
        raise MalformedAnswerError(f"the broker does not say what it supports (error {error})")
    reader.array(lambda: _version_range(reader))
    reader.number(4)
    finalized = reader.tags().get(_FINALIZED)
    if finalized is None:
        return {}
    levels = AnswerReader(finalized)
    return dict(levels.array(lambda: _level(levels)))


def _version_range(reader: AnswerReader) -> None:
    reader.raw(6)
    reader.tags()


def _level(reader: AnswerReader) -> tuple[str, int]:
    name, highest = reader.text(), reader.number(2)
    reader.number(2)
    reader.tags()
    return name, highest
