"""Provenance in SLSA's words: from which commit, and by which command, the files of a release were made."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from release.integrity import Signer
from release.source import Source

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
BUILD_TYPE: Final = "https://heartbeat-tuner.dev/release/v1"


def statement(source: Source, digests: Mapping[str, str], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the statement of in-toto, with SLSA's provenance v1.

    Args:
        source: the commit.
        digests: SHA-256 of each file, by its name.
        parameters: what the person who made the release chose.
    """
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": dict(sorted(parameters.items())),
                "resolvedDependencies": [{"uri": "git+file:.", "digest": {"gitCommit": source.commit}}],
            },
            "runDetails": {"builder": {"id": f"{BUILD_TYPE}#make-release"}},
        },
    }


def envelope(statement: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """Return the statement signed, as DSSE wraps it.

    Args:
        statement: what is signed.
        signer: by whom.
    """
    payload = json.dumps(statement, sort_keys=True).encode()
    signed = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"sig": signer.signature(signed)}],
    }
