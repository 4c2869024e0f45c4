"""Models in a folder: the same documents, replaced whole, by one fit at a time."""

import dataclasses
import fcntl
import json
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat_tuner.adapters.files.model_files import ModelFiles, ModelFilesError
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unreadable
from heartbeat_tuner.ports.stored_models import Written
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from tests.support import fitted


def groups(*names: str, namespace: str = "shop") -> list[GroupModel]:
    """Return a model for each group."""
    return [fitted.model(group=name, namespace=namespace) for name in names]


def test_models_come_back_and_only_what_differs_is_written(tmp_path: Path) -> None:
    """Another run that says the same touches no file."""
    files, group = ModelFiles(tmp_path / "a" / "b"), groups("orders", "Bills")
    assert files.read() == []
    assert files.write(group) == Written(2, 0, [])
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert files.write([dataclasses.replace(item, job="2") for item in group]) == Written(0, 2, [])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == written
    assert files.write([dataclasses.replace(group[0], days=15), group[1]]) == Written(1, 1, [])
    assert {item.model.group: item.model for item in files.read() if isinstance(item, Fitted)} == {
        "orders": dataclasses.replace(group[0], days=15),
        "Bills": group[1],
    }
    assert (tmp_path / "a" / "b" / "shop" / "orders.json").exists()


def test_pods_without_a_namespace_have_their_models_in_the_folder_itself(tmp_path: Path) -> None:
    """There is not always a Kubernetes."""
    files = ModelFiles(tmp_path)
    assert files.write(groups("orders", namespace="")).written == 1
    assert (tmp_path / "orders.json").exists()
    (found,) = files.read()
    assert isinstance(found, Fitted)
    assert found.model.namespace == ""


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Groups and namespaces are what metrics say."""
    files = ModelFiles(tmp_path / "models")
    report = files.write([*groups("../../orders"), *groups("orders", namespace="../elsewhere"), *groups("..")])
    assert report.written == 2
    assert "'../elsewhere' is no name of a Kubernetes namespace" in report.failed[0]
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "models" / "shop"}


def test_what_a_killed_fit_left_is_neither_read_nor_left(tmp_path: Path) -> None:
    """A file is replaced whole or not at all."""
    files = ModelFiles(tmp_path)
    (tmp_path / "shop").mkdir()
    left = tmp_path / "shop" / ".orders.json.tmp"
    left.write_text('{"half a')
    assert files.read() == []
    files.write(groups("orders"))
    assert not left.exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"spec": 3}', "[" * 100_000, "\0"])
def test_a_file_that_is_no_model_is_replaced(tmp_path: Path, text: str) -> None:
    """Whoever wrote it."""
    path = tmp_path / "shop" / "orders.json"
    path.parent.mkdir()
    path.write_text(text)
    files = ModelFiles(tmp_path)
    assert files.read() == []
    assert files.write(groups("orders")).written == 1
    assert len(files.read()) == 1


def test_a_model_that_cannot_be_used_is_read_as_such(tmp_path: Path) -> None:
    """It says whose it is, by its place."""
    document = model_documents.document_of(fitted.model())
    document["spec"]["quantities"][0]["tail"]["shape"] = 2
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders.json").write_text(json.dumps(document))
    (found,) = ModelFiles(tmp_path).read()
    assert isinstance(found, Unreadable)
    assert (found.namespace, found.group) == ("shop", "orders")


def test_a_rejected_tail_keeps_the_last_good_one(tmp_path: Path) -> None:
    """As in a cluster."""
    files = ModelFiles(tmp_path)
    files.write([fitted.model()])
    bad = fitted.model(
        until=fitted.UNTIL + timedelta(days=1),
        quantities={"absence": fitted.quantity(tail=Rejected(RejectionReason.BAD_FIT, "9.1"))},
    )
    files.write([bad])
    (found,) = files.read()
    assert isinstance(found, Fitted)
    stored = found.model.quantities["absence"].kept
    assert stored is not None
    assert (stored.tail, stored.until) == (fitted.TAIL, fitted.UNTIL)


def test_two_fits_do_not_write_at_once(tmp_path: Path) -> None:
    """The second one says so, and can write when the first has ended."""
    files = ModelFiles(tmp_path)
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ModelFilesError, match="another fit writes into it; wait"):
            files.write(groups("orders"))
    assert files.write(groups("orders")).written == 1


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFilesError, match=r"file/models: cannot be written to \(Not a directory\); name another"):
        ModelFiles(tmp_path / "file" / "models").write(groups("orders"))


def test_a_file_that_cannot_be_written_costs_its_model_only(tmp_path: Path) -> None:
    """The others are there; the failure says which is not."""
    (tmp_path / "shop" / "orders.json").mkdir(parents=True)
    report = ModelFiles(tmp_path).write(groups("orders", "bills"))
    assert report.written == 1
    assert len(report.failed) == 1
    assert "model of group shop/orders not written" in report.failed[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_ends_the_run_and_keeps_what_was_there(tmp_path: Path) -> None:
    """The half file is not the model."""
    files = ModelFiles(tmp_path)
    files.write(groups("orders"))
    (tmp_path / "shop" / ".orders.json.tmp").symlink_to("/dev/full")
    report = files.write([dataclasses.replace(group, days=15) for group in groups("orders", "bills", "more")])
    assert report.written == 0
    assert "No space left" in report.failed[0]
    assert report.failed[1] == f"{tmp_path}: 2 more models not tried"
    (found,) = files.read()
    assert isinstance(found, Fitted)
    assert found.model.days == 14
