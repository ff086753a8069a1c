"""Files, a table of an engine, or an ibis table -> a connection and the columns task, worker, label there."""

from pathlib import Path

from quorate.errors import (
    ColumnTypeError,
    EngineError,
    MissingColumnError,
    OptionError,
    UnknownFormatError,
    UnreadableFileError,
    listing,
)
from quorate.reading.files import COMPRESSIONS, FORMATS, Source, read_table
from quorate.warehouse.engine import Engine, connect
from quorate.warehouse.expressions import EngineTable


def open_source(
    source: Source = None,
    *,
    engine: str | None = None,
    memory: str | None = None,
    temp: str | None = None,
    master: str | None = None,
    url: str | None = None,
    table: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    order: str | None = None,
) -> tuple[Engine, EngineTable]:
    """Find the answers: where they lie, and as an ibis table with the columns task, worker, label (and order).

    Args:
        source: a path or a pattern (``answers/*.parquet``; CSV and JSON lines too), an ibis table, or one in memory.
        engine: see `quorate.warehouse.engine.connect`, as memory, temp, master and url.
        memory: see there.
        temp: see there.
        master: see there.
        url: an ibis connection string.
        table: the name of a table there, instead of a source; ``database.name`` where it is not in the default one.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, where the name does not say.
        delimiter: what separates the fields of a CSV file, if it is no comma.
        task: the column of task ids.
        worker: the column of worker ids.
        label: the column of labels.
        order: the column that says which of two answers came first.

    Raises:
        EngineError: the engine is not there.
        InputError: the answers are not there, or have no such columns.

    >>> _, answers = open_source({"item": [1], "who": ["ann"], "label": ["cat"]}, task="item", worker="who")
    >>> answers.columns
    ('task', 'worker', 'label')
    """
    wanted = {"task": task, "worker": worker, "label": label} | ({} if order is None else {"order": order})
    if table is not None:
        if source is not None:
            raise OptionError("give files or a table (--table), not both")
        home = connect(engine, memory=memory, temp=temp, master=master, url=url)
        found = _table(home, table)
    elif type(source).__module__.partition(".")[0] == "ibis":
        home, found = Engine(source.get_backend()), source
    elif source is None:
        raise OptionError("no answers: give files, or the name of a table (--table)")
    else:
        home = connect(engine, memory=memory, temp=temp, master=master, url=url)
        found = (
            _file(home, source, format, delimiter) if isinstance(source, str | Path) else _object(home, source, wanted)
        )
    return home, _select(found, wanted)


def _table(home: Engine, name: str) -> EngineTable:
    database, _, own = name.rpartition(".")
    try:
        return home.backend.table(own, database=database or None)
    except Exception as error:
        raise EngineError(f"{home.name} has no table {name!r} ({str(error).splitlines()[0][:200]})") from error


def _file(home: Engine, source: str | Path, format: str | None, delimiter: str | None) -> EngineTable:
    path = str(source)
    if path == "-":
        raise OptionError("an engine reads files and tables, not standard input; write the answers to a file first")
    kind = format or _kind(path)
    backend, spark = home.backend, home.name == "pyspark"
    mark = delimiter or ("\t" if kind == "tsv" else ",")
    try:
        if kind == "parquet":
            return backend.read_parquet(path)
        if kind == "jsonl":
            return backend.read_json(path)
        # As text, so that an id like 007 comes back as it went in.
        if spark:
            return backend.read_csv(path, header=True, inferSchema=False, sep=mark, multiLine=True, escape='"')
        return backend.read_csv(path, header=True, all_varchar=True, delim=mark)
    except Exception as error:
        raise UnreadableFileError(f"{home.name} cannot read {path}: {str(error).strip().splitlines()[0]}") from error


def _kind(path: str) -> str:
    name = Path(path)
    if name.suffix.lower() in COMPRESSIONS:
        name = name.with_suffix("")
    found = FORMATS.get(name.suffix.lower())
    if found is None:
        raise UnknownFormatError(
            f"cannot tell what kind of files {path} are; end the pattern in .parquet, .csv, .tsv or .jsonl, "
            "or say format= (--input-format)"
        )
    return found


def _object(home: Engine, source: Source, wanted: dict[str, str]) -> EngineTable:
    return home.upload(read_table(source, list(wanted.values())))


def _select(table: EngineTable, wanted: dict[str, str]) -> EngineTable:
    for own, name in wanted.items():
        if name not in table.columns:
            raise MissingColumnError(
                f"the answers have no column {name!r}; they have {listing(table.columns, 12)}. "
                f"Name the right one with {own}= (--{own})"
            )
        kind = table[name].type()
        if kind.is_nested():
            raise ColumnTypeError(
                f"column {name!r} holds {kind} values; an id or a label must be text, a number or a date"
            )
    return table.select(**{own: table[name] for own, name in wanted.items()})
