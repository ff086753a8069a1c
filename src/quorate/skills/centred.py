"""Skills from answers centred at each worker's habit: rank one for any class prior, and shrunk where data are few.

Suppose a worker knows the answer with probability x_i and otherwise follows a habit of its own. Take from each answer,
as a vector e_l, the worker's answer frequencies f_i: z_it = e_l - f_i. Then E[z_it · z_jt] = x_i x_j (1 - sum_g pi_g²),
with pi the class prior, so the same rank-one completion gives the skills, without the assumption that classes are alike
frequent and alike hard. For two classes this covers every confusion matrix.

The products of centred answers pair by pair, once for all sweeps, where classes are many.

What a pass over the answers costs grows with the classes; what a product with a table of pairs costs does not.

The products of centred answers by passes over memory that share one table: laid out once for all sweeps.

A pass over blocks that may lie anywhere takes worker-sized tables with it and brings sums back. Where the answers are
in memory and summed in one part, the table can stay where it is: where workers are many, laying it out is a good part
of a sweep.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import Passes, centred_passes, centred_products, power_sums
from quorate.blocks.memory import Answered, MemoryBlocks, blocks_of
from quorate.graph.pairs import meetings, n_answer_pairs
from quorate.models.response_bias import ResponseBias
from quorate.skills.moments import Moments
from quorate.skills.objective import CAPPED, CONVERGED, Problem, Solution
from quorate.skills.priors import Priors
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS, MARGIN, response_bias, shrunk_skills

if TYPE_CHECKING:
    from scipy import sparse

MANY_CLASSES = 50  # from which on: with ten the passes are as quick, with a hundred they take four times as long
MEETINGS_AN_ANSWER = 5  # of two answers at the most, so that the table is linear in the answers
ENTRIES = 1 << 21  # of pairs × classes that are multiplied at a time: 16 MB each


@dataclass(frozen=True)
class CentredPairs:
    """Sums over the tasks that each two workers share: of omega z_i·z_j, and of omega."""

    signed: "sparse.csr_array"
    shared: "sparse.csr_array"

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Do what `quorate.blocks.kernels.centred_products` does."""
        return self.signed @ x, self.shared @ (x * x)


def pairs_pay(answers: Answers) -> bool:
    """Whether the pairs are few enough, and the classes many enough.

    >>> import quorate
    >>> pairs_pay(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    False
    """
    return answers.n_classes >= MANY_CLASSES and n_answer_pairs(answers) <= MEETINGS_AN_ANSWER * answers.n_answers


def centred_pairs(answers: Answers, frequency: FloatArray, omega: FloatArray) -> CentredPairs:
    """Sum the products of centred answers over the tasks that each two workers share.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.
        omega: the weight of each task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> centred_pairs(answers, np.full((2, 2), 0.5), np.ones(1)).signed.toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    from scipy import sparse

    n = answers.n_workers
    total = [sparse.csr_array((n, n)), sparse.csr_array((n, n))]
    for first, second, products in centred_meetings(answers, frequency):
        i, j = answers.worker[first], answers.worker[second]
        weight = omega[answers.task[first]]
        for k, values in enumerate((weight * products, weight)):
            one_way = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
            total[k] = total[k] + one_way + one_way.T
    return CentredPairs(total[0].tocsr(), total[1].tocsr())


def centred_meetings(answers: Answers, frequency: FloatArray) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Multiply every two centred answers to one task, some at a time: [same class] - f_j(l_i) - f_i(l_j) + f_i·f_j.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.

    Yields the two answers of each meeting, and the product.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> [[each.tolist() for each in some] for some in centred_meetings(answers, np.full((2, 2), 0.5))]
    [[[0], [1], [0.5]]]
    """
    for first, second in meetings(answers):
        i, j = answers.worker[first], answers.worker[second]
        given, other = answers.label[first], answers.label[second]
        products = (given == other) - frequency[j, given] - frequency[i, other] + _alike(frequency, i, j)
        yield first, second, products


def peer_sums(answers: Answers, frequency: FloatArray, x: FloatArray) -> FloatArray:
    """Sum x_j z_it·z_jt over the peers of each answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> peer_sums(answers, np.full((2, 2), 0.5), np.array([1.0, 10.0])).tolist()
    [5.0, 0.5]
    """
    total = np.zeros(answers.n_answers)
    for first, second, products in centred_meetings(answers, frequency):
        for mine, other in ((first, second), (second, first)):
            total += np.bincount(mine, x[answers.worker[other]] * products, answers.n_answers)
    return total


def _alike(frequency: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return f_i·f_j of each meeting, each pair multiplied once."""
    n, m = frequency.shape
    keys, place = np.unique(i.astype(np.int64) * n + j, return_inverse=True)
    found = [
        np.einsum("pl,pl->p", frequency[some // n], frequency[some % n])
        for some in np.array_split(keys, -(-len(keys) * m // ENTRIES))
    ]
    products: FloatArray = np.concatenate(found)[place]
    return products


@dataclass(frozen=True)
class KeptPass:
    """A table, and the passes that add to it."""

    table: FloatArray
    passes: Passes  # one for each block, in their order

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Do what `quorate.blocks.kernels.centred_products` does."""
        self.table[:, 0] = x
        self.table[:, 2:4] = 0.0
        self.table[:, 4] = x * x
        for add in self.passes:
            add()
        signed, squares = self.table[:, 2:4].T.copy()
        return signed, squares


def kept_pass(answers: Answered, frequency: FloatArray) -> KeptPass | None:
    """Lay the table out; None where the answers are not in memory, or their sums are formed in several parts.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.

    >>> import numpy as np, quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> kept = kept_pass(answers, np.full((2, 2), 0.5))
    >>> [sums.tolist() for sums in kept.both(np.ones(2))]
    [[0.5, 0.5], [1.0, 1.0]]
    """
    blocks = blocks_of(answers)
    if not isinstance(blocks, MemoryBlocks) or len(blocks.lanes) > 1:
        return None
    return KeptPass(*centred_passes(blocks.lanes[0], frequency))


RESPONSE_BIAS_PSEUDO_ANSWERS = BIAS_PSEUDO_ANSWERS


@dataclass(frozen=True)
class Centred:
    """Skills by centred rank-one completion."""

    solution: Solution
    mean: float  # mu, the crowd's mean skill, averaged over answers
    bias_of_workers: ResponseBias
    problem: Problem  # that was solved last
    ridge: float  # toward the mean
    pull: FloatArray | None = None  # toward what is known of each worker from before; None where that is nothing


def response_bias_of(answers: Answered, priors: Priors | None = None) -> ResponseBias:
    """Return the response bias of each worker, and the class prior by the plurality of each task.

    >>> import quorate
    >>> response_bias_of(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})).prior.tolist()
    [0.5, 0.5]
    """
    return response_bias(blocks_of(answers), priors)


def task_weights(answers: Answers) -> FloatArray:
    """Return omega_t = 1/(R_t - 1), with which each answer counts once, however many it meets.

    >>> import quorate
    >>> task_weights(quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xxyx")})).tolist()
    [0.5, 1.0]
    """
    omega: FloatArray = 1 / np.maximum(answers.per_task - 1.0, 1.0)
    return omega


def centred_answers(answers: Answers, bias_of_workers: ResponseBias) -> FloatArray:
    """Return z_it = e_l - f_i of each answer; shape (answers, classes).

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> centred_answers(answers, response_bias_of(answers))[0].round(2).tolist()
    [0.42, -0.42]
    """
    z = -bias_of_workers.frequency[answers.worker]
    z[np.arange(len(z)), answers.label] += 1
    return z


@dataclass(frozen=True)
class _Meetings:
    """N with a weight omega for each task: sums over the others of each worker's tasks."""

    blocks: Blocks

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        met: FloatArray = self.blocks.sum(power_sums, np.zeros(len(v)), v, False)[0][-1]
        return met


@dataclass(frozen=True)
class _CentredSums:
    """N∘C of the centred answers: Y_t = sum_j v_j z_jt, then z_it · (Y_t - v_i z_it) over each worker's tasks."""

    blocks: Blocks
    bias_of_workers: ResponseBias
    in_memory: CentredPairs | KeptPass | None  # instead of the blocks, where they are there

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return self.both(v)[0]

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x²."""
        if self.in_memory is None:
            signed, squares = self.blocks.sum(centred_products, x, self.bias_of_workers.frequency)
        else:
            signed, squares = self.in_memory.both(x)
        return signed / self.bias_of_workers.spread, squares


def centred_moments(answers: Answered, bias_of_workers: ResponseBias) -> Moments:
    """Form the moments of the centred answers, each task weighing 1/(R_t - 1), so that each answer counts once.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(2000, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> moments = centred_moments(crowd.answers, response_bias_of(crowd.answers))
    >>> products = (moments.signed @ np.ones(3)) / 1000  # each pair weighs half of the 2,000 tasks: s_i (s_j + s_k)
    >>> bool(np.abs(products - [0.8, 0.72, 0.56]).max() < 0.1)
    True
    """
    in_memory: CentredPairs | KeptPass | None
    if isinstance(answers, Answers) and pairs_pay(answers):
        in_memory = centred_pairs(answers, bias_of_workers.frequency, task_weights(answers))
    else:
        in_memory = kept_pass(answers, bias_of_workers.frequency)
    blocks, everyone = blocks_of(answers), np.ones(answers.n_workers)
    degree: FloatArray = blocks.sum(power_sums, np.zeros(len(everyone)), everyone, False)[0][-1]
    signed = _CentredSums(blocks, bias_of_workers, in_memory)
    # The sum of squares of the correlations is no sum over tasks; the loss is known up to that constant.
    return Moments(_Meetings(blocks), signed, degree, energy=0.0, both=signed.both)


def centred_skills(
    answers: Answered,
    *,
    is_gold: BoolArray | None = None,
    priors: Priors | None = None,
    tolerance: float = 1e-4,
) -> Centred:
    """Solve for the skills of centred answers, shrunk by empirical Bayes (`quorate.skills.shrinkage`).

    Args:
        answers: who answered what.
        is_gold: marks the gold worker, of skill one.
        priors: what is known of the workers from before, on the scale of these skills.
        tolerance: mean change of a skill at which the passes stop.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, prior=np.array([0.8, 0.2]), seed=0)
    >>> found = centred_skills(crowd.answers)
    >>> bool(np.abs(found.solution.skills - crowd.skills).mean() < 0.12)
    True
    """
    bias_of_workers = response_bias_of(answers, priors)
    blocks = blocks_of(answers)
    gold = np.zeros(answers.n_workers, dtype=bool) if is_gold is None else is_gold
    found = shrunk_skills(blocks, bias_of_workers, is_gold=gold, known=priors, tolerance=tolerance)
    lowest = -1 / (answers.n_classes - 1) + MARGIN
    lower = np.where(gold, 1.0, lowest)
    upper = np.where(gold, 1.0, 1 - MARGIN)
    ridge = found.noise / found.prior_variance  # in units of the peers' squared skills
    empty = Problem(centred_moments(answers, bias_of_workers), lower, upper, answers.per_worker.astype(np.float64))
    solution = Solution(
        found.mean,
        "empirical Bayes",
        CONVERGED if found.converged else CAPPED,
        found.n_passes,
        loss=0.0,  # mean field minimises no least squares
        gradient_norm=found.change,
    )
    pull = None if priors is None else priors.precision * found.noise
    return Centred(solution, found.average, bias_of_workers, empty, ridge, pull)
