"""What happens to a recorded group: the same story for every exporter, about five minutes.

Every step is done when its time has come, counted from when both first members are in the group. Names of events are
part of the recordings: tests look them up in `events` of meta.yaml.
"""

from typing import Final, Protocol

LENGTH_S: Final = 270.0
"""From when the first members are in, to the end."""

PAUSE_FACTOR: Final = 1.4
"""How many sessions a member stands still: long enough to be evicted, short enough not to outlast M."""

LONG_HANDLER_FACTOR: Final = 1.4
"""How many M the long handler takes."""

BUSY_EVERY_S: Final = 0.1
BUSY_HANDLER_MS: Final = 5


class Stage(Protocol):
    """What a story is played on; `stage.py` has the real one."""

    session_s: float
    max_poll_s: float | None

    def until(self, at_s: float) -> None:
        """Wait until this time of the story."""

    def start(self, pod: str) -> None:
        """Start a pod, and its being scraped; do not wait."""

    def end(self, pod: str) -> None:
        """Tell a pod to end, wait until it has, and scrape it no more."""

    def members(self, count: int) -> None:
        """Wait until the group is stable with so many members; the story's clock stands still meanwhile."""

    def begin(self) -> None:
        """Let the story's clock begin now."""

    def pause(self, pod: str, seconds: float) -> None:
        """Stop a pod's process for so long (SIGSTOP, SIGCONT)."""

    def busy(self, every_s: float, handler_ms: int) -> None:
        """Send messages from now on, one after the other round the partitions."""

    def idle(self) -> None:
        """Send no more."""

    def long_handler(self, seconds: float) -> None:
        """Send one message that keeps its handler until this long from now."""

    def event(self, what: str, pod: str | None = None) -> None:
        """Note an event."""


def play(stage: Stage) -> None:
    """Play the story: idle, busy, a third member, two evictions, a poll gap, a replaced pod, idle."""
    stage.start("consumer-a")
    stage.start("consumer-b")
    stage.members(2)
    stage.begin()
    stage.event("idle")
    stage.until(30)
    stage.busy(BUSY_EVERY_S, BUSY_HANDLER_MS)
    stage.until(65)
    stage.start("consumer-c")
    stage.members(3)
    stage.until(100)
    stage.end("consumer-c")
    stage.until(115)
    stage.idle()
    stage.until(120)
    stage.pause("consumer-a", stage.session_s * PAUSE_FACTOR)
    stage.until(150)
    stage.pause("consumer-a", stage.session_s * PAUSE_FACTOR)
    stage.until(180)
    if stage.max_poll_s is not None:
        stage.long_handler(stage.max_poll_s * LONG_HANDLER_FACTOR)
    stage.until(215)
    stage.end("consumer-b")
    stage.start("consumer-d")
    stage.members(2)
    stage.event("idle")
    stage.until(LENGTH_S)
