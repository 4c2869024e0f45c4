"""Entry point: `python -m heartbeat_tuner`, or the installed command `heartbeat-tuner`."""

from heartbeat_tuner.cli import cli


def main() -> None:
    """Run the command line."""
    cli()


if __name__ == "__main__":
    main()
