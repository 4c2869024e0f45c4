"""What the demo prints and writes: a timeline, a table, `demo.json`."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from sandbox import progress, scenario
from sandbox.demo.measuring import Measured

SETTINGS: Final = {
    "sessionTimeout": "session timeout",
    "heartbeatInterval": "heartbeat interval",
    "fetchWait": "fetch wait",
}


def say(text: str) -> None:
    """Print one line of the timeline."""
    progress.say("demo", text)


def heading(title: str) -> None:
    """Print the title of a phase."""
    print(f"\n── {title}", file=sys.stderr, flush=True)


def moment(measured: Measured) -> None:
    """Print what the coordinator has seen so far in this phase."""
    period = (
        "no two heartbeats yet"
        if measured.beat_period_s is None
        else f"a heartbeat every {measured.beat_period_s:.2f} s"
    )
    say(
        f"{measured.rebalances} rebalances in {measured.length_s:.0f} s, {period}, "
        f"{measured.refused} of {measured.refused + measured.accepted} refused"
    )


def decision(policy: dict[str, Any]) -> None:
    """Print the operator's decision with its reason."""
    found = scenario.condition(policy, "Recommended")
    say(f"operator: {found['reason']}")
    for sentence in found["message"].split(". "):
        say(f"  {sentence}")


def patched(deployment: dict[str, Any]) -> None:
    """Print the environment entries that the operator owns."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    entries = [f"{item['name']}={item['value']}" for item in container["env"] if item["name"].endswith("_MS")]
    say(f"operator patched Deployment {deployment['metadata']['name']}: {' '.join(entries)}")


def table(before: Measured, after: Measured, policy: dict[str, Any]) -> None:
    """Print before and after side by side."""
    values = _values(policy)
    rows = [
        *((SETTINGS[name], value["before"], value["after"]) for name, value in values.items()),
        ("rebalances per minute", f"{before.rebalances_per_minute:.1f}", f"{after.rebalances_per_minute:.1f}"),
        ("heartbeat every", _seconds(before.beat_period_s), _seconds(after.beat_period_s)),
        ("heartbeats refused", _share(before), _share(after)),
    ]
    print(f"\n{'':24}{'before':>12}{'after':>12}")
    for name, was, now in rows:
        print(f"{name:24}{was:>12}{now:>12}")
    sys.stdout.flush()


def write(
    path: Path, before: Measured, after: Measured, policies: tuple[dict[str, Any], ...], seconds: dict[str, float]
) -> None:
    """Write what was measured, for machines."""
    at_storm, at_end = policies
    document = {
        "rebalances_per_minute": {
            "before": round(before.rebalances_per_minute, 2),
            "after": round(after.rebalances_per_minute, 2),
        },
        "beat_period_s": {"before": _rounded(before.beat_period_s), "after": _rounded(after.beat_period_s)},
        "values": _values(at_end),
        "reason": scenario.condition(at_storm, "Recommended")["reason"],
        "message": scenario.condition(at_storm, "Recommended")["message"],
        "observed_s": {"before": round(before.length_s, 1), "after": round(after.length_s, 1)},
        "seconds": seconds,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _values(policy: dict[str, Any]) -> dict[str, dict[str, str]]:
    applied = policy["status"]["applied"]
    return {name: {"before": applied["previous"][name], "after": applied["values"][name]} for name in SETTINGS}


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _share(measured: Measured) -> str:
    return f"{measured.refused} of {measured.refused + measured.accepted}"
