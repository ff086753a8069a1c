"""A model's predictions as one more worker: its classes are its answers, bands of its probability its grades.

A model that was trained on these very labels repeats their errors. How often it is right is estimated on the tasks that
are clear without it. Where the crowd is in doubt, its label is right with probability q, so a model that has not seen
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
from quorate.calibration.dependence import TYPICAL_RHO, tempering
from quorate.errors import OptionError, shown
from quorate.io.predictions import Predictions, read_predictions
from quorate.models.confusion import pooled_confusion
from quorate.models.scorer import SkillScorer
from quorate.notes import MODEL, TRAINED, Note
from quorate.skills.identification import gather
from quorate.skills.shrinkage import response_bias, shrunk_skills
from quorate.voting.posterior import softmax
from quorate.voting.vote import majority

BANDS = 5  # of probability, of equally many tasks each: how certain the model is adds to its class
LEAST_IN_BAND = 20  # tasks; of fewer there are fewer bands
# Posterior from which a label is clear, and below which it is in doubt.
CLEAR = 0.95
DOUBTFUL = 0.9
ENOUGH = 20  # tasks of either kind, for a model to be tested
SURPRISE = 2.33  # standard errors: of a hundred models that never saw the answers, one is warned of
# What of the way to agreeing always is put down to errors of the skills. Of 150 models that never saw the answers (20
# workers, 400 tasks, 3 or 5 answers each, two and four classes) none is warned of so, and up to one in six without; of
# those that copied the vote of every task all are found, and of those that copied every other one three in four. It was
# chosen on these crowds: on others there may be false alarms.
SLACK = 0.15


def with_model(answers: Answers, predictions: Any, name: str | None = None) -> tuple[Answers, tuple[Note, ...]]:
    """Add a model's predictions to the answers, as the last worker.

    Args:
        answers: who answered what.
        predictions: what `quorate.io.predictions.read_predictions` takes: labels, or probabilities.
        name: of the model, among the workers; by default that of its file.

    Returns the answers, and what a reader must know of the model.

    Raises:
        OptionError: a worker has its name, there are several models, or a task may have several labels.
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
    known_as = model.name if name is None else name
    if known_as in {str(worker_name) for worker_name in answers.worker_names.to_pylist()}:
        raise OptionError(
            f"a worker has the name {shown(known_as)}, too; give the model another name with "
            "predictions_name= (--predictions NAME=FILE)"
        )
    label = np.where(model.label >= 0, model.label, -1)
    if not (label >= 0).any():
        raise OptionError(
            "no label that the model predicts occurs in the answers; check that both spell them the same way"
        )
    joined = _named(answers.with_worker(label), known_as)
    graded = model.probability is not None
    if graded or answers.answer_symbols is not None:
        joined = replace(joined, answer_symbols=_with_model_symbols(answers, joined, model, label))
    left_out = (Note(MODEL, text) for text in replace(model, name=known_as).notes(as_worker=True))
    return joined, (*left_out, *trained_note(answers, label, known_as))


def _named(joined: Answers, name: str) -> Answers:
    """Give the last worker its name, and mark it as a model."""
    names = pa.concat_arrays(
        [joined.worker_names.cast(pa.string()).slice(0, joined.n_workers - 1), from_strings([name])]
    )
    return replace(joined, worker_names=names, is_model=np.arange(joined.n_workers) == joined.n_workers - 1)


def bands_of(probability: FloatArray, label: IntArray) -> tuple[IntArray, list[str]]:
    """Divide predictions by their probability into bands of equally many tasks; returns a code for each, and the names.

    Args:
        probability: tasks × classes, NaN without a prediction.
        label: the class of each, -1 without one.

    >>> codes, names = bands_of(np.array([[0.6, 0.4], [0.1, 0.9]] * 40), np.array([0, 1] * 40))
    >>> np.bincount(codes).tolist(), names
    ([40, 40], ['0.60', '0.90'])
    """
    has_prediction = label >= 0
    sure = np.nan_to_num(probability[np.arange(len(label)), np.maximum(label, 0)])
    n = int(np.clip(has_prediction.sum() // LEAST_IN_BAND, 1, BANDS))
    edges = np.unique(np.quantile(sure[has_prediction], np.arange(1, n) / n, method="higher")) if n > 1 else np.zeros(0)
    edges = edges[edges > sure[has_prediction].min()]
    codes = np.where(has_prediction, np.searchsorted(edges, sure, side="right"), -1)
    names = []
    for k in range(len(edges) + 1):
        low = sure[codes == k].min()
        high = sure[codes == k].max()
        names.append(f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}")
    return codes, names


def _with_model_symbols(answers: Answers, joined: Answers, model: Predictions, label: IntArray) -> AnswerSymbols:
    """Return the symbols of the workers and the model's grades."""
    before = answers.answer_symbols
    m = answers.n_classes
    texts = [str(name) for name in answers.classes.to_pylist()]
    symbols: list[str | None] = [*texts]
    if before is not None:
        symbols = [None if symbol is None else str(symbol) for symbol in before.symbols.to_pylist()]
    class_of_symbol = np.arange(m) if before is None else before.class_of_symbol
    worker_symbols = answers.label if before is None else before.symbol
    if model.probability is None:
        more = []
        to = np.zeros(0, np.int64)
        grade = np.array([int(np.flatnonzero(class_of_symbol == k)[0]) for k in range(m)])[np.maximum(label, 0)]
    else:
        band, names = bands_of(model.probability, label)
        more = [f"{name} {of}" for name in texts for of in names]
        to = np.repeat(np.arange(m), len(names))
        grade = len(symbols) + np.maximum(label, 0) * len(names) + band
    is_model_answer = joined.worker == joined.n_workers - 1
    symbol = np.zeros(joined.n_answers, np.int64)
    symbol[~is_model_answer] = worker_symbols
    symbol[is_model_answer] = grade[joined.task[is_model_answer]]
    abstentions = (
        (np.zeros(0, np.int64),) * 3 if before is None else (before.task, before.worker, before.abstention_symbol)
    )
    with_model_symbols = AnswerSymbols(
        pa.array([*symbols, *more], pa.string()),
        np.concatenate([class_of_symbol, to]).astype(np.int64),
        symbol,
        *abstentions,
    )
    if before is None:
        return with_model_symbols
    return replace(
        with_model_symbols,
        n_superseded=before.n_superseded,
        unused_abstention_labels=before.unused_abstention_labels,
    )


def trained_note(answers: Answers, label: IntArray, name: str) -> tuple[Note, ...]:
    """Warn of a model that agrees with doubtful labels more often than its accuracy explains.

    Args:
        answers: of the workers alone.
        label: the class that the model gives each task; -1 for none.
        name: of the model.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(400, 10, 3, seed=0).answers
    >>> print(*trained_note(answers, quorate.aggregate(answers, "majority").vote.label, "parrot"))
    parrot repeats doubtful labels of the workers more often (...) than its accuracy on other tasks explains (...). ...
    >>> trained_note(answers, quorate.simulate.crowd(400, 10, 3, seed=0).truth, "oracle")
    ()
    """
    test = doubtful_agreement(answers, label)
    if test is None or not test.z > SURPRISE:
        return ()
    return (
        Note(
            TRAINED,
            (
                f"{name} repeats doubtful labels of the workers more often ({test.observed:.0%}) than its "
                f"accuracy on other tasks explains ({test.expected:.0%}). It was probably trained on these "
                "answers and repeats their mistakes. Predict each task with a model that was not trained on "
                "this task (cross-validation)"
            ),
        ),
    )


@dataclass(frozen=True)
class DoubtfulAgreement:
    """How often a model gives doubtful tasks the crowd's label, and how often it should."""

    observed: float
    expected: float
    z: float  # standard errors of the excess, less the part that the error of the skills can explain


def doubtful_agreement(answers: Answers, label: IntArray) -> DoubtfulAgreement | None:
    """Compare a model with the crowd where the crowd is in doubt; None where too little is clear, or in doubt.

    Args:
        answers: of the workers alone.
        label: the class that the model gives each task; -1 for none.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 10, 3, seed=0)
    >>> test = doubtful_agreement(crowd.answers, quorate.aggregate(crowd.answers, "majority").vote.label)
    >>> bool(test.observed > test.expected), bool(test.z > SURPRISE)
    (True, True)
    """
    blocks = blocks_of(answers)
    if answers.n_classes < 2 or not gather(answers).verdict.determined.any():
        return None
    bias = response_bias(blocks)
    skills = shrunk_skills(blocks, bias)
    relative_error = (1 - skills.mean) / max(1 - skills.average, 0.02)
    start = SkillScorer(skills.mean, bias.frequency, bias.prior)
    model = pooled_confusion(blocks, start, relative_error, n_steps=2)
    scores = np.concatenate(list(blocks.map(model.scores)))
    flat = softmax(scores * tempering(answers.per_task, TYPICAL_RHO)[:, None])
    posterior = np.maximum(softmax(scores), flat)  # the larger of both for each class, which makes the test cautious
    # The model may have been trained on the plain vote or on weighted labels.
    tests = [
        _against(reference, posterior, answers, label)
        for reference in (majority(answers).label, posterior.argmax(axis=1))
    ]
    return max((test for test in tests if test is not None), key=lambda test: test.z, default=None)


def _against(reference: IntArray, posterior: FloatArray, answers: Answers, label: IntArray) -> DoubtfulAgreement | None:
    """Compare a model with some labels of the crowd where these are in doubt."""
    q = posterior[np.arange(len(reference)), reference]
    agrees = (label == reference).astype(np.float64)
    is_comparable = (label >= 0) & (answers.per_task > 0)
    clear = is_comparable & (q >= CLEAR)
    doubtful = is_comparable & (q < DOUBTFUL)
    if clear.sum() < ENOUGH or doubtful.sum() < ENOUGH:
        return None
    n_other_classes = answers.n_classes - 1

    def slope(of: BoolArray) -> float:
        """How often it agrees if it is always right, less if it never is: what a point of accuracy is worth."""
        return float((q[of] - (1 - q[of]) / n_other_classes).mean())

    right = float((agrees[clear].mean() - ((1 - q[clear]) / n_other_classes).mean()) / slope(clear))
    right = float(np.clip(right, 1 / (n_other_classes + 1), 1.0))
    expected = q[doubtful] * right + (1 - q[doubtful]) * (1 - right) / n_other_classes
    n = int(doubtful.sum())
    # How often it is right was counted on the clear tasks, too.
    known = slope(doubtful) ** 2 * max(right * (1 - right), 1 / clear.sum()) / int(clear.sum())
    error = np.sqrt(float((expected * (1 - expected)).sum()) / n**2 + known)
    observed = float(agrees[doubtful].mean())
    usual = float(expected.mean())
    return DoubtfulAgreement(observed, usual, float((observed - usual - SLACK * (1 - usual)) / error))
