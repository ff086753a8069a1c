"""A model's predictions as one more worker: its classes are its answers, bands of its probability its grades.

A model that was trained on these labels repeats their errors. How often it is right is estimated on the tasks that are
clear without it. Where the crowd is in doubt, its label is right with probability q, so a model that has not seen
these answers gives that label with probability q p + (1 - q) (1 - p)/(M - 1); one that has seen them gives it nearly
always. q is the larger of the posterior and the tempered posterior, and models err more on doubtful tasks than on clear
ones: both make the test cautious.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, AnswerSymbols
from quorate.arrays import BoolArray, FloatArray, IntArray, from_strings
from quorate.blocks.memory import blocks_of
from quorate.calibration.dependence import TYPICAL_RHO
from quorate.errors import OptionError, shown
from quorate.io.predictions import Predictions, read_predictions
from quorate.models.confusion import pooled_confusion
from quorate.models.confusion_prior import relative_errors
from quorate.models.scorer import SkillScorer
from quorate.notes import MODEL, TRAINED, Note
from quorate.skills.identification import identify_workers
from quorate.skills.shrinkage import response_bias, shrunk_skills
from quorate.voting.posterior import softmax, tempering
from quorate.voting.vote import majority

MAX_BANDS = 5  # of probability, with equally many tasks; each band of a class is an answer symbol of its own
MIN_TASKS_PER_BAND = 20
# Posterior from which a label is clear, and below which it is in doubt.
CLEAR_LEVEL = 0.95
DOUBT_LEVEL = 0.9
MIN_TASKS_TESTED = 20  # clear tasks, and doubtful tasks
Z_LEVEL = 2.33  # standard errors: one in a hundred models that never saw the answers exceeds it
# Part of the distance from the expected agreement to 1 that is attributed to errors of the skills. Of 150 models that
# never saw the answers (20 workers, 400 tasks, 3 or 5 answers per task, two and four classes) none gets a warning with
# this value, and up to one in six with zero. All models that copied the vote of every task are detected, and three in
# four of those that copied it for every second task. Chosen on these crowds: others may have false alarms.
ERROR_ALLOWANCE = 0.15


def with_model(answers: Answers, predictions: Any, name: str | None = None) -> tuple[Answers, tuple[Note, ...]]:
    """Add a model's predictions to the answers, as the last worker.

    Args:
        answers: who answered what.
        predictions: what `quorate.io.predictions.read_predictions` takes: labels, or probabilities.
        name: name of the model among the workers; by default that of its file.

    Returns the answers, and notes on the model.

    Raises:
        OptionError: a worker has the model's name, there are several models, or a task may have several labels.
        InputError: the predictions cannot be read.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": list("xxy")})
    >>> both, _ = with_model(answers, {"task": [1, 2], "label": ["x", "x"]}, "tiny")
    >>> both.to_table().to_pylist()[-1]
    {'task': 2, 'worker': 'tiny', 'label': 'x'}
    """
    if answers.questions is not None:
        raise OptionError(
            "predictions= (--predictions) needs one class per task, and these tasks may have several labels; leave "
            "it out"
        )
    models = read_predictions(predictions, answers)
    if len(models) > 1:
        raise OptionError(
            "predictions= (--predictions) takes one model, which counts as one more worker; give one model"
        )
    (model,) = models
    model_name = model.name if name is None else name
    if model_name in {str(worker_name) for worker_name in answers.worker_names.to_pylist()}:
        raise OptionError(
            f"a worker has the name {shown(model_name)}, too; give the model another name with "
            "predictions_name= (--predictions NAME=FILE)"
        )
    label = np.where(model.label >= 0, model.label, -1)
    if not (label >= 0).any():
        raise OptionError(
            "no label that the model predicts occurs in the answers; check that both spell them the same way"
        )
    combined = _named(answers.with_worker(label), model_name)
    graded = model.probability is not None
    if graded or answers.answer_symbols is not None:
        combined = replace(combined, answer_symbols=_with_model_symbols(answers, combined, model, label))
    left_out = (Note(MODEL, text) for text in replace(model, name=model_name).notes(as_worker=True))
    return combined, (*left_out, *trained_note(answers, label, model_name))


def _named(combined: Answers, name: str) -> Answers:
    """Give the last worker its name, and mark it as a model."""
    names = pa.concat_arrays(
        [combined.worker_names.cast(pa.string()).slice(0, combined.n_workers - 1), from_strings([name])]
    )
    return replace(combined, worker_names=names, is_model=np.arange(combined.n_workers) == combined.n_workers - 1)


def bands_of(probability: FloatArray, label: IntArray) -> tuple[IntArray, list[str]]:
    """Divide predictions by their probability into bands of equally many tasks; return their band codes and band names.

    Args:
        probability: (tasks, classes), NaN without a prediction.
        label: predicted class of each task, -1 without one; so is its band.

    >>> codes, names = bands_of(np.array([[0.6, 0.4], [0.1, 0.9]] * 40), np.array([0, 1] * 40))
    >>> np.bincount(codes).tolist(), names
    ([40, 40], ['0.60', '0.90'])
    """
    has_prediction = label >= 0
    confidence = np.nan_to_num(probability[np.arange(len(label)), np.maximum(label, 0)])
    n = int(np.clip(has_prediction.sum() // MIN_TASKS_PER_BAND, 1, MAX_BANDS))
    edges = np.zeros(0)
    if n > 1:
        edges = np.unique(np.quantile(confidence[has_prediction], np.arange(1, n) / n, method="higher"))
    edges = edges[edges > confidence[has_prediction].min()]
    codes = np.where(has_prediction, np.searchsorted(edges, confidence, side="right"), -1)
    names = []
    for k in range(len(edges) + 1):
        low = confidence[codes == k].min()
        high = confidence[codes == k].max()
        names.append(f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}")
    return codes, names


def _with_model_symbols(answers: Answers, combined: Answers, model: Predictions, label: IntArray) -> AnswerSymbols:
    """Return the answer symbols of the workers and of the model, whose symbols are bands of its probability."""
    worker_symbols = answers.answer_symbols
    m = answers.n_classes
    texts = [str(name) for name in answers.classes.to_pylist()]
    symbols: list[str | None] = [*texts]
    class_of_symbol: IntArray = np.arange(m)
    symbol_of_worker_answer = answers.label
    if worker_symbols is not None:
        symbols = [None if symbol is None else str(symbol) for symbol in worker_symbols.symbols.to_pylist()]
        class_of_symbol = worker_symbols.class_of_symbol
        symbol_of_worker_answer = worker_symbols.symbol
    model_symbols: list[str] = []
    class_of_model_symbol = np.zeros(0, np.int64)
    if model.probability is None:
        first_symbol_of_class = np.array([int(np.flatnonzero(class_of_symbol == k)[0]) for k in range(m)])
        model_symbol_of_task = first_symbol_of_class[np.maximum(label, 0)]
    else:
        band, band_names = bands_of(model.probability, label)
        model_symbols = [f"{name} {band_name}" for name in texts for band_name in band_names]
        class_of_model_symbol = np.repeat(np.arange(m), len(band_names))
        model_symbol_of_task = len(symbols) + np.maximum(label, 0) * len(band_names) + band
    is_model_answer = combined.worker == combined.n_workers - 1
    symbol = np.zeros(combined.n_answers, np.int64)
    symbol[~is_model_answer] = symbol_of_worker_answer
    symbol[is_model_answer] = model_symbol_of_task[combined.task[is_model_answer]]
    abstentions: tuple[IntArray, IntArray, IntArray] = (np.zeros(0, np.int64),) * 3
    if worker_symbols is not None:
        abstentions = (worker_symbols.task, worker_symbols.worker, worker_symbols.abstention_symbol)
    with_model_symbols = AnswerSymbols(
        pa.array([*symbols, *model_symbols], pa.string()),
        np.concatenate([class_of_symbol, class_of_model_symbol]).astype(np.int64),
        symbol,
        *abstentions,
    )
    if worker_symbols is None:
        return with_model_symbols
    return replace(
        with_model_symbols,
        n_superseded=worker_symbols.n_superseded,
        unused_abstention_labels=worker_symbols.unused_abstention_labels,
    )


def trained_note(answers: Answers, label: IntArray, name: str) -> tuple[Note, ...]:
    """Return a note if a model agrees with doubtful labels more often than its accuracy explains.

    Args:
        answers: of the workers alone.
        label: the class that the model gives each task; -1 for none.
        name: of the model.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(400, 10, 3, seed=0).answers
    >>> print(*trained_note(answers, quorate.aggregate(answers, "majority").vote.label, "parrot"))
    the model 'parrot' repeats doubtful labels of the workers more often (...) than its accuracy on other tasks ...
    >>> trained_note(answers, quorate.simulate.crowd(400, 10, 3, seed=0).truth, "oracle")
    ()
    """
    test = doubtful_agreement(answers, label)
    if test is None or not test.z > Z_LEVEL:
        return ()
    return (
        Note(
            TRAINED,
            (
                f"the model {shown(name)} repeats doubtful labels of the workers more often ({test.observed:.0%}) "
                f"than its accuracy on other tasks explains ({test.expected:.0%}). It was probably trained on "
                "these answers and repeats their mistakes. Predict each task with a model that was not trained "
                "on this task (cross-validation)"
            ),
        ),
    )


@dataclass(frozen=True)
class DoubtfulAgreement:
    """Share of doubtful tasks to which a model gives the crowd's label: observed, and expected by its accuracy."""

    observed: float
    expected: float
    z: float  # standard errors of the excess, less the part that the error of the skills can explain


def doubtful_agreement(answers: Answers, label: IntArray) -> DoubtfulAgreement | None:
    """Compare a model with the crowd on doubtful tasks; None without skills, or with few clear or doubtful tasks.

    Args:
        answers: of the workers alone.
        label: the class that the model gives each task; -1 for none.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 10, 3, seed=0)
    >>> test = doubtful_agreement(crowd.answers, quorate.aggregate(crowd.answers, "majority").vote.label)
    >>> bool(test.observed > test.expected), bool(test.z > Z_LEVEL)
    (True, True)
    """
    blocks = blocks_of(answers)
    if answers.n_classes < 2 or not identify_workers(answers).graph.determined.any():
        return None
    bias = response_bias(blocks)
    skills = shrunk_skills(blocks, bias)
    relative_error = relative_errors(skills.mean, skills.average)
    start = SkillScorer(skills.mean, bias.frequency, bias.prior)
    model = pooled_confusion(blocks, start, relative_error, n_steps=2)
    scores = np.concatenate(list(blocks.map(model.scores)))
    tempered = softmax(scores * tempering(answers.per_task, TYPICAL_RHO)[:, None])
    posterior = np.maximum(softmax(scores), tempered)  # cautious: the larger one for each class
    # The model may have been trained on the plain vote or on weighted labels.
    tests = [
        _agreement_with(reference, posterior, answers, label)
        for reference in (majority(answers).label, posterior.argmax(axis=1))
    ]
    return max((test for test in tests if test is not None), key=lambda test: test.z, default=None)


def _agreement_with(
    reference: IntArray, posterior: FloatArray, answers: Answers, label: IntArray
) -> DoubtfulAgreement | None:
    """Compare a model with labels of the crowd on doubtful tasks; None if too few tasks are clear or doubtful."""
    q = posterior[np.arange(len(reference)), reference]
    agrees = (label == reference).astype(np.float64)
    is_comparable = (label >= 0) & (answers.per_task > 0)
    clear = is_comparable & (q >= CLEAR_LEVEL)
    doubtful = is_comparable & (q < DOUBT_LEVEL)
    if clear.sum() < MIN_TASKS_TESTED or doubtful.sum() < MIN_TASKS_TESTED:
        return None
    n_other_classes = answers.n_classes - 1

    def slope(is_chosen: BoolArray) -> float:
        """Return the expected agreement of a model that is always right minus that of one that never is."""
        return float((q[is_chosen] - (1 - q[is_chosen]) / n_other_classes).mean())

    right = float((agrees[clear].mean() - ((1 - q[clear]) / n_other_classes).mean()) / slope(clear))
    right = float(np.clip(right, 1 / (n_other_classes + 1), 1.0))
    expected = q[doubtful] * right + (1 - q[doubtful]) * (1 - right) / n_other_classes
    n = int(doubtful.sum())
    # Sampling error of the accuracy, which is estimated on the clear tasks.
    variance = slope(doubtful) ** 2 * max(right * (1 - right), 1 / clear.sum()) / int(clear.sum())
    error = np.sqrt(float((expected * (1 - expected)).sum()) / n**2 + variance)
    observed = float(agrees[doubtful].mean())
    mean_expected = float(expected.mean())
    excess = observed - mean_expected - ERROR_ALLOWANCE * (1 - mean_expected)
    return DoubtfulAgreement(observed, mean_expected, float(excess / error))
