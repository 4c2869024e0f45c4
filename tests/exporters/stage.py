"""The real stage of a story: one broker, one Prometheus, and the pods of one exporter's group.

`record` plays the story and writes down what Prometheus held and what the coordinator knew (`recording.py`). A stage
stands alone, so that several may be played beside each other: `slot` keeps their addresses apart.
"""

import datetime as dt
import os
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import Producer

from sandbox import network, progress
from sandbox.binaries import Binaries
from sandbox.group_states import group_states
from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until
from sandbox.prometheus import Prometheus
from sandbox.request_log import NONE, Heartbeat, LeaveGroup, parse
from tests.exporters import recording, replay, story, truth
from tests.exporters.exporter import CONTAINER, Companion, Exporter, Pod, Surroundings
from tests.exporters.recording import Recording, Series
from tests.exporters.targets import SCRAPE_INTERVAL_S, Targets

PARTITIONS: Final = 4
_JOIN_TIMEOUT_S: Final = 180.0
_LEAVE_S: Final = 10.0


class Stage:
    """What `story.play` plays on; a context manager.

    Args:
        exporter: whose group it is.
        run_dir: gets data and logs of everything.
        slot: a number below 250 of the stage's own.
    """

    def __init__(self, exporter: Exporter, run_dir: Path, slot: int) -> None:
        self.session_s = exporter.liveness.session_s
        self.max_poll_s = exporter.liveness.max_poll_s
        self._exporter = exporter
        self._run_dir = run_dir
        # Sessions of one machine may record at the same time: the process tells them apart.
        self._net = f"127.{100 + os.getpid() % 100}.{slot}"
        self._group = f"{exporter.name}-group"
        self._stack = ExitStack()
        self._processes: dict[str, Process] = {}
        self._pods: dict[str, dict[str, Any]] = {}
        self._events: list[dict[str, Any]] = []
        self._busy = threading.Event()
        self._busy_thread: threading.Thread | None = None
        (self._metrics_port,) = network.free_ports(1)

    def __enter__(self) -> Self:
        run_dir, exporter = self._run_dir, self._exporter
        run_dir.mkdir(parents=True)
        with ExitStack() as starting:
            self._targets = Targets(run_dir)
            sections = self._targets.sections() | dict(exporter.prometheus)
            self._prometheus = Prometheus(
                run_dir, Binaries(), kubeconfig=None, sections=sections, features=exporter.features
            )
            self._kafka = self._broker()
            starting.enter_context(self._kafka)
            self._kafka.create_topic(self._group, PARTITIONS)
            if exporter.broker.protocol is not None:
                self._configure_group()
            starting.enter_context(self._prometheus)
            bootstrap = self._kafka.bootstrap
            self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0})
            starting.callback(self.idle)
            self._began_s = self._zero_s = time.time()
            for companion in exporter.companions(self._surroundings(bootstrap)):
                self._accompany(companion, starting)
            self._stack = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.stop(grace_s=2.0)
        self._stack.close()

    def begin(self) -> None:
        """Let the story's clock begin now."""
        self._zero_s = time.time()

    def until(self, at_s: float) -> None:
        """Wait until this time of the story."""
        time.sleep(max(0.0, self._zero_s + at_s - time.time()))

    def start(self, pod: str) -> None:
        """Start a pod, and its being scraped."""
        ip = f"{self._net}.{len(self._pods) + 1}"
        folder = self._run_dir / pod
        folder.mkdir()
        described = Pod(
            name=pod,
            namespace=self._exporter.name,
            ip=ip,
            metrics_port=self._metrics_port,
            group=self._group,
            bootstrap=self._kafka.bootstrap,
            prometheus_url=self._prometheus.url,
            run_dir=folder,
            liveness=self._exporter.liveness,
            protocol=self._exporter.broker.protocol,
        )
        command = self._exporter.command(described)
        environment = described.environment() | dict(self._exporter.environment)
        log = self._run_dir / f"{pod}.log"
        process = Process(pod, command, log=log, env=environment, cwd=folder, death_signal=signal.SIGKILL)
        process.start()
        self._processes[pod] = process
        self._pods[pod] = {"ip": ip, "started_s": self._now_s(), "told_to_end_s": None, "ended_s": None}
        self.event("started", pod)
        if self._exporter.scraped:
            self._targets.add(self._exporter.name, pod, CONTAINER, f"{ip}:{self._metrics_port}")

    def end(self, pod: str) -> None:
        """Tell a pod to end (SIGTERM), wait until it has, and scrape it no more."""
        self.event("told to end", pod)
        self._pods[pod]["told_to_end_s"] = self._now_s()
        self._processes.pop(pod).stop(grace_s=_LEAVE_S)
        self._pods[pod]["ended_s"] = self._now_s()
        self.event("ended", pod)
        if self._exporter.scraped:
            self._targets.remove(pod)

    def members(self, count: int) -> None:
        """Wait until the group is stable with so many members; the story's clock stands still meanwhile.

        Raises:
            PartNotReadyError: a member has ended, or is still missing after three minutes.
        """
        asked_s = time.time()

        def stable() -> bool:
            for process in self._processes.values():
                if not process.alive():
                    wait_until(lambda: False, part=process.name, what="its group", process=process)
            return group_states(self._kafka.bootstrap).get(self._group) == "Stable" and self._beating() == count

        wait_until(stable, part=self._exporter.name, what=f"{count} members", timeout_s=_JOIN_TIMEOUT_S, poll_s=0.5)
        self._zero_s += time.time() - asked_s

    def _beating(self) -> int:
        """Return how many members the coordinator heard of in the last session, and heard no farewell from.

        The admin client describes neither Connect's groups nor those of the streams protocol.
        """
        since_s, beating = time.time() - self.session_s, set[str]()
        for item in parse(self._kafka.request_log.read_text(errors="replace").splitlines()):
            if isinstance(item, Heartbeat) and item.group_id == self._group and item.error_code == NONE:
                if item.generation_id < 0:
                    beating.discard(item.member_id)
                elif item.arrival_s >= since_s:
                    beating.add(item.member_id)
            elif isinstance(item, LeaveGroup) and item.group_id == self._group:
                beating -= set(item.member_ids)
        return len(beating)

    def pause(self, pod: str, seconds: float) -> None:
        """Stop a pod's process for so long."""
        self.event("paused", pod)
        self._processes[pod].pause()
        time.sleep(seconds)
        self._processes[pod].resume()
        self.event("resumed", pod)

    def busy(self, every_s: float, handler_ms: int) -> None:
        """Send messages from now on, one after the other round the partitions."""
        self.event("busy")
        self._busy.set()

        def send() -> None:
            number = 0
            while self._busy.is_set():
                self._producer.produce(self._group, f"for {handler_ms}", partition=number % PARTITIONS)
                self._producer.poll(0)
                number += 1
                time.sleep(every_s)

        self._busy_thread = threading.Thread(target=send, name=f"messages of {self._group}")
        self._busy_thread.start()

    def idle(self) -> None:
        """Send no more messages."""
        self._busy.clear()
        if self._busy_thread is not None:
            self._busy_thread.join()
            self._busy_thread = None
            self.event("idle")

    def long_handler(self, seconds: float) -> None:
        """Send one message that keeps its handler until so long from now."""
        self.event("long handler")
        until_ms = round((time.time() + seconds) * 1000)
        self._producer.produce(self._group, f"until {until_ms}", partition=0)
        self._producer.flush(10)

    def event(self, what: str, pod: str | None = None) -> None:
        """Note an event."""
        of_pod = {} if pod is None else {"pod": pod}
        self._events.append({"at_s": self._now_s(), "event": what, **of_pod})
        progress.say(self._exporter.name, f"{self._now_s():5.0f} s  {what} {pod or ''}")

    def write(self) -> Recording:
        """Write down what Prometheus holds and what the coordinator knew, from the first pod's start until now."""
        ended_s = time.time()
        series = self._samples(ended_s)
        found = self._truth(ended_s)
        return recording.write(
            self._exporter.name, self._meta(series, ended_s, found.document), series, found.heartbeats_ms
        )

    def _surroundings(self, bootstrap: str = "") -> Surroundings:
        row = self._exporter
        ip = f"{self._net}.200"
        return Surroundings(row.name, bootstrap, self._prometheus.url, self._group, ip, self._run_dir)

    def _broker(self) -> Kafka:
        """Return the broker, which is not started yet."""
        wanted = self._exporter.broker
        return Kafka(
            self._run_dir / "kafka",
            properties=wanted.properties,
            version=wanted.version,
            java_options=wanted.java_options(self._surroundings()),
            plugins=wanted.plugins(),
        )

    def _now_s(self) -> float:
        return round(time.time() - self._began_s, 3)

    def _samples(self, ended_s: float) -> list[Series]:
        # Whatever is there must be found by the recording's own selector: nothing else is in this Prometheus.
        everything = replay.samples(self._prometheus.url, '{__name__=~".+"}', began_s=self._began_s, ended_s=ended_s)
        chosen = replay.samples(
            self._prometheus.url, self._exporter.finds_its_series(), began_s=self._began_s, ended_s=ended_s
        )
        missed = {item.labels["__name__"] for item in everything} - {item.labels["__name__"] for item in chosen}
        if missed:
            progress.say(self._exporter.name, f"the selector does not find {sorted(missed)}")
        return chosen

    def _truth(self, ended_s: float) -> truth.Truth:
        ends_s = {name: pod["told_to_end_s"] for name, pod in self._pods.items() if pod["told_to_end_s"] is not None}
        folder = self._run_dir / "kafka"
        with self._kafka.request_log.open(errors="replace") as requests, (folder / "kafka.log").open() as own:
            return truth.read(
                requests,
                own,
                group=self._group,
                pods={pod["ip"]: name for name, pod in self._pods.items()},
                told_to_end_s=ends_s,
                began_s=self._began_s,
                ended_s=ended_s,
            )

    def _meta(self, series: list[Series], ended_s: float, found: dict[str, Any]) -> dict[str, Any]:
        row, liveness = self._exporter, self._exporter.liveness
        return {
            "exporter": {"name": row.exporter, "version": row.version, "note": row.note},
            "client": {"library": row.library, "version": row.library_version},
            "broker": {"version": row.broker.version, "protocol": row.broker.protocol or "classic"},
            "group": self._group,
            "topic": self._group,
            "partitions": PARTITIONS,
            "selector": row.finds_its_series(),
            "settings": {
                "session_timeout_s": liveness.session_s,
                "heartbeat_interval_s": liveness.heartbeat_s,
                "max_poll_interval_s": liveness.max_poll_s,
                "scrape_interval_s": SCRAPE_INTERVAL_S,
            },
            "recorded": dt.datetime.fromtimestamp(self._began_s, dt.UTC).date(),
            "length_s": round(ended_s - self._began_s, 3),
            "series": len(series),
            "samples": sum(len(series_.values) for series_ in series),
            "pods": {
                name: {key: pod[key] for key in ("ip", "started_s", "told_to_end_s", "ended_s")}
                for name, pod in self._pods.items()
            },
            "events": self._events,
            "truth": found,
        }

    def _accompany(self, companion: Companion, starting: ExitStack) -> None:
        """Start what stands beside the group, and its being scraped."""
        if companion.argv:
            environment = {"PATH": os.environ["PATH"]} | dict(companion.environment)
            log = self._run_dir / f"{companion.name}.log"
            starting.enter_context(Process(companion.name, companion.argv, log=log, env=environment))
        self._targets.add(self._exporter.name, companion.name, companion.container, companion.address, companion.path)

    def _configure_group(self) -> None:
        """Tell the broker what it prescribes to a group of KIP-848 or KIP-1071."""
        liveness, protocol = self._exporter.liveness, self._exporter.broker.protocol
        self._kafka.configure_group(
            self._group,
            {
                f"{protocol}.session.timeout.ms": str(round(liveness.session_s * 1000)),
                f"{protocol}.heartbeat.interval.ms": str(round(liveness.heartbeat_s * 1000)),
            },
        )


def record(exporter: Exporter, run_dir: Path, slot: int) -> Recording:
    """Play the story with one exporter and write its recording."""
    with Stage(exporter, run_dir / exporter.name, slot) as stage:
        story.play(stage)
        return stage.write()
