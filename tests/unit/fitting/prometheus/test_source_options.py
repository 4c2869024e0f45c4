"""What is to be read, as options: what they cannot mean is refused in one sentence that names them."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from heartbeat_tuner.fitting.prometheus.source_options import OPTIONS, SourceError, SourceOptions
from heartbeat_tuner.settings.prometheus_settings import BasicAuthSettings, PrometheusSettings

LEAST = {"url": "http://prometheus:9090", "since": "2026-03-01", "until": "2026-03-02"}


def test_options_say_all_that_a_reading_does(tmp_path: Path) -> None:
    """There and back again; the secret stays in its file."""
    (tmp_path / "password").write_text("open sesame")
    settings = PrometheusSettings(
        url="https://prometheus:9090/prefix",
        headers={"X-Scope-OrgID": "shop"},
        basic_auth=BasicAuthSettings(username="fit", password_file=tmp_path / "password"),
        max_answer_bytes=2**20,
    )
    reading = SourceOptions(settings, date(2026, 3, 1), date(2026, 3, 14), "main", ("bank", "shop"), 7)
    options = reading.options()
    assert SourceOptions.of_options(options) == reading
    assert SourceOptions.of_options({name.lower(): value for name, value in options.items()}) == reading
    assert "sesame" not in str(options)
    assert set(options) <= set(OPTIONS)


def test_little_has_to_be_said() -> None:
    """And a tenant has an option of its own."""
    reading = SourceOptions.of_options({**LEAST, "tenant": "shop"})
    assert reading.prometheus.headers == {"X-Scope-OrgID": "shop"}
    assert (reading.namespaces, reading.cluster, reading.max_concurrent_requests) == ((), "", 4)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"url": ""}, "option url is missing"),
        ({"url": "prometheus"}, "option url: "),
        ({"url": "http://me:secret@prometheus"}, "option url: holds a user or a password"),
        ({"since": "yesterday"}, "option since: 'yesterday' is no day; write one like 2026-03-01"),
        ({"since": "2026-03-03"}, "since 2026-03-03 is after until 2026-03-02"),
        ({"maxConcurrentRequests": "many"}, "option maxConcurrentRequests: 'many' is no whole number"),
        ({"maxConcurrentRequests": "0"}, "maxConcurrentRequests 0 is not between 1 and 64"),
        ({"password": "secret"}, "option password is not known; there are url, since"),
        ({"username": "fit"}, "username and passwordFile belong together"),
        ({"bearerTokenFile": "/nowhere"}, "option bearerTokenFile: /nowhere cannot be read"),
        ({"headers": "X-Team: shop"}, "option headers: write a JSON object"),
        ({"headers": '{"Authorization": "secret"}'}, "option headers: Authorization is a secret"),
        ({"timeout": "10"}, "option timeout: "),
        ({"caFile": "/nowhere"}, "option caFile, certFile, keyFile and serverName: "),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, str], sentence: str) -> None:
    """Option, value and rule; and never the value of what may be a secret."""
    with pytest.raises(SourceError) as raised:
        SourceOptions.of_options({**LEAST, **wrong})
    assert sentence in str(raised.value)
    assert "secret" not in str(raised.value).replace("is a secret", "")
    assert "\n" not in str(raised.value)


def test_a_day_has_to_be_over() -> None:
    """Half a day would be kept as a whole one; samples after its end tell how what it saw last went out."""
    reading = SourceOptions.of_options(LEAST)
    with pytest.raises(SourceError, match="until 2026-03-02 cannot be read whole before 2026-03-03 00:30 UTC"):
        reading.check_over(datetime(2026, 3, 3, 0, 29, tzinfo=UTC))
    reading.check_over(datetime(2026, 3, 3, 0, 30, tzinfo=UTC))
