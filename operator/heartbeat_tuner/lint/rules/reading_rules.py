"""Was everything in the files read, and does the library read it as well?

Most of these are raised where files are read (`cli/checking`): only there it is known what stands in them.
"""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint.checked_settings import NAMES, Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity, Rule

UNREADABLE_FILE: Final = Rule(
    code="HT001",
    id="unreadable-file",
    severity=LintSeverity.ERROR,
    when="a file is not what its name says, or not what Kubernetes accepts: nothing of it was checked",
    why="A file that is passed over in silence looks like a file without findings.",
    example="value: {{ .Values.kafka.sessionTimeout | quote }}  # a template that is not rendered",
    fix="Render templates first (`helm template . | heartbeat-tuner check -`), or correct the file.",
    cured_by_values=False,
)
NOTHING_RECOGNISED: Final = Rule(
    code="HT002",
    id="nothing-recognised",
    severity=LintSeverity.ERROR,
    when="the input has no known setting of a Kafka consumer",
    why="Settings under the application's own names look like no settings at all.",
    example="MY_CONSUMER_LIFE=45000",
    fix="Say which variable holds what, as `--env sessionTimeout=MY_CONSUMER_LIFE`, or name the right file.",
    cured_by_values=False,
)
MISSPELT_NAME: Final = Rule(
    code="HT003",
    id="misspelt-name",
    severity=LintSeverity.ERROR,
    when="a name resembles that of a setting, but no library reads it",
    why="No library reads it, and none complains: the default holds.",
    example="KAFKA_SESION_TIMEOUT_MS=45000",
    fix="Correct the name. If the application really reads this one, say so with `--env`.",
    cured_by_values=False,
)
IGNORED_SETTING: Final = Rule(
    code="HT004",
    id="ignored-setting",
    severity=LintSeverity.ERROR,
    when="a setting stands where the library does not read it, or the library does not have it",
    why="Spring Boot has no key for the session timeout under `spring.kafka.consumer`; a Connect worker hands only "
    "`consumer.` settings to its sink tasks; its image reads only `CONNECT_` variables; a broker does not read a "
    "consumer's settings. The value that people rely on has no effect.",
    example="SPRING_KAFKA_CONSUMER_SESSION_TIMEOUT=30000",
    fix="Use the name that the message gives: `SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS=30000`.",
    cured_by_values=False,
)
DOUBTFUL_NAME: Final = Rule(
    code="HT005",
    id="doubtful-name",
    severity=LintSeverity.INFO,
    when="a name may be a consumer's setting, or something else's: it was not read",
    why="SESSION_TIMEOUT beside Kafka's variables is a web session's as often as a consumer's.",
    example="KAFKA_BROKERS=kafka:9092\nSESSION_TIMEOUT_MS=45000",
    fix="If it is the consumer's, say so with `--env sessionTimeout=SESSION_TIMEOUT_MS`.",
    cured_by_values=False,
)
CLIENT_UNKNOWN: Final = Rule(
    code="HT006",
    id="client-unknown",
    severity=LintSeverity.WARNING,
    when="the files do not say which library reads them: only rules that hold for each possible library were checked",
    why="Defaults, limits and the heartbeat itself differ from library to library.",
    example="session.timeout.ms=45000  # of Java, or of librdkafka?",
    fix='Say it with `--client`, or in the configuration: `client = "java"`.',
    cured_by_values=False,
)
UNREADABLE_VALUE: Final = Rule(
    code="HT007",
    id="unreadable-value",
    severity=LintSeverity.ERROR,
    when="a value is no duration in the form that the library takes",
    why="Java takes whole milliseconds and refuses `45s`. An application in Go takes `45s` and refuses `45000`.",
    example="session.timeout.ms=45s",
    fix="Write it as the library wants it: `session.timeout.ms=45000`.",
    cured_by_values=False,
)
NAMED_VARIABLE_MISSING: Final = Rule(
    code="HT008",
    id="named-variable-missing",
    severity=LintSeverity.ERROR,
    when="a variable that `--env` names is in none of the files, or a manifest takes one from a key that its "
    "ConfigMap does not have",
    why="Without the variable, the library's default holds. Without the key, the kubelet does not start the container.",
    example="heartbeat-tuner check --client java --env sessionTimeout=MY_TIMEOUT app.env  # without MY_TIMEOUT",
    fix="Correct the name, or add the variable.",
    cured_by_values=False,
)
UNSEEN: Final = Rule(
    code="HT009",
    id="setting-unseen",
    severity=LintSeverity.WARNING,
    when="the source of a value cannot be read (a Secret, a ConfigMap that is not in the files, a variable of a "
    "shell): it was not checked",
    why="Rules that need the value are skipped.",
    example="env:\n  - name: KAFKA_SESSION_TIMEOUT_MS\n    valueFrom: {secretKeyRef: {name: kafka, key: session}}",
    fix="Say what it is: `--session-timeout 45s`.",
)
GIVEN_TWICE: Final = Rule(
    code="HT012",
    id="given-twice",
    severity=LintSeverity.WARNING,
    when="two names of one consumer say different values for one setting",
    why="Only one of them is read, and which one depends on the application.",
    example="KAFKA_SESSION_TIMEOUT_MS=45000\nKAFKA_CONSUMER_SESSION_TIMEOUT_MS=10000",
    fix="Take one out.",
    cured_by_values=False,
)
NO_VALUES_FIT: Final = Rule(
    code="HT013",
    id="no-values-fit",
    severity=LintSeverity.ERROR,
    when="no values satisfy all requirements",
    why="Two limits collide, such as a detection time of 5 s and a broker that takes sessions of 6 s and more.",
    example="heartbeat-tuner check --client java --max-detection-time 5s",
    fix="Change one of the two limits that the message names.",
    cured_by_values=False,
)
NOTHING_SET: Final = Rule(
    code="HT014",
    id="nothing-set",
    severity=LintSeverity.INFO,
    when="no setting is given: the library's defaults were checked",
    why="Settings under the application's own names, or in its code, cannot be seen.",
    example="KAFKA_BOOTSTRAP_SERVERS=kafka:9092",
    fix="If the application sets them under other names, say which with `--env`.",
)


def _not_seen(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find values that could not be looked at."""
    needed = [setting for setting in inspected.client.settings if _matters(inspected, setting, expectations)]
    unseen = [NAMES[setting] for setting in needed if inspected.origins[setting] is Origin.UNSEEN]
    if unseen:
        options = ", ".join(f"--{name.replace(' ', '-')}" for name in unseen)
        phrase = (
            "{settings} may be set in a Secret, or in a ConfigMap that is not in the files: rules that need them were "
            "skipped; say what they are with {options}"
        )
        yield LintFinding(UNSEEN, say(phrase, settings=" and ".join(unseen), options=options))
    if all(origin in {Origin.DEFAULT, Origin.BROKER} for origin in inspected.origins.values()):
        phrase = (
            "no setting is given, so the defaults of {client} were checked; if the application sets them under other "
            "names, say which"
        )
        yield LintFinding(NOTHING_SET, say(phrase, client=inspected.client.title))


def _matters(inspected: Inspected, setting: Setting, expectations: Expectations) -> bool:
    """Whether a rule asks for the setting."""
    if setting is Setting.REBALANCE_TIMEOUT:
        waits = inspected.client.rejoin_waits_for_handler and expectations.handler_time is not None
        return waits or setting in inspected.client.must_cover_session
    return setting in inspected.beat_settings or setting is Setting.MAX_POLL_INTERVAL


CHECKS: Final = (_not_seen,)
