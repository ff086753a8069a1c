"""Read pairwise comparisons from any source; of Label Studio and Argilla exports, pairwise and ranking questions.

Label Studio: `pairwise` results name a side (https://labelstud.io/tags/pairwise); `ranker` results hold ids in order
(https://labelstud.io/tags/ranker). Argilla: a RankingQuestion's value is a list of {value, rank}.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.errors import InputError, MissingColumnError, OptionError, listing, shown
from quorate.io.detect_pairs import ITEM_NAMES, PairLayout, PairOptions, check_chosen, find_layout, normal_name
from quorate.io.exports.argilla import RECORD, responses_of
from quorate.io.exports.content import Content, Record, as_text, look
from quorate.io.exports.label_studio import TASK, name_of
from quorate.io.exports.schema import check_records
from quorate.io.open_file import hold
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.pairs import PairProposal, PairRows, find_matrix, has_matrix_names, looks_like_pairs, read_pair_rows
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table

SAMPLE_ROWS = 200  # rows that decide whether a table looks like comparisons


@dataclass(frozen=True)
class ComparisonTable:
    """A table of comparisons, its layout, and the name of the source."""

    table: pa.Table
    layout: PairLayout
    name: str


@keep_pipes()
def read_pairs(source: Source, options: PairOptions | None = None, reading: ReadOptions = AS_USUAL) -> PairRows:
    """Read pairwise comparisons from a file, a table object, or an export of Label Studio or Argilla.

    Raises:
        InputError: the comparisons cannot be used; each cause has its own class, and the message names the rows.

    >>> rows = read_pairs({"left": ["a", "b"], "right": ["b", "a"], "winner": ["left", "tie"]})
    >>> rows.items, rows.outcome.tolist()
    (('a', 'b'), [1, 0])
    """
    options = options or PairOptions()
    pairs = pair_table(source, options, reading)
    return read_pair_rows(pairs.table, pairs.layout, options, name=pairs.name)


def pair_table(source: Source, options: PairOptions, reading: ReadOptions = AS_USUAL) -> ComparisonTable:
    """Return the table of the columns that hold comparisons in a source, and its layout.

    Raises:
        MissingColumnError: no columns look like comparisons.
    """
    if isinstance(source, str | Path | list | tuple):
        source, options = _as_columns(source, options, reading)
    content = look(hold(_named_rows(source)), reading)
    nested = nested_pairs(content, options)
    if nested is not None:
        layout = find_layout(nested.column_names, PairOptions())
        assert layout is not None  # `nested_pairs` made the table in a known layout
        return ComparisonTable(nested, layout, content.name)
    if options.left is None and options.right is None and not options.winners and _may_be_matrix(content):
        check_chosen(content.fields, options)
        return _matrix(content, reading)
    try:
        layout = find_layout(content.fields, options) if content.fields else None
    except MissingColumnError:
        content.check_readable()
        raise
    if layout is None:
        if not content.fields:
            read_table(content.source, {"left": ""}, reading)  # raises the error that says what is wrong
        content.check_readable()
        raise MissingColumnError(
            f"{content.name} has the columns {listing(content.fields, 12)}, and none of them look like two items "
            "and a winner. Name them with left=, right= and winner= (--left, --right and --winner)"
        )
    columns = dict.fromkeys(
        [*layout.columns, *options.extra_columns], "Name the columns with --left, --right and --winner"
    )
    known = content.reading if content.layout == "rows" else reading
    return ComparisonTable(read_table(content.source, columns, known), layout, content.name)


def _as_columns(source: Any, options: PairOptions, reading: ReadOptions) -> tuple[Any, PairOptions]:
    """Return several files, a folder or a JSON document as columns, with the options; any other source unchanged.

    If several files have no column of judges, each file is taken for the comparisons of one judge, with its name.
    """
    from quorate.io.frame import frame_of
    from quorate.io.several_files import content_of, expand_files
    from quorate.io.values import FROM_FILE

    files = expand_files(source)
    is_several = files is not None and len(files) > 1
    if files is None and source == "-":
        return source, options
    content = content_of(source, reading)
    is_document = content.layout == "records" and not content.json_lines and nested_pairs(content, options) is None
    if not is_several and not is_document:
        return (source if files is None else files[0]), options
    frame = frame_of(content, sample=False)
    columns = {name: frame.texts(name) for name in frame.columns}
    if is_several and options.judge is None:
        layout = find_layout(list(columns), replace(options, judge=None))
        if layout is not None and layout.judge is None:
            options = replace(options, judge=FROM_FILE)
    return columns, options


def _named_rows(source: Any) -> Any:
    """Return a matrix of wins as columns, the first with the names of the rows; any other source unchanged.

    The items of a square numpy array are 0, 1, ..., as in choix; those of a pandas data frame are its index.
    """
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[0] == source.shape[1]:
        columns: dict[str, Any] = {"item": [str(number) for number in range(len(source))]}
        return columns | {str(number): source[:, number] for number in range(len(source))}
    if hasattr(source, "reset_index") and hasattr(source, "columns"):
        index = [str(value) for value in source.index]
        if len(index) > 1 and sorted(index) == sorted(str(name) for name in source.columns):
            frame: Any = source
            return {"item": index} | {str(name): frame[name].to_numpy() for name in frame.columns}
    return source


def _may_be_matrix(content: Content) -> bool:
    if content.layout != "rows" or not content.fields:
        return False
    return has_matrix_names(content.fields, [record.get(content.fields[0]) for record in content.sample])


def _matrix(content: Content, reading: ReadOptions) -> ComparisonTable:
    """Read a square matrix of wins.

    Raises:
        InputError: an item has only a row or only a column.
    """
    table = read_table(content.source, dict.fromkeys(content.fields, ""), content.reading or reading)
    row_names = table.column(content.fields[0]).to_pylist()
    layout = find_matrix(content.fields, row_names)
    if layout is None:
        rows = {as_text(name) for name in row_names}
        lacking = [name for name in content.fields[1:] if name.strip() not in rows]
        raise InputError(
            f"{content.name} looks like a matrix of wins, but no row is named {listing(lacking)}, or a name occurs "
            "twice; give every item one row and one column of the same name"
        )
    return ComparisonTable(table, layout, content.name)


def propose_rank(content: Content) -> PairProposal | None:
    """Return the proposal to rank a source of pairwise comparisons; None for any other source.

    `aggregate` and `doctor` use it; the proposal contains the exact `quorate rank` command.
    """
    kinds = set(_question_kinds(content))
    if kinds and kinds <= {"pairwise", "ranker", "ranking"}:
        return PairProposal(
            PairLayout("rankings" if "pairwise" not in kinds else "winner", "left", "right"),
            f"quorate rank {content.name}",
        )
    if content.layout not in ("rows", "records") or not content.fields:
        return None
    if looks_like_pairs(content.fields) is None and not _may_be_matrix(content):
        return None
    try:
        head = content.sample[:SAMPLE_ROWS] if content.layout == "rows" else content.records[:SAMPLE_ROWS]
        columns = {
            name: pa.array([as_text(record.get(name)) for record in head], pa.string()) for name in content.fields
        }
    except Exception:
        return None
    pair_table = looks_like_pairs(pa.table(columns), content.name)
    if pair_table is None or pair_table.layout.left not in columns or pair_table.layout.right not in columns:
        return pair_table
    items = [item for name in (pair_table.layout.left, pair_table.layout.right) for item in columns[name].to_pylist()]
    # Items that all occur only once, such as texts of answers, cannot be ranked.
    return None if len(set(items)) == len(items) > 2 else pair_table


def nested_pairs(content: Content, options: PairOptions) -> pa.Table | None:
    """Return the comparisons of a Label Studio or Argilla export as a plain table; None for any other source."""
    if content.layout != "records":
        return None
    fields = set(content.fields)
    if "data" in fields and fields & {"annotations", "completions"}:
        return _from_label_studio(content, options)
    if "responses" in fields and fields & {"fields", "suggestions"}:
        return _from_argilla(content)
    return None


def _question_kinds(content: Content) -> Iterator[str]:
    """Yield the kind of each result or response in a nested export; nothing for other sources."""
    if content.layout != "records":
        return
    fields = set(content.fields)
    try:
        if "data" in fields and fields & {"annotations", "completions"}:
            for record in content.records[:SAMPLE_ROWS]:
                for _, result in _results(record):
                    yield str(result.get("type"))
        elif "responses" in fields and fields & {"fields", "suggestions"}:
            for number, record in enumerate(content.records[:SAMPLE_ROWS], start=1):
                for question, value, *_ in responses_of(record, number):
                    if question:
                        yield "ranking" if _argilla_order(value) is not None else "other"
    except (AttributeError, TypeError):
        return


def _results(record: Record) -> Iterator[tuple[Record, Record]]:
    for annotation in [*(record.get("annotations") or []), *(record.get("completions") or [])]:
        if not isinstance(annotation, Mapping) or annotation.get("was_cancelled") or annotation.get("skipped"):
            continue
        for result in annotation.get("result") or []:
            if isinstance(result, Mapping):
                yield dict(annotation), dict(result)


def _from_label_studio(content: Content, options: PairOptions) -> pa.Table:
    check_records(content.records, TASK, "Label Studio", "task")
    pairs: list[dict[str, Any]] = []
    rankings: list[dict[str, Any]] = []
    for number, record in enumerate(content.records, start=1):
        data = record.get("data") or {}
        task = as_text(record.get("id")) or str(number)
        for annotation, result in _results(record):
            judge = as_text(name_of(annotation.get("completed_by"))) or "judge"
            value = result.get("value") or {}
            if result.get("type") == "pairwise":
                left, right = _sides_in(data, options, content.name, task)
                selected = value.get("selected")
                selected = selected[0] if isinstance(selected, list) and selected else selected
                row = {"left": as_text(data.get(left)), "right": as_text(data.get(right)), "winner": as_text(selected)}
                pairs.append({**row, "judge": judge, "task": task})
            elif result.get("type") == "ranker":
                order = _ranker_order(value.get("ranker"), content.name, task)
                rankings.append({"order": [[name] for name in order], "judge": judge, "task": task})
    return _plain_table(pairs, rankings, content.name, "pairwise or ranker results")


def _sides_in(data: Record, options: PairOptions, name: str, task: str) -> tuple[str, str]:
    """Return the names of the two fields of a task's data that were compared."""
    if options.left is not None and options.right is not None:
        for column in (options.left, options.right):
            if column not in data:
                raise MissingColumnError(
                    f"task {shown(task)} of {name} has no field {shown(column)}; it has {listing(data, 12)}"
                )
        return options.left, options.right
    plain = {normal_name(field): field for field in data}
    sides = next(((plain[a], plain[b]) for a, b in ITEM_NAMES if a in plain and b in plain), None)
    if sides is None:
        raise MissingColumnError(
            f"the tasks of {name} have the fields {listing(data, 12)}, and it is not clear which two were compared; "
            "name them with left= and right= (--left and --right)"
        )
    return sides


def _ranker_order(value: Any, name: str, task: str) -> list[str]:
    lists = [ranked for key, ranked in value.items() if key != "_"] if isinstance(value, Mapping) else [value]
    if len(lists) != 1 or not isinstance(lists[0], Sequence):
        raise InputError(
            f"the ranker of task {shown(task)} in {name} sorts items into buckets, whose order is unknown; only a "
            "ranker without buckets is a ranking"
        )
    return [text for item in lists[0] if (text := as_text(item)) is not None]


def _argilla_order(value: Any) -> list[list[str]] | None:
    """Return the ranked values as groups of equal rank, the best first; None if the value is not a ranking."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(entry, Mapping) and "rank" in entry for entry in value)
        or not all((as_text(entry["rank"]) or "0").isdecimal() for entry in value)
    ):
        return None
    ranks: dict[int, list[str]] = {}
    for entry in value:
        text = as_text(entry.get("value"))
        rank = as_text(entry["rank"])
        if text is not None and rank is not None:
            ranks.setdefault(int(rank), []).append(text)
    return [ranks[rank] for rank in sorted(ranks)]


def _from_argilla(content: Content) -> pa.Table:
    check_records(content.records, RECORD, "Argilla", "record")
    rankings: list[dict[str, Any]] = []
    questions: dict[str, None] = {}
    for number, record in enumerate(content.records, start=1):
        task = as_text(record.get("id")) or str(number)
        for question, value, user, _ in responses_of(record, number):
            order = _argilla_order(value)
            if order is not None:
                questions[question] = None
                rankings.append({"order": order, "judge": as_text(user) or "judge", "task": task})
    if len(questions) > 1:
        raise OptionError(
            f"{content.name} has several ranking questions, {listing(questions)}; export the records of one of them"
        )
    return _plain_table([], rankings, content.name, "answers to a ranking question")


def _plain_table(pairs: list[dict[str, Any]], rankings: list[dict[str, Any]], name: str, expected: str) -> pa.Table:
    if pairs and rankings:
        raise OptionError(f"{name} holds both pairwise and ranker results; export one of them")
    if pairs:
        return pa.table({key: pa.array([row[key] for row in pairs], pa.string()) for key in pairs[0]})
    if not rankings:
        raise InputError(f"{name} holds no {expected}, so there is nothing to rank")
    width = max(2, *(sum(len(level) for level in row["order"]) for row in rankings))  # a comparison needs two items
    columns: dict[str, list[Any]] = {f"item{position + 1}": [] for position in range(width)}
    columns |= {f"rank{position + 1}": [] for position in range(width)}
    for row in rankings:
        flat: list[tuple[Any, Any]] = [
            (item, rank) for rank, level in enumerate(row["order"], start=1) for item in level
        ]
        flat += [(None, None)] * (width - len(flat))
        for position, (item, rank) in enumerate(flat, start=1):
            columns[f"item{position}"].append(item)
            columns[f"rank{position}"].append(rank)
    table = {
        key: pa.array(values, pa.string() if key.startswith("item") else pa.int64()) for key, values in columns.items()
    }
    table["judge"] = pa.array([row["judge"] for row in rankings], pa.string())
    table["task"] = pa.array([row["task"] for row in rankings], pa.string())
    return pa.table(table)
