"""What the lab's consumers in Python have in common: settings from the environment, handlers."""

import os
import threading
import time

BROKERS = os.environ["KAFKA_BROKERS"]
GROUP_ID = os.environ["KAFKA_GROUP_ID"]
TOPIC = os.environ["KAFKA_TOPIC"]
CLIENT_ID = os.environ["KAFKA_CLIENT_ID"]
HANDLER = os.environ.get("HANDLER", "none")
HANDLER_S = int(os.environ.get("HANDLER_MS", "0")) / 1000


def given(names: dict[str, str]) -> dict[str, int]:
    """Return milliseconds by the library's names, of those variables that are set: the library's defaults hold else."""
    return {setting: int(os.environ[variable]) for setting, variable in names.items() if variable in os.environ}


def burn() -> None:
    """Keep the processor for so long."""
    until = time.monotonic() + HANDLER_S
    while time.monotonic() < until:
        pass


def handle() -> None:
    """Handle one message as HANDLER says, in a thread of the application."""
    if HANDLER == "wait":
        time.sleep(HANDLER_S)
    elif HANDLER == "block":
        burn()
    elif HANDLER == "hang":
        threading.Event().wait()
