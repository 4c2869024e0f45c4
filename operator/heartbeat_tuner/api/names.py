"""Names of Kubernetes' objects in the API: their rules, once for the API server and once for us.

The definition's rules refuse a wrong name when it is written; `plain` refuses one that was stored before there were
rules, or that came another way.
"""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from heartbeat_tuner.api.v1alpha1.fields import rules

LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
"""A DNS-1123 label. Regular expressions of this module mean the same in Python and in CEL."""

SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
"""A DNS-1123 subdomain; as in Kubernetes only the whole has a limit, which is no part of this."""

VARIABLE: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"

WORD: Final = "[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?"
"""What people call things that are no objects: clusters, client libraries, quantities."""

UID: Final = "[-._a-zA-Z0-9]*"
"""The API server's are UUIDs; no other is read as more than a text."""

NOT_A_LABEL: Final = (
    "must be at most 63 lower case letters, digits and '-', beginning and ending with a letter or a digit (DNS-1123)"
)
NOT_A_SUBDOMAIN: Final = (
    "must be the name of an object in the policy's namespace: lower case letters, digits, '-' and '.', beginning and "
    "ending with a letter or a digit (DNS-1123); no path"
)
NOT_A_VARIABLE: Final = (
    "must be an environment variable's name: letters, digits, '_', '-', '.', not starting with a digit"
)
NOT_A_WORD: Final = (
    "must be a name of letters, digits, '-', '_' and '.' that begins and ends with a letter or a digit; not an address"
)
_NOT_A_UID: Final = "must be a uid: letters, digits, '-', '_' and '.'"


def plain(pattern: str, sentence: str) -> AfterValidator:
    """Return the check that a text fits a pattern as a whole; the sentence says what is wanted."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(sentence)
        return text

    return AfterValidator(check)


ObjectName = Annotated[
    str,
    plain(SUBDOMAIN, NOT_A_SUBDOMAIN),
    Field(
        min_length=1,
        max_length=253,
        json_schema_extra=rules((f"self.matches(r'^{SUBDOMAIN}$')", NOT_A_SUBDOMAIN)),
    ),
]
"""Of a Deployment, StatefulSet or Rollout."""

LabelName = Annotated[
    str,
    plain(LABEL, NOT_A_LABEL),
    Field(min_length=1, max_length=63, json_schema_extra=rules((f"self.matches(r'^{LABEL}$')", NOT_A_LABEL))),
]
"""Of a container."""

ClusterName = Annotated[
    str,
    plain(WORD, NOT_A_WORD),
    Field(min_length=1, max_length=63, json_schema_extra=rules((f"self.matches('^{WORD}$')", NOT_A_WORD))),
]
"""Of a Kafka cluster, as the operator's configuration calls it."""

PerhapsClusterName = Annotated[
    str,
    plain(f"({WORD})?", NOT_A_WORD),
    Field(max_length=63, json_schema_extra=rules((f"self.matches('^({WORD})?$')", NOT_A_WORD))),
]
"""The same, or empty for every cluster."""

Word = Annotated[
    str,
    plain(WORD, NOT_A_WORD),
    Field(min_length=1, max_length=64, json_schema_extra=rules((f"self.matches('^{WORD}$')", NOT_A_WORD))),
]
"""Of a client library or a quantity."""

EnvName = Annotated[
    str,
    plain(VARIABLE, NOT_A_VARIABLE),
    Field(min_length=1, max_length=128, json_schema_extra=rules((f"self.matches('^{VARIABLE}$')", NOT_A_VARIABLE))),
]
"""Of an environment variable."""

Uid = Annotated[
    str,
    plain(UID, _NOT_A_UID),
    Field(max_length=64, json_schema_extra=rules((f"self.matches('^{UID}$')", _NOT_A_UID))),
]
"""Of an object, as a status has it."""
