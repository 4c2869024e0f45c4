"""aiokafka: a loop over `getmany`, which hands out what there is and gives the event loop no turn between."""

import asyncio
import signal

import lab
from aiokafka import AIOKafkaConsumer

NAMES = {
    "session_timeout_ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat_interval_ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "fetch_max_wait_ms": "KAFKA_FETCH_MAX_WAIT_MS",
    "max_poll_interval_ms": "KAFKA_MAX_POLL_INTERVAL_MS",
    "rebalance_timeout_ms": "KAFKA_REBALANCE_TIMEOUT_MS",
}


async def handle() -> None:
    """Handle one message as HANDLER says, in the event loop."""
    if lab.HANDLER == "wait":
        await asyncio.sleep(lab.HANDLER_S)
    elif lab.HANDLER == "block":
        lab.burn()
    elif lab.HANDLER == "hang":
        await asyncio.Event().wait()


async def consume(consumer: AIOKafkaConsumer) -> None:
    """Handle messages until cancelled."""
    while True:
        for messages in (await consumer.getmany(timeout_ms=100)).values():
            for _ in messages:
                await handle()


async def main() -> None:
    """Consume until told to end."""
    consumer = AIOKafkaConsumer(
        lab.TOPIC,
        bootstrap_servers=lab.BROKERS,
        group_id=lab.GROUP_ID,
        client_id=lab.CLIENT_ID,
        auto_offset_reset="earliest",
        **lab.given(NAMES),
    )
    await consumer.start()
    consuming = asyncio.create_task(consume(consumer))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, consuming.cancel)
    try:
        await consuming
    except asyncio.CancelledError:
        pass
    finally:
        await consumer.stop()


asyncio.run(main())
