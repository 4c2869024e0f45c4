"""The groups whose cost was simulated once before, by other code: their profiles, settings and what came out.

Six members share 24 partitions in an eager group of Java consumers, with S 45 s, H 3 s, M = R = 300 s, B0 0.5 s and
handlers of lognormal(1 s, 0.5), unless a row says otherwise. What happens to them is accelerated to 40 to 200 events a
day. What the old table left open is chosen here and said in `chosen`.
"""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import numpy as np

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.simulation.play import Played
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import Law

EVICTIONS: Final = "evictions"
REBALANCES: Final = "rebalances"

_NEVER: Final = FailureProcess(0.0, Law.constant(1.0))
_USUAL: Final = Profile(
    client="java",
    rebalancing=Rebalancing.EAGER,
    members=6,
    partitions=24,
    static=False,
    pauses=_NEVER,
    node_pauses=_NEVER,
    node_members=1,
    outages=_NEVER,
    delivery=Delivery.LATE,
    crashes=_NEVER,
    restarts=_NEVER,
    surge=False,
    hangs=_NEVER,
    handlers=Law.lognormal(1.0, 0.5),
    slow_handlers=None,
    settle_s=0.5,
)


@dataclasses.dataclass(frozen=True)
class Known:
    """One row of the table.

    Attributes:
        name: what the row is about.
        profile: the group.
        settings: of it.
        stalled: stalled partition-seconds a day, gross, as they came out before; None where they were not told.
        counted: what was counted: evictions or rebalances a day, or the cause whose detection was timed, in seconds.
        count: how many came out.
        rollouts: restarts are those of the whole group.
        in_step: beats start again after a rebalance.
        chosen: what the table left open, and stands as here.
    """

    name: str
    profile: Profile
    settings: LivenessSettings
    stalled: float | None
    counted: str
    count: float | None
    rollouts: bool = False
    in_step: bool = False
    chosen: str = ""

    def count_of(self, played: Played) -> float | None:
        """Return what this row counts."""
        if self.counted == EVICTIONS:
            return played.false_evictions_per_day
        if self.counted == REBALANCES:
            return played.rebalances_per_day
        return played.detections_s.get(self.counted)


def settings(
    *, session_s: float = 45, interval_s: float = 3, limit_s: float | None = 300, join_s: float | None = None
) -> LivenessSettings:
    """Return settings from seconds; the fetch wait is half a second."""
    return LivenessSettings(
        session_timeout=timedelta(seconds=session_s),
        heartbeat_interval=timedelta(seconds=interval_s),
        fetch_wait=timedelta(seconds=0.5),
        max_poll_interval=None if limit_s is None else timedelta(seconds=limit_s),
        rebalance_timeout=None if join_s is None else timedelta(seconds=join_s),
    )


def group(**other: Any) -> Profile:
    """Return the usual group of the table, with something replaced."""
    return dataclasses.replace(_USUAL, **other)


def _pareto(threshold_s: float, scale_s: float, shape: float) -> Law:
    """Return a law that always exceeds the threshold, generalised Pareto beyond it."""

    def exceedance(times: Array) -> Array:
        beyond = np.maximum(times - threshold_s, 0.0)
        return np.asarray((1.0 + shape * beyond / scale_s) ** (-1.0 / shape))

    return Law.of(exceedance)


def _rows() -> tuple[Known, ...]:
    eager, cooperative, consumer = Rebalancing.EAGER, Rebalancing.COOPERATIVE, Rebalancing.CONSUMER
    eights, twenties = Law.lognormal(8, 0.4), Law.lognormal(20, 0.5)
    short, kip848, confluent = settings(session_s=10), "java-kip848", "confluent-kafka-python"
    pauses, crashes = FailureProcess(200 / 6, eights), FailureProcess(10, twenties)
    node: Mapping[str, Any] = {"node_pauses": FailureProcess(150, eights), "node_members": 3}
    outages, often = FailureProcess(120, eights), "LN(8, .4), {} a day"
    restarts, deploys = FailureProcess(100 / 6, twenties), FailureProcess(10, twenties)
    deployed = "10 deploys a day, D LN(20, .5)"
    kafkajs: Mapping[str, Any] = {"client": "kafkajs"}
    loop = {seconds: settings(session_s=seconds, limit_s=None, join_s=60) for seconds in (15, 30)}
    hung = FailureProcess(40 / 6, Law.constant(400))
    return (
        Known("pause LN(8,.4), S=10", group(pauses=pauses), short, 11_432, EVICTIONS, 89.5, chosen="200 a day"),
        Known(
            "pause GPD(2,3,.2), S=20, H=6",
            group(pauses=FailureProcess(200 / 6, _pareto(2, 3, 0.2))),
            settings(session_s=20, interval_s=6),
            5_073,
            EVICTIONS,
            6.50,
            chosen="200 a day, all above 2 s",
        ),
        Known(
            "pause, cooperative, N=10 n=40, S=10",
            group(pauses=FailureProcess(20, eights), rebalancing=cooperative, members=10, partitions=40),
            short,
            7_693,
            EVICTIONS,
            92.2,
            chosen=often.format(200),
        ),
        Known(
            "pause, KIP-848, S=10, H=5",
            group(pauses=pauses, rebalancing=consumer, client=kip848),
            settings(session_s=10, interval_s=5),
            7_915,
            EVICTIONS,
            137,
            chosen=often.format(200),
        ),
        Known(
            "pause, librdkafka, S=10",
            group(pauses=pauses, client=confluent),
            short,
            12_006,
            EVICTIONS,
            95.2,
            chosen=often.format(200),
        ),
        Known("node pause q=3 of 6, eager", group(**node), short, 17_666, EVICTIONS, 204, chosen=often.format(150)),
        Known(
            "node pause q=3 of 6, cooperative",
            group(**node, rebalancing=cooperative),
            short,
            16_454,
            EVICTIONS,
            207,
            chosen=often.format(150),
        ),
        Known(
            "pause with slow handlers LN(6,.8)",
            group(pauses=FailureProcess(25, eights), handlers=Law.lognormal(6, 0.8)),
            short,
            28_280,
            EVICTIONS,
            67.2,
            chosen=often.format(150),
        ),
        Known("outage, late, S=10", group(outages=outages), short, None, EVICTIONS, 304, chosen=often.format(120)),
        Known(
            "outage, lost + tick, S=10",
            group(outages=outages, delivery=Delivery.NEXT_TICK),
            short,
            None,
            EVICTIONS,
            395,
            chosen=often.format(120),
        ),
        Known(
            "outage, fast retry, S=10",
            group(outages=outages, delivery=Delivery.RETRIED),
            short,
            None,
            EVICTIONS,
            345,
            chosen=often.format(120) + ", tried each second",
        ),
        Known(
            "outage, librdkafka one in flight, S=45",
            group(outages=FailureProcess(60, eights), delivery=Delivery.ONE_IN_FLIGHT, client=confluent),
            settings(),
            None,
            EVICTIONS,
            354,
            chosen=often.format(60),
        ),
        Known("crash dynamic eager S=45", group(crashes=crashes), settings(), 33_748, "crashes", 43.5),
        Known("crash dynamic eager S=15", group(crashes=crashes), settings(session_s=15), 7_917, "crashes", 13.5),
        Known(
            "crash dynamic cooperative",
            group(crashes=crashes, rebalancing=cooperative),
            settings(),
            10_469,
            "crashes",
            43.5,
        ),
        Known(
            "crash dynamic 848, H=5",
            group(crashes=crashes, rebalancing=consumer, client=kip848),
            settings(interval_s=5),
            11_436,
            "crashes",
            42.5,
        ),
        Known(
            "crash static eager, D LN(30,.5)",
            group(crashes=FailureProcess(10, Law.lognormal(30, 0.5)), static=True),
            settings(),
            8_722,
            REBALANCES,
            None,
            chosen="60 a day",
        ),
        Known(
            "restart dynamic eager, surge 0",
            group(restarts=restarts),
            settings(),
            9_149,
            REBALANCES,
            203.5,
            chosen="100 a day, D LN(20, .5)",
        ),
        Known(
            "restart dynamic eager, surge 1",
            group(restarts=restarts, surge=True),
            settings(),
            9_199,
            REBALANCES,
            196.5,
            chosen="100 a day, ready after LN(20, .5)",
        ),
        Known(
            "restart cooperative N=n=12",
            group(restarts=FailureProcess(100 / 12, twenties), members=12, partitions=12, rebalancing=cooperative),
            settings(),
            803,
            REBALANCES,
            289,
            chosen="100 a day, D LN(20, .5)",
        ),
        Known(
            "restart cooperative N=6 n=60",
            group(restarts=restarts, partitions=60, rebalancing=cooperative),
            settings(),
            6_313,
            REBALANCES,
            302,
            chosen="100 a day, D LN(20, .5)",
        ),
        Known(
            "restart 848, H=5",
            group(restarts=restarts, rebalancing=consumer, client=kip848),
            settings(interval_s=5),
            2_501,
            REBALANCES,
            205.8,
            chosen="100 a day, D LN(20, .5)",
        ),
        Known(
            "restart static eager, S=25, D LN(20,.5)",
            group(restarts=restarts, static=True),
            settings(session_s=25),
            10_549,
            REBALANCES,
            66.0,
            chosen="100 a day",
        ),
        Known(
            "restart dynamic eager, slow handlers LN(10,1)",
            group(restarts=FailureProcess(50 / 6, twenties), handlers=Law.lognormal(10, 1)),
            settings(),
            68_740,
            REBALANCES,
            79.6,
            chosen="50 a day, D LN(20, .5)",
        ),
        Known(
            "rolling, eager, any phase",
            group(restarts=deploys),
            settings(),
            5_287,
            REBALANCES,
            118,
            rollouts=True,
            chosen=deployed,
        ),
        Known(
            "rolling, eager, in step",
            group(restarts=deploys),
            settings(),
            3_837,
            REBALANCES,
            114,
            rollouts=True,
            in_step=True,
            chosen=deployed,
        ),
        Known(
            "rolling, cooperative, in step",
            group(restarts=deploys, rebalancing=cooperative),
            settings(),
            1_742,
            REBALANCES,
            172,
            rollouts=True,
            in_step=True,
            chosen=deployed,
        ),
        Known("hang eager, M=60, X=400, 40/day", group(hangs=hung), settings(limit_s=60), 14_078, "hangs", 60.0),
        Known(
            "poll evictions M=30, gap LN(4,.6)",
            group(handlers=Law.lognormal(4, 0.6)),
            settings(limit_s=30),
            6_785,
            EVICTIONS,
            43.2,
        ),
        Known(
            "KafkaJS loop S=15, handler LN(2,.7)",
            group(**kafkajs, handlers=Law.lognormal(2, 0.7)),
            loop[15],
            74_347,
            EVICTIONS,
            546,
        ),
        Known(
            "KafkaJS loop S=30, handler LN(6,.6)",
            group(**kafkajs, handlers=Law.lognormal(6, 0.6)),
            loop[30],
            75_458,
            EVICTIONS,
            268,
        ),
        Known(
            "KafkaJS hang S=30",
            group(**kafkajs, hangs=hung),
            loop[30],
            10_932,
            "hangs",
            None,
            chosen="40 a day for 400 s, turns LN(1, .5)",
        ),
        Known(
            "mixed eager dynamic, S=45",
            _mixed(eager),
            settings(),
            None,
            EVICTIONS,
            None,
            chosen="rates and laws, so that nothing is left to compare with",
        ),
    )


def _mixed(rebalancing: Rebalancing) -> Profile:
    """Return a group that everything happens to; at which rates the table does not tell."""
    return group(
        rebalancing=rebalancing,
        pauses=FailureProcess(10.0, Law.lognormal(2, 0.7)),
        crashes=FailureProcess(1.5, Law.lognormal(20, 0.5)),
        restarts=FailureProcess(2.0, Law.lognormal(20, 0.5)),
        hangs=FailureProcess(0.05, Law.constant(400)),
    )


KNOWN: Final = _rows()
