"""What holds of every library's card, and what was measured of each."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue, removal
from heartbeat_tuner.clients.client import Circumstances, Client, Protocol
from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.clients.removal import Event
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from tests.support import worlds

ROWS = [
    *("aiokafka", "confluent-kafka-dotnet", "confluent-kafka-go", "confluent-kafka-javascript"),
    *("confluent-kafka-python", "confluent-kafka-python-kip848", "connect"),
    *("franz-go", "java", "java-kip848", "kafka-go", "kafka-node", "kafka-python", "kafkajs", "node-rdkafka"),
    *("platformatic", "rust-rdkafka", "sarama", "share", "spring", "streams", "streams-kip1071"),
]

cards = st.sampled_from(list(catalogue.CLIENTS.values()))
whole_ms = st.integers(min_value=1, max_value=120_000).map(lambda ms: timedelta(milliseconds=ms))
circumstances = st.builds(
    Circumstances,
    brokers=st.integers(min_value=1, max_value=9),
    round_trip=st.integers(min_value=0, max_value=5_000).map(lambda ms: timedelta(milliseconds=ms)),
    handler=st.integers(min_value=0, max_value=9_000).map(lambda ms: timedelta(milliseconds=ms)),
    blocking=st.integers(min_value=0, max_value=50),
)


@st.composite
def settings_of(draw: st.DrawFn, card: Client) -> LivenessSettings:
    """Return any settings that a library can have."""
    return LivenessSettings.of({setting: draw(whole_ms) for setting in card.defaults.by_setting})


def test_all_rows_are_there() -> None:
    """The names are API: policies and people's CI hold them."""
    assert list(catalogue.CLIENTS) == ROWS


@pytest.mark.parametrize("card", catalogue.CLIENTS.values(), ids=catalogue.CLIENTS)
def test_a_card_fits_together(card: Client) -> None:
    """Each setting has a default and a name, each preset names the library's settings only, its rules name them too."""
    assert set(card.settings) <= set(card.defaults.by_setting)
    assert Setting.SESSION_TIMEOUT in card.settings
    assert set(card.env_preset) == set(card.settings)
    assert all(set(preset) <= set(card.settings) for preset in card.presets.values())
    assert card.rebalance_wait in card.settings
    assert set(card.must_cover_session) <= set(card.settings)
    assert card.violations(card.defaults) == ()
    assert card.hung.has_limit == bool({Setting.MAX_POLL_INTERVAL} & set(card.settings) or card.name == "connect")
    assert all(advice.endswith(".") for advice in card.advice)


@given(cards, st.data(), circumstances)
def test_a_period_is_ordered_and_no_beat_is_early(card: Client, data: st.DataObject, around: Circumstances) -> None:
    """Whatever the settings; but that of a clock which does not wait for a late beat, as Sarama's."""
    settings = data.draw(settings_of(card))
    period = card.period(settings, around)
    assert timedelta(0) <= period.shortest <= period.usual <= period.longest
    assert settings.heartbeat_interval <= period.usual
    assert settings.heartbeat_interval <= period.shortest or card.name == "sarama"


def test_a_clock_that_does_not_wait_for_a_late_beat_sends_the_next_one_soon() -> None:
    """Sarama at H 1 s: behind fetches of 5 s ticks follow each other at once, behind those of 100 ms hardly sooner."""
    period = catalogue.client("sarama").period
    assert period(worlds.settings("20s", "1s", "5s"), Circumstances()).shortest == timedelta(0)
    assert period(worlds.settings("20s", "1s", "100ms"), Circumstances()).shortest == worlds.seconds(0.9)


@given(cards, st.data(), circumstances, whole_ms)
def test_more_delay_never_makes_a_beat_come_sooner(
    card: Client, data: st.DataObject, around: Circumstances, more: timedelta
) -> None:
    """A slower answer or a slower handler."""
    settings = data.draw(settings_of(card))
    slower = Circumstances(around.brokers, around.round_trip + more, around.handler, around.blocking)
    assert card.period(settings, slower).longest >= card.period(settings, around).longest
    if around.handler:
        busier = Circumstances(around.brokers, around.round_trip, around.handler + more, around.blocking)
        assert card.period(settings, busier).longest >= card.period(settings, around).longest


@given(cards, st.data())
def test_settings_that_look_safe_never_starve_the_session(card: Client, data: st.DataObject) -> None:
    """Beat by beat: an idle member, each gap anywhere within the period, and a session that each beat begins again."""
    settings = data.draw(settings_of(card))
    around = Circumstances(brokers=data.draw(st.integers(min_value=1, max_value=5)))
    period = card.period(settings, around)
    safe = period.longest < settings.session_timeout
    now, ends, removed = timedelta(0), settings.session_timeout, False
    for share in data.draw(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=30)):
        now += period.shortest + share * (period.longest - period.shortest)
        removed = removed or now >= ends
        ends = now + settings.session_timeout
    assert not (safe and removed)
    assert removed or period.shortest < settings.session_timeout


@given(st.sampled_from(list(Format)), st.integers(min_value=1, max_value=LONGEST_MS))
def test_a_value_survives_its_format(form: Format, milliseconds: int) -> None:
    """What is written into an environment variable is what a client reads from it."""
    value = timedelta(milliseconds=milliseconds)
    assert form.parse(form.render(value)) == value


@given(cards, st.data())
def test_values_survive_every_preset(card: Client, data: st.DataObject) -> None:
    """Names do not collide, and values are read back as they were."""
    settings = data.draw(settings_of(card))
    for preset in card.presets.values():
        env = {name: card.format.render(settings[setting]) for setting, name in preset.items()}
        assert len(env) == len(preset)
        assert {setting: card.format.parse(env[name]) for setting, name in preset.items()} == {
            setting: settings[setting] for setting in preset
        }


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Format.MILLISECONDS, "30s"),
        (Format.MILLISECONDS, "-1"),
        (Format.MILLISECONDS, "0"),
        (Format.MILLISECONDS, "2147483648"),
        (Format.MILLISECONDS, "1e3"),
        (Format.MILLISECONDS, "٣"),
        (Format.GO, "30000"),
        (Format.GO, "30 s"),
        (Format.GO, "0s"),
        (Format.GO, "600h"),
        (Format.GO, ""),
    ],
)
def test_what_a_client_would_not_read_is_refused(form: Format, text: str) -> None:
    """A Go program takes no bare number, the others nothing else; Kafka's protocol has 32 bits."""
    with pytest.raises(ValueError, match=r"no whole number|not a duration|not between"):
        form.parse(text)


MEASURED = [
    # library, S, H, W, circumstances, median s: on a real broker, single gaps apart
    ("kafkajs", "30s", "3s", "5s", Circumstances(), 5.005),
    ("kafkajs", "30s", "3s", "100ms", Circumstances(), 3.070),
    ("kafkajs", "30s", "500ms", "100ms", Circumstances(), 0.514),
    ("kafkajs", "10s", "1s", "5s", Circumstances(handler=worlds.seconds(4)), 4.002),
    ("kafkajs", "10s", "1s", "5s", Circumstances(round_trip=worlds.seconds(1.5)), 6.507),
    ("kafkajs", "10s", "1s", "100ms", Circumstances(round_trip=worlds.seconds(1.5)), 2.539),
    ("kafkajs", "30s", "3s", "5s", Circumstances(brokers=3), 5.004),
    ("node-rdkafka", "1s", "333ms", "500ms", Circumstances(), 0.501),
    ("node-rdkafka", "45s", "3s", "500ms", Circumstances(), 3.006),
    ("confluent-kafka-python", "45s", "700ms", "500ms", Circumstances(), 1.0),
    ("confluent-kafka-python", "45s", "1200ms", "3s", Circumstances(), 1.5),
    ("confluent-kafka-python", "45s", "1600ms", "500ms", Circumstances(), 2.0),
    ("confluent-kafka-python", "45s", "100ms", "500ms", Circumstances(), 0.49),
    ("confluent-kafka-python", "45s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 2.005),
    ("confluent-kafka-python-kip848", "45s", "700ms", "500ms", Circumstances(), 0.701),
    ("confluent-kafka-python-kip848", "10s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 9.65),
    ("streams-kip1071", "10s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 1.616),
    ("share", "45s", "5s", "500ms", Circumstances(), 5.001),
    ("confluent-kafka-javascript", "30s", "1s", "500ms", Circumstances(), 1.001),
    ("platformatic", "60s", "3s", "5s", Circumstances(), 3.004),
    ("platformatic", "60s", "1s", "5s", Circumstances(round_trip=worlds.seconds(1.5)), 2.506),
    ("kafka-node", "30s", "10s", "100ms", Circumstances(), 10.001),
    ("kafka-node", "1s", "333ms", "100ms", Circumstances(), 0.333),
    ("kafka-python", "45s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 1.515),
    ("aiokafka", "10s", "3s", "500ms", Circumstances(), 3.006),
    ("aiokafka", "10s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 1.505),
    ("java", "45s", "3s", "500ms", Circumstances(), 3.002),
    ("java", "45s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 1.011),
    ("java-kip848", "45s", "5s", "500ms", Circumstances(), 5.0),
    ("java-kip848", "45s", "1s", "500ms", Circumstances(round_trip=worlds.seconds(1.5)), 1.604),
    ("sarama", "10s", "3s", "500ms", Circumstances(), 3.028),
    ("sarama", "10s", "1s", "5s", Circumstances(), 5.0),
    ("franz-go", "45s", "1s", "5s", Circumstances(round_trip=worlds.seconds(1.5)), 2.503),
    ("kafka-go", "30s", "1s", "10s", Circumstances(round_trip=worlds.seconds(1.5)), 1.504),
]

SLACK_S = 0.015
"""A round trip on loopback, and that a share of it is lost in each turn of a fetch loop."""


@pytest.mark.parametrize(("name", "session", "interval", "wait", "around", "median_s"), MEASURED)
def test_a_period_holds_what_was_measured(
    name: str, session: str, interval: str, wait: str, around: Circumstances, median_s: float
) -> None:
    """Medians of a minute each, on Kafka 4.4.0 (kafka-node on 3.9.2)."""
    period = catalogue.client(name).period(worlds.settings(session, interval, wait), around)
    assert period.shortest.total_seconds() - SLACK_S <= median_s
    assert median_s <= period.longest.total_seconds() * 1.04 + SLACK_S


@pytest.mark.parametrize(
    ("name", "event", "settings", "around", "seconds"),
    [
        ("confluent-kafka-python", Event.KILLED, ("6s", "1s", "500ms"), Circumstances(), 6.0),
        ("kafkajs", Event.KILLED, ("6s", "1s", "500ms"), Circumstances(), 5.5),
        ("java", Event.PAUSED, ("6s", "2s", "500ms"), Circumstances(), 5.0),
        ("java", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 6.2),
        ("java-kip848", Event.HUNG, ("45s", "5s", "500ms", "6s"), Circumstances(), 10.0),
        ("confluent-kafka-python", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 6.4),
        ("confluent-kafka-python-kip848", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 11.9),
        ("streams-kip1071", Event.CLOSED, ("6s", "1s", "500ms"), Circumstances(), 0.0),
        ("confluent-kafka-javascript", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 12.4),
        ("aiokafka", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 6.0),
        ("kafka-python", Event.HUNG, ("6s", "1s", "500ms", "6s"), Circumstances(), 7.0),
        ("kafkajs", Event.HUNG, ("10s", "1s", "500ms"), Circumstances(), 9.5),
        ("kafkajs", Event.HUNG, ("10s", "1s", "500ms"), Circumstances(brokers=3), None),
        ("sarama", Event.HUNG, ("10s", "1s", "500ms"), Circumstances(), None),
        ("java", Event.CLOSED, ("6s", "1s", "500ms"), Circumstances(), 0.0),
        ("streams", Event.CLOSED, ("6s", "1s", "500ms"), Circumstances(), 5.5),
        ("connect", Event.CLOSED, ("6s", "1s", "500ms"), Circumstances(), 1.11),
        ("connect", Event.CLOSED, ("6s", "1s", "50ms"), Circumstances(), 0.102),
        ("kafkajs", Event.CLOSED, ("30s", "3s", "5s"), Circumstances(), 2.849),
        ("kafka-go", Event.CLOSED, ("30s", "3s", "10s"), Circumstances(), 8.386),
        ("sarama", Event.CLOSED, ("10s", "3s", "500ms"), Circumstances(), 0.446),
    ],
)
def test_a_removal_holds_what_was_measured(
    name: str, event: Event, settings: tuple[str, ...], around: Circumstances, seconds: float | None
) -> None:
    """How long after an event the group knew."""
    session, interval, wait, *poll = settings
    values = worlds.java_settings(session, interval, *poll) if poll else worlds.settings(session, interval, wait)
    delay = removal.delay(catalogue.client(name), event, values, around)
    if seconds is None:
        assert delay is None
    else:
        assert delay is not None
        assert delay.shortest.total_seconds() <= seconds <= delay.longest.total_seconds()


@pytest.mark.parametrize(
    ("around", "beats"),
    [(Circumstances(handler=worlds.seconds(4), blocking=5), False), (Circumstances(handler=worlds.seconds(4)), True)],
)
@pytest.mark.parametrize("name", ["platformatic", "aiokafka"])
def test_an_event_loop_beats_only_when_it_may_run(name: str, around: Circumstances, *, beats: bool) -> None:
    """Handlers of 4 s, five messages at once, S 10 s: expelled; the same handlers with a turn after each: not."""
    settings = worlds.settings("10s", "1s", "500ms")
    assert (catalogue.client(name).period(settings, around).longest < settings.session_timeout) is beats


@pytest.mark.parametrize(
    ("name", "setting", "part"),
    [
        ("java", Setting.REBALANCE_TIMEOUT, "max.poll.interval.ms plays its part"),
        ("kafka-node", Setting.REBALANCE_TIMEOUT, "sessionTimeout plays its part"),
        ("connect", Setting.MAX_POLL_INTERVAL, "rebalance.timeout.ms plays its part"),
        ("connect", Setting.FETCH_WAIT, "nothing plays its part"),
        (
            "kafkajs",
            Setting.MAX_POLL_INTERVAL,
            "a member whose handler hangs is removed after the session timeout, but",
        ),
        ("franz-go", Setting.MAX_POLL_INTERVAL, "a member whose handler hangs keeps its partitions permanently"),
    ],
)
def test_a_setting_that_is_lacking_has_a_stand_in(name: str, setting: Setting, part: str) -> None:
    """Who comes from another library learns what to look for."""
    card = catalogue.client(name)
    assert setting not in card.settings
    assert part in card.part_of(setting)


@pytest.mark.parametrize(
    ("name", "session", "interval", "poll", "refusal"),
    [
        ("java", "3s", "3s", "5m", "interval (3s) that is not below the session timeout (3s)"),
        ("java", "10m", "3s", "5m", None),
        ("confluent-kafka-python", "10m", "3s", "5m", "max.poll.interval.ms (5m) below the session timeout (10m)"),
        ("confluent-kafka-javascript", "10m", "3s", "5m", None),
        ("confluent-kafka-javascript", "11m", "3s", "5m", "rebalanceTimeout (5m) below the session timeout (11m)"),
        ("confluent-kafka-python", "3s", "5s", "5m", None),
    ],
)
def test_a_library_s_own_rules(name: str, session: str, interval: str, poll: str, refusal: str | None) -> None:
    """What it refuses to start with."""
    found = catalogue.client(name).violations(worlds.java_settings(session, interval, poll))
    assert len(found) == (refusal is not None)
    assert refusal is None or refusal in found[0]


@pytest.mark.parametrize(("interval", "sound"), [("10s", True), ("10.001s", False)])
@pytest.mark.parametrize("name", ["franz-go"])
def test_an_interval_as_long_as_the_session_may_be_sound(name: str, interval: str, *, sound: bool) -> None:
    """franz-go refuses longer ones only; platformatic says so too, and does not."""
    found = catalogue.client(name).violations(worlds.settings("10s", interval, "500ms"))
    assert (found == ()) is sound
    assert sound or "that is above the session timeout (10s)" in found[0]


@pytest.mark.parametrize(
    ("name", "session", "setting", "milliseconds"),
    [
        ("kafka-node", "10s", Setting.HEARTBEAT_INTERVAL, 3_333),
        ("kafka-node", "2ms", Setting.HEARTBEAT_INTERVAL, 1),
        ("aiokafka", "45s", Setting.REBALANCE_TIMEOUT, 45_000),
        ("kafkajs", "45s", Setting.REBALANCE_TIMEOUT, 60_000),
    ],
)
def test_some_defaults_are_shares_of_the_session(name: str, session: str, setting: Setting, milliseconds: int) -> None:
    """Whole milliseconds, rounded down as kafka-node does, and never none at all."""
    given = {Setting.SESSION_TIMEOUT: durations.parse(session)}
    filled = catalogue.client(name).filled(given)
    assert filled[setting] == timedelta(milliseconds=milliseconds)
    assert catalogue.client(name).filled(given | {setting: timedelta(seconds=1)})[setting] == timedelta(seconds=1)
    assert catalogue.client(name).filled({}) == catalogue.client(name).defaults


def test_groups_of_the_consumer_protocol_are_known() -> None:
    """Who may have them."""
    may = {name for name, card in catalogue.CLIENTS.items() if Protocol.CONSUMER in card.protocols}
    assert {"java", "java-kip848", "confluent-kafka-python", "node-rdkafka", "platformatic", "spring"} <= may
    assert not {"kafkajs", "connect", "aiokafka", "sarama", "kafka-go", "kafka-node"} & may


def test_a_rebalance_timeout_that_is_not_known_has_the_default() -> None:
    """The operator does not read it; 102 s cover a session of 60 s in platformatic, and none of 103 s."""
    card = catalogue.client("platformatic")
    assert card.violations(worlds.settings("60s", "3s", "5s")) == ()
    (sentence,) = card.violations(worlds.settings("103s", "3s", "5s"))
    assert "rebalanceTimeout (1m42s) below the session timeout (1m43s)" in sentence


@pytest.mark.parametrize(
    ("way", "text", "duration"),
    [
        (Format.MILLISECONDS, "1500", timedelta(seconds=1.5)),
        (Format.GO, "1m30s", timedelta(seconds=90)),
    ],
)
def test_what_a_card_writes_it_reads(way: Format, text: str, duration: timedelta) -> None:
    """In each of the two ways."""
    assert way.parse(text) == duration
    assert way.render(duration) == text
