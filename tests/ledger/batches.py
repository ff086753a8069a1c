import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quorate.ledger import Ledger
from quorate.ledger.batch_files import SEAL, to_stream
from quorate.ledger.entries import Batch

Row = tuple[Any, Any, Any]


def table_of(batch: Sequence[Row]) -> dict[str, Any]:
    """Rows as a table; None is a missing field."""
    columns = list(zip(*batch, strict=True)) or [(), (), ()]
    return {
        name: pa.array(column, pa.string()) for name, column in zip(("task", "worker", "label"), columns, strict=True)
    }


def filled(batches: Sequence[Sequence[Row]], *, watched: bool = False, **options: Any) -> Ledger:
    """A ledger of these batches; where it is watched, the pairs are asked for at once and then kept up to date."""
    ledger = Ledger()
    for batch in batches:
        ledger.add(table_of(batch), **options)
        if watched and len(ledger):
            assert ledger.pairs is not None
    return ledger


def stored(ledger: Ledger, folder: Path) -> bytes:
    """All that a ledger holds, as bytes: the one batch that it saves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # hundreds of them take longer than all the rest
        ledger.save(folder / "stored.ledger")
    return stream_of(folder / "stored.ledger")


def stream_of(path: Path) -> bytes:
    """The bytes of the batches of a ledger on disk, in their order."""
    return b"".join(file.read_bytes() for file in sorted(path.glob("*.arrow")))


def contents(path: Path) -> dict[str, bytes]:
    """The files of a ledger on disk."""
    return {file.name: file.read_bytes() for file in path.iterdir()}


def single_file(ledger: Ledger) -> bytes:
    """A ledger as version 0.2 wrote it: one file."""
    stream = bytes(to_stream(Batch(ledger._entries, "error")))
    payload = stream + SEAL + hashlib.sha256(stream).digest()
    return f"quorate ledger 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n".encode() + payload


def handed_out(ledger: Ledger) -> list[bytes]:
    """Everything a ledger hands out that could depend on how it was filled, as bytes."""
    answers, pairs, result = ledger.answers, ledger.pairs, ledger.aggregate("rank-one")
    numbers: list[Any] = [answers.task, answers.worker, answers.label, pairs.i, pairs.j, pairs.shared, pairs.agreed]
    numbers += [
        result.skills,
        result.vote.posterior,
        result.vote.label,
        ledger.aggregate().vote.posterior,
    ]
    names = [answers.task_names, answers.worker_names, answers.classes]
    return [each.tobytes() for each in numbers] + [
        repr(each.to_pylist()).encode() for each in (*names, ledger.skills())
    ]
