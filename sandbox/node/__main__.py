"""The process node's own process; `ProcessNode` starts it."""

import argparse
import asyncio
from pathlib import Path

from sandbox.node.agent import Agent


def main() -> None:
    """Run a node until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.node", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="how to reach the API server, with a token")
    parser.add_argument("--name", required=True, help="name of the Node")
    parser.add_argument("--run-dir", type=Path, required=True, help="gets pods/: logs, process ids, scratch folders")
    arguments = parser.parse_args()
    asyncio.run(Agent(arguments.kubeconfig, arguments.name, arguments.run_dir).run())


main()
