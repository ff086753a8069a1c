"""The outcome of a vote in an engine: a table there, how sure it is, and how to have it here."""

from dataclasses import dataclass
from pathlib import Path

from quorate.arrays import Table
from quorate.errors import EngineError, OptionError
from quorate.result import Result
from quorate.voting.vote import SURE, Sureness
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import EngineTable


@dataclass(frozen=True)
class EngineLabels:
    """Labels that stay in the engine until somebody asks for them.

    A copy by pickle has the figures and what was read out before, but not the connection. A deep copy shares it.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> result = quorate.warehouse.aggregate(rows, "majority", most=0)
    >>> result.vote.sureness().doubtful, result.engine_table.columns[:2]
    (1, ('task', 'label'))
    """

    engine: Engine
    held: EngineTable | None  # task, label, confidence, margin, n_answers, tied; None where no vote was held
    figures: Sureness | None = None
    output: str | Path | None = None  # where the labels were written

    @property
    def table(self) -> EngineTable:
        """The labels, as a table of the engine."""
        if self.held is None:
            raise EngineError(self._why_not())
        return self.held

    def sureness(self) -> Sureness:
        """Return how sure the labels are."""
        if self.figures is None:
            raise EngineError(self._why_not())
        return self.figures

    def labels(self) -> Table:
        """Read the labels out of the engine, in the order of the tasks."""
        return Table(self.engine.fetch(self.table.order_by("task"), "handing out the labels"))

    def run(self) -> dict[str, str | list[str] | None]:
        """Tell where the labels come from: the engine, the queries that ran there, and what was written."""
        output = None if self.output is None else str(self.output)
        return {"engine": self.engine.name, "output": output, "queries": list(self.engine.journal)}

    def _why_not(self) -> str:
        if self.figures is None:
            return "no vote was held: quorate.warehouse.aggregate labels the tasks"
        written = "" if self.output is None else f"; they were written to {self.output}"
        return (
            f"this copy of a result has no connection to {self.engine.name}, which has the labels{written}. Ask for "
            "`labels` before the result is pickled, and they travel with it"
        )

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "engine": self.engine.without_connection(), "held": None}

    def __deepcopy__(self, memo: dict[int, object]) -> "EngineLabels":
        return self


def labels_there(result: Result) -> EngineLabels:
    """Return the labels of a result where they lie.

    Raises:
        OptionError: they are in memory.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> labels_there(quorate.warehouse.aggregate(rows, "majority", most=0)).run()["queries"][-1]
    'voting'
    """
    if not isinstance(result.vote, EngineLabels):
        raise OptionError("no engine holds these labels: they are in memory")
    return result.vote


def labels_in(engine: Engine, table: EngineTable, output: str | Path | None) -> EngineLabels:
    """Ask the engine how sure the labels of a table are, all together.

    >>> import pyarrow as pa
    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> labels = engine.upload(pa.table({"task": [1, 2], "confidence": [0.5, 1.0], "tied": [True, False]}))
    >>> labels_in(engine, labels, None).sureness()
    Sureness(mean=0.75, doubtful=1, ties=1)
    """
    figures = table.agg(
        mean=table.confidence.mean(),
        doubtful=(table.confidence < SURE).cast("int64").sum(),
        ties=table.tied.cast("int64").sum(),
    )
    row = engine.backend.to_pyarrow(figures).to_pylist()[0]
    found = Sureness(float(row["mean"]), int(row["doubtful"]), int(row["ties"]))
    return EngineLabels(engine, table, found, output)
