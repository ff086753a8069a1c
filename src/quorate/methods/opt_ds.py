"""Opt-D&S: confusion matrices by a tensor decomposition of moments, then a few rounds of EM [Zhang16].

The moments are products of sparse (tasks, classes) matrices, one for each third of the workers.
"""

from typing import Any

import numpy as np
from scipy import sparse

from quorate.answers import Answers, used_classes
from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.kernels import expected_counts
from quorate.blocks.memory import blocks_of, stack_tables
from quorate.blocks.worker_rows import dense
from quorate.errors import check_at_least_one
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import fit_notes, outcome, with_gold_counts
from quorate.models.confusion import check_size
from quorate.models.em import ConfusionFit, fit_confusion_em, normalise_columns
from quorate.models.one_coin import OneCoinFit, fit_one_coin_em
from quorate.notes import OTHER_START, Note
from quorate.result import Result
from quorate.voting.posterior import clamp_gold, softmax
from quorate.voting.vote import decide, skill_of, weight


def spectral_start(answers: Answers, *, starts: int, power_steps: int, rng: np.random.Generator) -> FloatArray | str:
    """Estimate the confusion matrices up to the scale of their columns, or return why that is not possible.

    Args:
        answers: who answered what.
        starts: number of random starts of the tensor power method per class.
        power_steps: number of steps from each start.
        rng: of the starts.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": list("xy")})
    >>> spectral_start(answers, starts=1, power_steps=1, rng=np.random.default_rng(0))
    'three groups need three workers, and there are 2'
    """
    n_workers = answers.n_workers
    n_classes = answers.n_classes
    n_tasks = answers.n_tasks
    if n_workers < 3:
        return f"three groups need three workers, and there {'is one' if n_workers == 1 else f'are {n_workers}'}"
    singular = "the moments of the three groups of workers are singular (a class too rare, or too few shared tasks)"
    group = np.arange(n_workers) % 3
    blocks = blocks_of(answers)
    x = [_group_counts(answers, group == g) for g in range(3)]
    second = [[(x[g].T @ x[h]).toarray() / n_tasks for h in range(3)] for g in range(3)]
    third = _third_moment(x) / n_tasks
    factors = []
    for c, (a, b) in enumerate([(1, 2), (2, 0), (0, 1)]):
        raw = np.transpose(third, (a, b, c))
        factor = _group_confusion(second[a][b], second[c][a], second[c][b], raw, starts, power_steps, rng)
        if factor is None:
            return singular
        factors.append(factor)

    confusion = np.zeros((n_workers, n_classes, n_classes))
    for g in range(3):
        counts = dense(blocks.sum(expected_counts, (x[g - 1] + x[g - 2]).toarray())[0])
        with_others = counts[group == g] / n_tasks
        matrix = factors[g - 1][0] + factors[g - 2][0]
        shares = (factors[g - 1][1] + factors[g - 2][1]) / 2
        # E[x_j x_others'] = mu_j diag(shares) mu_others', solved for mu_j by least squares.
        solved = with_others @ np.linalg.pinv(shares[:, None] * matrix.T)
        confusion[group == g] = solved
    return confusion if np.isfinite(confusion).all() else singular


def _group_counts(answers: Answers, member: BoolArray) -> Any:
    """Count the workers of a group who gave each class to each task, sparse; a sum, as in the authors' code."""
    is_of_member = member[answers.worker]
    entries = (np.ones(int(is_of_member.sum())), (answers.task[is_of_member], answers.label[is_of_member]))
    return sparse.csr_array(entries, shape=(answers.n_tasks, answers.n_classes))


def _third_moment(x: list[Any]) -> FloatArray:
    """Sum the outer products of the three groups' counts over the tasks; shape (classes, classes, classes)."""
    first = x[0].tocsc()
    slices = []
    for k in range(first.shape[1]):
        column = slice(first.indptr[k], first.indptr[k + 1])
        tasks = first.indices[column]
        slices.append((x[1][tasks].T @ (sparse.diags_array(first.data[column]) @ x[2][tasks])).toarray())
    return np.stack(slices)


def _group_confusion(
    ab: FloatArray,
    ca: FloatArray,
    cb: FloatArray,
    third: FloatArray,
    starts: int,
    power_steps: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray] | None:
    """Return the confusion matrix of group c and the weights of the classes, or None if the moments are singular.

    The moments are those of the groups a and b, c and a, c and b, and of all three.
    """
    n_classes = len(ab)
    if np.linalg.matrix_rank(ab) < n_classes:
        return None
    # Maps from the answers of a and b to those of c [Zhang16].
    from_a = cb @ np.linalg.inv(ab)
    from_b = ca @ np.linalg.inv(ab.T)
    left, singular, _ = np.linalg.svd(from_a @ ab @ from_b.T)
    if singular[-1] <= singular[0] * n_classes * np.finfo(np.float64).eps:
        return None
    whiten = left / np.sqrt(singular)
    tensor = np.einsum("pqr,pi,qj,rk->ijk", third, from_a.T @ whiten, from_b.T @ whiten, whiten, optimize=True)
    values, vectors = _tensor_components(tensor, starts, power_steps, rng)
    if not np.all(np.abs(values) > 1e-100):  # also if one is NaN; the weight 1/λ² must be finite
        return None
    columns = (np.linalg.pinv(whiten.T) @ vectors.T).T * values[:, None]
    confusion = np.zeros((n_classes, n_classes))
    weights = np.zeros(n_classes)
    is_unused = np.ones(n_classes, dtype=bool)
    for column, value in zip(columns, values, strict=True):
        # The most probable class of the column; if another column has it, the first class that none has.
        k = int(column.argmax())
        if not is_unused[k]:
            k = int(is_unused.argmax())
        is_unused[k] = False
        confusion[:, k] = column
        weights[k] = value**-2
    return confusion, weights


def _tensor_components(
    tensor: FloatArray, starts: int, power_steps: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Decompose a symmetric tensor into Σ λ v⊗v⊗v by the power method with deflation; vectors as rows."""
    n = len(tensor)
    values = np.zeros(n)
    vectors = np.zeros((n, n))
    for h in range(n):
        v = _unit_rows(rng.uniform(-0.5, 0.5, (starts, n)))
        for _ in range(power_steps):
            v = _unit_rows(_apply_twice(tensor, v))
        eigenvalues = (_apply_twice(tensor, v) * v).sum(axis=1)
        best = int(eigenvalues.argmax())
        values[h] = eigenvalues[best]
        vectors[h] = v[best]
        tensor = tensor - values[h] * np.einsum("p,q,r->pqr", v[best], v[best], v[best])
    return values, vectors


def _apply_twice(tensor: FloatArray, v: FloatArray) -> FloatArray:
    """Return T(I, v, v) for each row v."""
    n = len(tensor)
    squares = (v[:, :, None] * v[:, None, :]).reshape(-1, n * n)
    applied: FloatArray = squares @ tensor.reshape(n, n * n).T
    return applied


def _unit_rows(v: FloatArray) -> FloatArray:
    norm = np.linalg.norm(v, axis=1, keepdims=True)
    unit: FloatArray = v / np.where(norm > 0, norm, 1.0)
    return unit


MIN_START_PROBABILITY = 1e-6  # EM cannot leave a zero
UNUSED_CLASS_SCORE = -1e300  # of a class without answers


def opt_ds(
    answers: Answers,
    *,
    gold: Source = None,
    rounds: int = 10,
    starts: int = 100,
    power_steps: int = 100,
    seed: int = 0,
    one_coin: bool = False,
    zeros: str = "exact",
) -> Result:
    """Estimate a confusion matrix per worker by the method of moments, and improve it by EM with a uniform class prior.

    The skill of a worker is that of its mean accuracy over the classes. Where the moments are singular, EM starts from
    the majority vote, and a note states it.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed in EM.
        rounds: number of EM steps.
        starts: number of random starts of the tensor power method per class.
        power_steps: number of steps from each start.
        seed: random seed of the starts.
        one_coin: estimate one accuracy per worker instead of a confusion matrix.
        zeros: zero probabilities count as they are (``exact``) or not at all (``skip``, as in the authors' code).

    Raises:
        OptionError: no rounds, no starts or no steps.
        TooLargeError: the confusion matrices or the posterior would not fit.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxx")}
    >>> opt_ds(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    check_at_least_one(rounds=rounds, starts=starts, power_steps=power_steps)
    known = known_classes(gold, answers)
    used = used_classes(answers, known)
    check_size(used.answers, "opt-ds")
    rng = np.random.default_rng(seed)
    start = spectral_start(used.answers, starts=starts, power_steps=power_steps, rng=rng)
    notes: tuple[Note, ...] = ()
    if isinstance(start, str):
        text = f"opt-ds: {start}, so EM started from the majority vote instead of the spectral estimate"
        notes = (Note(OTHER_START, text),)
    counts = None if isinstance(start, str) else np.maximum(start, MIN_START_PROBABILITY)
    blocks = blocks_of(used.answers, used.known)
    options: dict[str, Any] = {"zeros": zeros, "max_iterations": rounds, "tolerance": 0.0}
    fit: OneCoinFit | ConfusionFit
    if one_coin:
        accuracy = None if counts is None else np.einsum("wcc->w", counts) / counts.sum(axis=(1, 2))
        fit = fit_one_coin_em(blocks, start=accuracy, **options)
    else:
        matrices = None if counts is None else normalise_columns(counts)
        fit = fit_confusion_em(blocks, start=matrices, **options)
    scores = stack_tables(blocks.map(fit.scores), blocks.n_tasks)
    posterior = clamp_gold(softmax(scores), used.known)
    task_vote = decide(answers, used.spread(scores, UNUSED_CLASS_SCORE), used.spread(posterior, 0.0))
    notes += fit_notes("opt-ds", fit.log_likelihoods, fit.converged, answers.n_answers)
    skills = None
    weights = None
    if answers.n_classes > 1:
        skills = skill_of(fit.accuracy, answers.n_classes)
        weights = weight(skills, answers.n_classes)
    result = outcome("opt-ds", answers, task_vote, gold=known, skills=skills, weights=weights, notes=notes)
    return with_gold_counts(result)
