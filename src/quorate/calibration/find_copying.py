"""Search for groups of workers who copy: the grouping that the answers support, among none and some candidates.

Candidates are directions in which agreements point beyond the one that skill explains
(`quorate.calibration.agreement_directions`). A grouping is adopted if its likelihood under the model of copying exceeds
that of no grouping by what its parameters cost (half a log(tasks) each, BIC), and its members repeat each other often.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.memory import memory_blocks
from quorate.blocks.transform import GroupMajority, TransformedBlocks
from quorate.calibration.agreement_directions import groupings
from quorate.models.copying import CopyingModel, fit_copying

MAX_SAMPLE_ANSWERS = 50_000  # on which groupings are compared
MEMBER_COST = 1.1  # nats: one worker in four belongs to some group, log 3
# Share of a group's answers that must repeat the group's own. Simulated groups (70 to 90 % copied) repeat .65 to .9;
# the groups that public crowds fall into by skill or kind of task repeat .2 to .58.
MIN_REPEATED = 0.6
MIN_OUTSIDE = 3  # workers outside any group: two groups alone would only contradict each other

Posterior = Callable[[Block], FloatArray]


def find_copying(
    blocks: Blocks, posterior: Posterior, group_posterior: Callable[[Blocks], Posterior]
) -> IntArray | None:
    """Return the group of each worker, from 0; None where no grouping is supported.

    Args:
        blocks: blocks of tasks.
        posterior: of the tasks if nobody copies.
        group_posterior: fits blocks whose workers are groups and returns their posterior.

    >>> import quorate
    >>> from quorate.models.confusion import ModelPosterior
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = memory_blocks(quorate.simulate.crowd(300, 10, 5, seed=0).answers)
    >>> vote = ModelPosterior(PluralityScorer(1.0))
    >>> find_copying(blocks, vote, lambda groups: vote) is None
    True
    """
    answers = blocks.sample(MAX_SAMPLE_ANSWERS).answers
    sample = memory_blocks(answers)
    nobody = fit_copying(sample, np.arange(sample.n_workers), posterior)
    best: IntArray | None = None
    best_gain = 0.0
    for group in groupings(answers):
        if int((np.bincount(group) == 1).sum()) < MIN_OUTSIDE:
            continue
        groups = GroupMajority(group)
        start = posterior
        if groups.n_groups >= MIN_OUTSIDE:
            start = GroupedPosterior(group_posterior(TransformedBlocks(sample, groups)), groups)
        fitted = fit_copying(sample, group, start)
        cost = grouping_cost(group, sample.n_classes, sample.n_tasks)
        gain = fitted.log_likelihood - nobody.log_likelihood - cost
        if gain > best_gain and repeated_share(fitted, sample.per_worker) >= MIN_REPEATED:
            best = group
            best_gain = gain
    return best


@dataclass(frozen=True)
class GroupedPosterior:
    """The posterior of groups that answer as one worker each, for blocks of single workers."""

    posterior: Posterior
    groups: GroupMajority

    def __call__(self, block: Block) -> FloatArray:
        """Return the posterior of the groups' majority answers."""
        return self.posterior(self.groups(block))


def grouping_cost(group: IntArray, n_classes: int, n_tasks: int) -> float:
    """Return what a grouping costs in nats: half a log(tasks) per parameter of a group, and MEMBER_COST per member.

    >>> grouping_cost(np.array([0, 1, 2]), 2, 100)
    0.0
    """
    size = np.bincount(group)
    n_groups = int((size > 1).sum())
    n_members = int(size[size > 1].sum())
    return float(n_groups * (n_classes**2 + 1) * 0.5 * np.log(max(n_tasks, 2)) + MEMBER_COST * n_members)


def repeated_share(model: CopyingModel, answers_per_worker: IntArray) -> float:
    """Return the share of the answers of the loosest group that repeat the group's own.

    >>> nothing = np.zeros((1, 1, 1))
    >>> group, repeats = np.array([0, 0, 1]), np.array([1.0, 0.5, 0.0])
    >>> model = CopyingModel(group, nothing, np.zeros((2, 3, 2)), repeats, np.zeros(2), 0.0)
    >>> repeated_share(model, np.array([3, 1, 9]))
    0.875
    """
    shares = []
    for k in np.flatnonzero(np.bincount(model.group) > 1):
        members = model.group == k
        weights = np.maximum(answers_per_worker[members], 1)
        shares.append(float(np.average(model.repeats[members], weights=weights) * model.draws[k]))
    return min(shares)
