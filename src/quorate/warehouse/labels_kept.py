"""Labels that were written piece by piece, to a file or a table; how sure they are, and how to have them here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quorate.addresses import render_address
from quorate.arrays import Table
from quorate.errors import NotInMemoryError, OptionError
from quorate.reading.files import read_table
from quorate.result import Result
from quorate.voting.vote import Sureness
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.source import json_lines_in


@dataclass(frozen=True)
class KeptLabels:
    """Labels that are read when somebody asks for them.

    A copy by pickle has the figures and what was read before; of files that were only for the time being, no more.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> result = quorate.warehouse.aggregate(rows, "majority", most=0)
    >>> result.vote.sureness().doubtful, result.engine_table.columns[:2]
    (1, ('task', 'label'))
    """

    engine: Engine
    figures: Sureness
    output: str | Path | None = field(default=None, repr=False)  # the file or the table that the caller named
    in_table: bool = False  # whether that is a table of the engine
    file: Path | None = None  # what was written, there or for the time being
    columns: tuple[str, ...] = ()  # of what was written
    keeper: Any = field(default=None, repr=False)  # who removes a file that is for the time being, when it goes itself

    @property
    def table(self) -> EngineTable:
        """The labels as an ibis table: of the engine, or of a DuckDB that reads the file."""
        import ibis

        if self.in_table:
            database, _, own = str(self.output).rpartition(".")
            return self.engine.backend.table(own, database=database or None)
        backend = ibis.duckdb.connect()
        file = str(self._file())
        ending = Path(file).suffix.lower()
        ids = ("task", "label")  # DuckDB would make numbers of text such as 007
        if ending == ".csv":
            found: EngineTable = backend.read_csv(file, types=dict.fromkeys(ids, "VARCHAR"))
        elif ending == ".jsonl":
            found = json_lines_in(Engine(backend), file, ids)
        else:
            found = backend.read_parquet(file)
        return found

    def sureness(self) -> Sureness:
        """Return how sure the labels are."""
        return self.figures

    def labels(self) -> Table:
        """Read the labels, in the order of the tasks."""
        return Table(pa.Table.from_batches(self.batches()).sort_by("task"))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the labels piece by piece."""
        if self.in_table:
            return self.engine.stream(self.table, "handing out the labels")
        file = self._file()
        if file.suffix.lower() in (".parquet", ".pq"):
            from pyarrow import parquet

            return iter(parquet.ParquetFile(file).iter_batches())
        return iter(_typed(read_table(file, dict.fromkeys(self.columns, ""))).to_batches())

    def run(self) -> dict[str, str | list[str] | None]:
        """Tell where the labels come from: the engine, the queries that ran there, and what was written."""
        output = None if self.output is None else render_address(self.output)
        return {"engine": self.engine.name, "output": output, "queries": list(self.engine.journal)}

    def _file(self) -> Path:
        if self.file is None or not self.file.exists():
            written = "" if self.output is None else f"; they were written to {render_address(self.output)}"
            raise NotInMemoryError(
                f"this copy of a result has no labels: they lie in {self.engine.name}, or in files of the process that "
                f"made it{written}. Ask for `labels` before the result is pickled, and they travel with it"
            )
        return self.file

    def __getstate__(self) -> dict[str, object]:
        file = None if self.keeper is not None else self.file
        return {**vars(self), "engine": self.engine.without_connection(), "file": file, "keeper": None}

    def __deepcopy__(self, memo: dict[int, object]) -> "KeptLabels":
        return self


def _typed(table: pa.Table) -> pa.Table:
    """Give text its types: all fields of CSV are read as text, and those without a value as empty."""
    kinds = {"n_answers": pa.int64(), "n_abstained": pa.int64(), "tied": pa.bool_()}
    for k, name in enumerate(table.column_names):
        if name not in ("task", "status"):
            kind = table.column(name).type if name == "label" else kinds.get(name, pa.float64())
            table = table.set_column(k, name, _null_where_empty(table.column(name)).cast(kind))
    return table


def _null_where_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)


def kept_labels(result: Result) -> KeptLabels:
    """Return the labels of a result where they lie.

    Raises:
        OptionError: they are in memory.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> kept_labels(quorate.warehouse.aggregate(rows, "majority", most=0)).run()["queries"]
    ['counting the rows', 'reading the answers']
    """
    if not isinstance(result.vote, KeptLabels):
        raise OptionError("no engine holds these labels: they are in memory")
    return result.vote
