"""Places whose groups are evicted from time to time: Prometheus' answers of that, made from what pods run with."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters
from tests.support.exits import Place

SCRAPE_S: Final = 15.0
BEAT_S: Final = 5.0
REACH: Final = timedelta(minutes=70)


class HarmedPlace(Place):
    """A place whose group is evicted from time to time once it has the cure.

    Attributes:
        harmed: when evictions begin, and how long it is from one to the next; None while there are none.
    """

    harmed: tuple[datetime, timedelta] | None = None

    async def series(self, at: datetime) -> counters.Answers:
        """Return what all pods that run would have left for Prometheus by a time."""
        running = await self.running()
        if self.harmed is None or any(item.storms for item in running):
            return await super().series(at)
        return counters.together(*(self.left_by(item.pod, at, *self.harmed) for item in running))

    def left_by(self, pod: Pod, at: datetime, since: datetime, gap: timedelta) -> counters.Answers:
        """Return what a pod leaves whose member is refused a beat, and joins again, after each gap."""
        first = int(max(at - REACH, pod.started).timestamp() / SCRAPE_S) + 1
        times_s = [number * SCRAPE_S for number in range(first, int(at.timestamp() / SCRAPE_S) + 1)]

        def evictions(time_s: float) -> float:
            return max(0.0, (time_s - since.timestamp()) // gap.total_seconds())

        def beats(time_s: float) -> float:
            return (time_s - pod.started.timestamp()) // BEAT_S

        counts: dict[Quantity, Callable[[float], float]] = {
            Quantity.HEARTBEATS: lambda time_s: beats(time_s) - evictions(time_s),
            Quantity.HEARTBEAT_REQUESTS: beats,
            Quantity.REBALANCE_NOTICES: lambda _: 0.0,
            Quantity.REBALANCES: lambda time_s: 1.0 + evictions(time_s),
            Quantity.REBALANCE_TIME: lambda time_s: 0.1 + 0.1 * evictions(time_s),
        }
        place = {"pod": pod.name, "namespace": self.name, "group": self.name}
        member = {"member_id": f"client-{pod.name}-0"}
        return {
            quantity: [
                counters.series(
                    ((time_s, count(time_s)) for time_s in times_s),
                    **place,
                    **(member if quantity is Quantity.HEARTBEATS else {}),
                )
            ]
            for quantity, count in counts.items()
        }
