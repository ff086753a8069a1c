"""The consensus of a panel of judges on one output at a time, for labels or numeric scores."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

from quorate.arrays import Table
from quorate.errors import OptionError
from quorate.io.arguments import check_arguments
from quorate.io.exports.content import look
from quorate.io.open_file import hold
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.methods.consensus import Consensus, label_consensus
from quorate.rating.consensus import COLUMNS, ScoreConsensus, score_consensus
from quorate.rating.rating import Rating
from quorate.result import Result


@check_arguments
@overload
def consensus(skills: Rating) -> ScoreConsensus: ...


@check_arguments
@overload
def consensus(skills: Result, *, classes: Sequence[Any] | None = None) -> Consensus: ...


@check_arguments
@overload
def consensus(skills: Source, *, classes: Sequence[Any] | None = None) -> Any: ...


@check_arguments
@keep_pipes()
def consensus(skills: Source | Result | Rating, *, classes: Sequence[Any] | None = None) -> Consensus | ScoreConsensus:
    """Return the consensus function of a panel with stored skills; call it with the verdicts on one output at a time.

    Args:
        skills: for labels, the file that `quorate aggregate --workers-out` wrote, such a table, a `Result`, or a
            mapping from judge to skill, or to (skill, low, high); see `quorate.methods.consensus.label_consensus`. For
            numeric scores, a `Rating`, or the file that `quorate rate --workers-out` wrote; see
            `quorate.rating.consensus.score_consensus`.
        classes: for labels, all classes, in order. By default, their number is read from the table, and their names
            from the verdicts.

    Raises:
        InputError: the table has no workers or skills.
        OptionError: classes are given for scores.

    >>> panel = consensus({"openai/gpt-4o": 0.8, "mistral": 0.3, "llama": 0.3})
    >>> agreed = panel({"openai/gpt-4o": "C", "mistral": "I", "llama": "I"})
    >>> agreed.label, agreed.tied, agreed.n_verdicts
    ('C', False, 3)
    """
    if isinstance(skills, Result) or not (isinstance(skills, Rating) or _is_table_of_raters(skills)):
        return label_consensus(skills, classes=classes)
    if classes is not None:
        raise OptionError("classes= is about labels, and this is a table of raters, whose scores are numbers")
    return score_consensus(skills)


def _is_table_of_raters(source: Source) -> bool:
    """Whether a source has the columns of raters that `quorate rate --workers-out` writes, but no skills."""
    table = source.arrow if isinstance(source, Table) else source
    fields = set(table) if isinstance(table, Mapping) else set(look(hold(table)).fields)
    return set(COLUMNS) <= fields and "skill" not in fields
