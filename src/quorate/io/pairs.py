"""Read pairwise comparisons in any of the usual layouts into `PairRows`: left item, right item, and which one won.

`detect_pairs` finds the columns. Here, one function per layout converts them to the same rows: left, right, outcome,
judge, task, weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, canonical_order, counts_of_codes, from_strings
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    InputError,
    NoRowsError,
    OptionError,
    UndeterminedError,
    count,
    listing,
    rows_phrase,
    shown,
)
from quorate.io.column_names import plain_name
from quorate.io.columns import SKIP_REMEDY, encode, in_order_of_ids, number_column, refuse_missing
from quorate.io.detect_pairs import ITEM_NAMES
from quorate.io.detect_pairs import PairLayout as PairLayout
from quorate.io.detect_pairs import PairOptions as PairOptions
from quorate.io.detect_pairs import find_layout as find_layout
from quorate.io.values import id_text, parse_number

LEFT = 1
TIE = 0
RIGHT = -1
UNKNOWN = 9  # a label that is neither an item nor a side nor a tie
ABSTAINED = 8
# A label may name a side by the name of the column of its item.
LEFT_LABELS = {left for left, _ in ITEM_NAMES} | {"1", "x", "first", "l", "awins", "win", ">"}
RIGHT_LABELS = {right for _, right in ITEM_NAMES} | {"2", "y", "second", "r", "bwins", "loss", "<"}
BOTH_BAD_LABELS = frozenset(["tie(bothbad)", "bothbad", "neither", "bothbadtie"])
TIE_LABELS = (
    frozenset(["tie", "draw", "equal", "same", "both", "t", "c", "0.5", "1.5", "none", "ties", "even", "tied", "="])
    | BOTH_BAD_LABELS
)
DEFAULT_JUDGE = "judge"
MIN_MATRIX_ITEMS = 2
MAX_NAMED_SIDES = 3  # with at most so many items, the labels 1 and 2 may be names of items, not sides


@dataclass(frozen=True)
class PairProposal:
    """A table that looks like comparisons, and the command that ranks its items."""

    layout: PairLayout
    command: str

    @property
    def sentence(self) -> str:
        """What the file seems to contain, as the object of a sentence."""
        if self.layout.kind == "rankings":
            return f"rankings of {count(len(self.layout.items), 'item')} per row, not one label per task"
        if self.layout.kind == "matrix":
            items = count(len(self.layout.values), "item")
            return f"a matrix of wins (its rows and columns are the same {items}), not one label per task"
        sides = f"{self.layout.left!r} and {self.layout.right!r}"
        return f"pairwise comparisons (columns {sides}), not one label per task"


def looks_like_pairs(table: Any, name: str = "FILE") -> PairProposal | None:
    """Recognise pairwise comparisons or rankings by the columns of a table and, if it has rows, their values.

    Args:
        table: an Arrow table (a few rows are enough), or the names of its columns.
        name: name of the file, for the command.

    Returns:
        the layout and the command that ranks the items; None for any other table.

    >>> looks_like_pairs(pa.table({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]}), "votes.csv").command
    'quorate rank votes.csv --left model_a --right model_b --winner winner'
    >>> looks_like_pairs(["task", "worker", "label"])
    """
    names = list(table.column_names) if hasattr(table, "column_names") else [str(column) for column in table]
    if len(set(names)) != len(names):
        return None
    has_rows = hasattr(table, "column_names") and table.num_rows > 0
    layout = None
    if has_rows and has_matrix_names(names, table.column(0).to_pylist()):
        layout = find_matrix(names, table.column(0).to_pylist())
        if layout is None or not _has_empty_diagonal(table):
            return None
    else:
        layout = find_layout(names, PairOptions())
    if layout is None:
        return None
    if has_rows and not _values_fit(table, layout):
        return None
    return PairProposal(layout, layout.command(name))


def has_matrix_names(names: Sequence[str], row_names: Sequence[Any]) -> bool:
    """Whether a table may be a matrix of wins: its first column contains names of its other columns, each once.

    Args:
        names: names of the columns.
        row_names: all or the first values of the first column.

    >>> has_matrix_names(["", "ann", "bob"], ["bob", "ann"]), has_matrix_names(["task", "ann", "bob"], ["t1", "t2"])
    (True, False)
    """
    texts = [_text(value) for value in row_names if value is not None]
    columns = {name.strip() for name in names[1:]}
    return len(names) > MIN_MATRIX_ITEMS and 1 < len(texts) == len(set(texts)) and columns.issuperset(texts)


def find_matrix(names: Sequence[str], row_names: Sequence[Any]) -> PairLayout | None:
    """Return the layout of a square matrix of wins; None if the rows are not the same items as the columns.

    Args:
        names: names of the columns.
        row_names: values of the first column.
    """
    columns = {name.strip() for name in names[1:]}
    texts = {_text(value) for value in row_names if value is not None}
    if texts != columns or len(names) - 1 != len(columns) or len(row_names) != len(columns):
        return None
    return PairLayout("matrix", left=names[0], values=tuple(names[1:]))


def _has_empty_diagonal(table: Any) -> bool:
    """Whether no item of a matrix won against itself; otherwise the matrix has correlations, costs or confusions."""
    for row in table.to_pylist():
        item, *_ = row.values()
        cell = next(value for name, value in row.items() if name.strip() == _text(item))
        if cell is not None and str(cell).strip() not in ("", "0", "0.0", "nan", "-"):
            return False
    return True


def _values_fit(table: Any, layout: PairLayout) -> bool:
    """Whether the first 200 rows can be read as comparisons: two different items, and a label that names a winner."""
    head = table.slice(0, 200)
    try:
        rows = read_pair_rows(head.select(layout.columns), layout, PairOptions(skip_missing=True))
    except (InputError, OptionError):
        return False
    return rows.n_rows > 0


@dataclass(frozen=True)
class PairRows:
    """Comparisons as codes, not yet sorted or merged.

    Attributes:
        left, right, judge: codes [rows]; ``items`` and ``judges`` are in canonical order.
        outcome: 1 left, 0 tie, -1 right [rows].
        task: codes [rows]; None if every comparison is a separate task.
        tasks: ids of the tasks, in canonical order.
        group: codes of the values of ``by`` [rows]; None without that option.
        criterion: codes of the values of ``criterion`` [rows]; None without that option.
        left_out: reason -> number of comparisons that were not used for it.
        n_read: number of rows of the table.
        n_both_bad: number of ties whose label says that both items are bad.
        n_self: number of comparisons in which the judge is one of the items.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    judge: IntArray
    weight: FloatArray
    covariates: FloatArray
    covariate_names: tuple[str, ...]
    task: IntArray | None
    tasks: pa.Array
    items: tuple[str, ...]
    judges: tuple[str, ...]
    group: IntArray | None
    groups: tuple[str, ...]
    has_sides: bool
    layout: PairLayout
    left_out: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    n_both_bad: int = 0
    n_self: int = 0
    criterion: IntArray | None = None
    criteria: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of comparisons."""
        return len(self.left)

    def select(self, keep: BoolArray) -> "PairRows":
        """Return the rows of a mask; the codes of items, judges and tasks do not change."""
        by_row = ("left", "right", "outcome", "judge", "weight", "covariates", "task", "group", "criterion")
        columns = {name: getattr(self, name) for name in by_row}
        return replace(self, **{name: values[keep] for name, values in columns.items() if values is not None})

    def drop_unused(self) -> "PairRows":
        """Return the rows with items and judges recoded, without those that occur in no row."""
        items, sides = np.unique(np.concatenate([self.left, self.right]), return_inverse=True)
        judges, judge = np.unique(self.judge, return_inverse=True)
        sides = sides.reshape(-1)
        return replace(
            self,
            left=sides[: self.n_rows],
            right=sides[self.n_rows :],
            judge=judge.reshape(-1),
            items=tuple(self.items[code] for code in items),
            judges=tuple(self.judges[code] for code in judges),
        )


class _Comparisons:
    """The comparisons of a table, filled part by part.

    Items are codes of ``items``, -1 where missing; outcomes may also be UNKNOWN or ABSTAINED.
    """

    def __init__(self, table: pa.Table, layout: PairLayout, options: PairOptions) -> None:
        self.table = table
        self.layout = layout
        self.options = options
        self.items = _TextCodes()
        self.parts: list[tuple[NDArray[Any], ...]] = []
        self.one_task = False  # whether the comparisons of one table row belong to one task
        # Names for the codes `judge`; if empty, the judges are in the layout's judge column.
        self.judges: tuple[str, ...] = ()
        self.left_out: dict[str, int] = {}
        self.unknown: dict[str, None] = {}  # labels that are neither an item nor a side nor a tie
        self.n_both_bad = 0

    def sides(self) -> tuple[IntArray, IntArray]:
        """Return the codes of the left and the right item of each table row."""
        left = self.item_codes(self.layout.left)
        return left, self.item_codes(self.layout.right)

    def item_codes(self, column: str) -> IntArray:
        return self.items.codes(self.table.column(column), column)

    def numbers(self, column: str) -> FloatArray:
        return number_column(self.table.column(column), column, allow_missing=True)

    def add(
        self,
        row: IntArray,
        left: IntArray | int,
        right: IntArray | int,
        outcome: IntArray | int,
        *,
        weight: FloatArray | float = 1.0,
        judge: int = 0,
        sign: int = 1,
    ) -> None:
        """Add comparisons from the table rows ``row``; with ``sign`` -1, their covariates are for swapped sides."""
        self.parts.append(np.broadcast_arrays(row, left, right, outcome, weight, judge, sign))

    def add_labels(
        self, column: "_LabelColumn", row: IntArray, left: IntArray, right: IntArray, *, judge: int = 0, sign: int = 1
    ) -> None:
        """Add the comparisons of the table rows ``row`` by a column of labels; with ``sign`` -1, swap the sides."""
        outcome = column.outcome[row]
        code = column.code[row]
        self.unknown |= {column.labels[k]: None for k in np.unique(code[outcome == UNKNOWN])}
        self.n_both_bad += int(column.is_both_bad[code].sum())
        if sign < 0:
            self.add(
                row, right[row], left[row], np.where(np.abs(outcome) == 1, -outcome, outcome), judge=judge, sign=sign
            )
        else:
            self.add(row, left[row], right[row], outcome, judge=judge)

    def leave_out(self, reason: str, n: int) -> None:
        if n:
            self.left_out[reason] = self.left_out.get(reason, 0) + n

    def skip_missing(self, what: str, rows: IntArray, *, of: str = "") -> None:
        """Count table rows with a missing field, which are left out.

        Raises:
            BlankFieldError: there are such rows, and the option ``skip_missing`` is not set.
        """
        if len(rows) and not self.options.skip_missing:
            where = f" of {of}" if of else ""
            raise BlankFieldError(f"{what} is missing in {rows_phrase(rows.tolist())}{where}. {SKIP_REMEDY}")
        self.leave_out(f"{what.split()[-1]} missing", len(rows))


def read_pair_rows(
    table: pa.Table,
    layout: PairLayout,
    options: PairOptions,
    *,
    weight: FloatArray | None = None,
    name: str = "the table",
) -> PairRows:
    """Read comparisons from the columns of a layout.

    Args:
        table: a table with at least the columns of the layout and the options.
        layout: the columns that hold the comparisons.
        options: reading options.
        weight: number of rows of the source for each row, if an engine has grouped equal rows.
        name: name of the source, for messages.

    Raises:
        BlankFieldError: an item or a winner is missing; the message names the rows.
        InputError: a winner is neither of the two items, nor a side or a tie.
        NoRowsError: no comparison is left.
    """
    if weight is not None and layout.makes_tasks(options):
        # An engine has counted equal rows, and each of them is a separate task.
        table = table.take(pa.array(np.repeat(np.arange(table.num_rows), weight.astype(np.int64))))
        weight = None
    n_read = table.num_rows
    if n_read == 0:
        raise NoRowsError(f"{name} has columns, but no rows of comparisons")
    comparisons = _Comparisons(table, layout, options)
    _EXPANDERS[layout.kind](comparisons)
    row, left, right, outcome, row_weight, judge, sign = (
        column[0] if len(column) == 1 else np.concatenate(column) for column in zip(*comparisons.parts, strict=True)
    )
    comparisons.parts.clear()
    keep = np.ones(len(row), dtype=bool)
    is_missing = (left < 0) | (right < 0)
    comparisons.skip_missing("an item", np.unique(row[is_missing]), of=name)
    keep &= ~is_missing
    is_unknown = keep & (outcome == UNKNOWN)
    if is_unknown.any():
        where = f"{rows_phrase(np.unique(row[is_unknown]).tolist())} of {name}"
        raise InputError(
            f"The winner {listing(list(comparisons.unknown))} in {where} is neither one of the two items nor a side nor"
            " a tie. If it means a tie or no answer, use tie= or abstain= (--tie or --abstain)"
        )
    is_abstained = keep & (outcome == ABSTAINED)
    comparisons.leave_out("no answer", int(is_abstained.sum()))
    keep &= ~is_abstained
    is_equal = keep & (left == right)
    comparisons.leave_out("an item compared with itself", int(is_equal.sum()))
    keep &= ~is_equal
    judges = list(comparisons.judges) or [DEFAULT_JUDGE]
    if not comparisons.judges and layout.judge is not None:
        judge_codes = _TextCodes()
        judge = judge_codes.codes(table.column(layout.judge), layout.judge)[row]
        judges = judge_codes.texts()
    comparisons.skip_missing("the judge", np.unique(row[keep & (judge < 0)]), of=name)
    keep &= judge >= 0
    items = comparisons.items.texts()
    n_self = 0
    if judges:
        code_of_item = {text: code for code, text in enumerate(items)}
        item_of_judge = np.array([code_of_item.get(text, -1) for text in judges], np.int32)
        if (item_of_judge >= 0).any():
            item = item_of_judge[np.maximum(judge, 0)]
            is_self = keep & (item >= 0) & ((item == left) | (item == right))
            n_self = int(is_self.sum())
            if options.drop_self:
                comparisons.leave_out("a judge compared itself", n_self)
                keep &= ~is_self
    if not keep.any():
        if comparisons.left_out.keys() == {"an item compared with itself"}:
            raise UndeterminedError(
                f"{name} compares every item with itself ({rows_phrase(np.unique(row[is_equal]).tolist())}); "
                "a ranking needs at least two different items"
            )
        reasons = "; ".join(f"{reason}: {n:,}" for reason, n in comparisons.left_out.items())
        raise NoRowsError(f"{name} has {count(n_read, 'row')}, and none is a comparison that counts ({reasons})")

    if not keep.all():
        row, left, right, outcome, row_weight, judge, sign = (
            column[keep] for column in (row, left, right, outcome, row_weight, judge, sign)
        )
    item_order, item_code = _canonical(items, left, right)
    judge_order, judge_code = _canonical(judges, judge)
    task, tasks = _tasks_of(table, layout, comparisons.one_task, options, name)
    covariates, covariate_names = _covariates_of(table, options, name)
    group, groups = _codes_of_column(table, options.by, "by", name)
    criterion, criteria = _codes_of_column(table, options.criterion, "criterion", name)
    return PairRows(
        left=item_code[left],
        right=item_code[right],
        outcome=outcome.astype(np.int8),
        judge=judge_code[judge],
        weight=row_weight.astype(np.float64) if weight is None else row_weight * weight[row],
        covariates=covariates[row] * sign[:, None] if covariates.shape[1] else np.zeros((len(row), 0)),
        covariate_names=covariate_names,
        task=None if task is None else task[row],
        tasks=tasks,
        items=tuple(items[code] for code in item_order),
        judges=tuple(judges[code] for code in judge_order),
        group=None if group is None else group[row],
        groups=groups,
        has_sides=layout.has_sides,
        layout=layout,
        left_out=comparisons.left_out,
        n_read=int(n_read if weight is None else weight.sum()),
        n_both_bad=comparisons.n_both_bad,
        n_self=n_self,
        criterion=None if criterion is None else criterion[row],
        criteria=criteria,
    )


class _TextCodes:
    """Common codes for the texts of several columns; filled as columns are added."""

    def __init__(self) -> None:
        self.code_of: dict[str, int] = {}

    def codes(self, column: pa.ChunkedArray, name: str) -> IntArray:
        """Return the code of each value, -1 where it is missing."""
        codes, values = encode(column, name)
        texts = [_text(value) for value in values.to_pylist()]
        common_code = np.array([self.code_of.setdefault(text, len(self.code_of)) for text in texts] + [-1], np.int32)
        return common_code[codes]

    def texts(self) -> list[str]:
        """Return the texts in the order of their codes."""
        return list(self.code_of)


def _text(value: object) -> str:
    text = id_text(value)
    return (str(value) if text is None else text).strip()


def _canonical(names: Sequence[str], *codes: IntArray) -> tuple[list[int], IntArray]:
    """Return the codes that occur, in the canonical order of their names, and the new code for each old one."""
    used = np.flatnonzero(sum(counts_of_codes(column, len(names)) for column in codes))
    if len(used):
        used_names = from_strings([names[code] for code in used.tolist()])
        used = used[canonical_order(used_names)]
    new_code = np.full(len(names) + 1, -1, np.int32)
    new_code[used] = np.arange(len(used))
    return used.tolist(), new_code


def _tasks_of(
    table: pa.Table, layout: PairLayout, one_task: bool, options: PairOptions, name: str
) -> tuple[IntArray | None, pa.Array]:
    """Return the task code of each table row and the task ids; (None, []) if every comparison is a separate task.

    Without a task column, a row that makes several comparisons is a task, identified by its content.
    """
    column = layout.task
    if one_task and (column is None or (layout.kind == "rankings" and options.task is None)):
        # The row is the task. Equal rows are numbered, so that ids do not depend on the order of the rows.
        used = list(
            dict.fromkeys([*layout.columns, *(name for pair in options.covariate_columns.values() for name in pair)])
        )
        parts = [table.column(name).cast(pa.string()) for name in used]
        content, _ = encode(_join_columns(parts), "row")
        number = _occurrence(content)
        parts.append(pa.chunked_array([pa.array(number).cast(pa.string())]))
        codes, names = encode(_join_columns(parts), "row")
    elif column is None:
        return None, from_strings([])
    else:
        codes, names = encode(table.column(column), column)
        if (codes < 0).any():
            rows = np.flatnonzero(codes < 0)
            if not options.skip_missing:
                raise BlankFieldError(
                    f"the task is missing in {rows_phrase(rows.tolist())} of {name}; fill it in, or name another "
                    "column with task= (--task)"
                )
            # All rows without a task are taken for one task, which is the cautious assumption.
            codes = np.where(codes < 0, len(names), codes)
            names = from_strings([*[_text(value) for value in names.to_pylist()], ""])
    codes, names = in_order_of_ids(codes, names)
    return codes.astype(np.int32, copy=False), names


def _join_columns(parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    text = pc.binary_join_element_wise(*parts, "\x1f", null_handling="replace", null_replacement="")
    return pa.chunked_array([text]) if isinstance(text, pa.Array) else text


def _occurrence(codes: IntArray) -> IntArray:
    """Return, for each position, how often the code occurred at earlier positions.

    >>> _occurrence(np.array([5, 3, 5])).tolist()
    [0, 0, 1]
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    is_new = np.r_[True, ordered[1:] != ordered[:-1]]
    start = np.flatnonzero(is_new)[np.cumsum(is_new) - 1]
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - start
    return number


def _covariates_of(table: pa.Table, options: PairOptions, name: str) -> tuple[FloatArray, tuple[str, ...]]:
    columns = []
    names = []
    for covariate, parts in options.covariate_columns.items():
        values = [number_column(table.column(part), part, name) for part in parts]
        if len(values) > 2:
            raise OptionError(f"covariate {shown(covariate)} names {len(values)} columns; give one, or two to subtract")
        columns.append(values[0] if len(values) == 1 else values[0] - values[1])
        names.append(covariate)
    if not columns:
        return np.zeros((table.num_rows, 0)), ()
    return np.column_stack(columns), tuple(names)


def _codes_of_column(
    table: pa.Table, column: str | None, option: str, name: str
) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return the codes of a column that an option names and its values in canonical order; (None, ()) without one."""
    if column is None:
        return None, ()
    names = _TextCodes()
    codes = names.codes(table.column(column), column)
    refuse_missing(codes, column, name, remedy=f"fill it in, or name another column with {option}= (--{option})")
    order, code = _canonical(names.texts(), codes)
    texts = names.texts()
    return code[codes], tuple(texts[text_code] for text_code in order)


@dataclass(frozen=True, eq=False)
class _LabelColumn:
    """A column of labels, with the outcome that the label of each row means for the two items of the row."""

    outcome: IntArray
    code: IntArray  # index of each row's label among ``labels``, -1 where it is missing
    labels: list[str]
    is_both_bad: BoolArray  # of each label: whether it says that both items are bad


def _label_column(comparisons: _Comparisons, column: str, left: IntArray, right: IntArray) -> _LabelColumn:
    """Read a column of labels. A label that is the name of an item of the row is this item, not a side or a tie."""
    codes, values = encode(comparisons.table.column(column), column, is_label=True)
    labels = [_text(value) for value in values.to_pylist()]
    code_of_item = comparisons.items.code_of
    ties = {plain_name(label) for label in comparisons.options.tie} | TIE_LABELS
    no_answers = {plain_name(label) for label in comparisons.options.abstain}
    meaning = np.full(len(labels) + 1, UNKNOWN, np.int8)
    for k, label in enumerate(map(plain_name, labels)):
        if label in no_answers:
            meaning[k] = ABSTAINED
        elif label in ties:
            meaning[k] = TIE
        elif label in LEFT_LABELS:
            meaning[k] = LEFT
        elif label in RIGHT_LABELS:
            meaning[k] = RIGHT
    outcome = meaning[codes]
    item = np.array([*(code_of_item.get(label, -2) for label in labels), -2], np.int64)[codes]
    is_elsewhere = (item >= 0) & (item != left) & (item != right) & (codes >= 0)
    words = set(meaning[: len(labels)].tolist())
    if is_elsewhere.any() and UNKNOWN not in words and {LEFT, RIGHT} <= words and len(code_of_item) > MAX_NAMED_SIDES:
        # Items are called 1, 2, 3, ... The labels 1 and 2 are sides, because not all of them name an item of their row.
        item = np.full(len(item), -2)
    elif is_elsewhere.any():
        outcome = np.where(is_elsewhere, UNKNOWN, outcome)
    outcome = np.where(item == right, RIGHT, outcome)
    outcome = np.where(item == left, LEFT, outcome)
    is_both_bad = np.array([plain_name(label) in BOTH_BAD_LABELS for label in labels] + [False], dtype=bool)
    return _LabelColumn(outcome, codes, labels, is_both_bad)


def _expand_winner(comparisons: _Comparisons) -> None:
    (column,) = comparisons.layout.values
    left, right = comparisons.sides()
    probability = _as_preference(comparisons.table.column(column), column)
    if probability is not None:
        # Two rows that share a task: the right item wins with weight p, the left one with 1 - p.
        comparisons.one_task = True
        comparisons.leave_out("winner missing", int(np.isnan(probability).sum()))
        for outcome, weight in ((RIGHT, probability), (LEFT, 1 - probability)):
            row = np.flatnonzero(weight > 0)
            comparisons.add(row, left[row], right[row], outcome, weight=weight[row])
        return
    labels = _label_column(comparisons, column, left, right)
    comparisons.skip_missing("the winner", np.flatnonzero(labels.code < 0))
    comparisons.add_labels(labels, np.flatnonzero(labels.code >= 0), left, right)


def _as_preference(column: pa.ChunkedArray, name: str) -> FloatArray | None:
    """Return the probability that the right item wins, from a column of numbers between 1 and 2 (AlpacaEval).

    None if the column contains labels; columns with only the values 1, 1.5 and 2 are labels.
    """
    if not pa.types.is_floating(column.type):
        if not pa.types.is_string(column.type):
            return None
        head = [value for value in column.slice(0, 100).to_pylist() if value]
        if not head or not all(parse_number(value) is not None and "." in value for value in head):
            return None
    try:
        values = number_column(column, name, allow_missing=True)
    except ColumnTypeError:
        return None
    present = values[~np.isnan(values)]
    is_soft = len(present) > 0 and present.min() >= 1 and present.max() <= 2
    if not is_soft or np.isin(present, (1.0, 1.5, 2.0)).all():
        return None
    return values - 1


def _expand_wide(comparisons: _Comparisons) -> None:
    """Read one column of labels per judge; a judge without a label was not asked."""
    left, right = comparisons.sides()
    comparisons.one_task = True
    comparisons.judges = comparisons.layout.values
    for judge, column in enumerate(comparisons.judges):
        labels = _label_column(comparisons, column, left, right)
        row = np.flatnonzero(labels.code >= 0)
        comparisons.leave_out("not asked", comparisons.table.num_rows - len(row))
        comparisons.add_labels(labels, row, left, right, judge=judge)


def _expand_chosen(comparisons: _Comparisons) -> None:
    """Read the winner and the loser of each row. The sides are unknown, so the winner is put on the left."""
    left, right = comparisons.sides()
    comparisons.add(np.arange(comparisons.table.num_rows), left, right, LEFT)


def _expand_counts(comparisons: _Comparisons) -> None:
    left, right = comparisons.sides()
    columns = [*zip((LEFT, RIGHT), comparisons.layout.values, strict=True)]
    if comparisons.layout.ties is not None:
        columns.append((TIE, comparisons.layout.ties))
    for outcome, column in columns:
        counts = _counts_in(comparisons, column, f"the count in column {shown(column)} is negative")
        row = np.flatnonzero(counts)
        comparisons.add(row, left[row], right[row], outcome, weight=counts[row])


def _counts_in(comparisons: _Comparisons, column: str, problem: str) -> FloatArray:
    """Return a column of counts, 0 where it is empty; raise an error with the text ``problem`` if one is negative."""
    counts = np.nan_to_num(comparisons.numbers(column))
    negative = np.flatnonzero(counts < 0)
    if len(negative):
        raise InputError(f"{problem} in {rows_phrase(negative.tolist())}")
    return counts


def _expand_matrix(comparisons: _Comparisons) -> None:
    """Read a matrix; each positive cell is the number of wins of the row's item over the column's item."""
    left = comparisons.item_codes(comparisons.layout.left)
    for column in comparisons.layout.values:
        counts = _counts_in(comparisons, column, f"the wins against {shown(column)} are negative")
        row = np.flatnonzero(counts)
        comparisons.add(row, left[row], comparisons.items.code_of[column.strip()], LEFT, weight=counts[row])


def _expand_swapped(comparisons: _Comparisons) -> None:
    """Read two labels of a judge who saw each pair in both orders; both labels refer to the original order."""
    left, right = comparisons.sides()
    original, swapped = (_label_column(comparisons, column, left, right) for column in comparisons.layout.values)
    row = np.flatnonzero((original.code >= 0) & (swapped.code >= 0))
    comparisons.one_task = True
    comparisons.leave_out("not asked in both orders", comparisons.table.num_rows - len(row))
    comparisons.add_labels(original, row, left, right)
    comparisons.add_labels(swapped, row, left, right, sign=-1)


def _expand_rankings(comparisons: _Comparisons) -> None:
    """Convert a ranking of k items to k(k-1)/2 comparisons of weight 2/k each, in total k - 1."""
    item = np.stack([comparisons.item_codes(column) for column in comparisons.layout.items])
    rank = np.stack([comparisons.numbers(column) for column in comparisons.layout.values])
    is_ranked = (rank > 0) & (item >= 0)  # ranks -1 and 0 mean that the item was not ranked
    size = is_ranked.sum(axis=0)
    comparisons.one_task = True
    comparisons.leave_out("fewer than two items ranked", int((size < 2).sum()))
    for first, second in combinations(range(len(item)), 2):
        row = np.flatnonzero(is_ranked[first] & is_ranked[second])
        outcome = np.sign(rank[second][row] - rank[first][row]).astype(np.int64)
        comparisons.add(row, item[first][row], item[second][row], outcome, weight=2 / size[row])


def _expand_scores(comparisons: _Comparisons) -> None:
    left, right = comparisons.sides()
    left_score, right_score = (comparisons.numbers(column) for column in comparisons.layout.values)
    gap = left_score - right_score
    comparisons.skip_missing("a score", np.flatnonzero(np.isnan(gap)))
    row = np.flatnonzero(~np.isnan(gap))
    outcome = np.where(np.abs(gap[row]) <= comparisons.options.tie_below, TIE, np.sign(gap[row])).astype(np.int64)
    comparisons.add(row, left[row], right[row], outcome)


_EXPANDERS = {
    "winner": _expand_winner,
    "preference": _expand_winner,
    "wide": _expand_wide,
    "chosen": _expand_chosen,
    "counts": _expand_counts,
    "matrix": _expand_matrix,
    "swapped": _expand_swapped,
    "rankings": _expand_rankings,
    "scores": _expand_scores,
}
