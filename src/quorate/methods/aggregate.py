"""aggregate(): answers -> labels, confidence and skills, by any of the METHODS."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.calibration.dependence import DependenceKind
from quorate.errors import OptionError, check_level, in_shell, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.gold import gold_for
from quorate.io.options import ReadKeywords, split_reading
from quorate.io.pipes import keep_pipes
from quorate.io.read import Reading, as_reading
from quorate.io.read_table import ModelSources, Source
from quorate.io.warnings import free_text_warning, looks_like_scores
from quorate.methods.registry import METHODS, check_option_names, check_states_probabilities, method_name
from quorate.notes import FREE_TEXT, LIKE_SCORES, Note
from quorate.result import Result
from quorate.skills.intervals import KINDS, LEVEL, IntervalChoice, IntervalKind
from quorate.voting.expected_cost import EXPECTED_COST, least_expected_cost


class AggregateKeywords(ReadKeywords, total=False):
    """Options of `aggregate` for reading and for the methods; each method's function documents its own.

    The ``Literal`` types list values for `help` and editors. Each method checks its own values; its error lists them.
    """

    # of the default method
    ordered: bool
    dependence: DependenceKind
    cautious: bool
    skills: Source | Result
    # of rank-one and its solvers
    solver: Literal["flow", "coordinate", "gradient", "exponentiated"] | str
    tau: float
    weighting: Literal["shared", "binary", "squared"] | str | Callable[[IntArray], Any]  # a function of N_ij
    threshold: float | None
    threshold_by: Literal["shared", "all"] | str
    signs: Literal["descent", "weighed", "breadth-first"] | str
    start: float | FloatArray | None
    step: float | str | None
    kappa: float
    K: float
    record: bool
    # of several methods
    max_iterations: int
    iterations: int
    tolerance: float
    prior: FloatArray | None
    class_prior: bool
    zeros: Literal["exact", "skip"] | str
    seed: int
    margin: float
    # of one method each: zero-based-skill, opt-ds, m3v, m3v-svm, glad, mace, m-msr
    rate: float
    slower_every: int
    slower_by: float
    head_start: float
    rounds: int
    starts: int
    power_steps: int
    one_coin: bool
    c: float
    prior_variance: float
    sweeps: int
    burn_in: int
    ability: FloatArray | None
    ease: FloatArray | None
    inference: Literal["vb", "em"] | str
    restarts: int
    noise: float
    alpha: float
    beta: float
    trim: int | None


@check_arguments
@keep_pipes()
def aggregate(
    source: Answers | Source,
    method: str = "quorate",
    *,
    gold: Source = None,
    level: float = LEVEL,
    intervals: IntervalKind = "auto",
    costs: Source = None,
    predictions: ModelSources = None,
    predictions_name: str | None = None,
    **options: Unpack[AggregateKeywords],
) -> Result:
    """Turn answers into labels and skills.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        method: a name from `METHODS`; ``dawid_skene`` and ``DawidSkene`` mean ``dawid-skene``.
        gold: known labels of some tasks: a table with the column names of the answers, or a mapping from task to label;
            by default the known labels in an export.
        level: level of the intervals on skills, which are computed when first used.
        intervals: ``full`` (includes the uncertainty of the other workers' skills), ``fast`` (does not), ``none``, or
            ``auto``: full up to a million answers (and, except with ``rank-one``, 100,000 workers), fast above.
        costs: cost of assigning one class if another is true: a table with the columns ``said``, ``true`` and ``cost``.
            Each label is then the class of least expected cost; the column ``expected_cost`` has this cost.
        predictions: predictions of a model, which becomes one more worker: a table of ``task`` and ``label``, or of
            ``task`` and a column of probabilities for each class, or of ``task``, ``label`` and ``probability``; or a
            mapping from the model's name to such a table.
        predictions_name: the name of the model among the workers; by default its key in the mapping, or the name of the
            file.
        options: for reading, as `quorate.read` takes them (``task``, ``worker``, ``label``, ``on_conflict``, …); all
            others for the method; see its function, e.g. `quorate.methods.quorate.fit`.

    Raises:
        UnknownMethodError: there is no such method.
        OptionError: the method has no such option, the level is not between 0 and 1, or there is no such kind of
            interval.
        InputError: the answers cannot be read.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> quorate.aggregate(answers).labels["label"].to_pylist()
    ['x', 'x']
    """
    method = method_name(method)
    if intervals not in KINDS:
        raise unknown_name_error(intervals, KINDS, "intervals= (--intervals)")
    run = METHODS[method].load()
    choice = IntervalChoice(check_level(level), intervals)
    reading_options, method_options = split_reading(dict(options))
    check_option_names(method, run, method_options)
    reading = as_reading(source, reading_options)
    answers = reading.answers
    known = gold_for(reading, gold)
    notes: tuple[Note, ...] = ()
    if predictions is not None:
        from quorate.methods.model_worker import with_model  # few need it

        answers, notes = with_model(answers, predictions, predictions_name)
    notes = (*notes, *_score_notes(source, answers, method, method_options))
    if costs is not None and answers.questions is not None:
        raise OptionError(
            "costs= (--costs) needs one class per task, and these tasks may have several labels; leave it out"
        )
    if costs is not None:
        check_states_probabilities(method)
    if METHODS[method].runs_over_blocks:
        from quorate.methods.fit_blocks import aggregate_in_memory  # imports every such method

        result = aggregate_in_memory(method, answers, gold=known, **method_options)
    else:
        result = run(answers, gold=known, **method_options)
    if result.confidence_basis is None and result.gold is None:
        from quorate.methods.unchecked_models import with_unchecked_models

        result = with_unchecked_models(result)
    result = replace(result, interval_choice=choice, notes=(*notes, *result.notes))
    if answers.questions is not None:
        from quorate.methods.multilabel import several_labels  # few need it

        result = several_labels(result)
    if costs is None:
        return result
    from quorate.io.costs import read_costs  # few need it

    return replace(
        result, label_source=least_expected_cost(result.vote, read_costs(costs, answers.classes), EXPECTED_COST)
    )


def _score_notes(source: Any, answers: Answers, method: str, options: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return a note if the labels look like scores, for which there is `quorate rate`, or like free text."""
    if answers.questions is not None or options.get("ordered") or answers.answer_symbols is not None:
        return ()
    reading = source if isinstance(source, Reading) else None
    name = str(source) if isinstance(source, str | Path) else None
    if reading is not None:
        name = reading.name
    how = None if reading is None else reading.options
    text = looks_like_scores(answers.classes, answers.n_answers, file=name, options=how)
    if text is not None:
        return (Note(LIKE_SCORES, text),)
    if in_shell.get():  # the command warns when it reads the answers
        return ()
    text = free_text_warning(answers)
    return () if text is None else (Note(FREE_TEXT, text),)


def majority_vote(source: Answers | Source, **options: Any) -> Result:
    """Label each task by the class that most of its workers gave; returns what `aggregate` returns.

    >>> import quorate
    >>> majority_vote({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}).labels["label"].to_pylist()
    ['y']
    """
    return aggregate(source, "majority", **options)
