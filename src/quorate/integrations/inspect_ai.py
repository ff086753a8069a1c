"""Score reducer for Inspect: the consensus of the scores that several judges gave a sample."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from quorate.errors import OptionError, not_installed, shown
from quorate.integrations.judge_panels import consensus
from quorate.io.arguments import check_arguments
from quorate.io.exports.content import as_text
from quorate.io.read_table import Source
from quorate.methods.consensus import Consensus

NAME = "quorate_consensus"
VARIABLE = "QUORATE_JUDGES"  # environment variable with the file of skills, if the reducer is used by its name
Reducer: TypeAlias = Callable[[list[Any]], Any]  # scores of one sample -> one score


@check_arguments
def inspect_reducer(
    skills: Source, *, judges: Sequence[str] | None = None, classes: Sequence[Any] | None = None
) -> "Reducer":
    """Return a reducer for Inspect's `multi_scorer`, or for the ``reducer=`` of `model_graded_qa`.

    It is registered with Inspect as ``quorate_consensus``. The judge of a score is read from the metadata
    (``metadata["judge"]``, or ``metadata["grading"]`` of model-graded scorers), or else from ``judges``. A score
    without a value has no vote.

    Args:
        skills: as in `quorate.consensus`.
        judges: names of the judges, in the order of the scores, if the scores do not contain them.
        classes: all values that a score may have, in order.

    Returns:
        the reducer. The value of its score is the consensus, and its metadata have the confidence and the verdicts.

    Raises:
        OptionError: inspect_ai is not installed.

    >>> from unittest import mock
    >>> with mock.patch.dict("sys.modules", {"inspect_ai": None}):  # as if it is not installed
    ...     inspect_reducer({"openai/gpt-4o": 0.8}, classes=["C", "I"])
    Traceback (most recent call last):
    quorate.errors.OptionError: inspect_reducer needs Inspect, which is not installed: pip install inspect_ai
    """
    try:
        from inspect_ai.scorer import Score, score_reducer
    except ImportError:
        raise not_installed("inspect_reducer", "Inspect", "inspect_ai", error=OptionError) from None
    panel = consensus(skills, classes=classes)
    if not isinstance(panel, Consensus):
        raise OptionError("a reducer of labels needs the skills of workers, and this is a table of raters of scores")

    def reduce(scores: list[Any]) -> Any:
        verdicts = {judge_of(score, k, judges, len(scores)): _value(score) for k, score in enumerate(scores)}
        agreed = panel(verdicts)
        metadata_out = {"confidence": agreed.confidence, "tied": agreed.tied, "verdicts": verdicts}
        return Score(
            value=float("nan") if agreed.label is None else agreed.label,
            answer=scores[0].answer if scores else None,
            explanation=f"consensus of {agreed.n_verdicts} of {len(scores)} judges, confidence {agreed.confidence:.0%}",
            metadata=metadata_out,
        )

    registered: Any = score_reducer(name=NAME)(lambda: reduce)
    reducer: Reducer = registered()
    return reducer


def register() -> None:
    """Register the reducer ``quorate_consensus`` with Inspect, for use by its name.

    The environment variable QUORATE_JUDGES names the file of skills.
    Inspect calls this function through the entry point of the package.
    """
    from inspect_ai.scorer import score_reducer

    def from_environment() -> Reducer:
        skills = os.environ.get(VARIABLE)
        if not skills:
            raise OptionError(
                f"the reducer {NAME} needs the judges' skills: set {VARIABLE} to the file that quorate aggregate "
                "--workers-out wrote"
            )
        return inspect_reducer(skills)

    score_reducer(name=NAME)(from_environment)


def judge_of(score: Any, index: int, judges: Sequence[str] | None, n_scores: int) -> str:
    """Return the name of the judge who gave a score.

    Raises:
        OptionError: neither the score nor ``judges`` names the judge.

    >>> class Scored:
    ...     metadata = {"judge": "openai/gpt-4o"}
    >>> judge_of(Scored(), 0, None, 1)
    'openai/gpt-4o'
    """
    metadata = getattr(score, "metadata", None) or {}
    graded = metadata.get("grading")
    last = graded[-1] if isinstance(graded, list) and graded else None
    model = last.get("model") if isinstance(last, dict) else getattr(last, "model", None)
    judge = as_text(metadata.get("judge")) or as_text(model)
    if judge is not None:
        return judge
    if judges is not None and len(judges) == n_scores:
        return judges[index]
    raise OptionError(
        f"score {index + 1} of {n_scores} does not name its judge; write the name into "
        "metadata['judge'], or name all judges with judges=, in the order of the scorers"
        f"{('' if judges is None else f' (there are {len(judges)} names)')}"
    )


def _value(score: Any) -> Any:
    value = score.value
    if isinstance(value, dict | list | tuple):
        raise OptionError(
            f"a consensus needs one value, but a score has several: {shown(value)}; score each value separately"
        )
    return value
