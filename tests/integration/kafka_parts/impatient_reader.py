"""A program that reads a broker's groups over and over with little patience: `impatient_reader.py CONFIGURATION`.

What librdkafka does to a process that it is unhappy with cannot be seen from inside; the exit status shows it. Several
clusters, all the same broker, are read side by side, each with a client of its own. It prints how the readings ended.
"""

import asyncio
import json
import sys
from collections import Counter
from contextlib import closing
from datetime import timedelta
from typing import Any

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.errors import ClusterUnreachableError


async def _read(groups: KafkaGroups, cluster: str, group_ids: list[str]) -> str:
    try:
        found = await groups.describe(cluster, group_ids)
    except ClusterUnreachableError:
        return "unreachable"
    kinds = {type(item).__name__ for item in found.values()}
    return "partly" if len(kinds) > 1 else f"all {kinds.pop()}"


async def _main(bootstrap: str, group_ids: list[str], *, timeout_s: float, rounds: int, clusters: int) -> None:
    names = [f"c{number}" for number in range(clusters)]
    ended: Counter[str] = Counter()
    with closing(
        KafkaGroups(dict.fromkeys(names, KafkaAccess(bootstrap)), timeout=timedelta(seconds=timeout_s))
    ) as groups:
        for _ in range(rounds):
            ended.update(await asyncio.gather(*(_read(groups, name, group_ids) for name in names)))
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    given: dict[str, Any] = json.loads(sys.argv[1])
    asyncio.run(_main(given.pop("bootstrap"), given.pop("group_ids"), **given))
