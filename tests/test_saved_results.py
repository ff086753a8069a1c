"""A saved result is the result; files that are none, or are from other versions, are refused."""

import json
import pickle
import zipfile
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.advice.advise import AdviceBasis
from quorate.backends.engine import Engine
from quorate.calibration.confidence import ConfidenceBasis
from quorate.diagnostics.diagnose import Diagnosis
from quorate.errors import UnreadableFileError, UnwritableFileError, WrongFormatError
from quorate.interrater.agreement import WorkerAgreement
from quorate.interrater.sums import AgreementSums
from quorate.notes import Note
from quorate.saved_results import FIELDS, HEADER, RENAMED, RENAMED_FIELDS, SCHEMA_VERSION
from quorate.skills.centred_score import CentredInference
from quorate.skills.priors import Priors
from quorate.skills.weak_identification import WeakIdentification
from quorate.voting.vote import Vote

CROWD = quorate.simulate.crowd(80, 8, 4, n_classes=3, seed=3)
TRUTH = {
    name.as_py(): CROWD.answers.classes[int(label)].as_py()
    for name, label in zip(CROWD.answers.task_names, CROWD.truth, strict=True)
}
GOLD = dict(list(TRUTH.items())[::8])
OLDER = Path(__file__).parent / "saved"  # files of an older version; see write.py there
LABELS_OF_OLDER = json.loads((OLDER / "labels.json").read_text())


@pytest.mark.parametrize("gold", [None, GOLD])
@pytest.mark.parametrize("method", ["quorate", "rank-one", "majority", "dawid-skene", "mace", "m-msr"])
def test_a_loaded_result_equals_the_saved_one(method: str, gold: Any, tmp_path: Path) -> None:
    result = quorate.aggregate(CROWD.answers, method, gold=gold)
    result.save(tmp_path / "run.quorate")
    loaded = quorate.load(tmp_path / "run.quorate")
    assert loaded.labels == result.labels
    assert loaded.workers == result.workers
    assert loaded.posterior == result.posterior
    assert loaded.to_dict() == result.to_dict()
    assert loaded.summary() == result.summary()
    assert loaded.diagnosis.summary() == result.diagnosis.summary()  # needs the answers
    assert loaded.score(TRUTH) == result.score(TRUTH)


def test_a_result_with_several_labels_and_abstentions_survives(tmp_path: Path) -> None:
    several = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": ["x;y", "x", "y"]}, multi=";")
    unsure = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": ["x", "?", "y"]}, abstain=["?"])
    for result in (several, unsure):
        result.save(tmp_path / "run.quorate")
        assert quorate.load(tmp_path / "run.quorate").labels == result.labels


def test_labels_that_an_engine_holds_are_part_of_the_file(tmp_path: Path) -> None:
    rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    result = quorate.backends.aggregate(rows, "majority", most=0)
    result.save(tmp_path / "run.quorate")
    assert quorate.load(tmp_path / "run.quorate").labels == result.labels


@pytest.mark.parametrize(
    ("before", "now"),
    [("not-settled", "not-converged"), ("beyond-memory", "in-memory-only"), ("unheard", "unused-abstentions")],
)
def test_kinds_of_notes_that_have_another_name_now_are_read(before: str, now: str, tmp_path: Path) -> None:
    result = quorate.aggregate(CROWD.answers, "majority")
    old = replace(result, notes=(Note(before, "why"), Note("contradiction", "what")))
    old.save(tmp_path / "run.quorate")
    assert [note.kind for note in quorate.load(tmp_path / "run.quorate").notes] == [now, "contradiction"]


@pytest.mark.parametrize("name", sorted(LABELS_OF_OLDER))
def test_a_result_that_an_older_version_saved_can_be_loaded_and_saved_again(name: str, tmp_path: Path) -> None:
    result = quorate.load(OLDER / f"{name}.quorate")
    assert result.labels["label"].to_pylist() == LABELS_OF_OLDER[name]
    assert result.workers["n_answers"].to_pylist() == result.info.per_worker.tolist()
    if name != "engine":  # of which only labels, workers and texts are part of the file
        components = list(result.identifiability.components())
        assert sum(len(part.workers) for part in components) == len(result.identifiability.component)
        assert result.diagnosis.summary()
        assert result.diagnosis.agreement is not None
        assert result.diagnosis.agreement.to_dict()
        assert len(result.diagnosis.agreement.by_worker.agreeing_share) == result.info.n_workers
        assert quorate.advise(result, 5).n_assignments == 5
    result.save(tmp_path / "run.quorate")
    again = quorate.load(tmp_path / "run.quorate")
    assert again.labels == result.labels
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()


def test_present_names_of_what_older_files_contain_exist() -> None:
    for module, name in RENAMED.values():
        assert hasattr(import_module(module), name)
    kinds: list[Any] = [
        AdviceBasis,
        AgreementSums,
        CentredInference,
        ConfidenceBasis,
        Diagnosis,
        Engine,
        Priors,
        Vote,
        WeakIdentification,
        WorkerAgreement,
    ]
    assert [kind.__name__ for kind in kinds] == list(RENAMED_FIELDS)
    for kind in kinds:
        assert {field.name for field in fields(kind)} >= set(RENAMED_FIELDS[kind.__name__].values())


def archive(path: Path, header: Any, fields: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(HEADER, json.dumps(header))
        file.writestr(FIELDS, fields)
    return path


def header(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "quorate result",
        "schema_version": SCHEMA_VERSION,
        "quorate": "0.2.0",
        "method": "quorate",
        **changes,
    }


@pytest.mark.parametrize("content", [b"", b"task,worker,label\n1,a,x\n", b"PK\x03\x04 cut"])
def test_a_file_that_is_no_saved_result_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(WrongFormatError, match=r"labels\.csv is not a saved result"):
        quorate.load(path)


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"absent cannot be read"):
        quorate.load(tmp_path / "absent")
    with pytest.raises(UnwritableFileError, match="folder"):
        quorate.aggregate(CROWD.answers, "majority").save(tmp_path / "no" / "run.quorate")


def test_another_schema_version_is_refused_with_the_version_that_saved_it(tmp_path: Path) -> None:
    path = archive(tmp_path / "run", header(schema_version=SCHEMA_VERSION + 1, quorate="9.9"), b"")
    with pytest.raises(WrongFormatError, match=r"saved by quorate 9\.9 with schema version 2, and this .* reads 1"):
        quorate.load(path)


@pytest.mark.parametrize("kind", [{"kind": "zip"}, ["no", "object"], None])
def test_an_archive_of_something_else_is_refused(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(WrongFormatError, match="is not a saved result"):
        quorate.load(archive(tmp_path / "run", kind, b""))


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_damaged_file_is_refused(keep: int, tmp_path: Path) -> None:
    fields = pickle.dumps(quorate.aggregate(CROWD.answers, "majority"), protocol=5)
    with pytest.raises(WrongFormatError, match="run is damaged"):
        quorate.load(archive(tmp_path / "run", header(), fields[:keep]))


def test_fields_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongFormatError, match="is not a saved result"):
        quorate.load(archive(tmp_path / "run", header(), pickle.dumps([1, 2])))


class Runs:
    """What a harmful pickle would do: call a function when it is read."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call = (call, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    "call",
    [(eval, "1"), (print, "x"), (np.load, "x"), (quorate.Ledger, "x"), (quorate.write_table, None, "x")],
)
def test_a_file_cannot_run_code(call: tuple[Any, ...], tmp_path: Path) -> None:
    with pytest.raises(WrongFormatError, match="does not contain"):
        quorate.load(archive(tmp_path / "run", header(), pickle.dumps(Runs(*call))))
