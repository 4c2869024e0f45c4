"""What every client library answers.

A `Client` is the card of one library: how it beats, which settings it has and what they are called, and what the end of
a member costs. The data is the same for all; only the heartbeat period is a function of each library's own, since that
is where their physics differ. `removal` says what follows from a card when a member dies or hangs.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients import presets
from heartbeat_tuner.clients.formats import Format
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

NO_TIME: Final = timedelta(0)


@dataclasses.dataclass(frozen=True, slots=True)
class Period:
    """The time between two heartbeats as the coordinator sees them.

    Attributes:
        shortest: the least the settings give.
        longest: the most the settings give; pauses of the process come on top.
        usual: what most of them are; beats in a session are counted by it.
    """

    shortest: timedelta
    longest: timedelta
    usual: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Circumstances:
    """What a period depends on beside the settings.

    Attributes:
        brokers: of the Kafka cluster.
        round_trip: of one heartbeat to the coordinator and back.
        handler: how long the application handles one message; zero for a member that has nothing to do.
        blocking: how many messages are handled while the client library has no processor; zero for handlers that wait.
    """

    brokers: int = 1
    round_trip: timedelta = NO_TIME
    handler: timedelta = NO_TIME
    blocking: int = 0

    @property
    def blocked(self) -> timedelta:
        """How long nothing else runs in the application's thread."""
        return self.blocking * self.handler


class Beater(enum.StrEnum):
    """What sends the heartbeats."""

    THREAD = "a thread of its own"  # nothing delays a beat but what stops the process, or the machine
    EVENT_LOOP = "a timer of the event loop"  # a handler that keeps the processor delays it
    FETCH_LOOP = "the fetch loop"  # fetches and handlers delay it


class Protocol(enum.StrEnum):
    """Of a group, as `group.protocol` calls it; a share group has no such setting."""

    CLASSIC = "classic"
    CONSUMER, STREAMS, SHARE = "consumer", "streams", "share"  # KIP-848, KIP-1071, KIP-932

    @property
    def is_at_broker(self) -> bool:
        """Whether S and H belong to the group, at the broker, in keys that begin with the protocol's name."""
        return self is not Protocol.CLASSIC


class Hung(enum.StrEnum):
    """What becomes of a member whose handler does not return."""

    LEAVES = "leaves after the max poll interval"
    STOPS = "stops beating after the max poll interval, and is removed a session timeout later"
    PLACEMENT = (
        "is removed after the session timeout, but only where each broker leads one of its partitions: the "
        "fetch loop of one that leads none goes on beating, endlessly"
    )
    UNNOTICED = "keeps its partitions permanently"

    @property
    def has_limit(self) -> bool:
        """Whether the max poll interval ends the membership."""
        return self in {Hung.LEAVES, Hung.STOPS}


class StaticIdSupport(enum.StrEnum):
    """What `group.instance.id` does."""

    NONE = "not supported"
    WORKS = "supported; the older of two members with one id is fenced"
    GUARDED = "supported; the newer of two members with one id is refused until the older one's session is over"
    STEALS = "supported, but two members with one id steal it from each other endlessly"
    LEAVES = "of no use: the id is sent, and the member leaves all the same when it closes"

    @property
    def holds(self) -> bool:
        """Whether a member that comes back finds its partitions, and two with one id do not go on endlessly."""
        return self in {StaticIdSupport.WORKS, StaticIdSupport.GUARDED}


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """Releases that differ from the card.

    Attributes:
        before: the first version that is as the card says.
        defaults: what those before it use where nothing is set.
        note: what else is different, as a sentence; may be empty.
    """

    before: str
    defaults: Mapping[Setting, timedelta]
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Property:
    """Something else that can be set and matters here, by the library's own name for it."""

    name: str
    default: str
    note: str


@dataclasses.dataclass(frozen=True, slots=True)
class Client:
    """One client library.

    Attributes:
        name: as policies call it.
        title: as sentences call it.
        versions: the oldest and the newest that are known, as `major.minor`.
        measured: the version that the laboratory measures; None where all is from its source.
        beater: what sends the heartbeats.
        how: when it sends them, as part of a sentence: `<title> beats <how>`.
        period: settings and circumstances to the heartbeat period.
        defaults: what the library uses where nothing is set.
        shares: settings whose default is S divided by a whole number, where S is set and they are not.
        names: the library's own name of each setting; it lacks a setting that is not here.
        presets: names of environment variables by the way of configuring; the first is expected unless one is said.
        format: how the variables' values are written.
        beat_waits_for_fetch: whether a shorter fetch wait makes a beat come sooner.
        interval_may_reach_session: whether H may be as long as S: `None` if it may be longer, too.
        must_cover_session: the settings that must not be shorter than S, or the library refuses to start.
        longest: the most that the library takes, after its own arithmetic, or it refuses to start.
        joins_within: name and default of what ends a join that is not answered in time; None where that follows R.
        rebalance_wait: the setting that says how long a rebalance waits for a member.
        rejoin_waits_for_handler: whether a member that learns of a rebalance finishes its handler before it rejoins.
        poll_limit_factor: how many times M the library really waits.
        protocols: those that its groups may have; the first is what it uses unless told otherwise.
        ignores_broker_settings: whether it starts with an S or H of its own where these are the broker's.
        hung: what becomes of a member whose handler does not return.
        leaves_on_close: whether a member that is closed tells the group.
        closing_fetches: for how many fetches, one after the other, a member that is closed may wait before it does.
        static_membership: what `group.instance.id` does.
        others: what else can be set and matters here.
        releases: which older ones differ, the oldest first.
        handles_messages: whether its members run handlers of messages at all.
        advice: what follows from the library and is none of the settings, as sentences.
    """

    name: str
    title: str
    versions: tuple[str, str]
    measured: str | None
    beater: Beater
    how: str
    period: Callable[[LivenessSettings, Circumstances], Period]
    defaults: LivenessSettings
    names: Mapping[Setting, str]
    presets: Mapping[str, Mapping[Setting, str]]
    hung: Hung
    rebalance_wait: Setting
    shares: Mapping[Setting, int] = dataclasses.field(default_factory=dict)
    format: Format = Format.MILLISECONDS
    beat_waits_for_fetch: bool = False
    interval_may_reach_session: bool | None = False
    must_cover_session: tuple[Setting, ...] = ()
    longest: Mapping[Setting, timedelta] = dataclasses.field(default_factory=dict)
    joins_within: tuple[str, timedelta] | None = None
    rejoin_waits_for_handler: bool = False
    poll_limit_factor: int = 1
    protocols: tuple[Protocol, ...] = (Protocol.CLASSIC,)
    ignores_broker_settings: bool = False
    leaves_on_close: bool = True
    closing_fetches: int = 0
    static_membership: StaticIdSupport = StaticIdSupport.NONE
    others: tuple[Property, ...] = ()
    releases: tuple[Release, ...] = ()
    handles_messages: bool = True
    advice: tuple[str, ...] = ()

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that the library has, in the API's order."""
        return tuple(setting for setting in Setting if setting in self.names)

    @property
    def env_preset(self) -> Mapping[Setting, str]:
        """The names of environment variables that are expected unless something else is said."""
        return next(iter(self.presets.values()))

    @property
    def instance_id_variable(self) -> str:
        """The variable that holds a member's static id unless something else is said."""
        return presets.group_instance_id(next(iter(self.presets)))

    @property
    def default_session_timeout(self) -> timedelta:
        """The library's default session timeout."""
        return self.defaults.session_timeout

    def filled(self, given: Mapping[Setting, timedelta]) -> LivenessSettings:
        """Return all settings as the library uses them: those in `given`, its defaults for the rest."""
        session = given.get(Setting.SESSION_TIMEOUT, self.defaults.session_timeout)
        # Whole milliseconds, rounded down; never zero.
        shared = {
            setting: timedelta(milliseconds=max(1, durations.to_ms(session) // parts))
            for setting, parts in self.shares.items()
        }
        return LivenessSettings.of({**self.defaults.by_setting, **shared, **given})

    @property
    def handler_delays_beat(self) -> bool:
        """Whether a heartbeat has to wait for handlers, even for those that only wait themselves."""
        return self.beater is Beater.FETCH_LOOP

    @property
    def blocking_delays_beat(self) -> bool:
        """Whether a heartbeat has to wait for handlers that keep the processor."""
        return self.beater is not Beater.THREAD

    def explain_period(self, settings: LivenessSettings, circumstances: Circumstances) -> str:
        """Return why the period is what it is, as a sentence."""
        given = [f"a heartbeat interval of {durations.show(settings.heartbeat_interval)}"]
        if self.beat_waits_for_fetch:
            given.append(f"a fetch wait of {durations.show(settings.fetch_wait)}")
            if circumstances.brokers > 1:
                given.insert(0, f"{circumstances.brokers} brokers")
        beats = self.period(settings, circumstances)
        longest = f" to {durations.show(beats.longest)}" if beats.longest > beats.shortest else ""
        every = f"{durations.show(beats.shortest)}{longest}"
        at_rest = "" if self.beater is not Beater.THREAD else ", however long a handler takes"
        *most, last = given
        listed = f"{', '.join(most)} and {last}" if most else last
        return f"{self.title} beats {self.how}: with {listed}, there is a beat every {every}{at_rest}"

    def violations(self, settings: LivenessSettings) -> tuple[str, ...]:
        """Return the library's own rules that `settings` break, as sentences; empty when it would start."""
        return (*self.interval_violation(settings), *self.limit_violations(settings))

    def interval_violation(self, settings: LivenessSettings) -> tuple[str, ...]:
        """Return the rule on H that is broken, if it is."""
        interval, session = settings.heartbeat_interval, settings.session_timeout
        too_long = interval > session if self.interval_may_reach_session else interval >= session
        if self.interval_may_reach_session is None or not too_long:
            return ()
        rule = "above" if self.interval_may_reach_session else "not below"
        sentence = (
            f"{self.title} refuses to start with a heartbeat interval ({durations.show(interval)}) that is {rule} the "
            f"session timeout ({durations.show(session)})"
        )
        return (sentence,)

    def limit_violations(self, settings: LivenessSettings) -> tuple[str, ...]:
        """Return the rules on M and R that are broken; one that is not known has the library's default."""
        session, values = settings.session_timeout, {**self.defaults.by_setting, **settings.by_setting}
        return tuple(
            f"{self.title} refuses to start with {self.names[setting]} ({durations.show(values[setting])}) below "
            f"the session timeout ({durations.show(session)})"
            for setting in self.must_cover_session
            if self.poll_limit_factor * values[setting] < session
        )

    def stand_in(self, setting: Setting) -> Setting | None:
        """Return what plays the part of a setting that the library has not; None if nothing does."""
        if setting is Setting.REBALANCE_TIMEOUT:
            return self.rebalance_wait
        own_wait = self.rebalance_wait is Setting.REBALANCE_TIMEOUT
        if setting is Setting.MAX_POLL_INTERVAL and own_wait and self.hung.has_limit:
            return self.rebalance_wait
        return None

    def part_of(self, setting: Setting) -> str:
        """Return what plays the part of a setting that the library has not, as part of a sentence."""
        if (stand_in := self.stand_in(setting)) is not None:
            return f"{self.names[stand_in]} plays its part"
        if setting is Setting.MAX_POLL_INTERVAL:
            return f"nothing plays its part, and a member whose handler hangs {self.hung}"
        return "nothing plays its part"
