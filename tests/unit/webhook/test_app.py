"""A replica as a whole: what keeps it from standing, and what ends it."""

import asyncio
from pathlib import Path

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, InvalidSettingsError
from heartbeat_tuner.settings.webhook_settings import CertificateSettings, WebhookSettings
from heartbeat_tuner.webhook import app


async def test_it_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace for its Secret, or an API server."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(InvalidSettingsError, match=r"certificate\.namespace is not set"):
        await app.run_webhook(WebhookSettings())
    with pytest.raises(ApiServerError, match="no service account and no usable kubeconfig"):
        await app.run_webhook(WebhookSettings(certificate=CertificateSettings(namespace="here")))


async def test_it_stands_until_it_is_told_to_end() -> None:
    """Its work is ended with it."""
    event = asyncio.Event()

    async def go_on() -> None:
        await asyncio.Event().wait()

    async with app._running(go_on()) as working:
        standing_still = asyncio.create_task(app._first(event, working))
        event.set()
        await standing_still
    assert all(item.cancelled() for item in working)


async def test_work_that_ends_by_itself_ends_the_replica() -> None:
    """A view that nobody keeps up to date must give no ids."""

    async def break_down() -> None:
        raise ValueError("surprise")

    async with app._running(break_down()) as working:
        with pytest.raises(ValueError, match="surprise"):
            await app._first(asyncio.Event(), working)
