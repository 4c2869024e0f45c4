"""What the command line answers to what people type wrong: the fix first, to the word, in `messages.yaml`.

After a change on purpose `ACCEPT=1 pytest tests/unit/cli/test_messages.py` writes the answers; look at the difference.
"""

import http.server
import os
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from tests.support import cases, checks

MESSAGES: Final = Path(__file__).with_name("messages.yaml")
CASES: Final[list[dict[str, str]]] = yaml.safe_load(MESSAGES.read_text())


class _Plain(http.server.BaseHTTPRequestHandler):
    """Speaks HTTP only."""

    def log_message(self, *_: Any) -> None:
        """Say nothing: what is asked is no request."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port where plain HTTP is spoken."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Plain) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an env file and a folder of models, where commands are typed."""
    (tmp_path / "app.env").write_text("KAFKA_SESSION_TIMEOUT_MS=10000\n")
    (tmp_path / "models").mkdir()
    ModelFiles(tmp_path / "fitted").write([cases.model(cluster="main")])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(typed: str, port: int) -> str:
    """Return the sentence with which a command line is refused, in one line."""
    result = checks.run(*shlex.split(typed.replace("PORT", str(port))))
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith(("Usage:", "Try "))]
    sentence = " ".join(" ".join(lines).split()).removeprefix("Error: ").replace(str(port), "PORT")
    return sentence.partition(". The query was ")[0]  # the first to fail of several


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["typed"])
def test_what_is_typed_wrong_is_answered_with_the_fix(case: dict[str, str], port: int) -> None:
    """One sentence on standard error and exit status 2."""
    if "ACCEPT" in os.environ:
        case["answer"] = answer(case["typed"], port)
        MESSAGES.write_text(yaml.safe_dump(CASES, sort_keys=False, width=120, allow_unicode=True))
    assert answer(case["typed"], port) == case["answer"]


def test_there_are_thirty() -> None:
    """Each is another mistake."""
    assert len({case["typed"] for case in CASES}) >= 30
