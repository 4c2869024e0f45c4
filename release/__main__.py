"""`python -m release`: make the release of the newest commit into a folder."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
import yaml

from release import bills, chart, images, integrity, notes, olm, pins, plugin, provenance, python_packages
from release.platforms import PLATFORMS, Platform
from release.source import CHECKOUT, Source, export
from sandbox.errors import SandboxError

PARTS: Final = ("python", "plugin", "images", "chart")
"""In the order in which they are made: the chart names the images' digests."""

LAYOUT: Final = "images"


@click.command()
@click.option("--into", type=click.Path(path_type=Path), default=CHECKOUT / "dist", show_default="dist")
@click.option("--registry", default="", help="Where the images will be, such as registry.example/team.")
@click.option("--url", default=plugin.NO_RELEASE, help="The folder from which the files will be downloaded.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Sign with this private key.")
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice(list(PLATFORMS)),
    help="A platform of the plugin, once for each.  [default: all]",
)
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
def main(
    into: Path, registry: str, url: str, key: Path | None, platforms: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    """Make the release of the newest commit, or only some of its parts."""
    signer = None if key is None else _signer(key)
    chosen = parts or PARTS
    systems = [platform for platform in PLATFORMS.values() if not platforms or platform.name in platforms]
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = export(Path(scratch) / "source")
        if source.left_out:
            click.echo(f"Not in the release, since it is not committed: {', '.join(source.left_out)}", err=True)
        version = _version(source)
        try:
            for path in _made(chosen, source, version, into, registry=registry, url=url, platforms=systems):
                click.echo(f"{path.relative_to(into)}  {_size(path)}")
        except SandboxError as error:
            raise click.ClickException(str(error)) from error
        parameters = {
            "parts": " ".join(chosen),
            "platforms": " ".join(platform.name for platform in systems),
            "registry": registry,
            "url": url,
        }
        _close(into, source, parameters, signer)
    click.echo(f"{into}: heartbeat-tuner {version} from commit {source.commit[:12]}")


def _made(
    parts: tuple[str, ...],
    source: Source,
    version: str,
    into: Path,
    *,
    registry: str,
    url: str,
    platforms: Iterable[Platform],
) -> Iterator[Path]:
    """Make the parts; yield each file or folder when it is there."""
    yield _write(into / "NOTES.md", notes.notes((source.folder / "CHANGELOG.md").read_text(), version))
    if "python" in parts or "plugin" in parts:
        core = bills.bill(source, bills.locked(source, pins.LOCK, pins.distributions()))
        yield _write(into / f"heartbeat_tuner-{version}.cdx.json", core)
    if "python" in parts:
        yield from python_packages.make(source, into)
    if "plugin" in parts:
        yield from plugin.make(source, into, platforms, core, url=url)
    digests: dict[str, str] = {}
    if "images" in parts:
        digests = images.make(source, version, into / LAYOUT)
        yield into / LAYOUT
        for target, digest in digests.items():
            lock = bills.locked(source, images.LOCKS[target])
            text = bills.bill(source, lock, images.debian_packages(into / LAYOUT, digest))
            yield _write(into / f"{chart.IMAGES[target].repository}-{version}.image.cdx.json", text)
    if "chart" in parts:
        packed_chart = chart.Chart(source, version, registry, digests)
        with tempfile.TemporaryDirectory() as scratch:
            yield _write(into / f"{chart.NAME}-{version}.tgz", packed_chart.archive(Path(scratch)))
            manifest = packed_chart.manifest(Path(scratch))
            yield _write(into / "install.yaml", manifest)
            about = yaml.safe_load((source.folder / "charts" / chart.NAME / "Chart.yaml").read_text())
            bundle = olm.bundle(yaml.safe_load_all(manifest), about, version)
            yield _write(into / f"{chart.NAME}-{version}.olm.tgz", bundle)


def _close(into: Path, source: Source, parameters: dict[str, str], signer: integrity.Signer | None) -> None:
    """Write provenance and sums of all that is there, and sign both if there is a key."""
    files = sorted(path for path in into.rglob("*") if path.is_file())
    digests = {str(path.relative_to(into)): integrity.digest(path) for path in files}
    statement = provenance.statement(source, digests, parameters)
    files.append(_write(into / "provenance.json", json.dumps(statement, indent=1, sort_keys=True) + "\n"))
    sums = _write(into / integrity.SUMS, integrity.sums(files, into))
    if signer is None:
        click.echo("Not signed: no --key was given.", err=True)
        return
    _write(into / "provenance.dsse.json", json.dumps(provenance.envelope(statement, signer)) + "\n")
    _write(into / f"{integrity.SUMS}.sig", signer.signature(sums.read_bytes()))
    _write(into / "cosign.pub", signer.public_key())


def _signer(key: Path) -> integrity.Signer:
    try:
        return integrity.Signer(key.read_bytes())
    except (ValueError, TypeError) as error:
        raise click.BadParameter(
            f"{key}: {error}; make one with `openssl ecparam -name prime256v1 -genkey -noout`", param_hint="--key"
        ) from error


def _version(source: Source) -> str:
    text = (source.folder / "operator" / "heartbeat_tuner" / "__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _size(path: Path) -> str:
    files = path.rglob("*") if path.is_dir() else [path]
    return f"{sum(file.stat().st_size for file in files if file.is_file()) / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
