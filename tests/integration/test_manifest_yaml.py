"""What is text in a manifest is what kubectl takes as text."""

import json
import subprocess
from typing import Any

from heartbeat_tuner.adapters.files import manifest_yaml
from sandbox.binaries import Binaries

WRITTEN = (
    "a ~ null true yes off y N = 5 -5 +5 089 0x1F 0x 0b1 0b2 0o7 0o9 1_000 1__ 1. .5 1.5 1e3 1_0.5 1.5e-3 1e 1:30 "
    "1:1:1.5 2026-01-01 2026-99-99 2026-01-01T00:00:00Z 1.2.3 . -. +a 99999999999999999999 '5' \"true\""
)


def test_scalars_are_text_where_kubectl_says_so(binaries: Binaries) -> None:
    """It reads neither all of YAML 1.1 nor just 1.2; only infinity has to be left out, which JSON cannot say."""
    scalars = {f"k{number}": scalar for number, scalar in enumerate(WRITTEN.split())}
    data = "\n".join(f"  {key}: {scalar}" for key, scalar in scalars.items())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{data}\n"
    command = [str(binaries.path("kubectl")), "label", "--local", "--filename=-", "--output=json", "a=b"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)["data"]
    (document,) = manifest_yaml.documents(text, "file")
    differing = [
        scalar
        for key, scalar in scalars.items()
        if not (_is_number(theirs[key]) and isinstance(document["data"][key], manifest_yaml.UnquotedNumber))
        and theirs[key] != document["data"][key]
    ]
    assert differing == []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
