"""Find the columns of pairwise comparisons in a table, by their names or as the caller names them.

Names are compared without case, spaces, ``-``, ``_`` and dots. The caller's names take precedence.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.errors import MissingColumnError, OptionError, listing, shown
from quorate.io.column_names import plain_name

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


def normal_name(name: str) -> str:
    """Return a name without case, spaces, hyphens, underscores and dots, for comparison.

    >>> normal_name("Model_A"), normal_name("tie (bothbad)")
    ('modela', 'tie(bothbad)')
    """
    return plain_name(name).replace(".", "")


@dataclass(frozen=True)
class PairOptions:
    """Options for reading comparisons; None means that the column is found by its name.

    Attributes:
        left, right: columns of the items.
        winner: column, or columns of several judges.
        judge, task: columns.
        tie: further labels that mean a tie.
        abstain: labels that mean "no answer".
        covariates: numeric columns, oriented left minus right; ``a,b`` is the difference of two columns.
        tie_below: two scores that differ by at most this are a tie.
        by: column; each of its values is a group of comparisons.
        criterion: column; each of its values is a criterion by which items were compared.
        skip_missing: leave out rows with a missing field instead of refusing them.
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
        """The columns that are read in addition to those of the layout: covariates, groups and criteria."""
        named = [part for pair in self.covariate_columns.values() for part in pair]
        return named + [column for column in (self.by, self.criterion) if column is not None]

    @property
    def covariate_columns(self) -> dict[str, tuple[str, ...]]:
        """Name of each covariate -> its column, or its two columns."""
        return {name: tuple(part.strip() for part in name.split(",")) for name in self.covariates}


@dataclass(frozen=True)
class PairLayout:
    """The columns of a table that hold comparisons, and how to read them.

    Attributes:
        kind: ``winner``, ``wide``, ``preference``, ``chosen``, ``counts``, ``swapped``, ``rankings``, ``scores`` or
            ``matrix`` (rows and columns are items, a cell counts the wins of its row over its column).
        left, right: columns of the items; empty for rankings. For a matrix, ``left`` is the column that names the rows.
        values: columns of the answers: winners, counts, scores, picks, ranks, or the columns of a matrix.
        items: for rankings, the columns of the items, one for each of ``values``.
        ties: column of tie counts.
        judge, task: columns; None if there is none.
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
        if self.kind == "matrix":  # its first column may have an empty name
            return [self.left, *self.values]
        named = [self.left, self.right, *self.values, *self.items, self.ties, self.judge, self.task]
        return list(dict.fromkeys(name for name in named if name))

    @property
    def has_sides(self) -> bool:
        """Whether the table states which item was shown on the left."""
        return self.kind not in ("chosen", "counts", "rankings", "matrix")

    def makes_tasks(self, options: PairOptions) -> bool:
        """Whether each row is a task of its own, which all comparisons of the row share."""
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
            is_default = role == "task" and self.kind == "rankings"  # then each row is a task
            if column is not None and not is_default:
                words += [f"--{role}", column]
        return shlex.join(words)


def check_chosen(names: Sequence[str], options: PairOptions) -> None:
    """Refuse options that name a column which the table does not have.

    Raises:
        MissingColumnError: there is such an option.

    >>> check_chosen(["left", "right", "winner"], PairOptions(winner="winner"))
    """
    chosen_columns = [(role, getattr(options, role)) for role in ("left", "right", "judge", "task", "by", "criterion")]
    chosen_columns += [("winner", column) for column in options.winners]
    chosen_columns += [("covariate", column) for pair in options.covariate_columns.values() for column in pair]
    for role, column in chosen_columns:
        if column is not None and column not in names:
            raise MissingColumnError(
                f"the table has no column {shown(column)} for {role}= (--{role}); it has {listing(names, 12)}"
            )


def find_layout(names: Sequence[str], options: PairOptions) -> PairLayout | None:
    """Return which columns of a table hold comparisons; None if there are none.

    Raises:
        MissingColumnError: the table does not have a column that the caller named.
    """
    check_chosen(names, options)
    plain = {normal_name(name): name for name in reversed(names)}
    judge = options.judge or _first(plain, JUDGE_NAMES)
    task = options.task or _first(plain, TASK_NAMES)
    if (options.left is None) != (options.right is None):
        raise OptionError("left= and right= (--left and --right) must be used together; name both columns of items")
    if options.left is None and not options.winners:
        chosen = _first_pair(plain, CHOSEN_NAMES)
        if chosen is not None:
            return PairLayout("chosen", *chosen, judge=judge, task=_none_if_in(task, chosen))
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
        return PairLayout("chosen", *sides, judge=judge, task=_none_if_in(task, sides))
    judge = _none_if_in(judge, sides)
    task = _none_if_in(task, sides)
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
    winner = _first(plain, WINNER_NAMES, excluded=(*sides, judge, task))
    if len(wide) > 1 and winner is None:
        return replace(base, kind="wide", values=wide)
    if winner is not None:
        return replace(base, values=(winner,))
    scores = _first_pair(plain, SCORE_NAMES)
    if scores is not None:
        return replace(base, kind="scores", values=scores)
    return None


def _first(plain: Mapping[str, str], names: Sequence[str], excluded: Sequence[str | None] = ()) -> str | None:
    return next((plain[name] for name in names if name in plain and plain[name] not in excluded), None)


def _first_pair(plain: Mapping[str, str], names: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    return next(((plain[a], plain[b]) for a, b in names if a in plain and b in plain), None)


def _none_if_in(column: str | None, assigned: Sequence[str]) -> str | None:
    return None if column in assigned else column


def _find_rankings(plain: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the columns system1, system2, ... and rank1, rank2, ... (or system1rank, ...); None if fewer than two."""
    items: dict[int, str] = {}
    ranks: dict[int, str] = {}
    for normal, name in plain.items():
        rank = next((match for pattern in RANK_OF if (match := pattern.fullmatch(normal))), None)
        if rank is not None:
            ranks[int(rank[1])] = name
    for normal, name in plain.items():
        match = RANKED_ITEM.fullmatch(normal)
        # system1Id is preferred to another column of system1.
        if match is not None and (int(match[2]) not in items or match[3] is not None):
            items[int(match[2])] = name
    numbers = sorted(set(items) & set(ranks))
    if len(numbers) < 2:
        return None
    return tuple(items[number] for number in numbers), tuple(ranks[number] for number in numbers)
