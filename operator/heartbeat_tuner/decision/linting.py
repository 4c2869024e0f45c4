"""Which settings cannot work, or work otherwise than they look? Rules that need no metrics and no cluster.

What is known here is what somebody wrote down: values, and perhaps how long a handler takes. Each rule follows from
the client's own physics (`clients`) or from what a broker does by default; nothing is guessed from experience. A value
that cannot be seen is unknown, and the rules that need it are left out. `remedies` says which values would hold.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Final, Self

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import lint_rules
from heartbeat_tuner.decision.choice import BEATS_PER_SESSION, HEARTBEAT_FLOOR
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

NEARLY_TWICE: Final = 1.5
"""A beat that comes this much later than the heartbeat interval says is worth a word."""

NAMES: Final[Mapping[Setting, str]] = {
    Setting.SESSION_TIMEOUT: "session timeout",
    Setting.HEARTBEAT_INTERVAL: "heartbeat interval",
    Setting.FETCH_WAIT: "fetch wait",
    Setting.MAX_POLL_INTERVAL: "max poll interval",
}
"""The settings as sentences call them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found, as a sentence."""

    rule: lint_rules.Rule
    message: str


class Origin(enum.StrEnum):
    """Where a value comes from."""

    GIVEN = "given"
    DEFAULT = "default"
    BROKER = "broker"  # the group's protocol has it set there
    UNSEEN = "unseen"


@dataclasses.dataclass(frozen=True, slots=True)
class Inspected:
    """Settings to check.

    Attributes:
        client: the library that they are for.
        values: a value for each setting; where the origin is BROKER or UNSEEN it is the library's default and stands
            for nothing.
        origins: where each value comes from.
        consumer_protocol: whether the group has the protocol of KIP-848 (`group.protocol=consumer`).
    """

    client: Client
    values: LivenessSettings
    origins: Mapping[Setting, Origin]
    consumer_protocol: bool

    @classmethod
    def of(
        cls,
        client: Client,
        given: Mapping[Setting, timedelta],
        *,
        unseen: Iterable[Setting] = (),
        consumer_protocol: bool = False,
    ) -> Self:
        """Return the settings from what is given; the rest is the library's default, or the broker's business."""
        hidden = frozenset(unseen)

        def origin(setting: Setting) -> Origin:
            if setting in given:
                return Origin.GIVEN
            if setting in hidden:
                return Origin.UNSEEN
            if consumer_protocol and setting in AT_THE_BROKER:
                return Origin.BROKER
            return Origin.DEFAULT

        return cls(
            client,
            LivenessSettings.of({**client.defaults.by_setting, **given}),
            {setting: origin(setting) for setting in client.settings},
            consumer_protocol,
        )

    def knows(self, *settings: Setting) -> bool:
        """Whether these settings exist, and their values rule what the client does."""
        return all(self.origins.get(setting) in {Origin.GIVEN, Origin.DEFAULT} for setting in settings) and not (
            self.consumer_protocol and AT_THE_BROKER.intersection(settings)
        )

    @property
    def beat_settings(self) -> tuple[Setting, ...]:
        """The settings that say when a beat comes, and whether that is in time."""
        fetch = (Setting.FETCH_WAIT,) if self.client.beat_waits_for_fetch else ()
        return (Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL, *fetch)


AT_THE_BROKER: Final = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})
"""What a group of the consumer protocol has from its broker."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expectations:
    """What is known of the workload and wanted of the group.

    Attributes:
        brokers: of the Kafka cluster.
        max_detection_time: how late a crash may be noticed.
        handler_time: the longest that the handler takes for one message (KafkaJS) or one poll (Java); None: not known.
    """

    brokers: int = 1
    max_detection_time: timedelta = timedelta(seconds=60)
    handler_time: timedelta | None = None


def lint(inspected: Inspected, expectations: Expectations) -> tuple[Finding, ...]:
    """Return what the rules find, worst first."""
    found = [finding for check in _CHECKS for finding in check(inspected, expectations)]
    return tuple(sorted(found, key=lambda finding: lint_rules.RULES.index(finding.rule)))


def longest_silence(inspected: Inspected, handler_time: timedelta) -> timedelta:
    """Return how long a member may be silent whose beat waits for handlers that take up to `handler_time`."""
    return inspected.values.heartbeat_interval + max(inspected.values.fetch_wait, handler_time)


def _session_too_short_for_the_beat(inspected: Inspected, expectations: Expectations) -> Iterator[Finding]:
    """Find the worst step of the ladder."""
    if not inspected.knows(*inspected.beat_settings):
        return
    client, values, brokers = inspected.client, inspected.values, expectations.brokers
    beats, session = client.period(values, brokers), values.session_timeout
    why = f"{client.explain_period(values, brokers)}, but the session ends after {durations.show(session)}"
    # A beat from a thread is late by milliseconds: a third of the session, as Kafka's manual says, is a third of it.
    usual = beats.longest if client.beat_waits_for_fetch else beats.shortest
    if broken := client.violations(values):
        yield Finding(lint_rules.REFUSED, broken[0])
    elif beats.shortest >= session:
        yield Finding(
            lint_rules.NEVER_HOLDS,
            f"{why}: an idle member is removed between its own beats, and the group rebalances for ever",
        )
    elif beats.longest >= session:
        yield Finding(lint_rules.MAY_NOT_HOLD, f"{why}: whenever a beat comes that late, a live member is removed")
    elif usual * BEATS_PER_SESSION > session:
        yield Finding(
            lint_rules.FEW_BEATS,
            f"{why}: that is less than {BEATS_PER_SESSION} beats of {durations.show(usual)}, so that one or two "
            f"that are lost or late remove a live member",
        )


def _beat_waits_for_fetch(inspected: Inspected, expectations: Expectations) -> Iterator[Finding]:
    """Find a heartbeat interval that says little about when a beat comes."""
    if not inspected.client.beat_waits_for_fetch or not inspected.knows(Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT):
        return
    interval, wait = inspected.values.heartbeat_interval, inspected.values.fetch_wait
    cure = "a fetch wait of just the heartbeat interval makes it come that often"
    if wait > interval:
        yield Finding(
            lint_rules.BEAT_WAITS,
            f"the fetch wait ({durations.show(wait)}) is longer than the heartbeat interval "
            f"({durations.show(interval)}), and KafkaJS beats only between two fetches: an idle member's beat may take "
            f"{durations.show(inspected.client.period(inspected.values, expectations.brokers).longest)}; {cure}",
        )
    elif expectations.brokers == 1:
        period = inspected.client.period(inspected.values, 1).longest
        if period >= NEARLY_TWICE * interval:
            yield Finding(
                lint_rules.BEAT_WAITS,
                f"a fetch wait ({durations.show(wait)}) a little below the heartbeat interval "
                f"({durations.show(interval)}) misses it by a turn: KafkaJS beats every "
                f"{durations.show(period)}; {cure}",
            )


def _interval_below_floor(inspected: Inspected, _: Expectations) -> Iterator[Finding]:
    """Find a heartbeat interval that costs requests."""
    interval = inspected.values.heartbeat_interval
    if inspected.knows(Setting.HEARTBEAT_INTERVAL) and interval < HEARTBEAT_FLOOR:
        yield Finding(
            lint_rules.SHORT_INTERVAL,
            f"a heartbeat interval of {durations.show(interval)} asks for more requests and keeps nobody longer in the "
            f"group: how long a member may be silent is the session timeout; {durations.show(HEARTBEAT_FLOOR)} or more "
            f"is enough",
        )


def _session_outside_limits(inspected: Inspected, expectations: Expectations) -> Iterator[Finding]:
    """Find sessions that brokers refuse, or that last too long."""
    if not inspected.knows(Setting.SESSION_TIMEOUT):
        return
    session = inspected.values.session_timeout
    if not DEFAULT_MIN_SESSION <= session <= DEFAULT_MAX_SESSION:
        below = session < DEFAULT_MIN_SESSION
        bound = DEFAULT_MIN_SESSION if below else DEFAULT_MAX_SESSION
        name = f"group.{'min' if below else 'max'}.session.timeout.ms"
        yield Finding(
            lint_rules.OUTSIDE_BROKER_BOUNDS,
            f"the session timeout ({durations.show(session)}) is {'below' if below else 'above'} "
            f"{durations.show(bound)}, the broker's {name} (assumed: Kafka's default; yours is not asked): a broker "
            f"with that bound does not let the member join",
        )
    if session > expectations.max_detection_time:
        yield Finding(
            lint_rules.SLOW_DETECTION,
            f"a member that crashes is noticed only when its session timeout ({durations.show(session)}) is over, and "
            f"nobody reads its partitions until then; --max-detection-time allows "
            f"{durations.show(expectations.max_detection_time)}",
        )


def _handler_delays_beat(inspected: Inspected, expectations: Expectations) -> Iterator[Finding]:
    """Find handlers that keep a client without a heartbeat thread from beating."""
    if not inspected.client.handler_delays_beat:
        return
    handler = expectations.handler_time
    if handler is not None and inspected.knows(*inspected.beat_settings):
        silence = longest_silence(inspected, handler)
        if silence >= inspected.values.session_timeout:
            yield Finding(
                lint_rules.HANDLER_OUTLASTS_SESSION,
                f"{inspected.client.title} does not beat while a handler runs: with one that takes "
                f"{durations.show(handler)} a member may be silent for {durations.show(silence)} (heartbeat interval "
                f"plus the longer of handler and fetch wait), but the session ends after "
                f"{durations.show(inspected.values.session_timeout)}; let the handler call heartbeat() now and then, "
                f"or raise the session timeout",
            )
    if expectations.brokers > 1:
        yield Finding(
            lint_rules.HUNG_HANDLER,
            f"{inspected.client.title} has no max poll interval, and with {expectations.brokers} brokers the fetch "
            f"loops of those that lead none of a member's partitions go on beating: a handler that hangs may never be "
            f"noticed; give handlers a time limit of their own",
        )


def _poll_interval(inspected: Inspected, expectations: Expectations) -> Iterator[Finding]:
    """Find poll limits that handlers break, or that look like something else than they are."""
    limit, default = inspected.values.max_poll_interval, inspected.client.defaults.max_poll_interval
    if limit is None or default is None or not inspected.knows(Setting.MAX_POLL_INTERVAL):
        return
    handler = expectations.handler_time
    if handler is not None and handler >= limit:
        yield Finding(
            lint_rules.HANDLER_OUTLASTS_POLL,
            f"a member that does not poll for {durations.show(limit)} (max poll interval) leaves the group though it "
            f"beats, and the handler of one poll takes {durations.show(handler)}; raise the limit, or take fewer "
            f"records with each poll (max.poll.records)",
        )
    if inspected.knows(Setting.SESSION_TIMEOUT) and limit < inspected.values.session_timeout:
        yield Finding(
            lint_rules.POLL_BELOW_SESSION,
            f"the max poll interval ({durations.show(limit)}) is shorter than the session timeout "
            f"({durations.show(inspected.values.session_timeout)}): a member that is slow leaves sooner than one that "
            f"is dead is removed, and has no longer than that to rejoin",
        )
    if limit > default:
        yield Finding(
            lint_rules.LONG_POLL,
            f"the max poll interval ({durations.show(limit)}) is the rebalance timeout, too: so late a handler that "
            f"hangs is noticed, and so long may every rebalance of the whole group wait for one slow member",
        )


def _set_at_the_broker(inspected: Inspected, _: Expectations) -> Iterator[Finding]:
    """Find settings that the consumer protocol does not let a client have."""
    given = [setting for setting in AT_THE_BROKER if inspected.origins[setting] is Origin.GIVEN]
    if inspected.consumer_protocol and given:
        named = " and ".join(NAMES[setting] for setting in inspected.client.settings if setting in given)
        yield Finding(
            lint_rules.CONSUMER_PROTOCOL,
            f"with group.protocol=consumer the {named} must not be set in the client: {inspected.client.title} refuses "
            f"to start (ConfigException); take it out, and set consumer.session.timeout.ms and "
            f"consumer.heartbeat.interval.ms of the group at the broker",
        )


def _not_seen(inspected: Inspected, _: Expectations) -> Iterator[Finding]:
    """Find values that could not be looked at."""
    needed = [setting for setting in inspected.client.settings if _matters(inspected, setting)]
    unseen = [NAMES[setting] for setting in needed if inspected.origins[setting] is Origin.UNSEEN]
    if unseen:
        options = ", ".join(f"--{name.replace(' ', '-')}" for name in unseen)
        yield Finding(
            lint_rules.UNSEEN,
            f"{' and '.join(unseen)} may be set in a Secret or in a ConfigMap that is not in the files, which cannot "
            f"be seen: what needs them was not checked; say what they are with {options}",
        )
    if all(origin in {Origin.DEFAULT, Origin.BROKER} for origin in inspected.origins.values()):
        yield Finding(
            lint_rules.NOTHING_SET,
            f"no setting is given, so the defaults of {inspected.client.title} were checked; if the application sets "
            f"them under other names, say which",
        )


def _matters(inspected: Inspected, setting: Setting) -> bool:
    """Whether a rule asks for the setting."""
    return setting in inspected.beat_settings or setting is Setting.MAX_POLL_INTERVAL


_CHECKS: Final[tuple[Callable[[Inspected, Expectations], Iterator[Finding]], ...]] = (
    _session_too_short_for_the_beat,
    _beat_waits_for_fetch,
    _interval_below_floor,
    _session_outside_limits,
    _handler_delays_beat,
    _poll_interval,
    _set_at_the_broker,
    _not_seen,
)
