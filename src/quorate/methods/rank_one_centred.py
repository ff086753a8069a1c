"""Rank-one completion of centred answers: the first stage of the default method on its own."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, count_gold
from quorate.methods.fit import ByWeights, Fitted
from quorate.models.scorer import SkillScorer
from quorate.skills.centred_skills import centred_estimates
from quorate.skills.identification import identify_workers
from quorate.voting.posterior import softmax
from quorate.voting.vote import Vote, by_posterior


def fit(blocks: Blocks) -> Fitted:
    """Estimate skills from centred answers, shrunk by empirical Bayes, and vote with skills and response bias.

    Args:
        blocks: blocks of tasks; the gold that they carry acts as a worker of skill one.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> result = quorate.aggregate(crowd.answers, "rank-one-centred")
    >>> bool((result.vote.label == crowd.truth).mean() > 0.85)
    True
    """
    identification = identify_workers(blocks, use_block_gold=count_gold(blocks) > 0)
    workers = centred_estimates(identification)
    vote: ByWeights | BySkills = ByWeights(np.ones(blocks.n_workers))
    if workers.bias_of_workers is not None:
        frequency: FloatArray = workers.bias_of_workers.frequency[: blocks.n_workers]
        vote = BySkills(SkillScorer(workers.skills, frequency, workers.bias_of_workers.prior))
    skills = workers.skill_estimates.with_gold(blocks, None, centred=True)
    return Fitted(vote=vote, skill_estimates=skills, identifiability=identification.graph, notes=workers.notes)


@dataclass(frozen=True)
class BySkills:
    """Vote by the posterior of the model in which a worker knows the class or answers by response bias."""

    scorer: SkillScorer

    def __call__(self, block: Block) -> Vote:
        """Vote on a block."""
        return by_posterior(block, softmax(self.scorer.scores(block)))
