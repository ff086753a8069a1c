"""Pairwise comparisons in the layouts that people have -> `PairRows`: who was on which side, and which item won.

A layout is found by the names of the columns, compared without case, spaces, ``-``, ``_`` and dots; the caller's own
names take precedence. Every layout ends in the same rows: left, right, outcome, judge, task, weight.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.arrays import BoolArray, FloatArray, IntArray, canonical_order, from_strings, to_numpy
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    InputError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    UndeterminedError,
    count,
    listing,
    rows_phrase,
    shown,
)
from quorate.io.columns import encode
from quorate.io.values import id_text

LEFT, TIE, RIGHT = 1, 0, -1
UNKNOWN = 9  # a label that is none of those known
ABSTAINED = 8

# Columns of the two items, the most specific first.
ITEM_NAMES = (
    ("left", "right"), ("modela", "modelb"), ("itema", "itemb"), ("generator1", "generator2"), ("model1", "model2"),
    ("systema", "systemb"), ("system1", "system2"), ("playera", "playerb"), ("player1", "player2"),
    ("teama", "teamb"), ("candidatea", "candidateb"), ("modelx", "modely"), ("itemx", "itemy"), ("item1", "item2"),
    ("optiona", "optionb"), ("option1", "option2"), ("responsea", "responseb"), ("response1", "response2"),
    ("outputa", "outputb"), ("output1", "output2"), ("answera", "answerb"), ("answer1", "answer2"), ("a", "b"),
)  # fmt: skip
CHOSEN_NAMES = (
    ("chosenmodel", "rejectedmodel"), ("chosen", "rejected"), ("winner", "loser"), ("winnerid", "loserid"),
    ("winnermodel", "losermodel"), ("modelwinner", "modelloser"),
)  # fmt: skip
WINNER_NAMES = (
    "winner", "label", "preference", "preferred", "pref", "verdict", "outcome", "result", "choice", "vote", "judgment",
    "judgement", "selected", "pick", "answer", "win",
)  # fmt: skip
JUDGE_NAMES = (
    "judge", "judgeid", "judgemodel", "judgename", "worker", "workerid", "performer", "annotator", "annotatorid",
    "rater", "raterid", "evaluator", "assessor", "voter", "voterid", "user", "userid",
)  # fmt: skip
TASK_NAMES = (
    "task", "taskid", "questionid", "promptid", "instructionid", "segmentid", "conversationid", "question", "prompt",
    "instruction", "id",
)  # fmt: skip
COUNT_NAMES = (
    ("awins", "bwins"), ("winsa", "winsb"), ("wina", "winb"), ("leftwins", "rightwins"), ("winsleft", "winsright"),
    ("wins1", "wins2"), ("win1", "win2"), ("modelawins", "modelbwins"),
)  # fmt: skip
TIE_COUNT_NAMES = ("ties", "draws", "tie", "draw", "ntie", "nties")
SCORE_NAMES = (
    ("leftscore", "rightscore"), ("scoreleft", "scoreright"), ("scorea", "scoreb"), ("score1", "score2"),
    ("ratinga", "ratingb"), ("rating1", "rating2"), ("modelascore", "modelbscore"),
)  # fmt: skip
SWAPPED_NAMES = (("pickoriginal", "pickswapped"), ("winneroriginal", "winnerswapped"), ("original", "swapped"))
WIDE_WINNER = re.compile(
    r"(winner|label|preference|verdict|vote|choice|judgment)(\d+|.*judge.*|.*annotator.*|.*rater.*)"
)
RANKED_ITEM = re.compile(r"(system|item|model|output|response|candidate|option|answer)(\d+)(id|name)?")
RANK_OF = (
    re.compile(r"(?:system|item|model|output|response|candidate|option|answer)(\d+)rank"),
    re.compile(r"rank(\d+)"),
)

LEFT_LABELS = frozenset(
    [
        "left",
        "a",
        "modela",
        "model1",
        "itema",
        "1",
        "x",
        "first",
        "l",
        "awins",
        "win",
        "playera",
        "player1",
        "systema",
        "system1",
        "outputa",
        "output1",
        "responsea",
        "response1",
        "answera",
        "answer1",
        "optiona",
        "option1",
        ">",
    ]
)
RIGHT_LABELS = frozenset(
    [
        "right",
        "b",
        "modelb",
        "model2",
        "itemb",
        "2",
        "y",
        "second",
        "r",
        "bwins",
        "loss",
        "playerb",
        "player2",
        "systemb",
        "system2",
        "outputb",
        "output2",
        "responseb",
        "response2",
        "answerb",
        "answer2",
        "optionb",
        "option2",
        "<",
    ]
)
BOTH_BAD_LABELS = frozenset(["tie(bothbad)", "bothbad", "neither", "bothbadtie"])
TIE_LABELS = (
    frozenset(["tie", "draw", "equal", "same", "both", "t", "c", "0.5", "1.5", "none", "ties", "even", "tied", "="])
    | BOTH_BAD_LABELS
)
DEFAULT_JUDGE = "judge"
MIN_MATRIX_ITEMS = 2
MAX_NAMED_SIDES = 3  # items up to which the labels 1 and 2 may well be the names of the only winners


def normal_name(name: str) -> str:
    """Return a name as it is compared: without case, spaces, hyphens, underscores and dots.

    >>> normal_name("Model_A"), normal_name("tie (bothbad)")
    ('modela', 'tie(bothbad)')
    """
    return re.sub(r"[\s\-_.]", "", name).lower()


def normal_label(label: str) -> str:
    """Return a label as it is compared: without case, spaces, hyphens and underscores; 0.5 keeps its dot."""
    return re.sub(r"[\s\-_]", "", label).lower()


@dataclass(frozen=True)
class PairOptions:
    """How comparisons are read; None lets the names of the columns decide.

    Attributes:
        left, right: columns of the items.
        winner: column, or columns of several judges.
        judge, task: columns.
        tie: further labels that mean a tie.
        abstain: labels that are no answers.
        covariates: numeric columns, oriented left minus right; ``a,b`` is the difference of two columns.
        tie_below: scores that differ by less are a tie.
        by: a column; each of its values is a group of comparisons.
        criterion: a column; each of its values is a criterion by which items were compared.
        skip_missing: leave out rows with a missing field instead of refusing.
        drop_self: leave out rows in which a judge compares itself.
    """

    left: str | None = None
    right: str | None = None
    winner: str | Sequence[str] | None = None
    judge: str | None = None
    task: str | None = None
    tie: Sequence[str] = ()
    abstain: Sequence[str] = ()
    covariates: Sequence[str] = ()
    tie_below: float = 0.0
    by: str | None = None
    criterion: str | None = None
    skip_missing: bool = False
    drop_self: bool = False

    def __post_init__(self) -> None:
        if self.tie_below < 0:
            raise OptionError(f"tie_below= (--tie-below) must not be negative, got {self.tie_below}")

    @property
    def winners(self) -> tuple[str, ...]:
        """The columns of winners that the caller named."""
        if self.winner is None:
            return ()
        return (self.winner,) if isinstance(self.winner, str) else tuple(self.winner)

    @property
    def extra_columns(self) -> list[str]:
        """The columns that are read beside those of the layout: of covariates, groups and criteria."""
        named = [part for pair in self.covariate_columns.values() for part in pair]
        return named + [column for column in (self.by, self.criterion) if column is not None]

    @property
    def covariate_columns(self) -> dict[str, tuple[str, ...]]:
        """Name of each covariate -> its column, or its two columns."""
        return {name: tuple(part.strip() for part in name.split(",")) for name in self.covariates}


@dataclass(frozen=True)
class PairLayout:
    """Where a table holds comparisons.

    Attributes:
        kind: ``winner``, ``wide``, ``preference``, ``chosen``, ``counts``, ``swapped``, ``rankings``, ``scores`` or
            ``matrix`` (rows and columns are items, a cell counts the wins of its row over its column).
        left, right: columns of the items; empty for rankings. Of a matrix, ``left`` is the column that names the rows.
        values: columns of the answers: winners, counts, scores, picks, ranks, or the columns of a matrix.
        items: of rankings, the columns of the items, one for each of ``values``.
        ties: column of tie counts.
        judge, task: columns, where there are any.
    """

    kind: str
    left: str = ""
    right: str = ""
    values: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    ties: str | None = None
    judge: str | None = None
    task: str | None = None

    @property
    def columns(self) -> list[str]:
        """Every column that is read, each once."""
        if self.kind == "matrix":  # whose first column may have no name
            return [self.left, *self.values]
        named = [self.left, self.right, *self.values, *self.items, self.ties, self.judge, self.task]
        return list(dict.fromkeys(name for name in named if name))

    @property
    def has_sides(self) -> bool:
        """Whether the table says which item was shown on the left."""
        return self.kind not in ("chosen", "counts", "rankings", "matrix")

    def makes_tasks(self, options: PairOptions) -> bool:
        """Whether a row makes several comparisons and is the task that they share."""
        if self.kind == "rankings":
            return options.task is None
        return self.task is None and self.kind in ("winner", "wide", "swapped", "preference")

    def command(self, name: str) -> str:
        """Return the command that reads such a file, with every column named.

        >>> PairLayout("winner", "model_a", "model_b", ("winner",)).command("votes.csv")
        'quorate rank votes.csv --left model_a --right model_b --winner winner'
        """
        words = ["quorate", "rank", name]
        if self.kind in ("winner", "wide", "preference", "scores", "counts", "swapped", "chosen"):
            words += ["--left", self.left, "--right", self.right]
        if self.kind in ("winner", "wide", "preference"):
            for column in self.values:
                words += ["--winner", column]
        for role in ("judge", "task"):
            column = getattr(self, role)
            is_default = role == "task" and self.kind == "rankings"  # each ranking is a task of its own
            if column is not None and not is_default:
                words += [f"--{role}", column]
        return shlex.join(words)


@dataclass(frozen=True)
class PairProposal:
    """A table that looks like comparisons, and the command that ranks its items."""

    layout: PairLayout
    command: str

    @property
    def sentence(self) -> str:
        """Return what the file seems to be."""
        if self.layout.kind == "rankings":
            return f"it holds rankings of {count(len(self.layout.items), 'item')} per row, not one label per task"
        if self.layout.kind == "matrix":
            items = count(len(self.layout.values), "item")
            return f"it holds a matrix of wins (its rows and columns are the same {items}), not one label per task"
        sides = f"{self.layout.left!r} and {self.layout.right!r}"
        return f"it holds pairwise comparisons (columns {sides}), not one label per task"


def looks_like_pairs(table: Any, name: str = "FILE") -> PairProposal | None:
    """Recognise a table of pairwise comparisons or rankings by its columns and, where it has rows, their values.

    Args:
        table: an Arrow table (a few rows are enough), or the names of its columns.
        name: of the file, for the command.

    >>> looks_like_pairs(pa.table({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]}), "votes.csv").command
    'quorate rank votes.csv --left model_a --right model_b --winner winner'
    >>> looks_like_pairs(["task", "worker", "label"])
    """
    names = list(table.column_names) if hasattr(table, "column_names") else [str(each) for each in table]
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
    """Whether a table may be a matrix of wins: its first column holds names of its other columns, each once.

    Args:
        names: of the columns.
        row_names: values of the first column, or its first ones.

    >>> has_matrix_names(["", "ann", "bob"], ["bob", "ann"]), has_matrix_names(["task", "ann", "bob"], ["t1", "t2"])
    (True, False)
    """
    texts = [_text(value) for value in row_names if value is not None]
    columns = {name.strip() for name in names[1:]}
    return len(names) > MIN_MATRIX_ITEMS and 1 < len(texts) == len(set(texts)) and columns.issuperset(texts)


def find_matrix(names: Sequence[str], row_names: Sequence[Any]) -> PairLayout | None:
    """Find a square matrix of wins; None where the rows are not the items of the columns.

    Args:
        names: of the columns.
        row_names: values of the first column.
    """
    columns = {name.strip() for name in names[1:]}
    texts = {_text(value) for value in row_names if value is not None}
    if texts != columns or len(names) - 1 != len(columns) or len(row_names) != len(columns):
        return None
    return PairLayout("matrix", left=names[0], values=tuple(names[1:]))


def _has_empty_diagonal(table: Any) -> bool:
    """Whether no item of a matrix has won against itself; else it holds correlations, costs or confusions."""
    for row in table.to_pylist():
        item, *_ = row.values()
        cell = next(value for name, value in row.items() if name.strip() == _text(item))
        if cell is not None and str(cell).strip() not in ("", "0", "0.0", "nan", "-"):
            return False
    return True


def _values_fit(table: Any, layout: PairLayout) -> bool:
    """Whether the first rows can be comparisons: two different items, and labels that name one of them or a side."""
    head = table.slice(0, 200)
    try:
        rows = read_pair_rows(head.select(layout.columns), layout, PairOptions(skip_missing=True))
    except (InputError, OptionError):
        return False
    return rows.n_rows > 0


def find_layout(names: Sequence[str], options: PairOptions) -> PairLayout | None:
    """Find the comparisons among the columns of a table; None where there are none.

    Raises:
        MissingColumnError: a column that the caller named is not there.
    """
    for role in ("left", "right", "judge", "task", "by", "criterion"):
        _require(names, getattr(options, role), role)
    for column in options.winners:
        _require(names, column, "winner")
    for pair in options.covariate_columns.values():
        for column in pair:
            _require(names, column, "covariate")
    plain = {normal_name(name): name for name in reversed(names)}
    judge = options.judge or _first(plain, JUDGE_NAMES)
    task = options.task or _first(plain, TASK_NAMES)
    if (options.left is None) != (options.right is None):
        raise OptionError("left= and right= (--left, --right) go together; name both columns of items")
    if options.left is None and not options.winners:
        chosen = _first_pair(plain, CHOSEN_NAMES)
        if chosen is not None:
            return PairLayout("chosen", *chosen, judge=judge, task=_unless(task, chosen))
        ranked = _find_rankings(plain)
        if ranked is not None:
            return PairLayout("rankings", values=ranked[1], items=ranked[0], judge=judge, task=task)
    if options.left is not None and options.right is not None:
        sides: tuple[str, str] | None = (options.left, options.right)
    else:
        sides = _first_pair(plain, ITEM_NAMES)
    if sides is None:
        return None
    if (normal_name(sides[0]), normal_name(sides[1])) in CHOSEN_NAMES and not options.winners:
        return PairLayout("chosen", *sides, judge=judge, task=_unless(task, sides))
    judge = _unless(judge, sides)
    task = _unless(task, sides)
    base = PairLayout("winner", *sides, judge=judge, task=task)
    if options.winners:
        several = len(options.winners) > 1
        return replace(base, kind="wide" if several else "winner", values=options.winners)
    swapped = _first_pair(plain, SWAPPED_NAMES)
    if swapped is not None:
        return replace(base, kind="swapped", values=swapped)
    counts = _first_pair(plain, COUNT_NAMES)
    if counts is not None:
        return replace(base, kind="counts", values=counts, ties=_first(plain, TIE_COUNT_NAMES))
    wide = tuple(name for name in names if WIDE_WINNER.fullmatch(normal_name(name)) and name not in sides)
    winner = _first(plain, WINNER_NAMES, but=(*sides, judge, task))
    if len(wide) > 1 and winner is None:
        return replace(base, kind="wide", values=wide)
    if winner is not None:
        return replace(base, values=(winner,))
    scores = _first_pair(plain, SCORE_NAMES)
    if scores is not None:
        return replace(base, kind="scores", values=scores)
    return None


def _require(names: Sequence[str], column: str | None, role: str) -> None:
    if column is not None and column not in names:
        raise MissingColumnError(
            f"the table has no column {shown(column)} for {role}= (--{role}); it has {listing(names, 12)}"
        )


def _first(plain: Mapping[str, str], names: Sequence[str], but: Sequence[str | None] = ()) -> str | None:
    return next((plain[name] for name in names if name in plain and plain[name] not in but), None)


def _first_pair(plain: Mapping[str, str], names: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    return next(((plain[a], plain[b]) for a, b in names if a in plain and b in plain), None)


def _unless(column: str | None, taken: Sequence[str]) -> str | None:
    return None if column in taken else column


def _find_rankings(plain: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Find columns system1, system2, ... with rank1, rank2, ... (or system1rank, ...) beside them."""
    items: dict[int, str] = {}
    ranks: dict[int, str] = {}
    for normal, name in plain.items():
        rank = next((match for pattern in RANK_OF if (match := pattern.fullmatch(normal))), None)
        if rank is not None:
            ranks[int(rank[1])] = name
    for normal, name in plain.items():
        match = RANKED_ITEM.fullmatch(normal)
        # system1Id rather than a second column that belongs to system1.
        if match is not None and (int(match[2]) not in items or match[3] is not None):
            items[int(match[2])] = name
    numbers = sorted(set(items) & set(ranks))
    if len(numbers) < 2:
        return None
    return tuple(items[number] for number in numbers), tuple(ranks[number] for number in numbers)


@dataclass(frozen=True)
class PairRows:
    """Comparisons as codes, not yet sorted or merged.

    Attributes:
        left, right, judge: codes [rows]; ``items`` and ``judges`` are in canonical order.
        outcome: 1 left, 0 tie, -1 right [rows].
        task: codes [rows]; None where every comparison is a task of its own.
        tasks: ids of the tasks, in canonical order.
        group: codes of the values of ``by`` [rows]; None without.
        criterion: codes of the values of ``criterion`` [rows]; None without.
        left_out: reasons and counts of rows that were not used.
        n_read: rows of the table.
        n_both_bad: ties that the label calls bad on both sides.
        n_self: comparisons in which the judge is one of the items.
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
        """Keep some rows; items, judges and tasks keep their codes."""
        return replace(
            self,
            left=self.left[keep],
            right=self.right[keep],
            outcome=self.outcome[keep],
            judge=self.judge[keep],
            weight=self.weight[keep],
            covariates=self.covariates[keep],
            task=None if self.task is None else self.task[keep],
            group=None if self.group is None else self.group[keep],
            criterion=None if self.criterion is None else self.criterion[keep],
        )

    def drop_unused(self) -> "PairRows":
        """Number items and judges anew, without those that no row names."""
        items, sides = np.unique(np.concatenate([self.left, self.right]), return_inverse=True)
        judges, judge = np.unique(self.judge, return_inverse=True)
        sides = sides.reshape(-1)
        return replace(
            self,
            left=sides[: self.n_rows],
            right=sides[self.n_rows :],
            judge=judge.reshape(-1),
            items=tuple(self.items[place] for place in items),
            judges=tuple(self.judges[place] for place in judges),
        )


@dataclass(frozen=True)
class _Expanded:
    """Rows of a layout: which table row each came from, names as codes into one list, -1 where missing."""

    row: IntArray
    left: IntArray
    right: IntArray
    outcome: IntArray  # UNKNOWN and ABSTAINED included
    weight: FloatArray
    judge: IntArray | None = None  # code into ``judge_names``; None: the layout's judge column
    judge_names: tuple[str, ...] = ()
    one_task: bool = False  # rows of one table row are one task
    n_both_bad: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


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
        table: has at least the columns of the layout and of the options.
        layout: where the comparisons are.
        options: how they are read.
        weight: how many rows of the source each row stands for, where an engine has grouped them.
        name: of the source, for messages.

    Raises:
        BlankFieldError: an item or a winner is missing; the message names the rows.
        InputError: a winner is neither of the two items, nor a side or a tie.
        NoRowsError: nothing is left.
    """
    if weight is not None and layout.makes_tasks(options):
        # Each of the equal rows that an engine has counted is a task of its own.
        table = table.take(pa.array(np.repeat(np.arange(table.num_rows), weight.astype(np.int64))))
        weight = None
    n_read = table.num_rows
    if n_read == 0:
        raise NoRowsError(f"{name} has columns, but no rows of comparisons")
    names = _Names()
    expanded = _EXPANDERS[layout.kind](table, layout, options, names)
    keep = np.ones(len(expanded.row), dtype=bool)
    left_out = dict(expanded.left_out)

    is_missing = (expanded.left < 0) | (expanded.right < 0)
    if is_missing.any():
        rows = np.unique(expanded.row[is_missing])
        if not options.skip_missing:
            raise BlankFieldError(
                f"an item is missing in {rows_phrase(rows.tolist())} of {name}; fill it in, or leave such rows out "
                "with skip_missing=True (--skip-missing)"
            )
        left_out["item missing"] = len(rows)
        keep &= ~is_missing
    is_unknown = keep & (expanded.outcome == UNKNOWN)
    if is_unknown.any():
        rows = np.unique(expanded.row[is_unknown])
        raise InputError(
            f"the labels {listing(expanded.unknown)} name neither of the two items, nor a side, nor a tie "
            f"({rows_phrase(rows.tolist())} of {name}); say what they mean with tie= or abstain= (--tie, --abstain)"
        )
    is_abstained = keep & (expanded.outcome == ABSTAINED)
    if is_abstained.any():
        left_out["no answer"] = left_out.get("no answer", 0) + int(is_abstained.sum())
        keep &= ~is_abstained
    is_equal = keep & (expanded.left == expanded.right)
    if is_equal.any():
        left_out["an item compared with itself"] = int(is_equal.sum())
        keep &= ~is_equal
    judge, judges = _judges_of(table, layout, expanded, options, name)
    if (judge < 0).any():
        is_missing = keep & (judge < 0)
        rows = np.unique(expanded.row[is_missing])
        if len(rows) and not options.skip_missing:
            raise BlankFieldError(
                f"the judge is missing in {rows_phrase(rows.tolist())} of {name}; fill it in, or leave such rows out "
                "with skip_missing=True (--skip-missing)"
            )
        if len(rows):
            left_out["judge missing"] = len(rows)
        keep &= judge >= 0
    items = names.texts()
    n_self = 0
    place_of_item = {text: place for place, text in enumerate(items)}
    as_item = np.array([place_of_item.get(text, -1) for text in judges], np.int64)
    if len(judges):
        own = as_item[np.maximum(judge, 0)]
        is_self = keep & (own >= 0) & ((own == expanded.left) | (own == expanded.right))
        n_self = int(is_self.sum())
        if options.drop_self and n_self:
            left_out["a judge compared itself"] = n_self
            keep &= ~is_self
    if not keep.any():
        if left_out.keys() == {"an item compared with itself"}:
            raise UndeterminedError(
                f"{name} compares every item with itself ({rows_phrase(np.unique(expanded.row[is_equal]).tolist())}); "
                "a ranking needs at least two different items"
            )
        reasons = "; ".join(f"{reason}: {n:,}" for reason, n in left_out.items())
        raise NoRowsError(f"{name} has {count(n_read, 'row')}, and none is a comparison that counts ({reasons})")

    row = expanded.row[keep]
    item_order, item_code = _canonical(items, expanded.left[keep], expanded.right[keep])
    judge_order, judge_code = _canonical(judges, judge[keep])
    row_weight = expanded.weight if weight is None else expanded.weight * weight[expanded.row]
    task, tasks = _tasks_of(table, layout, expanded.one_task, options, name)
    covariates, covariate_names = _covariates_of(table, options, name)
    group, groups = _coded(table, options.by, "by", name)
    criterion, criteria = _coded(table, options.criterion, "criterion", name)
    return PairRows(
        left=item_code[expanded.left[keep]],
        right=item_code[expanded.right[keep]],
        outcome=expanded.outcome[keep],
        judge=judge_code[judge[keep]],
        weight=row_weight[keep],
        covariates=covariates[row] * _orientation(layout, expanded, keep)[:, None],
        covariate_names=covariate_names,
        task=None if task is None else task[row],
        tasks=tasks,
        items=tuple(items[place] for place in item_order),
        judges=tuple(judges[place] for place in judge_order),
        group=None if group is None else group[row],
        groups=groups,
        has_sides=layout.has_sides,
        layout=layout,
        left_out=left_out,
        n_read=int(n_read if weight is None else weight.sum()),
        n_both_bad=expanded.n_both_bad,
        n_self=n_self,
        criterion=None if criterion is None else criterion[row],
        criteria=criteria,
    )


def _orientation(layout: PairLayout, expanded: _Expanded, keep: BoolArray) -> FloatArray:
    """Covariates are left minus right of the table; the second half of swapped rows has the sides exchanged."""
    sign = np.ones(len(expanded.row))
    if layout.kind == "swapped":
        sign[len(sign) // 2 :] = -1
    return sign[keep]


class _Names:
    """One list of texts for several columns; changes as columns are added."""

    def __init__(self) -> None:
        self.code_of: dict[str, int] = {}

    def codes(self, column: pa.ChunkedArray, name: str) -> IntArray:
        """Return the code of each value, -1 where it is missing."""
        codes, values = encode(column, name)
        texts = [_text(value) for value in values.to_pylist()]
        place = np.array([self.code_of.setdefault(text, len(self.code_of)) for text in texts] + [-1], np.int64)
        return place[codes]

    def texts(self) -> list[str]:
        """Return the texts in the order of their codes."""
        return list(self.code_of)


def _text(value: object) -> str:
    text = id_text(value)
    return (str(value) if text is None else text).strip()


def _canonical(names: Sequence[str], *codes: IntArray) -> tuple[list[int], IntArray]:
    """Return the codes that occur, in the canonical order of their names, and the new number of each code."""
    used = np.unique(np.concatenate(codes)) if codes else np.zeros(0, np.int64)
    order = used[canonical_order(from_strings([names[place] for place in used]))] if len(used) else used
    new_code = np.full(len(names) + 1, -1, np.int64)
    new_code[order] = np.arange(len(order))
    return [int(place) for place in order], new_code


def _judges_of(
    table: pa.Table, layout: PairLayout, expanded: _Expanded, options: PairOptions, name: str
) -> tuple[IntArray, list[str]]:
    if expanded.judge is not None:
        return expanded.judge, list(expanded.judge_names)
    if layout.judge is None:
        return np.zeros(len(expanded.row), np.int64), [DEFAULT_JUDGE]
    names = _Names()
    codes = names.codes(table.column(layout.judge), layout.judge)
    return codes[expanded.row], names.texts()


def _tasks_of(
    table: pa.Table, layout: PairLayout, one_task: bool, options: PairOptions, name: str
) -> tuple[IntArray | None, pa.Array]:
    """Return the task of each table row: the column, or the row's content where one row makes several comparisons."""
    column = layout.task
    if one_task and (column is None or (layout.kind == "rankings" and options.task is None)):
        # The row is the task. Equal rows are numbered, so that their order does not matter.
        used = list(
            dict.fromkeys([*layout.columns, *(each for pair in options.covariate_columns.values() for each in pair)])
        )
        parts = [_as_texts(table.column(each)) for each in used]
        content, _ = encode(_joined(parts), "row")
        number = _occurrence(content)
        parts.append(pa.chunked_array([pa.array(number).cast(pa.string())]))
        codes, names = encode(_joined(parts), "row")
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
            # Rows without a task are one task of their own together: the cautious reading.
            codes = np.where(codes < 0, len(names), codes)
            names = from_strings([*[_text(value) for value in names.to_pylist()], ""])
    order = canonical_order(names)
    new_code = np.empty(len(names), np.int64)
    new_code[order] = np.arange(len(names))
    return new_code[codes], names.take(pa.array(order))


def _joined(parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    text = pc.binary_join_element_wise(*parts, "\x1f", null_handling="replace", null_replacement="")
    return pa.chunked_array([text]) if isinstance(text, pa.Array) else text


def _occurrence(codes: IntArray) -> IntArray:
    """Return how often each code came before.

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


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _covariates_of(table: pa.Table, options: PairOptions, name: str) -> tuple[FloatArray, tuple[str, ...]]:
    columns = []
    names = []
    for covariate, parts in options.covariate_columns.items():
        values = [_numbers(table.column(part), part, name) for part in parts]
        if len(values) > 2:
            raise OptionError(f"covariate {shown(covariate)} names {len(values)} columns; give one, or two to subtract")
        columns.append(values[0] if len(values) == 1 else values[0] - values[1])
        names.append(covariate)
    if not columns:
        return np.zeros((table.num_rows, 0)), ()
    return np.column_stack(columns), tuple(names)


def _coded(table: pa.Table, column: str | None, option: str, name: str) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return the codes of a column that an option names, and its values in canonical order; None without."""
    if column is None:
        return None, ()
    names = _Names()
    codes = names.codes(table.column(column), column)
    if (codes < 0).any():
        rows = np.flatnonzero(codes < 0).tolist()
        raise BlankFieldError(
            f"the column {shown(column)} of {option}= (--{option}) is blank in {rows_phrase(rows)} of {name}"
        )
    order, code = _canonical(names.texts(), codes)
    texts = names.texts()
    return code[codes], tuple(texts[place] for place in order)


def _numbers(column: pa.ChunkedArray, column_name: str, name: str, *, allow_missing: bool = False) -> FloatArray:
    """Return a numeric column; NaN where it is blank and that is allowed.

    Raises:
        ColumnTypeError: a value is no number.
        BlankFieldError: a value is missing and must not be.
    """
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        text = pc.utf8_trim_whitespace(_as_texts(column))
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        try:
            column = text.cast(pa.float64())
        except pa.ArrowInvalid:
            bad = [row for row, value in enumerate(text.to_pylist()) if value is not None and not _is_number(value)]
            raise ColumnTypeError(
                f"column {shown(column_name)} of {name} must hold numbers, and has {shown(text[bad[0]].as_py())} in "
                f"{rows_phrase(bad)}"
            ) from None
    values = column.cast(pa.float64(), safe=False)
    filled = to_numpy(pc.fill_null(values, float("nan")).combine_chunks()) if values.num_chunks else np.zeros(0)
    is_missing = ~np.isfinite(filled)
    if is_missing.any() and not allow_missing:
        rows = np.flatnonzero(is_missing).tolist()
        raise BlankFieldError(f"column {shown(column_name)} has no number in {rows_phrase(rows)} of {name}")
    return np.where(is_missing, np.nan, filled)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- one function per kind of layout: columns -> rows


def _sides(table: pa.Table, layout: PairLayout, names: _Names) -> tuple[IntArray, IntArray]:
    return names.codes(table.column(layout.left), layout.left), names.codes(table.column(layout.right), layout.right)


def _label_outcomes(
    column: pa.ChunkedArray, column_name: str, left: IntArray, right: IntArray, options: PairOptions, names: _Names
) -> tuple[IntArray, IntArray, list[str], BoolArray]:
    """Return outcome, code of the label (-1 missing), the labels, and which labels call both items bad.

    The winner by an item's own name takes precedence over left, right and tie.
    """
    codes, values = encode(column, column_name, is_label=True)
    labels = [_text(value) for value in values.to_pylist()]
    ties = {normal_label(label) for label in options.tie} | TIE_LABELS
    no_answers = {normal_label(label) for label in options.abstain}
    meaning = np.full(len(labels) + 1, UNKNOWN, np.int64)
    named = np.full(len(labels) + 1, -2, np.int64)
    for place, label in enumerate(labels):
        normal = normal_label(label)
        named[place] = names.code_of.get(label, -2)
        if normal in no_answers:
            meaning[place] = ABSTAINED
        elif normal in ties:
            meaning[place] = TIE
        elif normal in LEFT_LABELS:
            meaning[place] = LEFT
        elif normal in RIGHT_LABELS:
            meaning[place] = RIGHT
    outcome = meaning[codes]
    item = named[codes]
    is_elsewhere = (item >= 0) & (item != left) & (item != right) & (codes >= 0)
    words = set(meaning[: len(labels)].tolist())
    if is_elsewhere.any() and UNKNOWN not in words and {LEFT, RIGHT} <= words and len(names.code_of) > MAX_NAMED_SIDES:
        # Items are called 1, 2, 3, ... and the labels 1 and 2 are sides: else they would name items of their row.
        item = np.full(len(item), -2)
    elif is_elsewhere.any():
        outcome = np.where(is_elsewhere, UNKNOWN, outcome)
    outcome = np.where(item == right, RIGHT, outcome)
    outcome = np.where(item == left, LEFT, outcome)
    is_both_bad = np.array([normal_label(label) in BOTH_BAD_LABELS for label in labels] + [False], dtype=bool)
    return outcome, codes, labels, is_both_bad


def _expand_winner(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    (column,) = layout.values
    values = table.column(column)
    left, right = _sides(table, layout, names)
    probability = _as_preference(values, column)
    if probability is not None:
        return _soft_rows(left, right, probability)
    outcome, codes, labels, is_both_bad = _label_outcomes(values, column, left, right, options, names)
    left_out: dict[str, int] = {}
    is_missing = codes < 0
    if is_missing.any():
        rows = np.flatnonzero(is_missing).tolist()
        if not options.skip_missing:
            raise BlankFieldError(
                f"the winner is missing in {rows_phrase(rows)}; fill it in, or leave such rows out with "
                "skip_missing=True (--skip-missing)"
            )
        left_out["winner missing"] = len(rows)
    row = np.flatnonzero(~is_missing)
    outcome = outcome[row]
    unknown = tuple(labels[code] for code in np.unique(codes[row][outcome == UNKNOWN]))
    return _Expanded(
        row,
        left[row],
        right[row],
        outcome,
        np.ones(len(row)),
        n_both_bad=int(is_both_bad[codes[row]].sum()),
        left_out=left_out,
        unknown=unknown,
    )


def _as_preference(column: pa.ChunkedArray, name: str) -> FloatArray | None:
    """Return the probability of the right item where a column of numbers runs from 1 to 2, as AlpacaEval writes it.

    None where the column holds labels; whole numbers 1 and 2 are labels.
    """
    if not pa.types.is_floating(column.type):
        if not pa.types.is_string(column.type):
            return None
        head = [value for value in column.slice(0, 100).to_pylist() if value]
        if not head or not all(_is_number(value) and "." in value for value in head):
            return None
    try:
        values = _numbers(column, name, "the table", allow_missing=True)
    except ColumnTypeError:
        return None
    present = values[~np.isnan(values)]
    is_soft = len(present) > 0 and present.min() >= 1 and present.max() <= 2
    if not is_soft or np.isin(present, (1.0, 1.5, 2.0)).all():
        return None
    return values - 1


def _soft_rows(left: IntArray, right: IntArray, probability: FloatArray) -> _Expanded:
    """Make of a preference two rows that share a task: the right item wins with weight p, the left one with 1 - p."""
    row = np.flatnonzero(~np.isnan(probability))
    p = probability[row]
    n_missing = len(probability) - len(row)
    rows = np.concatenate([row, row])
    outcome = np.concatenate([np.full(len(row), RIGHT), np.full(len(row), LEFT)])
    weight = np.concatenate([p, 1 - p])
    keep = weight > 0
    return _Expanded(
        rows[keep],
        left[rows][keep],
        right[rows][keep],
        outcome[keep],
        weight[keep],
        one_task=True,
        left_out={"winner missing": n_missing} if n_missing else {},
    )


def _expand_wide(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    left, right = _sides(table, layout, names)
    parts = []
    judges = []
    unknown: list[str] = []
    n_missing = 0
    n_both_bad = 0
    for judge, column in enumerate(layout.values):
        outcome, codes, labels, is_both_bad = _label_outcomes(table.column(column), column, left, right, options, names)
        row = np.flatnonzero(codes >= 0)
        n_missing += len(codes) - len(row)
        n_both_bad += int(is_both_bad[codes[row]].sum())
        unknown += [labels[code] for code in np.unique(codes[row][outcome[row] == UNKNOWN])]
        parts.append((row, outcome[row]))
        judges.append(np.full(len(row), judge))
    rows = np.concatenate([row for row, _ in parts])
    return _Expanded(
        rows,
        left[rows],
        right[rows],
        np.concatenate([outcome for _, outcome in parts]),
        np.ones(len(rows)),
        judge=np.concatenate(judges),
        judge_names=layout.values,
        one_task=True,
        n_both_bad=n_both_bad,
        left_out={"not asked": n_missing} if n_missing else {},
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _expand_chosen(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    left, right = _sides(table, layout, names)
    row = np.arange(table.num_rows)
    # The side shown is unknown. Rows are oriented by the items, or winners would all be on one side.
    return _Expanded(row, left, right, np.full(len(row), LEFT), np.ones(len(row)))


def _expand_counts(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    left, right = _sides(table, layout, names)
    columns = [(LEFT, layout.values[0]), (RIGHT, layout.values[1])]
    if layout.ties is not None:
        columns.append((TIE, layout.ties))
    rows = []
    outcomes = []
    weights = []
    for outcome, column in columns:
        counts = np.nan_to_num(_numbers(table.column(column), column, "the table", allow_missing=True))
        if (counts < 0).any():
            bad = np.flatnonzero(counts < 0).tolist()
            raise InputError(f"the count in column {shown(column)} is negative in {rows_phrase(bad)}")
        row = np.flatnonzero(counts > 0)
        rows.append(row)
        outcomes.append(np.full(len(row), outcome))
        weights.append(counts[row])
    row = np.concatenate(rows)
    return _Expanded(row, left[row], right[row], np.concatenate(outcomes), np.concatenate(weights))


def _expand_matrix(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    """Make of each positive cell one row: the item of the row won so often against the item of the column."""
    row_item = names.codes(table.column(layout.left), layout.left)
    rows = []
    rights = []
    weights = []
    for column in layout.values:
        counts = np.nan_to_num(_numbers(table.column(column), column, "the table", allow_missing=True))
        if (counts < 0).any():
            bad = np.flatnonzero(counts < 0).tolist()
            raise InputError(f"the wins against {shown(column)} are negative in {rows_phrase(bad)}")
        row = np.flatnonzero(counts > 0)
        rows.append(row)
        rights.append(np.full(len(row), names.code_of[column.strip()]))
        weights.append(counts[row])
    row = np.concatenate(rows)
    # Which side was shown is unknown.
    return _Expanded(row, row_item[row], np.concatenate(rights), np.full(len(row), LEFT), np.concatenate(weights))


def _expand_swapped(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    left, right = _sides(table, layout, names)
    first = _label_outcomes(table.column(layout.values[0]), layout.values[0], left, right, options, names)
    second = _label_outcomes(table.column(layout.values[1]), layout.values[1], left, right, options, names)
    row_first = np.flatnonzero(first[1] >= 0)
    row_second = np.flatnonzero(second[1] >= 0)
    if len(row_first) != len(row_second) or (row_first != row_second).any():
        both = np.intersect1d(row_first, row_second)
        row_first = row_second = both
    # Both picks name the answer: a is the item of the left column in either order.
    swapped = second[0][row_second]
    swapped = np.where(np.isin(swapped, (LEFT, RIGHT)), -swapped, swapped)
    outcome = np.concatenate([first[0][row_first], swapped])
    unknown = [first[2][code] for code in np.unique(first[1][row_first][first[0][row_first] == UNKNOWN])]
    unknown += [second[2][code] for code in np.unique(second[1][row_second][second[0][row_second] == UNKNOWN])]
    n_missing = table.num_rows - len(row_first)
    return _Expanded(
        np.concatenate([row_first, row_second]),
        np.concatenate([left[row_first], right[row_second]]),
        np.concatenate([right[row_first], left[row_second]]),
        outcome,
        np.ones(2 * len(row_first)),
        one_task=True,
        left_out={"not asked both ways round": n_missing} if n_missing else {},
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _expand_rankings(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    """Make k(k-1)/2 comparisons of a ranking of k items, each of weight 2/k: k - 1 comparisons' worth in all."""
    item = np.stack([names.codes(table.column(column), column) for column in layout.items])
    rank = np.stack(
        [_numbers(table.column(column), column, "the table", allow_missing=True) for column in layout.values]
    )
    is_ranked = (rank > 0) & (item >= 0)  # -1 and 0 stand for items that were not ranked
    size = is_ranked.sum(axis=0)
    rows = []
    lefts = []
    rights = []
    outcomes = []
    for first in range(len(item)):
        for second in range(first + 1, len(item)):
            row = np.flatnonzero(is_ranked[first] & is_ranked[second])
            rows.append(row)
            lefts.append(item[first][row])
            rights.append(item[second][row])
            outcomes.append(np.sign(rank[second][row] - rank[first][row]).astype(np.int64))
    row = np.concatenate(rows)
    n_short = int((size < 2).sum())
    return _Expanded(
        row,
        np.concatenate(lefts),
        np.concatenate(rights),
        np.concatenate(outcomes),
        2 / size[row],
        one_task=True,
        left_out={"fewer than two items ranked": n_short} if n_short else {},
    )


def _expand_scores(table: pa.Table, layout: PairLayout, options: PairOptions, names: _Names) -> _Expanded:
    left, right = _sides(table, layout, names)
    scores = [_numbers(table.column(column), column, "the table", allow_missing=True) for column in layout.values]
    gap = scores[0] - scores[1]
    row = np.flatnonzero(~np.isnan(gap))
    n_missing = len(gap) - len(row)
    if n_missing and not options.skip_missing:
        missing = np.flatnonzero(np.isnan(gap)).tolist()
        raise BlankFieldError(
            f"a score is missing in {rows_phrase(missing)}; fill it in, or leave such rows out with "
            "skip_missing=True (--skip-missing)"
        )
    outcome = np.where(np.abs(gap[row]) <= options.tie_below, TIE, np.sign(gap[row])).astype(np.int64)
    left_out = {"score missing": n_missing} if n_missing else {}
    return _Expanded(row, left[row], right[row], outcome, np.ones(len(row)), left_out=left_out)


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
