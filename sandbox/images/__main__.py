"""`python -m sandbox.images [target ...]`: build images, and say what they are called, how big they are and where."""

import click

from sandbox import images
from sandbox.errors import SandboxError
from sandbox.images import contents


@click.command()
@click.argument("targets", nargs=-1, type=click.Choice(images.TARGETS))
def main(targets: tuple[str, ...]) -> None:
    """Build the named images, or all of them."""
    for target in targets or images.TARGETS:
        try:
            archive = images.build(target)
        except SandboxError as error:
            raise click.ClickException(str(error)) from error
        base, *own = contents.layer_sizes_bytes(archive)
        above = f"{sum(own) / 1e6:.1f} MB above its base of {base / 1e6:.1f} MB" if own else f"{base / 1e6:.1f} MB"
        click.echo(f"{contents.names(archive)[0]}  {above}  {archive}")


if __name__ == "__main__":
    main()
