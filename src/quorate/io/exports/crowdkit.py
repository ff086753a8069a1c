"""crowd-kit's table with one row per answer and the columns task, worker, label (https://crowd-kit.readthedocs.io).

Before version 1.0, the column of workers was called performer; in cleanlab's long table it is called annotator
(https://docs.cleanlab.ai/stable/cleanlab/multiannotator.html).
"""

from collections.abc import Iterator

from quorate.io.dataframes import check_columns
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, assemble, export_of_columns
from quorate.io.options import ROLES, ReadOptions

WORKERS = ("worker", "performer", "annotator")


def _recognise(content: Content) -> bool:
    return {"task", "label"} <= set(content.fields) and any(name in content.fields for name in WORKERS)


def _read(content: Content, reading: ReadOptions) -> Export:
    worker = reading.worker or next((name for name in WORKERS if name in content.fields), "worker")
    names = (reading.task or "task", worker, reading.label or reading.question or "label")
    check_columns(content.fields, dict(zip(names, map(reading.remedy, ROLES), strict=True)), content.name)
    if content.layout == "rows":
        export = export_of_columns("crowdkit", content, reading, names)
        if export is not None:
            return export
    return assemble("crowdkit", content, reading, [names[2]], lambda _: _find(content, names), typed_labels=True)


FORMAT = Format(
    "crowdkit",
    "a plain table with one row per answer: task, worker, label (crowd-kit)",
    "the columns 'task', 'worker' (or 'performer', 'annotator') and 'label'",
    _recognise,
    _read,
)


def _find(content: Content, names: tuple[str, str, str]) -> Iterator[FoundAnswer]:
    if content.layout == "rows":
        rows = zip(*(content.table.column(name).to_pylist() for name in names), strict=True)
    else:
        rows = zip(*([record.get(name) for record in content.records] for name in names), strict=True)
    for number, (task, worker, label) in enumerate(rows, start=1):
        yield FoundAnswer(task, worker, label, f"row {number:,}")
