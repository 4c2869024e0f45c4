"""What can go wrong when a command asks a Prometheus: one sentence, exit status 2, and no secret."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heartbeat_tuner.cli import cli
from tests.support.scripted_server import Handler, ScriptedServer, answer, respond, serving

COMMANDS = [("doctor",), ("recommend", "--group", "orders", "--client", "kafkajs")]


def run(*arguments: str) -> Result:
    """Run a command in this process; whatever is not an exit status is a bug."""
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments: str) -> str:
    """Return the sentence with which a command ends that could not ask."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return " ".join(result.stderr.split())


def empty(handler: Handler) -> None:
    """Answer that there is nothing, as a vector or a matrix."""
    kind = "matrix" if handler.asked.form["query"][0].endswith("s]") else "vector"
    respond(handler, answer({"resultType": kind, "result": []}))


def html(handler: Handler) -> None:
    """Answer as a login page does."""
    respond(handler, b"<html>Please log in</html>")


def only_with_the_token(handler: Handler) -> None:
    """Answer who has the right one."""
    if handler.asked.headers.get("Authorization") == "Bearer right":
        empty(handler)
    else:
        respond(handler, b"no such token", status=401)


def too_much(handler: Handler) -> None:
    """Answer that a limit was exceeded."""
    respond(handler, b'{"status": "error", "error": "query processing would load too many samples"}', status=422)


def queries(server: ScriptedServer) -> list[str]:
    """Return what was asked."""
    return [request.form["query"][0] for request in server.requests]


CLEAR = "--allow-credentials-over-http"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_prometheus_that_is_not_there_is_told(command: tuple[str, ...]) -> None:
    """Its address comes first; the query is no part of it, since none would be answered."""
    said = refused(*command, "--prometheus", "http://127.0.0.1:1", "--timeout", "1s")
    assert said == "Error: http://127.0.0.1:1: Prometheus did not answer (connection refused)"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_something_else_than_a_prometheus_is_told(command: tuple[str, ...]) -> None:
    """A wrong port, a login page of a proxy."""
    with serving(html) as server:
        assert "something that is no JSON" in refused(*command, "--prometheus", server.url)


def test_too_much_says_how_to_ask_for_less() -> None:
    """A large Prometheus has limits."""
    with serving(too_much) as server:
        said = refused("doctor", "--prometheus", server.url)
    assert "too many samples" in said
    assert "ask for less: --namespace, or a shorter --lookback" in said


def test_the_right_token_is_let_in_and_a_wrong_one_told_but_never_shown(tmp_path: Path) -> None:
    """In words of the command line, not of the operator's configuration."""
    token = tmp_path / "token"
    with serving(only_with_the_token) as server:
        token.write_text("right\n")
        assert run("doctor", "--prometheus", server.url, "--bearer-token-file", str(token), CLEAR).exit_code == 1
        token.write_text("wrong\n")
        said = refused("doctor", "--prometheus", server.url, "--bearer-token-file", str(token), CLEAR)
    assert "answered 401 (no such token): check the credentials and the headers that you gave" in said
    assert "wrong" not in said


def test_nothing_secret_goes_over_http_unless_asked_for(tmp_path: Path) -> None:
    """The message names the option that allows it; nothing is sent."""
    (tmp_path / "secret").write_text("hidden")
    for given in (
        ("--bearer-token-file", f"{tmp_path}/secret"),
        ("--username", "me", "--password-file", f"{tmp_path}/secret"),
        ("--header", "X-Api-Key: hidden"),
    ):
        with serving(empty) as server:
            said = refused("doctor", "--prometheus", server.url, *given)
            assert not server.requests
        assert "is not https" in said
        assert "add --allow-credentials-over-http" in said
        assert "hidden" not in said


def test_user_password_tenant_and_headers_are_sent(tmp_path: Path) -> None:
    """What Mimir and its like want."""
    password = tmp_path / "password"
    password.write_text("hidden")
    given = ("--username", "me", "--password-file", str(password), "--tenant", "shop", "--header", "X-Scope: a:b")
    with serving(empty) as server:
        assert run("doctor", "--prometheus", server.url, *given, CLEAR).exit_code == 1
        headers = server.requests[0].headers
    assert headers["Authorization"] == "Basic bWU6aGlkZGVu"
    assert (headers["X-Scope-OrgID"], headers["X-Scope"]) == ("shop", "a:b")


def test_namespaces_and_the_time_to_look_back_bound_what_is_asked() -> None:
    """Four queries, whatever they bring."""
    with serving(empty) as server:
        run("doctor", "--prometheus", server.url, "--namespace", "shop", "--namespace", "b.k", "--lookback", "20m")
        asked = queries(server)
    assert len(asked) == 4
    assert all('namespace=~"b\\\\.k|shop"' in query for query in asked)
    assert sum("[1200s]" in query for query in asked) == 1
    assert sum("[600s]" in query for query in asked) == 2  # consumers' recent samples, and what is around their pods


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--prometheus", "prometheus:9090"), "--prometheus: "),
        (("--prometheus", "http://me:hidden@prometheus"), "--prometheus: holds a user or a password"),
        (("--prometheus", "http://x", "--header", "Authorization: hidden"), "--header or --tenant: Authorization is a"),
        (("--prometheus", "http://x", "--header", "hidden"), "--header: write NAME:VALUE"),
        (
            ("--prometheus", "http://x", "--tenant", "hidden\x1b"),
            "--header or --tenant: the value of X-Scope-OrgID has",
        ),
        (("--prometheus", "http://x", "--header", "X-Key: hidden\n"), "--header or --tenant: the value of X-Key has a"),
        (("--prometheus", "http://x", "--username", "me"), "give both --username and --password-file"),
        (("--prometheus", "http://x", "--lookback", "30s"), "--lookback: choose a time between 1m and 24h"),
        (("--prometheus", "http://x", "--lookback", "60"), "add a unit, like 60ms, 60s or 60m: '60' has none"),
        (("--prometheus", "http://x", "--timeout", "300h"), "--timeout: '300h' is not between 100ms and 1m; choose a"),
        (("--prometheus", "http://x", "--timeout", "90s"), "--timeout: '90s' is not between 100ms and 1m; choose a"),
        (("--prometheus", "http://x", "--timeout", "5"), "add a unit, like 5ms, 5s or 5m: '5' has none"),
        (("--prometheus", "http://x", "--bearer-token-file", "/nowhere"), "'/nowhere' does not exist"),
        ((), "Missing option '--prometheus'"),
    ],
)
def test_options_that_cannot_be_used_are_told(options: tuple[str, ...], words: str) -> None:
    """Before anything is asked, and without a secret."""
    said = refused("doctor", *options)
    assert words in said
    assert "hidden" not in said
