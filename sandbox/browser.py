"""A real browser without a window: Debian's Chromium, driven over its DevTools protocol.

A page is opened at a size and in a colour scheme, scripts of ours can be run in it, and it can be drawn as a picture or
printed. What it complained of and what it asked the network for is noted. The browser itself is kept off the network.
"""

import base64
import contextlib
import dataclasses
import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, Self

import aiohttp

from sandbox import debian
from sandbox.errors import SandboxError
from sandbox.processes import Process, wait_until

_PACKAGES: Final = ("chromium-headless-shell", "fonts-dejavu-core")
_PROGRAM: Final = "/usr/lib/chromium/chromium-headless-shell"
"""Not the script on the PATH, which stays between: who ends that leaves the browser running."""

_ANSWER_S: Final = 20.0
_LARGEST: Final = 64 * 2**20
"""Bytes of an answer: a picture of a long page."""

_OFFLINE: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def obstacle() -> str | None:
    """Return why there can be no browser here, or None when nothing is in the way."""
    return debian.obstacle(*_PACKAGES)


@dataclasses.dataclass
class Tab:
    """A page that is open.

    Attributes:
        complaints: what the browser's console says, exceptions too.
        requests: the addresses that were asked for, the page's own first.
    """

    socket: aiohttp.ClientWebSocketResponse
    complaints: list[str] = dataclasses.field(default_factory=list)
    requests: list[str] = dataclasses.field(default_factory=list)
    _numbers: "itertools.count[int]" = dataclasses.field(default_factory=lambda: itertools.count(1))

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result.

        Raises:
            SandboxError: the browser refuses.
        """
        number = next(self._numbers)
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = await self.socket.receive_json(timeout=_ANSWER_S)
            if message.get("id") == number:
                if "error" in message:
                    raise SandboxError(f"The browser refuses {method}: {message['error']}")
                return dict(message["result"])
            self._note(message)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression on the page, once it is there if it is a promise."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SandboxError(f"The page cannot say {expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def picture(self, selector: str) -> bytes:
        """Return a PNG of an element of the page, half as large again as it is shown."""
        box = await self.evaluate(
            f"(box => [box.x + scrollX, box.y + scrollY, box.width, box.height])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        clip = dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"scale": 1.5}
        answer = await self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])


class Browser:
    """A browser; use as a context manager.

    Args:
        run_dir: for its profile and its log.
    """

    def __init__(self, run_dir: Path) -> None:
        self._profile = run_dir / "browser"
        unconfined = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = Process(
            "browser",
            [
                _PROGRAM,
                *unconfined,
                *_OFFLINE,
                "--disable-gpu",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._profile}",
            ],
            log=run_dir / "browser.log",
        )

    def __enter__(self) -> Self:
        debian.ensure(*_PACKAGES)
        self._process.start()
        try:
            wait_until(self._port_file.exists, part="browser", what="its DevTools port", process=self._process)
        except SandboxError:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    @contextlib.asynccontextmanager
    async def tab(
        self, url: str, *, width: int = 1100, scheme: str = "light", medium: str = "screen"
    ) -> AsyncIterator[Tab]:
        """Open a page.

        Args:
            url: of it.
            width: of the window, in CSS pixels.
            scheme: `light` or `dark`, as the system prefers.
            medium: `screen` or `print`.
        """
        port = self._port_file.read_text().splitlines()[0]
        async with (
            aiohttp.ClientSession() as session,
            session.put(f"http://127.0.0.1:{port}/json/new?about:blank") as answer,
        ):
            address = (await answer.json())["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=_LARGEST) as socket:
                tab = Tab(socket)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await tab.call(f"{domain}.enable")
                await tab.call(
                    "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
                )
                preferred = [{"name": "prefers-color-scheme", "value": scheme}]
                await tab.call("Emulation.setEmulatedMedia", media=medium, features=preferred)
                await tab.call("Page.navigate", url=url)
                await tab.evaluate(
                    "new Promise(done => document.readyState == 'complete' ? done() : addEventListener('load', done))"
                )
                yield tab
                await tab.call("Page.close")

    @property
    def _port_file(self) -> Path:
        return self._profile / "DevToolsActivePort"
