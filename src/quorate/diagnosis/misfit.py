"""Does one accuracy a worker explain the answers, or does accuracy depend on the class? Asked of answers held out.

Models are fitted on three quarters of the tasks, and each answer to the others is foretold from the other answers to
its task. The model of one coin and that of confusion are fitted alike and drawn to the crowd alike, so that what the
latter gains, it gains by the classes. A model with more parameters than the truth needs foretells worse, not better:
that is what guards against finding misfit where there is none.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, take
from quorate.diagnosis.finding import Finding
from quorate.progress import report
from quorate.voting.confusion import cells_of, softmax
from quorate.voting.em import expectation_maximisation
from quorate.voting.refine import refine
from quorate.voting.vote import majority, skill_of

FOLDS = 4
SURE = 0.01  # the chance that a crowd of one coin a worker is taken for another, by the normal law
ENOUGH = 100_000  # answers; of a larger crowd only so many are looked at
MOST_ENTRIES = 20_000_000  # of all confusion matrices together; above, the question is left out
FEWEST = 20  # tasks with two answers or more, below which it is left out as well
STEPS = 20  # of EM
PSEUDO = 0.5  # answers in each cell of Dawid and Skene's matrices, so that nothing is impossible
SPREAD, LEAST, MOST = 0.7, 5.0, 300.0  # how strongly an accuracy is drawn to the crowd's, as in `quorate.voting.refine`
# What lets accuracy depend on the class: one confusion matrix for the crowd, scaled to each worker's accuracy; one for
# each worker, drawn to that; one for each worker, by itself. The first two are what the standard method is made of.
RIVALS = {"pooled": "quorate", "quorate": "quorate", "dawid-skene": "dawid-skene"}


@dataclass(frozen=True)
class HeldOut:
    """How well each model foretells an answer from the other answers to its task, on average over answers."""

    n_answers: int
    log_likelihood: dict[str, float]  # by method, an answer
    gain: dict[str, float]  # of each rival model over one coin, an answer
    standard_error: dict[str, float]  # of the gain, over tasks
    class_accuracy: FloatArray  # of the crowd as a whole

    @property
    def best(self) -> str:
        """The rival model that foretells best; RIVALS names the method it belongs to."""
        return max(RIVALS, key=lambda name: self.gain[name])

    @property
    def p(self) -> float:
        """Of so large a gain, if one coin a worker were the truth; every rival had the chance."""
        from statistics import NormalDist

        errors = self.standard_error
        z = max(self.gain[name] / errors[name] if errors[name] > 0 else 0.0 for name in RIVALS)
        return min(len(RIVALS) * NormalDist().cdf(-z), 1.0)


@dataclass(frozen=True)
class _Model:
    confusion: FloatArray  # workers × answers × classes
    prior: FloatArray  # of the classes


def held_out(answers: Answers) -> HeldOut | None:
    """Compare the models on answers they were not fitted to; None where there are too few tasks or too many cells.

    >>> import quorate
    >>> held_out(quorate.simulate.crowd(400, 10, 5, seed=0).answers).p > 0.01
    True
    """
    m = answers.n_classes
    tasks = np.flatnonzero(answers.per_task >= 2)
    if m < 2 or len(tasks) < FEWEST or answers.n_workers * m**2 > MOST_ENTRIES:
        return None
    tasks = tasks[:: -(-answers.n_answers // ENOUGH)]
    fold = np.full(answers.n_tasks, -1)
    fold[tasks] = np.arange(len(tasks)) % FOLDS
    sums, right = [], np.zeros((2, m))
    for k in range(FOLDS):
        report("held-out folds", k, FOLDS)
        fitted, held = _only(answers, (fold >= 0) & (fold != k)), _only(answers, fold == k)
        models, counts = _fit(fitted)
        right += np.einsum("wcc->c", counts), counts.sum(axis=(0, 1))
        columns = (np.ones(held.n_answers), *(_foretell(held, model) for model in models))
        sums.append(np.stack([np.bincount(held.task, column, held.n_tasks) for column in columns], axis=1))
    report("held-out folds", FOLDS, FOLDS)
    return _summarise(np.concatenate(sums), right[0] / np.maximum(right[1], 1e-9))


def _fit(answers: Answers) -> tuple[list[_Model], FloatArray]:
    """Fit one coin and the rivals, and return the expected counts of the standard method too."""
    m = answers.n_classes
    accuracy, coin, posterior = _one_coin(answers)
    shrunk = refine(answers, posterior, skill_of(accuracy, m))
    free = expectation_maximisation(answers, posterior, class_prior=True, max_iterations=STEPS)
    counts = cells_of(answers).expected_counts(free.posterior) + PSEUDO
    models = [
        coin,
        _Model(_pooled(shrunk.counts, accuracy), _prior(shrunk.posterior)),
        _Model(shrunk.confusion, _prior(shrunk.posterior)),
        _Model(counts / counts.sum(axis=1, keepdims=True), _prior(free.posterior)),
    ]
    return models, shrunk.counts


def _one_coin(answers: Answers) -> tuple[FloatArray, _Model, FloatArray]:
    """Fit one accuracy a worker by EM, drawn to the crowd's as far as `quorate.voting.refine` draws its matrices."""
    cells, m, n = cells_of(answers), answers.n_classes, answers.per_worker
    q = majority(answers).posterior
    for _ in range(STEPS):
        right = np.einsum("wcc->w", cells.expected_counts(q))
        mean = float(np.clip(right.sum() / max(n.sum(), 1), 1 / m + 1e-3, 1 - 1e-6))
        worth = float(np.clip(mean * (1 - mean) / (SPREAD * (mean - 1 / m)) ** 2 - 1, LEAST, MOST))
        p = (right + worth * mean) / (n + worth)
        wrong = ((1 - p) / (m - 1))[:, None, None]
        model = _Model(np.where(np.eye(m, dtype=bool), p[:, None, None], wrong), _prior(q))
        before, q = q, softmax(cells.log_joint(np.log(model.confusion), model.prior))
        if np.abs(q - before).sum(axis=1).mean() <= 1e-4:
            break
    return p, model, q


def _pooled(counts: FloatArray, accuracy: FloatArray) -> FloatArray:
    """Give every worker the crowd's confusion matrix, its wrong answers scaled to how often the worker errs."""
    m = counts.shape[2]
    total = counts.sum(axis=0) + PSEUDO
    crowd = total / total.sum(axis=0)
    error = float((total.sum() - np.trace(total)) / total.sum())
    wrong: FloatArray = (crowd * (1 - np.eye(m)))[None] * ((1 - accuracy) / error)[:, None, None]
    wrong *= np.minimum(1.0, 0.999 / wrong.sum(axis=1, keepdims=True))
    wrong[:, np.arange(m), np.arange(m)] = 1 - wrong.sum(axis=1)
    return wrong


def _prior(posterior: FloatArray) -> FloatArray:
    n_tasks, m = posterior.shape
    prior: FloatArray = (posterior.sum(axis=0) + 1) / (n_tasks + m)
    return prior


def _foretell(held: Answers, model: _Model) -> FloatArray:
    """Return the log-probability of each answer given the other answers to its task."""
    logs = np.log(np.maximum(model.confusion, 1e-12))
    joint = cells_of(held).log_joint(logs, model.prior)[held.task]
    others = joint - logs[held.worker, held.label]
    foretold: FloatArray = np.logaddexp.reduce(joint, axis=1) - np.logaddexp.reduce(others, axis=1)
    return foretold


def _summarise(sums: FloatArray, class_accuracy: FloatArray) -> HeldOut:
    """Average over answers; the standard error is over tasks, whose answers hang together."""
    n = sums[:, 0].sum()
    names = ("one-coin", *RIVALS)
    gain, error = {}, {}
    for column, name in enumerate(RIVALS, start=2):
        differences = sums[:, column] - sums[:, 1]
        gain[name] = float(differences.sum() / n)
        error[name] = float(np.sqrt(((differences - sums[:, 0] * gain[name]) ** 2).sum()) / n)
    likelihood = {name: float(sums[:, column].sum() / n) for column, name in enumerate(names, start=1)}
    return HeldOut(int(n), likelihood, gain, error, class_accuracy)


def _only(answers: Answers, chosen: BoolArray) -> Answers:
    """Keep some tasks, and every worker."""
    mine = chosen[answers.task]
    task = (np.cumsum(chosen) - 1)[answers.task[mine]].astype(answers.task.dtype)
    names = take(answers.task_names, np.flatnonzero(chosen))
    return Answers(task, answers.worker[mine], answers.label[mine], names, answers.worker_names, answers.classes)


def misfit_findings(found: HeldOut | None, answers: Answers) -> list[Finding]:
    """Tell that accuracy depends on the class, where it does, and which method would fit better.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(400, 10, 5, seed=0).answers
    >>> misfit_findings(held_out(answers), answers)
    []
    """
    if found is None or found.p > SURE:
        return []
    best = found.best
    method = RIVALS[best]
    gain, error = found.gain[best], found.standard_error[best]
    names = answers.classes.to_pylist()
    low, high = int(found.class_accuracy.argmin()), int(found.class_accuracy.argmax())
    return [
        Finding(
            "class-dependent-accuracy",
            f"one accuracy a worker does not explain these answers: {method!r}, which lets it depend on the class, "
            f"foretells held-out answers better, by {gain:.3f} ± {error:.3f} in log-likelihood an answer. The crowd is "
            f"right on {names[high]!r} {found.class_accuracy[high]:.0%} of the time and on {names[low]!r} "
            f"{found.class_accuracy[low]:.0%}; what is said of single workers, pairs and tasks rests on one accuracy",
            found.p,
            "p-value",
            evidence={
                "better_method": method,
                "better_model": best,
                "log_likelihood_an_answer": found.log_likelihood,
                "gain_an_answer": found.gain,
                "standard_error": found.standard_error,
                "held_out_answers": found.n_answers,
                "class_accuracy": {str(k): float(p) for k, p in zip(names, found.class_accuracy, strict=True)},
            },
        )
    ]
