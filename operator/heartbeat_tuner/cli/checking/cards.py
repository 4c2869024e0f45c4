"""The card of a client library in words: what `heartbeat-tuner clients` and docs/reference/clients.md both say.

All follows from the catalogue; figures are those of the library's defaults unless they say otherwise.
"""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.cli.wording import listed, sentence
from heartbeat_tuner.clients import presets, removal
from heartbeat_tuner.clients.client import Beater, Circumstances, Client, Hung, Period, Protocol, StaticIdSupport
from heartbeat_tuner.clients.formats import Format
from heartbeat_tuner.clients.removal import Delay, Event
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.limits.allowed_values import BEATS_PER_SESSION
from heartbeat_tuner.lint.checked_settings import NAMES

LETTERS: Final[Mapping[Setting, str]] = dict(zip(Setting, "SHWMR", strict=True))

_ANSWER: Final = timedelta(milliseconds=1500)
_HANDLER: Final = timedelta(seconds=4)
_AT_ONCE: Final = 5
_BROKERS: Final = 3

_DELAYS: Final = {
    Beater.THREAD: "No handler does, however long it takes. What stops the whole process does: a garbage collection, a "
    "throttled processor, a frozen node.",
    Beater.EVENT_LOOP: "Handlers that keep the processor: no timer runs meanwhile, nor between messages that are "
    "handed out at once. Handlers that only wait do not.",
    Beater.FETCH_LOOP: "Each fetch that waits for messages, and each handler, whether it waits or computes, until it "
    "returns or calls heartbeat().",
}
_COVERS: Final = {
    Beater.THREAD: "the longest pause of the process",
    Beater.EVENT_LOOP: "the longest time that handlers keep the processor, for all messages that are handed out at "
    "once, and the longest pause of the process",
    Beater.FETCH_LOOP: "the longest handler, or what lies between two calls of heartbeat(), and the longest pause of "
    "the process",
}


@dataclasses.dataclass(frozen=True, slots=True)
class PeriodText:
    """The period under some circumstances, in words."""

    when: str
    period: Period

    @property
    def every(self) -> str:
        """The period in words."""
        return _between(self.period.shortest, self.period.longest)


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """What the end of a member costs; `delay` is None where the group never knows."""

    event: str
    delay: Delay | None
    but: str = ""

    @property
    def after(self) -> str:
        """The delay in words."""
        if self.delay is None:
            return "never"
        if self.delay.longest == timedelta(0):
            return "at once"
        return f"{_between(self.delay.shortest, self.delay.longest)}{self.but}"


def beats(client: Client) -> tuple[list[PeriodText], list[str]]:
    """Return the periods at the defaults: of an idle member, of what differs from it, and names of what does not."""
    idle = PeriodText("an idle member", client.period(client.defaults, Circumstances()))
    around = {
        f"{_BROKERS} brokers": Circumstances(brokers=_BROKERS),
        f"answers that take {durations.show(_ANSWER)}": Circumstances(round_trip=_ANSWER),
    }
    if client.handles_messages:
        taken = durations.show(_HANDLER)
        around |= {
            f"handlers that wait {taken}": Circumstances(handler=_HANDLER),
            f"handlers that compute {taken}, {_AT_ONCE} messages at once": Circumstances(
                handler=_HANDLER, blocking=_AT_ONCE
            ),
        }
    others = [PeriodText(when, client.period(client.defaults, circumstances)) for when, circumstances in around.items()]
    different = [idle, *(period_text for period_text in others if period_text.period != idle.period)]
    return different, [period_text.when for period_text in others if period_text.period == idle.period]


def delays(client: Client) -> str:
    """Return what delays a beat, as sentences."""
    terms = [_DELAYS[client.beater]]
    if client.beat_waits_for_fetch and client.beater is Beater.THREAD:
        terms.append("So does a fetch that waits for messages, where the coordinator leads one of the partitions.")
    beyond = 2 * client.defaults.heartbeat_interval
    idle, slow, slower = (
        client.period(client.defaults, Circumstances(round_trip=answer)) for answer in (timedelta(0), _ANSWER, beyond)
    )
    if slow != idle:
        terms.append("A slow answer does, too.")
    elif slower != idle:
        terms.append("So does an answer that takes longer than the heartbeat interval.")
    return " ".join(terms)


def must_cover(client: Client) -> str:
    """Return what the session timeout has to be longer than, as a sentence."""
    usual = client.period(client.defaults, Circumstances()).usual
    three = f"{BEATS_PER_SESSION} beats ({durations.show(BEATS_PER_SESSION * usual)} at the defaults)"
    return f"The session timeout must cover {three}, and, on top of a beat, {_COVERS[client.beater]}."


def lacks(client: Client) -> dict[Setting, str]:
    """Return the settings that other libraries have, with what plays their part here, as sentences."""
    return {
        setting: f"It has no {NAMES[setting]}: {client.part_of(setting)}."
        for setting in Setting
        if setting not in client.settings
    }


def variables(client: Client, preset: str) -> dict[str, str]:
    """Return the variables of a preset, by the name of what they hold."""
    variables = {NAMES[setting]: name for setting, name in client.presets[preset].items()}
    if len(client.protocols) > 1:
        variables["group protocol"] = presets.group_protocol(preset)
    if client.static_membership.holds:
        variables["static id"] = presets.group_instance_id(preset)
    return variables


def values(client: Client) -> str:
    """Return how variables hold values, as a sentence."""
    unlike = "a bare number is refused" if client.format is Format.GO else "a unit is refused"
    return f"A value is a {client.format.value}: 30 seconds are {client.format.example(30_000)}, and {unlike}."


def ends(client: Client) -> list[End]:
    """Return how long after something happened to a member its group knows, at the defaults."""
    delay = {event: removal.delay(client, event, client.defaults, Circumstances()) for event in Event}
    elsewhere = "; never where a broker leads none of its partitions" if client.hung is Hung.PLACEMENT else ""
    ends = [End(event.value, delay[event], elsewhere if event is Event.HUNG else "") for event in Event]
    if not client.handles_messages:
        ends[list(Event).index(Event.HUNG)] = End("its own thread of work (the herder) hangs", delay[Event.HUNG])
    if client.static_membership not in {StaticIdSupport.NONE, StaticIdSupport.LEAVES} and client.leaves_on_close:
        ends.insert(list(Event).index(Event.CLOSED) + 1, End("the same, with a static id", delay[Event.KILLED]))
    return ends


def groups(client: Client) -> str:
    """Return which groups and members there may be, as sentences."""
    membership = f"static membership is {client.static_membership}"
    if client.static_membership is StaticIdSupport.WORKS and Protocol.CONSUMER in client.protocols:
        membership += " (in a group of the consumer protocol, the newer is refused)"
    protocols = listed([protocol.value for protocol in client.protocols], "or the")
    return f"Groups are of the {protocols} protocol. {sentence(membership, client)}"


def rules(client: Client) -> list[str]:
    """Return what the library and the broker refuse, as sentences."""
    at_broker = client.protocols[0].is_at_broker
    rules = []
    if at_broker:
        rules.append("The broker refuses a heartbeat interval of the group that is not below its session timeout.")
    elif client.interval_may_reach_session is None:
        rules.append("Any heartbeat interval is taken, though one that is not below the session timeout never works.")
    elif client.interval_may_reach_session:
        rules.append(
            "It refuses to start with a heartbeat interval above the session timeout; one that equals it never works."
        )
    else:
        rules.append("It refuses to start with a heartbeat interval that is not below the session timeout.")
    low = "the session timeout" if client.poll_limit_factor == 1 else "half of the session timeout"
    rules += [f"It refuses to start with {client.names[setting]} below {low}." for setting in client.must_cover_session]
    own = "ignores those that it has" if client.ignores_broker_settings else "refuses to start with one of its own"
    rules += [
        f"In a group of the {protocol} protocol, session timeout and heartbeat interval are the broker's: it {own}."
        for protocol in client.protocols
        if protocol.is_at_broker
    ]
    if not at_broker:
        bounds = _between(DEFAULT_MIN_SESSION, DEFAULT_MAX_SESSION)
        rules.append(f"A broker lets it join with a session timeout within its bounds only, {bounds} by default.")
    return rules


def evidence(client: Client) -> str:
    """Return where the card's figures come from, as part of a sentence."""
    return "not measured, all is from its source" if client.measured is None else f"measured with {client.measured}"


def older(client: Client) -> list[str]:
    """Return how older releases differ, as sentences."""
    sentences = []
    for release in client.releases:
        terms = [f"{client.names[setting]} was {durations.show(value)}" for setting, value in release.defaults.items()]
        sentences.append(f"Before {release.before}: {listed([*terms, *([release.note] if release.note else [])])}.")
    return sentences


def _between(shortest: timedelta, longest: timedelta) -> str:
    if shortest == longest:
        return durations.show(longest)
    return f"{durations.show(shortest)} to {durations.show(longest)}"
