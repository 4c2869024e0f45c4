"""What `doctor` and `recommend` say of made-up groups, without a Prometheus."""

from datetime import timedelta
from typing import Any

from heartbeat_tuner.cli import asking, doctor
from heartbeat_tuner.cli.recommend import Answer
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import outside
from heartbeat_tuner.decision.decide import decide
from heartbeat_tuner.decision.outside import Outside
from heartbeat_tuner.domain.liveness import LivenessSettings, Source
from heartbeat_tuner.metrics.conventions import kafkajs
from heartbeat_tuner.metrics.diagnosis import Diagnosis
from tests.support import worlds
from tests.support.counters import Answers
from tests.support.worlds import HOUR, NOW


def doctor_text(found: Diagnosis) -> str:
    """Return what a terminal gets of a diagnosis."""
    none: dict[str, Any] = dict.fromkeys(("bearer_token_file", "username", "password_file", "ca_file", "tenant"))
    asked = asking.asked(
        url="http://prometheus:9090",
        headers=(),
        timeout=timedelta(seconds=10),
        namespaces=(),
        lookback=HOUR,
        **none,
    )
    return doctor.as_text(found, asked)


def answer(
    found: Answers, now: LivenessSettings = worlds.STORM, source: Source = Source.POLICY, **changes: Any
) -> Answer:
    """Return what is said of group shop/orders; `changes` are fields of what is seen of it."""
    given: dict[str, Any] = {
        "namespace": "shop",
        "group": "orders",
        "client": catalogue.client("kafkajs"),
        "convention": kafkajs.EXPORTER,
        "observed": found,
        "current": worlds.current(now, source),
        "brokers": 1,
        "max_detection_time": timedelta(seconds=60),
        "lookback": HOUR,
        "now": NOW,
    }
    seen = Outside(**(given | changes))
    situation = outside.situation(seen)
    return Answer(seen, situation, decide(situation), ())
