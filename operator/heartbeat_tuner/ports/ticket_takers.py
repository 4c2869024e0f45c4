"""The tickets of canaries: each gives its values to one pod, whichever replica of the webhook is asked."""

from typing import Protocol

from heartbeat_tuner.api.canary_notes import CanaryTicket


class TicketTakers(Protocol):
    """Where it is noted who took the newest ticket."""

    async def take(self, ticket: CanaryTicket, taker: str) -> bool:
        """Take a ticket; return whether the taker has it. Who asks again has it still.

        Args:
            ticket: to take.
            taker: another one for each pod.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        ...
