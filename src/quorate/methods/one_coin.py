"""The method ``one-coin``: one accuracy per worker, wrong classes being equally likely [Dawid79].

EM itself is `quorate.models.one_coin.fit_one_coin_em`; this module has the method's options, notes and posterior.
"""

from dataclasses import dataclass

from quorate.blocks.block import Block, Blocks
from quorate.graph.components import identify
from quorate.methods.dawid_skene import workers_of_em
from quorate.methods.fit import Fitted, fit_notes
from quorate.models.one_coin import OneCoinFit, fit_one_coin_em
from quorate.voting.posterior import softmax
from quorate.voting.vote import Vote, decide


def fit(
    blocks: Blocks,
    *,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Fitted:
    """Fit one accuracy for each worker, wrong classes being equally likely, by EM from the vote shares.

    Args:
        blocks: blocks of tasks; the gold that they carry stays fixed.
        max_iterations: maximum number of EM steps; the literature uses ten; more steps rarely help.
        tolerance: stop when the expected counts change by less, on average over answers.
        class_prior: estimate the frequency of each class instead of taking them as equal.
        zeros: zero probabilities count as they are (``exact``) or not at all (``skip``, as in published figures).

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> quorate.aggregate(answers, "one-coin").labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    em = fit_one_coin_em(
        blocks, class_prior=class_prior, zeros=zeros, max_iterations=max_iterations, tolerance=tolerance
    )
    return fitted_one_coin(blocks, em)


def fitted_one_coin(blocks: Blocks, em: OneCoinFit) -> Fitted:
    """Return what EM over one accuracy per worker learned."""
    notes = fit_notes("one-coin", em.log_likelihoods, em.converged, blocks.n_answers)
    workers = workers_of_em(blocks, em.accuracy)
    return Fitted(vote=ByOneCoin(em), skill_estimates=workers, identifiability=identify(blocks), notes=notes)


@dataclass(frozen=True)
class ByOneCoin:
    """The posterior of one accuracy per worker; can be sent to where the blocks are."""

    em: OneCoinFit

    def __call__(self, block: Block) -> Vote:
        """Vote on a block."""
        scores = self.em.scores(block)
        return decide(block, scores, softmax(scores))
