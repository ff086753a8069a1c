"""An Arrow table that also turns into pandas or polars, where those are installed."""

from typing import Any

import pyarrow as pa

from quorate.errors import QuorateError


class Table:
    """A thin coat over `pyarrow.Table`: everything the table can do, this can, and it speaks Arrow to other libraries.

    >>> table = Table(pa.table({"label": ["cat", "dog"]}))
    >>> table.num_rows, table["label"].to_pylist(), pa.table(table).column_names
    (2, ['cat', 'dog'], ['label'])
    """

    __slots__ = ("arrow",)

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    def to_arrow(self) -> pa.Table:
        """Return the `pyarrow.Table` itself."""
        return self.arrow

    def to_pandas(self, **options: Any) -> Any:
        """Return a `pandas.DataFrame`; needs pandas."""
        try:
            return self.arrow.to_pandas(**options)
        except ModuleNotFoundError:
            raise QuorateError("pandas is not installed: pip install 'quorate[pandas]'") from None

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`; needs polars."""
        try:
            import polars
        except ImportError:
            raise QuorateError("polars is not installed: pip install 'quorate[polars]'") from None
        return polars.from_arrow(self.arrow)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.arrow, name)

    def __getitem__(self, key: Any) -> Any:
        return self.arrow[key]

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __eq__(self, other: object) -> bool:
        return bool(self.arrow.equals(other.arrow if isinstance(other, Table) else other))

    __hash__ = None  # type: ignore[assignment]  # a table is a value, like the one inside

    def __repr__(self) -> str:
        return repr(self.arrow)
