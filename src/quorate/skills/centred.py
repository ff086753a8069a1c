"""Centred rank-one completion: skills from answers less each worker's response bias, for any class prior.

Suppose a worker knows the answer with probability x_i and otherwise answers by its label frequencies f_i. With the
answer as a unit vector e_l, let z_it = e_l - f_i. Then E[z_it · z_jt] = x_i x_j (1 - sum_g pi_g²), with pi the class
prior, so rank-one completion gives the skills without the assumption that classes are equally frequent and equally
hard. For two classes this covers every confusion matrix.

The products are sums over blocks. In memory they are faster in two ways: from a table of pairs where classes are many
(the cost of a pass grows with the classes, that of a product with the table does not), and from tables laid out once
for all sweeps where the sums have one part.
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
from quorate.graph.pairs import answer_pairs, n_answer_pairs
from quorate.models.response_bias import ResponseBias
from quorate.skills.moments import Moments
from quorate.skills.objective import CAPPED, CONVERGED, Problem, Solution
from quorate.skills.priors import Priors
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS, MARGIN, response_bias, shrunk_skills

if TYPE_CHECKING:
    from scipy import sparse

MIN_TABLE_CLASSES = 50  # with ten classes passes are as fast as a table of pairs, with a hundred four times slower
MAX_PAIRS_PER_ANSWER = 5  # which keeps the table linear in the answers
CHUNK_ENTRIES = 1 << 21  # pairs × classes multiplied at a time: 16 MB


@dataclass(frozen=True)
class CentredPairs:
    """Sums over the tasks that each two workers share: of omega z_i·z_j, and of omega."""

    signed: "sparse.csr_array"
    shared: "sparse.csr_array"

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x·G and N x², as `quorate.blocks.kernels.centred_products`."""
        return self.signed @ x, self.shared @ (x * x)


def pairs_pay(answers: Answers) -> bool:
    """Whether a table of pairs is faster than passes: few pairs, many classes.

    >>> import quorate
    >>> pairs_pay(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    False
    """
    return (
        answers.n_classes >= MIN_TABLE_CLASSES and n_answer_pairs(answers) <= MAX_PAIRS_PER_ANSWER * answers.n_answers
    )


def centred_pairs(answers: Answers, frequency: FloatArray, omega: FloatArray) -> CentredPairs:
    """Sum the products of centred answers over the tasks that each two workers share.

    Args:
        answers: who answered what.
        frequency: label frequencies f of the workers, workers × classes.
        omega: the weight of each task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> centred_pairs(answers, np.full((2, 2), 0.5), np.ones(1)).signed.toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    from scipy import sparse

    n = answers.n_workers
    total = [sparse.csr_array((n, n)), sparse.csr_array((n, n))]
    for first, second, products in centred_answer_products(answers, frequency):
        i = answers.worker[first]
        j = answers.worker[second]
        weight = omega[answers.task[first]]
        for k, values in enumerate((weight * products, weight)):
            one_way = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
            total[k] = total[k] + one_way + one_way.T
    return CentredPairs(total[0].tocsr(), total[1].tocsr())


def centred_answer_products(answers: Answers, frequency: FloatArray) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield in chunks the products of two centred answers to one task: [same class] - f_j(l_i) - f_i(l_j) + f_i·f_j.

    Args:
        answers: who answered what.
        frequency: label frequencies f of the workers, workers × classes.

    Yields the positions of the two answers, and the product.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> [[array.tolist() for array in chunk] for chunk in centred_answer_products(answers, np.full((2, 2), 0.5))]
    [[[0], [1], [0.5]]]
    """
    for first, second in answer_pairs(answers):
        i = answers.worker[first]
        j = answers.worker[second]
        label_i = answers.label[first]
        label_j = answers.label[second]
        products = (label_i == label_j) - frequency[j, label_i] - frequency[i, label_j] + _inner(frequency, i, j)
        yield first, second, products


def peer_sums(answers: Answers, frequency: FloatArray, x: FloatArray) -> FloatArray:
    """Sum x_j z_it·z_jt over the peers of each answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> peer_sums(answers, np.full((2, 2), 0.5), np.array([1.0, 10.0])).tolist()
    [5.0, 0.5]
    """
    total = np.zeros(answers.n_answers)
    for first, second, products in centred_answer_products(answers, frequency):
        for answer, peer in ((first, second), (second, first)):
            total += np.bincount(answer, x[answers.worker[peer]] * products, answers.n_answers)
    return total


def _inner(frequency: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return f_i·f_j of each pair of answers; each pair of workers is multiplied once."""
    n, m = frequency.shape
    keys, place = np.unique(i.astype(np.int64) * n + j, return_inverse=True)
    found = [
        np.einsum("pl,pl->p", frequency[some // n], frequency[some % n])
        for some in np.array_split(keys, -(-len(keys) * m // CHUNK_ENTRIES))
    ]
    products: FloatArray = np.concatenate(found)[place]
    return products


@dataclass(frozen=True)
class KeptPass:
    """Tables laid out once, and the passes that sum into them."""

    table: FloatArray
    passes: Passes  # one for each block, in their order

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x·G and N x², as `quorate.blocks.kernels.centred_products`."""
        self.table[:, 0] = x
        self.table[:, 2:4] = 0.0
        self.table[:, 4] = x * x
        for add in self.passes:
            add()
        signed, squares = self.table[:, 2:4].T.copy()
        return signed, squares


def kept_pass(answers: Answered, frequency: FloatArray) -> KeptPass | None:
    """Lay the tables out; None where the answers are not in memory, or their sums are formed in several parts.

    Args:
        answers: who answered what.
        frequency: label frequencies f of the workers, workers × classes.

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
    pull: FloatArray | None = None  # prior precision of each worker's earlier skill; None without such skills


def response_bias_of(answers: Answered, priors: Priors | None = None) -> ResponseBias:
    """Return the response bias of each worker, and the class prior by the plurality of each task.

    >>> import quorate
    >>> response_bias_of(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})).prior.tolist()
    [0.5, 0.5]
    """
    return response_bias(blocks_of(answers), priors)


def task_weights(answers: Answers) -> FloatArray:
    """Return omega_t = 1/(R_t - 1), with which each answer counts once, whatever the number of its peers.

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
class _SharedWeights:
    """N with a weight omega for each task: N v sums v over the coworkers on each worker's tasks."""

    blocks: Blocks

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        product: FloatArray = self.blocks.sum(power_sums, np.zeros(len(v)), v, False)[0][-1]
        return product


@dataclass(frozen=True)
class _CentredSums:
    """N∘C of the centred answers: Y_t = sum_j v_j z_jt, then z_it · (Y_t - v_i z_it) over each worker's tasks."""

    blocks: Blocks
    bias_of_workers: ResponseBias
    in_memory: CentredPairs | KeptPass | None  # instead of the blocks, where possible

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
    """Return the moments of the centred answers, each task weighing 1/(R_t - 1), so that each answer counts once.

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
    blocks = blocks_of(answers)
    ones = np.ones(answers.n_workers)
    degree: FloatArray = blocks.sum(power_sums, np.zeros(len(ones)), ones, False)[0][-1]
    signed = _CentredSums(blocks, bias_of_workers, in_memory)
    # The sum of squares of the correlations is no sum over tasks; the loss is known up to that constant.
    return Moments(_SharedWeights(blocks), signed, degree, energy=0.0, both=signed.both)


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
