"""M3V in its first form: a support vector machine for the weights and a vote for the labels, in turn [Tian15]."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from quorate.answers import Answers, used_classes
from quorate.arrays import FloatArray, IntArray, starts_of
from quorate.errors import check_at_least_one, check_positive
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.methods.m3v import check_workers, lead
from quorate.notes import NOT_CONVERGED, Note
from quorate.result import Result
from quorate.voting.posterior import hold_labels
from quorate.voting.ties import TIE_TOLERANCE
from quorate.voting.vote import decide, majority, tally, weighted_majority

MAX_GAP = 1e-6  # duality gap, relative to the objective, up to which the machine counts as solved
STEP_FRACTION = 0.995  # of the distance to the nearest bound that a step goes
MAX_STEPS = 100  # of the interior-point method; about twenty are usual


def m3v_svm(
    answers: Answers, *, gold: Source = None, margin: float = 1.0, c: float = 0.25, max_iterations: int = 50
) -> Result:
    """Find the weights that give the labels the widest margin, vote with them, and repeat until no label changes.

    Both steps lower ½|η|² + c·Σ(shortfall from the margin), so the labels converge; a label changes only to a class
    whose score is larger by more than rounding errors. The method is deterministic.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        margin: by how much the weighted vote for the right class should exceed that for any other.
        c: cost per unit by which the margin is missed.
        max_iterations: maximum number of rounds.

    Raises:
        OptionError: a number that must be positive is not.
        TooLargeError: there are more than 2,000 workers.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxx")}
    >>> m3v_svm(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    check_positive(margin=margin, c=c)
    check_at_least_one(max_iterations=max_iterations)
    known = known_classes(gold, answers)
    used = used_classes(answers, known)
    check_workers(answers, "m3v-svm")
    if used.answers.n_classes < 2:
        return outcome("m3v-svm", answers, majority(answers), gold=known)
    label = hold_labels(majority(used.answers).label, used.known)
    rows = np.arange(len(label))
    notes = [
        Note(NOT_CONVERGED, f"m3v-svm: the labels had not converged after {max_iterations} support vector machines")
    ]
    for _ in range(max_iterations):
        machine = _solve(used.answers, label, margin, c)
        scores = tally(used.answers, machine.weights)
        best = scores.argmax(axis=1)
        gain = scores[rows, best] - scores[rows, label]
        is_better = gain > TIE_TOLERANCE * np.maximum(np.abs(scores).max(axis=1), 1)
        new_label = hold_labels(np.where(is_better, best, label), used.known)
        if np.array_equal(new_label, label):
            notes = []
            break
        label = new_label
    if not machine.gap <= MAX_GAP:
        gap = f"m3v-svm: the last machine is only solved to a relative duality gap of {machine.gap:.1e}"
        notes.append(Note(NOT_CONVERGED, gap))
    task_vote = weighted_majority(used.answers, machine.weights)
    scores = used.spread(task_vote.scores, float(task_vote.scores.min(initial=0.0)) - 1.0)
    task_vote = decide(answers, scores, used.spread(task_vote.posterior, 0.0))
    return outcome("m3v-svm", answers, task_vote, gold=known, weights=machine.weights, notes=tuple(notes))


@dataclass(frozen=True)
class Machine:
    """The weights of a support vector machine, and the duality gap that certifies them."""

    weights: FloatArray  # η
    objective: float  # ½|η|² + c·Σξ at these weights
    gap: float  # objective minus the bound that the dual proves, relative to the objective
    steps: int  # of the interior-point method


def _objective(answers: Answers, weights: FloatArray, label: IntArray, margin: float, c: float) -> float:
    """Return ½|η|² + c·Σ max(0, ℓ - lead of the label)."""
    missing = margin - lead(tally(answers, weights))[np.arange(len(label)), label]
    return float(weights @ weights / 2 + c * np.maximum(missing, 0.0).sum())


def _constraints(answers: Answers, label: IntArray) -> tuple[Any, IntArray]:
    """Return the constraints, a row g(label) - g(k) for each task and other class k, sparse, and the task of each row.

    All classes that no worker gave to a task have the same row, which is listed once.
    """
    tasks = np.arange(answers.n_tasks)
    other_counts = answers.counts.copy()
    other_counts[tasks, label] = np.inf
    rivals = answers.counts > 0
    rivals[tasks, other_counts.argmin(axis=1)] = True
    rivals[tasks, label] = False
    item, klass = np.nonzero(rivals)
    row = np.full(rivals.shape, -1)
    row[item, klass] = np.arange(len(item))
    # Workers who gave the label have 1 in every row of the task; those who gave another class, -1 in its row only.
    gave_label = answers.label == label[answers.task]
    per_task = np.bincount(item, minlength=answers.n_tasks)
    repeats = per_task[answers.task[gave_label]]
    first = np.repeat(starts_of(per_task)[answers.task[gave_label]], repeats)
    within = np.arange(len(first)) - np.repeat(starts_of(repeats)[:-1], repeats)
    rows = np.concatenate([first + within, row[answers.task[~gave_label], answers.label[~gave_label]]])
    columns = np.concatenate([np.repeat(answers.worker[gave_label], repeats), answers.worker[~gave_label]])
    signs = np.concatenate([np.ones(len(first)), -np.ones(int((~gave_label).sum()))])
    return sparse.csr_array((signs, (rows, columns)), shape=(len(item), answers.n_workers)), item


@dataclass(frozen=True)
class _Problem:
    """Minimise ½|η|² + c·Σξ subject to Aη + ξ[item] - t = ℓ and ξ, t ≥ 0."""

    a: Any  # sparse (rows, workers)
    item: IntArray  # the task of each row
    to_item: Any  # sparse (tasks, rows): sums the rows of a task
    margin: float
    c: float


@dataclass(frozen=True)
class _Point:
    """The variables, or a change of them; all variables but η stay positive."""

    eta: FloatArray
    xi: FloatArray  # slack of each task
    t: FloatArray  # surplus of each row
    alpha: FloatArray  # dual of each row
    beta: FloatArray  # dual of ξ ≥ 0

    def plus(self, change: "_Point", length: float) -> "_Point":
        """Return the point plus `length` times the change."""
        return _Point(
            self.eta + length * change.eta,
            self.xi + length * change.xi,
            self.t + length * change.t,
            self.alpha + length * change.alpha,
            self.beta + length * change.beta,
        )

    def max_length(self, change: "_Point") -> float:
        """Return the largest step length, up to 1/STEP_FRACTION, at which no variable is negative."""
        limit = 1 / STEP_FRACTION
        for name in ("xi", "t", "alpha", "beta"):
            value = getattr(self, name)
            slope = getattr(change, name)
            is_falling = slope < 0
            if is_falling.any():
                limit = min(limit, float((value[is_falling] / -slope[is_falling]).min()))
        return limit

    def complementarity(self) -> float:
        """Return the mean of the products αt and βξ, which are zero at the solution."""
        return float((self.alpha @ self.t + self.beta @ self.xi) / (len(self.t) + len(self.xi)))


def _solve(answers: Answers, label: IntArray, margin: float, c: float) -> Machine:
    """Solve the machine for fixed labels by a primal-dual interior-point method (Mehrotra's predictor and corrector).

    The iterates may be infeasible. The duality gap is that between a feasible dual point and the objective at the
    weights that follow from it.
    """
    a, item = _constraints(answers, label)
    n = answers.n_tasks
    n_rows = len(item)
    to_item = sparse.csr_array((np.ones(n_rows), item, np.arange(n_rows + 1)), shape=(n_rows, n)).T.tocsr()
    problem = _Problem(a, item, to_item, margin, c)
    point = _Point(
        np.zeros(answers.n_workers),
        np.full(n, 2 * margin),
        np.full(n_rows, margin),
        c / 2 / (to_item @ np.ones(n_rows))[item],
        np.full(n, c / 2),
    )
    best = Machine(point.eta, np.inf, np.inf, 0)
    for step in range(MAX_STEPS):
        best = min(best, _certify(answers, problem, point.alpha, label, step), key=lambda machine: machine.gap)
        if best.gap <= MAX_GAP:
            break
        try:
            mu = point.complementarity()
            move = _newton(problem, point)
        except linalg.LinAlgError:  # rounding errors, at a very large c; return the best point with its gap
            break
        alpha_t = point.alpha * point.t
        beta_xi = point.beta * point.xi
        predictor = move(-alpha_t, -beta_xi)
        predicted = point.plus(predictor, point.max_length(predictor))
        target = mu * (predicted.complementarity() / mu) ** 3
        corrector = move(
            target - alpha_t - predictor.alpha * predictor.t,
            target - beta_xi - predictor.beta * predictor.xi,
        )
        point = point.plus(corrector, STEP_FRACTION * point.max_length(corrector))
    return best


def _newton(problem: _Problem, point: _Point) -> Callable[[FloatArray, FloatArray], _Point]:
    """Return the function that solves the Newton system for given changes of αt and βξ.

    Everything but η is eliminated: row by row, then task by task. One workers × workers matrix remains.
    """
    a = problem.a
    item = problem.item
    to_item = problem.to_item
    w = point.alpha / point.t
    weighted = sparse.diags_array(w) @ a
    through = to_item @ weighted
    pivot = to_item @ w + point.beta / point.xi
    centre = to_item.T @ (sparse.diags_array(1 / pivot) @ through)
    matrix = (weighted.T @ (a - centre)).toarray()
    matrix[np.diag_indices_from(matrix)] += 1.0
    factor = linalg.cho_factor(matrix, overwrite_a=True)
    off_eta = a.T @ point.alpha - point.eta
    off_xi = to_item @ point.alpha + point.beta - problem.c
    off_t = problem.margin + point.t - a @ point.eta - point.xi[item]

    def move(alpha_t: FloatArray, beta_xi: FloatArray) -> _Point:
        right_of_row = alpha_t / point.t + w * off_t
        right_of_item = off_xi + to_item @ right_of_row + beta_xi / point.xi
        right_of_eta = off_eta + a.T @ right_of_row - through.T @ (right_of_item / pivot)
        eta = linalg.cho_solve(factor, right_of_eta)
        xi = (right_of_item - through @ eta) / pivot
        t = a @ eta + xi[item] - off_t
        alpha = (alpha_t - point.alpha * t) / point.t
        beta = (beta_xi - point.beta * xi) / point.xi
        return _Point(eta, xi, t, alpha, beta)

    return move


def _certify(answers: Answers, problem: _Problem, alpha: FloatArray, label: IntArray, steps: int) -> Machine:
    """Scale the duals down to Σα ≤ c for each task, and compare ℓΣα - ½|A'α|² with the objective at η = A'α."""
    margin = problem.margin
    c = problem.c
    feasible = alpha * (c / np.maximum(problem.to_item @ alpha, c))[problem.item]
    weights = problem.a.T @ feasible
    objective = _objective(answers, weights, label, margin, c)
    bound = float(margin * feasible.sum() - weights @ weights / 2)
    return Machine(weights, objective, (objective - bound) / max(objective, np.finfo(np.float64).tiny), steps)
