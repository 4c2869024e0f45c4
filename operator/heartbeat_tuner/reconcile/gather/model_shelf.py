"""The fitted models, as they were when they were last read.

They change once a day, so they are read now and then and not in every cycle. What cannot be read costs no policy
anything: a group without a model is decided on by its record. A failure keeps what was read before; how old that may
get, its own dates say.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from heartbeat_tuner.decision.profile import usable_model
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable
from heartbeat_tuner.ports.stored_models import Models

EVERY: Final = timedelta(minutes=5)
RETRY: Final = timedelta(seconds=10)

_log = structlog.get_logger()


class ModelShelf:
    """Reads, and what was read.

    Args:
        models: where they are.
        asked: says the namespaces and groups of all policies, whose models are read whatever else there is.
        every: from the end of one read to the next.
        retry: the same after one that failed.
    """

    def __init__(
        self,
        models: Models,
        *,
        asked: Callable[[], Collection[tuple[str, str]]] = frozenset,
        every: timedelta = EVERY,
        retry: timedelta = RETRY,
    ) -> None:
        self._models = models
        self._asked = asked
        self._every = every
        self._retry = retry
        self._missing = Unfitted("no ConsumerGroupModel was read yet")
        self._by_group: Mapping[tuple[str, str], Sequence[Fitted | Unreadable]] | None = None
        self._failing = False

    def of(self, policy: Policy, *, now: datetime) -> Fitted | Unfitted:
        """Return the model to decide with, or why there is none."""
        if self._by_group is None:
            return self._missing
        return usable_model.chosen(self._by_group.get((policy.key.namespace, policy.group_id), ()), policy, now=now)

    async def refresh(self) -> None:
        """Read until there is an answer, if only that there are no models: nothing older is then decided with."""
        while True:
            if await self._read():
                return
            await asyncio.sleep(self._retry.total_seconds())

    async def run_until(self, stopped: asyncio.Event) -> None:
        """Read every so often, first after a while, until `stopped` is set."""
        pause = self._every
        while not stopped.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), timeout=pause.total_seconds())
                return
            pause = self._every if await self._read() else self._retry

    async def _read(self) -> bool:
        try:
            answer = await self._models.read(self._asked())
        except TunerError as error:
            if not self._failing:
                _log.warning("models not read, trying again", error=str(error))
            self._failing = True
            return False
        except Exception:  # noqa: BLE001 - a surprise may cost the models, never the operator
            _log.exception("models not read")
            if self._by_group is not None:
                return True
            answer = Unfitted("the operator failed to read ConsumerGroupModels; its log says more")
        self._failing = False
        self._keep(answer)
        return True

    def _keep(self, unfitted: Sequence[Fitted | Unreadable] | Unfitted) -> None:
        if isinstance(unfitted, Unfitted):
            if self._by_group is not None or unfitted != self._missing:
                _log.warning("no models, groups are decided on by their records alone", reason=unfitted.message)
            self._missing, self._by_group = unfitted, None
            return
        by_group: dict[tuple[str, str], list[Fitted | Unreadable]] = {}
        for unreadable in unfitted:
            place = unreadable if isinstance(unreadable, Unreadable) else unreadable.model
            by_group.setdefault((place.namespace, place.group), []).append(unreadable)
        if self._by_group is None:
            _log.info("models read", count=len(unfitted))
        self._by_group = by_group
