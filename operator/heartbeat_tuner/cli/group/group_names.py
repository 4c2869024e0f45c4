"""The groups that a shell completes: those of a folder of models. No Prometheus is asked, the shell would wait."""

from pathlib import Path

import click

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.cli.checking.completion import beginning
from heartbeat_tuner.models.group_model import Fitted


def group_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the groups in the folder of models that the line names, if they begin like this."""
    folder = context.params.get("models")
    if not isinstance(folder, Path) or not folder.is_dir():
        return []
    models = (model for model in ModelFiles(folder).read() if isinstance(model, Fitted))
    return beginning(incomplete, sorted({model.model.group for model in models}))
