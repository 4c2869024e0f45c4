"""Many objects at once, as a tenant makes them who means harm: straight to the API server, many requests at a time."""

import asyncio
import ssl
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import aiohttp
import yaml

from sandbox.control_plane import ControlPlane

AT_ONCE = 32


def create(plane: ControlPlane, path: str, documents: Iterable[dict[str, Any]]) -> None:
    """Create objects; each of them must be taken."""
    access = yaml.safe_load(plane.kubeconfig.read_text())
    authority = access["clusters"][0]["cluster"]["certificate-authority"]
    context = ssl.create_default_context(cafile=authority)
    headers = {"Authorization": f"Bearer {access['users'][0]['user']['token']}"}

    async def post(session: aiohttp.ClientSession, turn: asyncio.Semaphore, document: dict[str, Any]) -> None:
        async with turn, session.post(f"{plane.url}{path}", json=document) as answer:
            assert answer.status == HTTPStatus.CREATED, await answer.text()

    async def post_all() -> None:
        turn, connector = asyncio.Semaphore(AT_ONCE), aiohttp.TCPConnector(ssl=context, limit=AT_ONCE)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session, asyncio.TaskGroup() as tasks:
            for item in documents:
                tasks.create_task(post(session, turn, item))

    asyncio.run(post_all())
