"""One accuracy a worker, as advice needs it: by EM from accuracies, each component turned the right way round."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError
from quorate.meetings.graph import Identifiability, identify
from quorate.voting.one_coin import fit_one_coin, log_joint
from quorate.voting.posterior import log_likelihood
from quorate.voting.vote import accuracy, skill_of, tally, weight

START = 0.5  # the skill that everyone is first taken to have


@dataclass(frozen=True)
class Coins:
    """Where one-coin EM ended."""

    accuracy: FloatArray  # of each worker; 1/M or the mean for one without an answer to compare
    mean: float  # the crowd's, over the workers who are determined, each counted by its answers
    iterations: int
    converged: bool


def fit_coins(
    answers: Answers,
    known: IntArray | None,
    verdict: Identifiability,
    *,
    strength: float = 0.0,
    start: FloatArray | None = None,
    max_iterations: int = 300,
    tolerance: float = 1e-5,
) -> Coins:
    """Fit one accuracy a worker by `quorate.voting.one_coin`, the classes being alike frequent.

    A task with one answer has the same likelihood whatever its worker's accuracy; it would only slow EM down, and is
    left out.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown; None where no gold is given.
        verdict: the components, each of which is oriented by itself.
        strength: answers that the crowd's mean is worth, toward which each accuracy is shrunk.
        start: accuracies to start from; by default everyone has skill 0.5.
        max_iterations: steps at the most.
        tolerance: for the mean change of accuracies, each worker counted by its answers.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=2000, n_workers=8, per_task=4, seed=0)
    >>> coins = fit_coins(crowd.answers, None, identify(crowd.answers))
    >>> bool(np.abs(skill_of(coins.accuracy, 2) - crowd.skills).max() < 0.1)
    True
    """
    m = answers.n_classes
    compared = answers.where(((answers.per_task > 1) | _is_known(answers, known))[answers.task])
    everyone = np.full(answers.n_workers, float(accuracy(np.array(START), m)))
    determined = verdict.determined[: answers.n_workers]
    fit = fit_one_coin(
        compared,
        accuracy=everyone if start is None else start,
        strength=strength,
        among=determined,
        gold=known,
        standing="accuracy",
        max_iterations=max_iterations + 1,  # the first step only finds the posterior of the start
        tolerance=tolerance,
    )
    p, mean = fit.accuracy, fit.mean
    if m == 2:
        counted = np.where(determined, compared.per_worker, 0)
        p = _oriented(p, compared.per_worker, verdict)
        mean = float(p @ counted / counted.sum()) if counted.any() else mean
    return Coins(p, mean, fit.steps - 1, fit.converged)


def log_likelihood_of(answers: Answers, p: FloatArray, known: IntArray | None) -> float:
    """Return the log-probability of all answers, and of the known labels, the classes being alike frequent.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> round(float(np.exp(log_likelihood_of(answers, np.array([0.8, 0.6]), None))), 3)  # (0.8·0.4 + 0.2·0.6)/2
    0.22
    """
    m = answers.n_classes
    return log_likelihood(log_joint(answers, np.clip(p, 1e-12, 1 - 1e-12), np.full(m, 1 / m)), known)


def _oriented(p: FloatArray, n: IntArray, verdict: Identifiability) -> FloatArray:
    """Turn the components that came out worse than guessing: with two classes p and 1 - p fit alike."""
    component = verdict.component[: len(p)]
    total = np.bincount(component, n * (2 * p - 1), verdict.n_components)
    anchored = np.zeros(verdict.n_components, dtype=bool)
    anchored[verdict.component[len(p) :]] = True  # gold is the last worker of the crowd that was judged
    turned: FloatArray = np.where(((total < 0) & ~anchored)[component], 1 - p, p)
    return turned


def without_own(answers: Answers, p: FloatArray, known: IntArray | None) -> FloatArray:
    """Return, for each answer, the probability of its class by everyone else's answers to the task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> without_own(answers, np.array([0.8, 0.6]), None).round(3).tolist()
    [0.6, 0.8, 0.5]
    """
    own = weight(skill_of(p, answers.n_classes), answers.n_classes)[answers.worker]
    return expit(log_odds(answers, p, _gold_odds(answers, known)) - own)  # gold's odds are infinite, and stay so


def log_odds(answers: Answers, p: FloatArray, certain: FloatArray | None = None) -> FloatArray:
    """Return, for each answer, the log-odds of its class against all others.

    Args:
        answers: who answered what.
        p: accuracy of each worker.
        certain: the odds where they are known, NaN where they are not.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> log_odds(answers, np.array([0.9, 0.5])).round(3).tolist()
    [2.197, -2.197]
    """
    scores = tally(answers, weight(skill_of(p, answers.n_classes), answers.n_classes))
    if answers.n_classes == 2:
        odds = scores - scores[:, ::-1]
    else:
        rows, top = np.arange(len(scores)), scores.argmax(axis=1)
        best = scores[rows, top]
        share = np.exp(scores - best[:, None])
        # The sum of the others: by subtraction where that is exact, directly for the leader, which may be nearly all.
        rest = share.sum(axis=1, keepdims=True) - share
        share[rows, top] = 0.0
        rest[rows, top] = share.sum(axis=1)
        with np.errstate(divide="ignore"):
            odds = scores - best[:, None] - np.log(rest)
    flat: FloatArray = odds.ravel()[answers.cells]
    return flat if certain is None else np.where(np.isnan(certain), flat, certain)


def _is_known(answers: Answers, known: IntArray | None) -> BoolArray:
    return np.zeros(answers.n_tasks, dtype=bool) if known is None else known >= 0


def _gold_odds(answers: Answers, known: IntArray | None) -> FloatArray | None:
    """Return, for each answer, ±infinity where the label is known, NaN where it is not."""
    if known is None:
        return None
    truth = known[answers.task]
    odds: FloatArray = np.where(truth < 0, np.nan, np.where(truth == answers.label, np.inf, -np.inf))
    return odds


def expit(odds: FloatArray) -> FloatArray:
    """Turn log-odds into probabilities.

    >>> expit(np.array([0.0, np.inf, -800.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    with np.errstate(over="ignore"):  # exp(-odds) is infinite where the probability is zero
        probability: FloatArray = 1 / (1 + np.exp(-odds))
    return probability


def with_gold(answers: Answers, known: IntArray | None) -> Answers:
    """Let the known labels answer as one more worker, the last; without any, return the answers as they are.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> with_gold(answers, np.array([1])).n_workers, with_gold(answers, None).n_workers
    (3, 2)
    """
    return answers if known is None else answers.with_worker(known)


def judge(crowd: Answers, n_workers: int) -> Identifiability:
    """Judge the graph of a crowd whose workers from ``n_workers`` on are known labels.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> judge(answers, 2).identifiable.tolist(), judge(with_gold(answers, np.array([1])), 2).identifiable.tolist()
    ([False], [True])
    """
    return identify(crowd, np.arange(crowd.n_workers) >= n_workers)


def check_classes(answers: Answers) -> None:
    """Refuse answers of one class: nothing can be learnt from them.

    Raises:
        OptionError: there are fewer than two classes.

    >>> import quorate
    >>> check_classes(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    """
    if answers.n_classes < 2:
        raise OptionError(
            "every answer is of one class, so nothing tells good workers from bad; collect answers of other classes, "
            "or list every class with classes="
        )
