"""What does the light core cost to install? `python -m bench.install` writes `build/bench/install.json`.

A wheel of this checkout is installed into a clean virtual environment, as somebody's CI does it, with the wheels of
its dependencies in pip's cache:

- `install_seconds`: what `pip install` takes of a processor, which a shared machine can measure, too;
  `install_clock_seconds` is the same by the clock;
- `first_finding_seconds`, `first_finding_clock_seconds`: from no environment to the first finding of `check`;
- `download_mb`: the wheels, which is what a first `pip install` downloads, in megabytes of a million bytes;
- `disk_mb`: what the environment holds afterwards, less pip and setuptools, bytecode included;
- `packages`: how many, the project's own among them; `heaviest_mb` says what the largest of them take on the disk.
"""

import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[1]

REPORT: Final = CHECKOUT / "build" / "bench" / "install.json"

GOALS: Final = {"install_seconds": 20, "first_finding_seconds": 30, "download_mb": 60}

LIGHT: Final = ("check", "clients", "doctor", "recommend", "explain", "simulate", "report")

NOT_OURS: Final = {"pip", "setuptools"}

_MB: Final = 1_000_000

_SHOWN: Final = 5

_SIZES: Final = """
import importlib.metadata, json
sizes = {}
for found in importlib.metadata.distributions():
    files = [found.locate_file(file) for file in found.files or ()]
    sizes[found.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""


@dataclasses.dataclass(frozen=True)
class Spent:
    """What a program took, in seconds."""

    clock: float
    processor: float


def spent(command: Sequence[str | Path], *, status: int = 0) -> Spent:
    """Run a program to its end.

    Args:
        command: the program and its arguments.
        status: how it has to end.

    Raises:
        SystemExit: it ended otherwise; with what it printed.
    """
    began, before = time.monotonic(), _processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return Spent(time.monotonic() - began, _processor_seconds() - before)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(folder: Path) -> dict[str, object]:
    """Install the core in a folder, and return the figures.

    Args:
        folder: an empty one.
    """
    wheels, environment = folder / "wheels", folder / "clean"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    spent((*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, CHECKOUT))
    (wheel,) = wheels.glob("*.whl")
    spent((*pip, "download", "--dest", wheels, wheel))  # pip keeps what it downloads: its cache is warm from here on
    storm = folder / "consumer.env"
    storm.write_text("KAFKAJS_SESSION_TIMEOUT=1000\n")

    made = spent((sys.executable, "-m", "venv", environment))
    python, tuner = environment / "bin" / "python", environment / "bin" / "heartbeat-tuner"
    installed = spent((python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", wheel))
    checked = spent((tuner, "check", "--client", "kafkajs", storm), status=1)

    for command in LIGHT:
        spent((tuner, command, "--help"))
    spent((tuner, "run", "--config", storm), status=2)
    spent((environment / "bin" / "kubectl-heartbeat_tuner", "status", "--help"))
    sizes = _sizes(python)
    return {
        "install_seconds": round(installed.processor, 1),
        "install_clock_seconds": round(installed.clock, 1),
        "first_finding_seconds": round(made.processor + installed.processor + checked.processor, 1),
        "first_finding_clock_seconds": round(made.clock + installed.clock + checked.clock, 1),
        "download_mb": round(sum(file.stat().st_size for file in wheels.iterdir()) / _MB, 1),
        "disk_mb": round(sum(sizes.values()) / _MB, 1),
        "packages": len(sizes),
        "heaviest_mb": {name: round(sizes[name] / _MB, 1) for name in sorted(sizes, key=sizes.__getitem__)[-_SHOWN:]},
    }


def _sizes(python: Path) -> Mapping[str, int]:
    """Return the bytes of each distribution of an environment."""
    printed = subprocess.run([python, "-c", _SIZES], capture_output=True, text=True, check=True)
    sizes: dict[str, int] = json.loads(printed.stdout)
    return {name: size for name, size in sizes.items() if name not in NOT_OURS}


def main() -> None:
    """Print the figures and write the report; exit with status 1 if a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder))
    print(json.dumps(figures))
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({**figures, "goals": GOALS}, indent=2) + "\n")
    over = [name for name, most in GOALS.items() if float(str(figures[name])) > most]
    if over:
        raise SystemExit(f"goals missed: {', '.join(over)}")


if __name__ == "__main__":
    main()
